package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/model/replay"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool/agent"
	"github.com/troupe-dev/troupe/internal/tool/subagent"
	"github.com/troupe-dev/troupe/internal/turn"
)

// Recording is a whole tree's model traffic and tool results; see package replay.
type Recording = replay.Recording

// Record exports a tree from its logs. Args are the command that began it, if somebody
// remembers. What is masked in the logs stays so, and what the environment holds by now is
// masked as well.
func (a *App) Record(ctx context.Context, root troupe.SessionID, args []string) (Recording, error) {
	t, err := a.tree(ctx, root)
	if err != nil {
		return Recording{}, err
	}
	for _, s := range t.Sessions {
		if t.Running && s.Status.Live() {
			return Recording{}, busy(t.Sessions[0], t.Owner)
		}
	}
	main := t.Sessions[0]
	rec := Recording{Header: replay.Header{
		Format: replay.Format, Version: replay.Version, Troupe: a.env.Version, Root: root, At: main.CreatedAt.UTC(),
		Place: a.place(main.Cwd), Args: append([]string(nil), args...), Model: main.Model,
	}}
	if rec.Header.Settings, rec.Header.Catalog, err = a.files(); err != nil {
		return Recording{}, err
	}
	scribes := make([]*recorder, len(t.Sessions))
	err = a.trees.store.View(ctx, func(r store.Reader) error {
		for i, s := range t.Sessions {
			scribes[i] = newRecorder(s, t.Paths[s.ID])
			events, err := r.Events(s.ID, 0, 0)
			if err != nil {
				return fmt.Errorf("read session %s: %w", s.ID, err)
			}
			if err := scribes[i].goesOn(r, events); err != nil {
				return fmt.Errorf("record session %s: %w", s.ID, err)
			}
			for _, e := range events {
				if err := scribes[i].note(e); err != nil {
					return fmt.Errorf("record session %s: %w", s.ID, err)
				}
			}
			scribes[i].close()
		}
		return nil
	})
	if err != nil {
		return Recording{}, err
	}
	rec.Header.Prompt = scribes[0].prompt
	rec.Lines = inOrder(scribes)
	rec.Header.Models = a.modelsOf(t.Sessions, rec)
	rec.Map(a.maskEverywhere())
	return rec, nil
}

func (a *App) place(cwd string) replay.Place {
	return replay.Place{Cwd: cwd, Home: a.dirs.Home, Config: a.dirs.Config, Outputs: a.dirs.Outputs(),
		Scratchpads: a.dirs.Scratchpads()}
}

// files reads what of the user's own files has a say in what agents send. The servers of
// models have none, and their addresses are nobody's business.
func (a *App) files() (settings, catalog string, err error) {
	read := func(path string) ([]byte, error) {
		data, err := disk.Read(path, disk.Most)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("record the settings: %w", err)
		}
		return data, nil
	}
	data, err := read(a.dirs.Settings())
	if err != nil {
		return "", "", err
	}
	if len(data) > 0 {
		var all map[string]json.RawMessage
		if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), &all); err != nil {
			return "", "", fmt.Errorf("record the settings: %w", err)
		}
		delete(all, "providers")
		if data, err = json.Marshal(all); err != nil {
			return "", "", fmt.Errorf("record the settings: %w", err)
		}
	}
	models, err := read(a.dirs.Models())
	return string(data), string(models), err
}

// modelsOf lists the models that have a part in a recording, with what is known of each.
func (a *App) modelsOf(sessions []troupe.Session, rec Recording) []replay.Model {
	var out []replay.Model
	seen := make(map[string]bool)
	add := func(full string) {
		if seen[full] {
			return
		}
		seen[full] = true
		m := replay.Model{Name: full}
		if info, ok := a.models.info(full); ok {
			m.Info = &info
		}
		out = append(out, m)
	}
	for _, s := range sessions {
		add(s.Model)
	}
	for _, l := range rec.Lines {
		if l.Call != nil {
			add(l.Call.Model)
		}
	}
	return out
}

// maskEverywhere is the mask for texts of which some are JSON, where a secret with a quote
// or a line in it is spelled otherwise.
func (a *App) maskEverywhere() func(string) string {
	plain := findSecrets(a.env.Environ)
	var spelled []string
	for _, kv := range a.env.Environ {
		name, value, _ := strings.Cut(kv, "=")
		for _, html := range [...]bool{false, true} {
			if s := inJSON(value, html); s != value {
				spelled = append(spelled, name+"="+s)
			}
		}
	}
	within := findSecrets(spelled)
	return func(s string) string { return within.mask(plain.mask(s)) }
}

