package carry

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/turn"
)

// Line is one event of a log in a file.
type Line struct {
	Seq  int64           `json:"seq"`
	At   time.Time       `json:"at"`
	Kind troupe.Kind     `json:"kind"`
	Body json.RawMessage `json:"body"`
}

// Here is what this home puts in the place of what a file says.
type Here struct {
	Now    time.Time
	Caller troupe.Caller
	Folder string // that all of it works in
	// Name is the root's; "": as it was.
	Name string
	// Source stands for where a definition was read, and DenySource for where a rule was.
	Source, DenySource string
	// Output is the path here of a file of outputs, by where it was; "": it did not come.
	Output func(there string) string
	// Place is where a session works that has a folder of its own, as it was there.
	Place func(was troupe.Workspace) (troupe.Workspace, error)
	Model func(full string) (string, error)
	Plan  func(troupe.Session) string // the file of a plan
	Caps  troupe.Caps
	// Limits are those of a child, and Turns the replies that each may have in a run; 0: however many.
	Limits troupe.Limits
}

// Carried is a session as its log was made anew.
type Carried struct {
	State  turn.State
	Events []troupe.Event
	// Was is the session as it was, and Ended are the calls that were open, by the names of their tools.
	Was   troupe.Session
	Ended []string
	// Memory: it had one, which stays there. Granted counts the rules that allowed something there, and Mode is the one
	// that it had.
	Memory  bool
	Granted int
	Mode    troupe.Mode
	// wasAt are the numbers that its events have by those that they had; those that did not come have the one before.
	wasAt []int64
	came  map[int64]bool
}

// Tree makes the logs of a file anew.
type Tree struct {
	here     Here
	manifest Manifest
	filter   *filter
	done     map[troupe.SessionID]*Carried
}

// NewTree begins to make the logs of a file anew. Its sessions follow in the order of the manifest.
func NewTree(m Manifest, here Here) *Tree {
	return &Tree{here, m, newFilter(here.Now, here.Output), map[troupe.SessionID]*Carried{}}
}

func bad(format string, args ...any) error { return refuse(fmt.Sprintf(format, args...)) }

// Session makes one log anew.
func (t *Tree) Session(id troupe.SessionID, lines []Line) (c *Carried, err error) {
	defer func() {
		if r := recover(); r != nil { // no log of ours does that
			c, err = nil, bad("the log of session %s cannot be read: %v", id, r)
		}
	}()
	was, err := t.was(id, lines)
	if err != nil {
		return nil, err
	}
	c = &Carried{Was: was.Session, came: map[int64]bool{}, wasAt: make([]int64, len(lines)+1)}
	refused := refusedWords(lines)
	for _, l := range lines {
		b, err := t.filter.body(l.Kind, l.Body)
		if err == nil && b != nil {
			there, _ := troupe.DecodeBody(l.Kind, l.Body) // that it can be, was has found
			b, err = t.anew(c, &was, there, b, refused)
		}
		if err == nil && b != nil {
			err = t.add(c, l.At, b)
		}
		if user, ok := errors.AsType[*troupe.UserError](err); ok {
			return nil, user // about this home, not about the file
		}
		if err != nil {
			return nil, bad("event %d of session %s: %v", l.Seq, id, err)
		}
		c.wasAt[l.Seq], c.came[l.Seq] = c.State.Session.Seq, b != nil
	}
	if err := t.end(c); err != nil {
		return nil, bad("the log of session %s: %v", id, err)
	}
	t.done[id] = c
	return c, nil
}

// was folds the log as it came, which has to be one: what is left out of it is still known to have been right there.
func (t *Tree) was(id troupe.SessionID, lines []Line) (st turn.State, err error) {
	for i, l := range lines {
		b, err := troupe.DecodeBody(l.Kind, l.Body)
		if err == nil && l.Seq != int64(i)+1 {
			err = fmt.Errorf("its number is not %d", i+1)
		}
		if err == nil {
			err = st.Apply(troupe.Event{Root: t.manifest.Root, Session: id, Seq: l.Seq, At: l.At, Body: b})
		}
		if errors.Is(err, troupe.ErrNewer) {
			return st, newer(err.Error())
		}
		if err != nil {
			return st, bad("event %d of session %s: %v", i+1, id, err)
		}
	}
	s := st.Session
	if len(lines) == 0 || s.ID != id {
		return st, bad("session %s has no log", id)
	}
	return st, t.placed(s)
}

