package replay

import (
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
)

const (
	// Format is what the first line of a recording calls itself.
	Format = "troupe-recording"
	// Version is the version of the form. It changes when a reader of the old one would
	// misunderstand the new one; fields that may be left alone do not change it.
	Version = 1
)

// Recording is a whole tree's traffic.
type Recording struct {
	Header Header
	// Lines are in the order in which things happened, as far as the logs know: within one
	// agent always, between agents by the clock.
	Lines []Line
}

// Header is the first line: which run it was, and what around it has a say in what is sent.
type Header struct {
	Format  string           `json:"format"`
	Version int              `json:"version"`
	Troupe  string           `json:"troupe"` // version of the program that wrote it
	Root    troupe.SessionID `json:"root"`
	At      time.Time        `json:"at"` // when the root was born
	Place   Place            `json:"place"`
	// Args are what stood behind -- when it was recorded; empty if it was exported later.
	Args   []string `json:"args,omitempty"`
	Prompt string   `json:"prompt,omitempty"` // the root's first, for people
	Model  string   `json:"model"`            // the root's, "provider/id"
	// Settings and Catalog are the files of the user that had a say in what was sent, as far
	// as they had: a replay follows them and not the files of whoever replays.
	Settings string  `json:"settings,omitempty"` // JSON
	Catalog  string  `json:"catalog,omitempty"`  // YAML, of models
	Models   []Model `json:"models,omitempty"`
}

// Place is the folders that differ from machine to machine. A replay reads each as today's.
type Place struct {
	Cwd     string `json:"cwd"`               // of the root
	Home    string `json:"home,omitempty"`    // the user's
	Config  string `json:"config,omitempty"`  // of Troupe's settings
	Outputs string `json:"outputs,omitempty"` // of outputs too large to return
	// Scratchpads is where the agents of trees share folders.
	Scratchpads string `json:"scratchpads,omitempty"`
}

// Model is one that had a part in the recording.
type Model struct {
	Name string      `json:"name"`           // "provider/id"
	Info *model.Info `json:"info,omitempty"` // nil: nothing was known of it
}

// Line is one line behind the header. Exactly one field is set.
type Line struct {
	Agent *Agent `json:"agent,omitempty"`
	Call  *Call  `json:"call,omitempty"`
	Tool  *Tool  `json:"tool,omitempty"`
	Mail  *Sent  `json:"mail,omitempty"`
	// Folder is of a folder that was made for an agent. Earlier versions wrote none of these, and pass over them.
	Folder *Folder `json:"folder,omitempty"`
}

// Agent is the birth of one agent, and what stands before its conversation in every request.
type Agent struct {
	Path    string           `json:"path"` // "main/Auth Explorer"
	Session troupe.SessionID `json:"session"`
	Type    string           `json:"type"`
	Title   string           `json:"title,omitempty"`
	System  string           `json:"system"`
	Tools   []string         `json:"tools"`
	// Deferred are tools that it had by name alone.
	Deferred []string `json:"deferred,omitempty"`
	// Fork: its first call sends its parent's conversation too, whose results are no lines of its own.
	Fork bool `json:"fork,omitempty"`
	// Status is how its last run ended, or where it was when it was exported.
	Status troupe.Status `json:"status"`
}

// Call is one model call: what it sent for the first time, and either Said or Failed.
type Call struct {
	Agent      string `json:"agent"` // its path
	Run        int    `json:"run"`
	Reply      int    `json:"reply"`
	Attempt    int    `json:"attempt"`
	Model      string `json:"model"`
	Generation int    `json:"generation"`
	// Compact: it asked for a summary of the conversation. Messages are then what else was
	// new, and count again for the call behind it if no summary came about. Clip: it sent a
	// shorter rendering of the conversation instead.
	Compact bool `json:"compact,omitempty"`
	Clip    bool `json:"clip,omitempty"`
	// Anew: the conversation begins with these messages; those of earlier calls are gone.
	Anew bool `json:"anew,omitempty"`
	// Mail is what came through the mailbox for this call, in the order of delivery.
	Mail     []troupe.MailID  `json:"mail,omitempty"`
	Messages []troupe.Message `json:"messages,omitempty"`
	// Stopped: the run ended with this call, because another agent stopped it. A person who
	// does that is not there next time.
	Stopped bool    `json:"stopped,omitempty"`
	Said    *Said   `json:"said,omitempty"`
	Failed  *Failed `json:"failed,omitempty"`
}

// Said is a whole reply.
type Said struct {
	Blocks     []troupe.Block    `json:"blocks"`
	Stop       troupe.StopReason `json:"stop"`
	Model      string            `json:"model,omitempty"` // as the provider calls it
	Usage      troupe.Usage      `json:"usage"`
	Cost       troupe.Money      `json:"cost,omitempty"`
	DurationMS int64             `json:"duration_ms,omitempty"`
}