// inJSON is a text as it stands within quotes.
func inJSON(s string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if err := enc.Encode(s); err != nil {
		return s // a text always encodes
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}

// SaveRecording writes a recording for its owner alone. The file is there when all of it is. One
// of that name that is there already is left alone, unless it may be replaced.
func SaveRecording(path string, rec Recording, replace bool) error {
	temp, err := disk.Draft(path, 0o600, rec.Write)
	if err == nil && !replace {
		if err := Unwritten(path); err != nil {
			return errors.Join(err, os.Remove(temp))
		}
	}
	if err == nil {
		err = disk.Settle(temp, path)
	}
	if err != nil {
		return unwritable(path, err)
	}
	return nil
}

// Unwritten refuses a file that is there already.
func Unwritten(path string) error {
	if _, err := os.Lstat(path); err != nil {
		return nil
	}
	return &troupe.UserError{
		Problem: path + " is there already, and is left as it is",
		Hint:    "Name another file, or remove this one first.", Code: troupe.ExitUsage,
		Err: fs.ErrExist,
	}
}

func unwritable(path string, err error) error {
	return &troupe.UserError{
		Problem: fmt.Sprintf("the recording %s cannot be written: %v", path, err),
		Hint:    "The session itself is safe: record it into another file, `troupe record --from SESSION FILE`.",
		Code:    troupe.ExitFailed, Err: err,
	}
}

// LoadRecording reads a recording.
func LoadRecording(path string) (Recording, error) {
	f, err := os.Open(path)
	if err != nil {
		return Recording{}, &troupe.UserError{Problem: "the recording cannot be read: " + err.Error(),
			Hint: "`troupe record FILE -- …` makes one.", Code: troupe.ExitUsage, Err: err}
	}
	rec, err := replay.Read(path, f)
	if cerr := f.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("read %s: %w", path, cerr)
	}
	return rec, err
}

// recorder turns one session's log into lines.
type recorder struct {
	session      troupe.Session
	path         string
	lines        []stamped
	state        turn.State
	transcript   turn.Transcript
	before       []troupe.Message          // of a fork, what its first call sends of its parent's
	afterSummary bool                      // the next call begins with a summary
	mail         map[int64][]troupe.MailID // by the event that delivered it
	call         *replay.Call              // under way
	last         *replay.Call              // of the run
	attempt      int
	tooLong      bool // the last call did not fit
	stopped      bool // another agent has told the run to stop
	asked        map[troupe.Coord]troupe.Call
	begun        map[troupe.Coord]troupe.ToolStarted
	tools        map[troupe.Coord]*replay.Tool
	answers      map[troupe.Coord]*troupe.Answer
	verdicts     map[troupe.Coord]*troupe.Verdict
	prompt       string // the first
}

// stamped is a line and when it happened: for the order between agents, which no log knows.
type stamped struct {
	at   int64
	line replay.Line
}

func newRecorder(s troupe.Session, path string) *recorder {
	return &recorder{
		session: s, path: path, mail: make(map[int64][]troupe.MailID), asked: make(map[troupe.Coord]troupe.Call),
		begun: make(map[troupe.Coord]troupe.ToolStarted),
		tools: make(map[troupe.Coord]*replay.Tool), answers: make(map[troupe.Coord]*troupe.Answer),
		verdicts: make(map[troupe.Coord]*troupe.Verdict),
	}
}

// goesOn finds what a fork sends of its parent's conversation, which is in the parent's log alone.
func (s *recorder) goesOn(r store.Reader, events []troupe.Event) error {
	if len(events) == 0 {
		return nil
	}
	b, ok := events[0].Body.(troupe.Created)
	if !ok || b.Fork == nil {
		return nil
	}
	parent, err := r.Events(b.Fork.Session, 0, int(b.Fork.Seq))
	if err != nil {
		return err
	}
	o, err := turn.OriginOf(parent, *b.Fork)
	s.before, s.transcript.Opening = slices.Concat(o.Sent, o.Reply), o.Answers
	return err
}

func (s *recorder) add(e troupe.Event, l replay.Line) {
	s.lines = append(s.lines, stamped{e.At.UnixNano(), l})
}

func (s *recorder) note(e troupe.Event) error {
	if err := s.write(e); err != nil {
		return err
	}
	s.folder(e)
	return s.state.Apply(e)
}