// placed demands a place in the tree: the id follows from it.
func (t *Tree) placed(s troupe.Session) error {
	if s.ID == t.manifest.Root {
		if s.Parent != "" || s.Depth != 0 || s.Coord != (troupe.Coord{}) {
			return bad("session %s is the first, and says that it has a parent", s.ID)
		}
		return nil
	}
	up, ok := t.done[s.Parent]
	switch {
	case !ok:
		return bad("the parent of session %s, %.20q, does not stand before it", s.ID, s.Parent)
	case s.ID != troupe.ChildID(s.Parent, s.Coord) || s.Coord.Reply < 0 || s.Coord.Call < 0 ||
		s.Depth != up.State.Session.Depth+1:
		return bad("session %s is not where its id says", s.ID)
	}
	if err := fleet.CheckName(s.Name); err != nil || s.Name == "" {
		return bad("session %s has no name that an agent can have", s.ID)
	}
	return nil
}

// add puts an event into the new log.
func (t *Tree) add(c *Carried, at time.Time, b troupe.Body) error {
	if at.After(t.here.Now) {
		at = t.here.Now
	}
	e := troupe.Event{Root: t.manifest.Root, Session: c.Was.ID, Seq: c.State.Session.Seq + 1, At: at, Body: b}
	if err := c.State.Apply(e); err != nil {
		return err
	}
	c.Events = append(c.Events, e)
	return nil
}

// refusedWords are the mail of which a hook there has kept the words from the model.
func refusedWords(lines []Line) map[troupe.MailID]bool {
	out := map[troupe.MailID]bool{}
	for _, l := range lines {
		if l.Kind != troupe.KindHookRan {
			continue
		}
		if b, err := troupe.DecodeBody(l.Kind, l.Body); err == nil {
			if h, ok := b.(troupe.HookRan); ok && h.Event == troupe.HookPrompt && h.Effect == troupe.HookDenied {
				out[h.Mail] = true
			}
		}
	}
	return out
}

// anew puts what is of this home into an event. there is the event as it came.
func (t *Tree) anew(c *Carried, was *turn.State, there, b troupe.Body, refused map[troupe.MailID]bool) (troupe.Body,
	error) {
	var err error
	switch b := b.(type) {
	case troupe.Created:
		if first, ok := there.(troupe.Created); ok && first.Workspace.Kind != "" {
			if b.Workspace, err = t.here.Place(first.Workspace); err != nil {
				return nil, err
			}
		}
		return t.created(c, was, b)
	case troupe.WorkspaceChanged:
		if moved, ok := there.(troupe.WorkspaceChanged); ok && moved.Workspace.Kind != "" {
			b.Workspace, err = t.here.Place(moved.Workspace)
		}
		return b, err
	case troupe.MailDelivered:
		b.Mail = slices.DeleteFunc(b.Mail, leave)
		for i := range b.Mail {
			m := &b.Mail[i]
			if refused[m.ID] {
				m.Blocks = nil
			}
			if err := t.mail(m, c.Was.ID); err != nil {
				return nil, err
			}
		}
		return b, nil
	case troupe.CallSealed:
		for i, ref := range b.Refs {
			if !c.came[ref] {
				return nil, fmt.Errorf("it sends event %d, which is not there", ref)
			}
			b.Refs[i] = c.wasAt[ref]
		}
		return b, nil
	case troupe.Replied:
		b.Blocks, err = reply(b)
		return b, err
	case troupe.Compacted:
		b.Covers, b.Blocks = c.at(b.Covers), content(b.Blocks)
		return b, nil
	case troupe.ToolFinished:
		if f, ok := there.(troupe.ToolFinished); ok {
			b.Evidence.More += len(f.Evidence.Files) // of another machine: they are counted, and not named
		}
		b.Result.Blocks = content(b.Result.Blocks)
		return b, nil
	case troupe.WorkspaceSaved:
		b.After = c.at(b.After)
		return b, nil
	}
	return b, nil
}

// at is the number that an event has here, or the one before it.
func (c *Carried) at(was int64) int64 {
	return c.wasAt[max(0, min(was, int64(len(c.wasAt)-1)))]
}