// Failed is a call without a whole reply.
type Failed struct {
	Fault   troupe.ModelFault `json:"fault"`
	Message string            `json:"message"`
	Partial string            `json:"partial,omitempty"`
	Usage   troupe.Usage      `json:"usage,omitzero"`
	Cost    troupe.Money      `json:"cost,omitempty"`
}

// Tool is one tool call and its one result.
type Tool struct {
	Agent string `json:"agent"` // its path
	Reply int    `json:"reply"`
	Call  int    `json:"call"`
	Name  string `json:"name"`
	Input string `json:"input"`

	Blocks     []troupe.Block  `json:"blocks"`
	IsError    bool            `json:"is_error,omitempty"`
	Evidence   troupe.Evidence `json:"evidence,omitzero"`
	DurationMS int64           `json:"duration_ms,omitempty"`

	Denied     bool          `json:"denied,omitempty"`     // the gate refused it
	Birth      bool          `json:"birth,omitempty"`      // it began a child
	Background bool          `json:"background,omitempty"` // what it began went on
	Moved      bool          `json:"moved,omitempty"`      // and not because the call asked for that
	Waited     bool          `json:"waited,omitempty"`     // it waited for a task
	Mail       troupe.MailID `json:"mail,omitempty"`       // the mail that brought the result
	// Answer is what somebody said when they were asked about the call.
	Answer *troupe.Answer `json:"answer,omitempty"`
	// Verdict is what the model of mode auto said about the call, if it was asked.
	Verdict *troupe.Verdict `json:"verdict,omitempty"`
	// End is how a command in the background ended, if its agent was told.
	End *troupe.Outcome `json:"end,omitempty"`
}

// Folder is one thing that the log says of a folder that was made for an agent. One of the fields behind Run is set.
type Folder struct {
	Agent string           `json:"agent"` // its path
	Owner troupe.SessionID `json:"owner"` // of the folder
	Run   int              `json:"run"`
	// Workspace is where the agent works from here on.
	Workspace *troupe.Workspace      `json:"workspace,omitempty"`
	Ready     *troupe.WorkspaceBase  `json:"ready,omitempty"`
	Saved     *troupe.WorkspaceSaved `json:"saved,omitempty"`
	// Result is what became of it, at the end of the run or when the agent left it.
	Result *troupe.WorkspaceResult `json:"result,omitempty"`
}

// Sent is mail that a person sent to an agent while it lived: words, a grant, a change of
// model, a stop. The first prompt is not among it: that is the command's. Neither are answers,
// which stand beside the calls they are about.
type Sent struct {
	Agent string      `json:"agent"` // the receiver's path
	Mail  troupe.Mail `json:"mail"`
}

// Person lists what a person sent while the tree was at work and a replay cannot do again.
// It can say the same words to the root, and stop the whole tree for good.
func (r *Recording) Person() []Sent {
	var out []Sent
	var stop *Sent
	root := ""
	for _, l := range r.Lines {
		switch {
		case l.Agent != nil && l.Agent.Session == r.Header.Root:
			root = l.Agent.Path
		case l.Mail != nil && l.Mail.Agent == root && l.Mail.Mail.Kind == troupe.MailStop:
			stop = l.Mail
		case l.Mail != nil && !(l.Mail.Agent == root && l.Mail.words()):
			out = append(out, *l.Mail)
		case l.Call != nil && l.Call.Agent == root && stop != nil:
			out, stop = append(out, *stop), nil // it went on behind the stop
		}
	}
	return out
}

// Words are what a person said to the root behind its first prompt, in order.
func (r *Recording) Words() []troupe.Mail {
	var out []troupe.Mail
	root := ""
	for _, l := range r.Lines {
		switch {
		case l.Agent != nil && l.Agent.Session == r.Header.Root:
			root = l.Agent.Path
		case l.Mail != nil && l.Mail.Agent == root && l.Mail.words():
			out = append(out, l.Mail.Mail)
		}
	}
	return out
}

func (s *Sent) words() bool {
	return s.Mail.Kind == troupe.MailPrompt || s.Mail.Kind == troupe.MailNotice || s.Mail.Kind == troupe.MailMonitor
}

// pictures are those of the root's first prompt. They stand in the first call only.
func (r *Recording) pictures() []troupe.Image {
	root := ""
	for _, l := range r.Lines {
		if l.Agent != nil && l.Agent.Session == r.Header.Root {
			root = l.Agent.Path
		}
		if l.Call == nil || l.Call.Agent != root {
			continue
		}
		var out []troupe.Image
		if len(l.Call.Messages) > 0 {
			for _, b := range l.Call.Messages[0].Blocks {
				if b.Image != nil {
					out = append(out, *b.Image)
				}
			}
		}
		return out
	}
	return nil
}

// Calls is how many model calls were recorded.
func (r *Recording) Calls() int {
	n := 0
	for _, l := range r.Lines {
		if l.Call != nil {
			n++
		}
	}
	return n
}
