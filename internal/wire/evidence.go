package wire

import "github.com/troupe-dev/troupe"

// Evidence is what the runtime itself measured while an agent worked. It does not come from the agent's words.
type Evidence struct {
	Files    []FileWritten `json:"files,omitempty" doc:"Written by its tools, and changed by its commands as far as they were watched; of an agent with a folder of its own all that changed there"`
	More     int           `json:"more_files,omitempty" doc:"Files that were written too and are not listed"`
	Unseen   int           `json:"unseen,omitempty" doc:"Commands and other calls of which it is not known which files they changed"`
	Commands []CommandRun  `json:"commands,omitempty"`
}

// FileWritten is what was done to a file. Lines are counted against the content before.
type FileWritten struct {
	Path      string `json:"path" doc:"absolute"`
	New       bool   `json:"new,omitempty"`
	Gone      bool   `json:"gone,omitempty" doc:"It was removed"`
	Added     int    `json:"added" doc:"lines"`
	Removed   int    `json:"removed" doc:"lines"`
	Uncounted bool   `json:"uncounted,omitempty" doc:"A command changed it, and its lines were not counted"`
}

// CommandRun is one command that has ended.
type CommandRun struct {
	Command    string            `json:"command"`
	ExitCode   int               `json:"exit_code" doc:"-1: ended by a signal or a timeout"`
	DurationMS int64             `json:"duration_ms"`
	Tests      *troupe.TestCount `json:"tests,omitempty" doc:"What a known test runner printed about itself"`
}

// Verified is what came of the check of an agent's work by another one.
type Verified struct {
	Session  troupe.SessionID `json:"session,omitempty"`
	Name     string           `json:"name,omitempty"`
	Verdict  string           `json:"verdict,omitempty" doc:"PASS, FAIL or PARTIAL; absent: there is none, and why says why not"`
	Why      string           `json:"why,omitempty"`
	Text     string           `json:"text,omitempty" doc:"Its last words, as far as they fit"`
	Commands []CommandRun     `json:"commands,omitempty" doc:"That it ran, as they were measured"`
	Flags    []troupe.Flag    `json:"flags,omitempty" doc:"What the check of its own words found"`
}

// VerifiedOf maps it; nil if there was to be none.
func VerifiedOf(v *troupe.Verified) *Verified {
	if v == nil {
		return nil
	}
	return &Verified{v.Session, v.Name, v.Verdict, v.Why, v.Text, commandsOf(v.Commands), v.Flags}
}

func commandsOf(list []troupe.CommandRun) (out []CommandRun) {
	for _, c := range list {
		out = append(out, CommandRun{c.Command, c.ExitCode, c.DurationMS, c.Tests})
	}
	return out
}

// EvidenceOf maps what was measured; nil if that is nothing.
func EvidenceOf(e troupe.Evidence) *Evidence {
	out := Evidence{More: e.More, Unseen: e.Unseen}
	for _, f := range e.Files {
		if f.Wrote {
			out.Files = append(out.Files, FileWritten{f.Path, f.New, f.Gone, f.Added, f.Removed, f.Uncounted})
		}
	}
	out.Commands = commandsOf(e.Commands)
	if len(out.Files)+len(out.Commands)+out.Unseen == 0 {
		return nil
	}
	return &out
}