// mail checks a piece of mail, and takes out of it what is not so here.
func (t *Tree) mail(m *troupe.Mail, to troupe.SessionID) error {
	m.Root = t.manifest.Root
	m.Blocks = content(m.Blocks)
	if m.To != to || len(m.ID) == 0 || len(m.ID) > 400 {
		return fmt.Errorf("mail %.80q is not to %s", m.ID, to)
	}
	has, known := map[troupe.MailKind]bool{troupe.MailTaskEnded: m.Ended != nil, troupe.MailMessage: m.Message != nil,
		troupe.MailMonitor: m.Heard != nil, troupe.MailBoard: m.Board != nil, troupe.MailFork: m.Forked != nil,
		troupe.MailPrompt: true, troupe.MailNotice: true, troupe.MailCompact: true}[m.Kind]
	if !known || !has {
		return fmt.Errorf("mail %.80q is not what its kind, %.40q, says", m.ID, m.Kind)
	}
	return nil
}

// leave reports whether mail answers, grants, sets or stops anything: that is for a person here.
func leave(m troupe.Mail) bool {
	return slices.Contains([]troupe.MailKind{troupe.MailAnswer, troupe.MailGrant, troupe.MailModel, troupe.MailStop},
		m.Kind)
}

// asks reports whether a message asks for leave, or answers that: what it is about is over.
func asks(m *troupe.AgentMessage) bool {
	return m != nil && (m.Type.Answers() != "" || m.Type == troupe.MessagePlan || m.Type == troupe.MessagePermission)
}

// Unread makes a piece of mail anew that nobody has read; nil: it is dropped.
func (t *Tree) Unread(line json.RawMessage) (*troupe.Mail, error) {
	data, err := t.filter.of(line, t.filter.mail)
	if err != nil {
		return nil, bad("waiting mail: %v", err)
	}
	var m troupe.Mail
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, bad("waiting mail: %v", err)
	}
	if leave(m) || asks(m.Message) || m.Kind == troupe.MailFork || m.ID.Asks() != "" {
		return nil, nil
	}
	if _, ok := t.done[m.To]; !ok {
		return nil, bad("waiting mail is to %.20q, which the file does not have", m.To)
	}
	if err := t.mail(&m, m.To); err != nil {
		return nil, bad("waiting mail: %v", err)
	}
	m.Typed = new(string) // by nobody here
	return &m, nil
}

// content is what a person, a tool or the runtime may have said.
func content(blocks []troupe.Block) []troupe.Block {
	return slices.DeleteFunc(blocks, func(b troupe.Block) bool {
		return b.Type != troupe.TextBlock && (b.Type != troupe.ImageBlock || b.Image == nil ||
			!slices.Contains(pictures(), b.Image.MediaType))
	})
}

func pictures() []string { return []string{"image/png", "image/jpeg", "image/gif", "image/webp"} }

// reply is what a model may have said: its calls stand in their order.
func reply(b troupe.Replied) ([]troupe.Block, error) {
	calls, wrong := 0, false
	out := slices.DeleteFunc(b.Blocks, func(block troupe.Block) bool {
		if block.Type == troupe.CallBlock {
			wrong = wrong || block.Call == nil || block.Call.Reply != b.Reply || block.Call.Index != calls
			calls++
		}
		return !slices.Contains([]troupe.BlockType{troupe.TextBlock, troupe.ThinkingBlock, troupe.CallBlock},
			block.Type)
	})
	if wrong {
		return nil, errors.New("its calls are not what they say")
	}
	return out, nil
}

// mostWords is how long what lists show of a session may be.
const mostWords = 4096