// write adds what an event brings. The state is still the one before it.
func (s *recorder) write(e troupe.Event) error {
	if b, ok := e.Body.(troupe.CallSealed); ok {
		return s.sealed(e, b)
	}
	if _, err := s.transcript.Add(e); err != nil {
		return err
	}
	switch b := e.Body.(type) {
	case troupe.Created:
		s.add(e, replay.Line{Agent: &replay.Agent{
			Path: s.path, Session: s.session.ID, Type: b.Profile.Kind(), Title: b.Title,
			System: b.Profile.Prompt, Tools: b.Profile.Tools, Deferred: b.Profile.Deferred, Fork: b.Fork != nil,
			Status: s.session.Status,
		}})
	case troupe.Started:
		s.attempt, s.last, s.stopped = 0, nil, false
	case troupe.Ended:
		if b.Outcome.Status == troupe.Cancelled && s.stopped && s.last != nil {
			s.last.Stopped = true
		}
	case troupe.AuthorityChanged:
		s.personSaid(e, b.Mail, troupe.MailGrant)
	case troupe.ModelChanged:
		s.personSaid(e, b.Mail, troupe.MailModel)
	case troupe.MailDelivered:
		s.delivered(e, b)
	case troupe.Replied:
		s.replied(b)
	case troupe.ModelFailed:
		s.tooLong = b.Fault == troupe.FaultTooLong
		s.end(nil, &replay.Failed{Fault: b.Fault, Message: b.Message, Partial: b.Partial, Usage: b.Usage, Cost: b.Cost})
	case troupe.Compacted:
		s.compacted(b)
	case troupe.RequestAnswered:
		if r := s.state.Calls[b.Call].Request; r != nil && r.Midway() {
			return nil // a replay runs no server that would ask
		}
		at := troupe.Coord{Reply: b.Reply, Call: b.Call}
		s.answers[at] = &troupe.Answer{Coord: at, By: b.By, Effect: b.Effect, Note: b.Note, Rule: b.Rule,
			Said: b.Said, Result: b.Result, Mode: b.Mode, Auto: b.Auto}
	case troupe.AutoJudged:
		s.verdicts[troupe.Coord{Reply: b.Reply, Call: b.Call}] = &b.Verdict
	case troupe.ToolStarted:
		s.begun[troupe.Coord{Reply: b.Reply, Call: b.Call}] = b
	case troupe.ToolFinished:
		s.finished(e, b)
	}
	return nil
}

// personSaid notes what somebody sent that is no words.
func (s *recorder) personSaid(e troupe.Event, id troupe.MailID, kind troupe.MailKind) {
	if id != "" {
		s.add(e, replay.Line{Mail: &replay.Sent{Agent: s.path,
			Mail: troupe.Mail{ID: id, To: s.session.ID, Kind: kind, SentAt: e.At}}})
	}
}

func (s *recorder) delivered(e troupe.Event, b troupe.MailDelivered) {
	for _, m := range b.Mail {
		switch {
		case m.ID == troupe.PromptMailID(s.session.ID):
			// Born with it: it never was in the mailbox.
			s.prompt = troupe.JoinText(m.Blocks[:min(len(m.Blocks), 1)])
		case m.Kind == troupe.MailStop && m.From != "":
			s.stopped = true
		case (m.ID.News() || m.Kind == troupe.MailMonitor) && s.session.Parent == "":
			m.From = "" // a replay has no servers and no monitors that would tell it
			fallthrough
		case m.From == "":
			s.add(e, replay.Line{Mail: &replay.Sent{Agent: s.path, Mail: m}})
			fallthrough
		case m.From != s.session.ID || m.Kind == troupe.MailTaskEnded:
			if !m.Kind.Control() {
				s.mail[e.Seq] = append(s.mail[e.Seq], m.ID)
			}
		}
		s.ended(m.Ended)
	}
}

// ended notes how a command in the background ended, beside the call that began it.
func (s *recorder) ended(o *troupe.Outcome) {
	if o == nil || o.Kind.OfSession() {
		return
	}
	if t := s.tools[o.Coord]; t != nil {
		t.End = o
	}
}