// created is a birth as it would be here.
func (t *Tree) created(c *Carried, was *turn.State, b troupe.Created) (troupe.Body, error) {
	b.Cwd = t.here.Folder
	p := &b.Profile
	for _, word := range []string{b.Title, p.Description, string(p.Type), p.Color} {
		if len(word) > mostWords {
			return nil, fmt.Errorf("a title or a type has more than %d bytes", mostWords)
		}
	}
	p.Source = t.here.Source
	if m := was.Profile.Memory; m != nil {
		c.Memory = true
		only := func(name string) bool { return slices.Contains(m.Only, name) }
		p.Tools, p.Deferred = slices.DeleteFunc(p.Tools, only), slices.DeleteFunc(p.Deferred, only)
	}
	if !narrows(p.Mode) && p.Mode != troupe.ModeDefault {
		p.Mode = ""
	}
	if p.Sandbox != troupe.LevelReadOnly {
		p.Sandbox = ""
	}
	if p.Merge == troupe.MergeAuto {
		p.Merge = ""
	}
	p.Effort, _ = troupe.ParseEffort(string(p.Effort))
	var err error
	if p.Model, err = t.here.Model(p.Model); err != nil {
		return nil, err
	}
	if was.Session.Parent == "" {
		b.Name = cmp.Or(t.here.Name, t.manifest.Name)
		b.Caller, b.Caps = &t.here.Caller, &t.here.Caps
		b.Settings = &troupe.Settings{Policy: troupe.DefaultPolicy()}
		b.Background, b.Fork, p.Team = false, nil, ""
	} else {
		p.Limits = least(p.Limits, t.here.Limits)
	}
	if f := b.Fork; f != nil {
		up := t.done[was.Session.Parent]
		if f.Session != was.Session.Parent || !up.came[f.Seq] {
			return nil, errors.New("it goes on from what is not there")
		}
		f.Seq = up.wasAt[f.Seq]
	}
	// What takes away holds on, as it was at the end.
	c.Mode = was.Authority.Mode
	for _, r := range was.Authority.Rules {
		if r.Effect == troupe.Allow {
			c.Granted++
		}
		d := troupe.Rule{Effect: troupe.Deny, Text: r.Text, Source: t.here.DenySource}
		if r.Effect == troupe.Deny && len(r.Text) < 4096 && !slices.Contains(b.Authority.Rules, d) {
			b.Authority.Rules = append(b.Authority.Rules, d)
		}
	}
	if mode := was.Authority.Mode; mode == troupe.ModePlan && was.Authority.Planning != nil {
		s := troupe.Session{ID: was.Session.ID, Root: t.manifest.Root, Parent: b.Parent, Name: b.Name, Title: b.Title}
		b.Authority.Mode = troupe.ModePlan
		b.Authority.Planning = &troupe.Planning{Before: troupe.ModeDefault, File: t.here.Plan(s)}
	} else if narrows(mode) {
		b.Authority.Mode = mode
	}
	return b, nil
}

// narrows reports whether a mode allows no more than any other.
func narrows(m troupe.Mode) bool { return m == troupe.ModePlan || m == troupe.ModeDontAsk }

// least is the stricter of two limits each. 0 is none.
func least(a, b troupe.Limits) troupe.Limits {
	return troupe.Limits{MaxTurns: lesser(a.MaxTurns, b.MaxTurns), MaxTokens: lesser(a.MaxTokens, b.MaxTokens),
		MaxCost: lesser(a.MaxCost, b.MaxCost), MaxTime: lesser(a.MaxTime, b.MaxTime)}
}

func lesser[T ~int | ~int64](a, b T) T {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// closed is the result of a call that had none.
const closed = "carried to another home: the session was taken to another machine before this call had a result; it " +
	"may have taken effect there. Look before you try again: nothing that was done elsewhere need be so here."

// end brings a log to rest: nothing in it is open but waits for agents of the tree, and it sleeps.
func (t *Tree) end(c *Carried) error {
	var rest []troupe.Body
	for _, b := range turn.Recover(&c.State) {
		if f, ok := b.(troupe.ModelFailed); ok {
			rest = append(rest, f)
		}
	}
	for _, call := range c.State.Calls {
		if call.Stage == turn.CallDone || call.Stage == turn.CallStarted && (call.Child != "" || call.Wait != nil) {
			continue
		}
		c.Ended = append(c.Ended, call.Name)
		rest = append(rest, troupe.ToolFinished{Name: call.Name, Interrupt: true, Result: troupe.Result{
			Reply: call.Reply, Call: call.Index, IsError: true, Blocks: []troupe.Block{troupe.Text(closed)}}})
	}
	model, err := t.here.Model(c.State.Session.Model)
	if err != nil {
		return err
	}
	if model != c.State.Session.Model {
		rest = append(rest, troupe.ModelChanged{Model: model, Why: "it was carried to another home",
			Caller: &t.here.Caller})
	}
	s := c.Was
	rest = append(rest, troupe.Imported{Caller: &t.here.Caller, File: t.manifest.Sum, Version: t.manifest.Troupe,
		Folder: t.manifest.Folder})
	if s.ID == t.manifest.Root || s.Status.Live() {
		rest = append(rest, troupe.Slept{Caller: &t.here.Caller})
	}
	for _, b := range rest {
		if err := t.add(c, t.here.Now, b); err != nil {
			return err
		}
	}
	return nil
}