func (s *recorder) sealed(e troupe.Event, b troupe.CallSealed) error {
	s.attempt++
	s.call = &replay.Call{
		Agent: s.path, Run: s.state.Session.Run, Reply: b.Reply, Attempt: s.attempt, Model: b.Model,
		Generation: b.Generation,
		Compact:    b.Compact, Anew: s.afterSummary && !b.Compact,
	}
	s.last = s.call
	s.add(e, replay.Line{Call: s.call})
	var err error
	refs := b.Refs
	if b.Compact {
		// What it sends besides is settled by the call behind it only.
		refs = s.state.Refs()
		s.call.Clip = s.tooLong || s.state.CompactFailures() > 0
		s.call.Messages, err = s.transcript.Peek(e, refs)
	} else {
		s.afterSummary = false
		s.call.Messages, err = s.transcript.Add(e)
	}
	s.call.Messages, s.before = append(s.before, s.call.Messages...), nil
	for _, ref := range refs {
		s.call.Mail = append(s.call.Mail, s.mail[ref]...)
	}
	return err
}

func (s *recorder) replied(b troupe.Replied) {
	s.end(&replay.Said{Blocks: b.Blocks, Stop: b.Stop, Model: b.Model, Usage: b.Usage, Cost: b.Cost,
		DurationMS: b.DurationMS}, nil)
	s.attempt, s.tooLong = 0, false
	clear(s.asked)
	for _, block := range b.Blocks {
		if block.Call != nil {
			s.asked[troupe.Coord{Reply: block.Call.Reply, Call: block.Call.Index}] = *block.Call
		}
	}
}

// compacted takes the model's own words out of what was made of them: the engine will make
// the same of them again.
func (s *recorder) compacted(b troupe.Compacted) {
	words := b.Blocks
	if len(words) > 0 {
		text := strings.TrimPrefix(words[0].Text, "<conversation-summary>\n")
		words = []troupe.Block{troupe.Text(strings.TrimSuffix(text, "\n</conversation-summary>"))}
	}
	s.end(&replay.Said{Blocks: words, Stop: troupe.StopEndTurn, Model: b.Model, Usage: b.Usage, Cost: b.Cost,
		DurationMS: b.DurationMS}, nil)
	s.afterSummary, s.attempt, s.tooLong = true, 0, false
}

func (s *recorder) end(said *replay.Said, failed *replay.Failed) {
	if s.call != nil {
		s.call.Said, s.call.Failed = said, failed
		s.call = nil
	}
}

func (s *recorder) finished(e troupe.Event, b troupe.ToolFinished) {
	at := troupe.Coord{Reply: b.Result.Reply, Call: b.Result.Call}
	t := &replay.Tool{
		Agent: s.path, Reply: at.Reply, Call: at.Call, Name: b.Name, Input: s.asked[at].Input,
		Blocks: b.Result.Blocks, IsError: b.Result.IsError, Evidence: b.Evidence, DurationMS: b.DurationMS,
		Denied: b.Denied != nil, Birth: s.begun[at].Child != "", Waited: s.begun[at].Wait != nil,
		Background: b.Task != nil, Mail: b.Mail, Answer: s.answers[at],
		Verdict: s.verdicts[at],
	}
	if t.Background && b.Task.Kind.OfSession() && b.Task.Coord == at {
		decode := agent.Decode
		if b.Name == subagent.Spawn {
			decode = subagent.Decode
		}
		in, err := decode(t.Input)
		t.Moved = err == nil && !in.Background && (b.Name == agent.Name || b.Name == subagent.Spawn)
	}
	s.tools[at] = t
	s.ended(b.Outcome)
	s.add(e, replay.Line{Tool: t})
}

// close ends a call that nobody will finish.
func (s *recorder) close() {
	s.end(nil, &replay.Failed{Fault: troupe.FaultInterrupted, Message: "the call had not ended when it was recorded"})
}

// inOrder merges what the agents did. Each agent's lines keep their order, whatever the
// clock said; of those that happened at once, the elder agent's come first.
func inOrder(scribes []*recorder) []replay.Line {
	var out []replay.Line
	for {
		var next *recorder
		for _, s := range scribes {
			if len(s.lines) > 0 && (next == nil || s.lines[0].at < next.lines[0].at) {
				next = s
			}
		}
		if next == nil {
			return out
		}
		out = append(out, next.lines[0].line)
		next.lines = next.lines[1:]
	}
}

// newRoot is the id of a new root: the recorded one in a replay, so that the ids of all its
// descendants are the recorded ones too.
func newRoot(p *replay.Player, given troupe.SessionID, draw io.Reader) (troupe.SessionID, error) {
	switch {
	case p != nil:
		return p.Root(), nil
	case given != "":
		return given, nil
	}
	return troupe.NewRootID(draw)
}
