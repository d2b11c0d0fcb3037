package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Turn is one reply of a root session's model, and what the tree did for it: the calls of
// the reply, and those of every agent that was at work then.
//
// An agent's work belongs to the turn whose call began it. What it does after the root has
// gone on belongs to the root's turn of that moment: the last that had begun. Between two
// sessions there is no order but the time of their events, and that is what counts here;
// within one session the log's order does, whatever the clock said.
type Turn struct {
	Number   int // of the reply, 1 for the first
	At       time.Time
	Asked    string            // the first words of what a person had last said
	Files    []wire.FileChange // what tools wrote, one entry a file, by path
	Commands []Command         // what may have changed anything, in order
	Undone   bool              // put back since, and not brought back
	Prompt   int               // how often a person had said something
	Merges   []*merging        // of work from folders of agents' own, in order
	Forks    []wire.ForkAsked  // that people asked for, and that changed files then
}

// Command is a call that may have changed anything: a shell command, as a rule. What it
// changed is not known.
type Command struct {
	Turn     int
	Agent    string
	Tool     string
	Text     string // the command, or the input of a call that is none
	ExitCode int    // of one that ended
	State    wire.CommandState

	at    time.Time
	until time.Time // when one in the background ended; zero while it runs
	back  bool      // it went on after its call had its result
	Known bool      // what it changed is known, from checkpoints of the folder that it ran in
	// changed are files that the sandbox saw it change.
	changed []string
}

// changes lists the turns of a tree with what each changed.
func (a undoing) changes(ctx context.Context, root troupe.SessionID) ([]Turn, error) {
	h, err := a.history(ctx, root)
	if err != nil {
		return nil, err
	}
	return h.turns, nil
}

// step is one change of one file that the runtime made and knows both sides of.
type step struct {
	at       time.Time
	turn     int
	agent    string // "" is a person who undid something
	path     string
	from, to string           // hashes; "" is a file that is not there
	lost     bool             // from was not kept
	half     bool             // of an undo that did not come to its end: it may not have been made
	mode     uint32           // of what an undo replaced
	bit      bool             // whether what was there before could be executed is known, and is
	exec     bool             // this
	odd      bool             // it is of a link, or of another repository
	folder   troupe.SessionID // whose own folder it is in; "" if it is in none
	of       *merging         // the merge that made it; nil: none
	aside    bool             // an undo of a merge alone, or of that undo

	added, removed int
}

// history is all that the logs of a tree, and the record of what was undone in it, say
// about files.
type history struct {
	root    troupe.SessionID
	turns   []Turn
	steps   []step // in order
	entries []undoEntry
	people  []undoEntry                     // what people merged into the folder
	merges  []*merging                      // all merges, in order once it is finished
	folders map[troupe.SessionID]*ownFolder // of agents' own, by whom they were made for
	made    []string                        // names of folders of agents' own
	forks   map[troupe.SessionID]string     // what people asked of them
	names   map[troupe.SessionID]string     // of the agents, their paths
	past    past
}

func (a undoing) history(ctx context.Context, root troupe.SessionID) (*history, error) {
	h := &history{root: root, past: past{store: a.app.contents(root)}}
	known, err := a.app.known()
	if err != nil {
		return nil, err
	}
	if h.entries, err = a.app.undoJournal(root).read(); err != nil {
		return nil, err
	}
	if h.people, err = mergeJournal(a.app, root).read(); err != nil {
		return nil, err
	}
	err = a.app.trees.store.View(ctx, func(r store.Reader) error {
		h.turns, h.steps, h.merges, h.folders = nil, nil, nil, make(map[troupe.SessionID]*ownFolder)
		h.forks, h.made = make(map[troupe.SessionID]string), nil
		sessions, err := r.Sessions(store.Filter{Root: root})
		if err != nil {
			return err
		}
		names, first := paths(sessions), firstTurns(sessions)
		h.names = names
		for _, s := range sessions { // the root first
			if s.ID != root && len(h.turns) == 0 {
				break // nothing can have happened before its first reply
			}
			events, err := r.Events(s.ID, 0, 0)
			if err != nil {
				return err
			}
			l := logReader{h: h, intent: known.Intent, agent: names[s.ID], first: first[s.ID], wall: wallOf(events)}
			if n := min(l.first, len(h.turns)); n > 0 {
				l.at = h.turns[n-1].At // nobody works before being asked to, whatever the clock says
			}
			for _, e := range events {
				l.event(e)
			}
			l.end()
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what the agents of session %s changed: %w", root, err)
	}
	if err := h.readFolders(ctx, a.app.keeper); err != nil {
		return nil, err
	}
	h.finish()
	return h, nil
}

// firstTurns says for every session in which turn of the root the call stands that it, or
// the ancestor of it that is a child of the root, was born from.
func firstTurns(sessions []troupe.Session) map[troupe.SessionID]int {
	out := make(map[troupe.SessionID]int, len(sessions))
	for _, s := range sessions { // parents stand before their children
		switch up, ok := out[s.Parent]; {
		case s.Parent == "":
			out[s.ID] = 0
		case ok && up > 0:
			out[s.ID] = up
		default:
			out[s.ID] = max(1, s.Coord.Reply) // a fork that a person asked for is born from no call
		}
	}
	return out
}

// finish brings the steps into order, adds what was undone, and deals them out to the turns. What a person merged is
// no work of a turn's.
func (h *history) finish() {
	for _, s := range h.steps {
		h.turns[s.turn-1].add(s)
	}
	for _, e := range h.people {
		if len(h.turns) > 0 {
			h.steps = append(h.steps, h.merged(e)...)
		}
	}
	for _, e := range h.entries {
		if len(h.turns) == 0 {
			break
		}
		for _, f := range e.Files {
			h.steps = append(h.steps, step{at: e.At, turn: max(1, min(e.Last, len(h.turns))), path: f.Path,
				from: f.From, to: f.To, half: !e.Done, mode: f.Mode, folder: h.folderOf(f.Path), aside: h.aside(e)})
		}
	}
	slices.SortStableFunc(h.steps, func(a, b step) int { return a.at.Compare(b.at) })
	h.dealMerges()
	h.dealForks()
	for i := range h.turns {
		slices.SortStableFunc(h.turns[i].Commands, func(a, b Command) int { return a.at.Compare(b.at) })
		slices.SortFunc(h.turns[i].Files, func(a, b wire.FileChange) int { return strings.Compare(a.Path, b.Path) })
	}
	for n, by := range h.undone() {
		// What a tool has written since is a change of its own.
		h.turns[n-1].Undone = !slices.ContainsFunc(h.steps, func(s step) bool {
			return s.turn == n && s.agent != "" && s.at.After(h.entries[by-1].At)
		})
	}
}

func (t *Turn) add(s step) {
	i := slices.IndexFunc(t.Files, func(f wire.FileChange) bool { return f.Path == s.path })
	if i < 0 {
		i = len(t.Files)
		t.Files = append(t.Files, wire.FileChange{Path: s.path})
	}
	f := &t.Files[i]
	f.Writes++
	f.Added += s.added
	f.Removed += s.removed
	f.New = f.New || (s.from == "" && !s.lost)
	if !slices.Contains(f.Agents, s.agent) {
		f.Agents = append(f.Agents, s.agent)
	}
}

// turnAt is the last turn that had begun at a time.
func (h *history) turnAt(at time.Time) int {
	return max(1, sort.Search(len(h.turns), func(i int) bool { return h.turns[i].At.After(at) }))
}

// logReader takes from one session's log what concerns files.
type logReader struct {
	h       *history
	intent  func(tool string) bool // carried out by the session itself; it changes no file
	agent   string
	first   int // see firstTurns; 0 for the root itself
	at      time.Time
	asked   string
	prompts int
	calls   map[troupe.Coord]troupe.Call
	started map[troupe.Coord]troupe.ToolStarted // without a result so far
	tasks   map[troupe.TaskID]place             // commands in the background
	merges  *merging                            // that has not come to its end
	work    troupe.Workspace                    // that it works in
	marks   []mark
	unsaved []unsaved
	seq     int64 // of the event
	wall    int64 // event behind which undo does not look: what is before it came from another home; 0: there is none
}

// wallOf is the last event by which a session came from another home.
func wallOf(events []troupe.Event) (seq int64) {
	for _, e := range events {
		if e.Body.Kind() == troupe.KindImported {
			seq = e.Seq
		}
	}
	return seq
}

// place is where in the history a command stands.
type place struct{ turn, index int }

func (l *logReader) event(e troupe.Event) {
	if e.At.After(l.at) { // a clock that was set back does not turn the log around
		l.at = e.At
	}
	l.seq = e.Seq
	defer l.marked()
	switch e.Body.(type) {
	case troupe.ToolStarted, troupe.ToolFinished, troupe.WorkspaceMerged:
		if e.Seq < l.wall { // it was elsewhere: only what a folder held then is what later changes are compared with
			return
		}
	}
	switch b := e.Body.(type) {
	case troupe.Created:
		if l.work = b.Workspace; l.work.Kind.Made() {
			l.h.made = append(l.h.made, l.work.Name)
		}
	case troupe.WorkspaceSaved:
		l.checkpoint(b.Checkpoint, b.After)
	case troupe.WorkspaceChanged:
		if b.Result != nil && b.Result.Run != nil {
			l.checkpoint(*b.Result.Run, 0)
		}
		l.work, l.unsaved = b.Workspace, nil
	case troupe.Ended:
		if w := b.Outcome.Workspace; w != nil && w.Run != nil {
			l.checkpoint(*w.Run, 0)
		}
		l.merged(b.Outcome.Workspace)
	case troupe.MailDelivered:
		for _, m := range b.Mail {
			if m.Kind == troupe.MailPrompt && m.From == "" && len(m.Blocks) > 0 {
				l.prompts++
				l.asked = strings.TrimSpace(m.Blocks[0].Text)
			}
			if m.Ended != nil {
				l.ended(*m.Ended)
			}
			l.fork(m)
		}
	case troupe.Replied:
		l.calls = make(map[troupe.Coord]troupe.Call)
		l.started = make(map[troupe.Coord]troupe.ToolStarted)
		for _, block := range b.Blocks {
			if c := block.Call; block.Type == troupe.CallBlock && c != nil {
				l.calls[troupe.Coord{Reply: c.Reply, Call: c.Index}] = *c
			}
		}
		if l.first == 0 {
			l.h.turns = append(l.h.turns, Turn{Number: b.Reply, At: l.at, Asked: l.asked, Prompt: l.prompts})
		}
	case troupe.ToolStarted:
		if b.Child == "" && b.Wait == nil && l.started != nil {
			l.started[troupe.Coord{Reply: b.Reply, Call: b.Call}] = b
		}
	case troupe.ToolFinished:
		if len(l.h.turns) > 0 {
			l.finished(b)
		}
	case troupe.WorkspaceMerged:
		l.merge(b)
	default:
		// Nothing else changes a file.
	}
}

// turn is the root's turn that something belongs to which this session does now.
func (l *logReader) turn() int {
	if l.first == 0 {
		return len(l.h.turns)
	}
	return l.h.turnAt(l.at)
}

func (l *logReader) finished(b troupe.ToolFinished) {
	at := troupe.Coord{Reply: b.Result.Reply, Call: b.Result.Call}
	_, announced := l.started[at]
	delete(l.started, at)
	if b.Outcome != nil {
		l.ended(*b.Outcome) // the evidence is of that task, and stands where it ran
		return
	}
	l.wrote(b, at)
	for _, c := range b.Evidence.Commands {
		if c.Sandbox == troupe.LevelReadOnly {
			continue // it could change nothing
		}
		l.command(Command{Tool: b.Name, Text: c.Command, ExitCode: c.ExitCode, State: wire.CommandEnded,
			changed: changedBy(c)})
	}
	silent := len(b.Evidence.Files)+len(b.Evidence.Commands) == 0
	switch {
	case b.Task != nil && !b.Task.Kind.OfSession():
		p := l.command(Command{Tool: b.Name, Text: l.text(at), State: wire.CommandRunning, back: true})
		if l.tasks == nil {
			l.tasks = make(map[troupe.TaskID]place)
		}
		l.tasks[b.Task.ID] = p
	case b.Interrupt && announced:
		l.command(Command{Tool: b.Name, Text: l.text(at), State: wire.CommandCutOff})
	case announced && silent && !b.Result.IsError && b.Denied == nil && b.Task == nil && !l.intent(b.Name):
		l.command(Command{Tool: b.Name, Text: l.text(at), State: wire.CommandEnded})
	}
}

// marked notes the place of an event.
func (l *logReader) marked() {
	if len(l.h.turns) > 0 && l.work.Kind.Made() {
		l.marks = append(l.marks, mark{l.seq, l.at, l.turn()})
	}
}

// wrote notes the files that a call has written.
func (l *logReader) wrote(b troupe.ToolFinished, at troupe.Coord) {
	var of *merging
	for _, f := range b.Evidence.Files {
		if !f.Wrote {
			continue
		}
		if b.Name == mergeCall && of == nil {
			of = l.h.begin(&merging{at: l.at, turn: l.turn(), name: l.worktree(at), by: l.agent})
		}
		l.touch(f, of)
	}
}

// touch adds a step, and returns its place.
func (l *logReader) touch(f troupe.FileTouch, of *merging) int {
	s := step{
		at: l.at, turn: l.turn(), agent: l.agent, path: f.Path, from: identity(f.Before, f.WasLink),
		to: identity(f.Hash, f.Link), lost: f.Before == "" && !f.New, mode: f.Mode, added: f.Added, removed: f.Removed,
		of: of,
	}
	if f.Mode != 0 {
		s.bit, s.exec = true, executable(os.FileMode(f.Mode))
	}
	i := len(l.h.steps)
	if own := l.folder(); own != nil && troupe.Within(f.Path, own.ws.Top) {
		s.folder = own.ws.Owner
		l.unsaved = append(l.unsaved, unsaved{l.seq, func(own *ownFolder) { own.steps = append(own.steps, i) }})
	}
	l.h.steps = append(l.h.steps, s)
	if of != nil {
		of.index = append(of.index, i)
	}
	return i
}

// merge notes files that the end of the run was about to write. Each of them may hold either side, until the end says
// that all of it was merged.
func (l *logReader) merge(b troupe.WorkspaceMerged) {
	for _, f := range b.Files {
		if !f.Wrote || len(l.h.turns) == 0 {
			continue
		}
		if l.merges == nil {
			l.merges = l.h.begin(&merging{at: l.at, turn: l.turn(), name: l.work.Name, by: l.agent})
		}
		l.h.steps[l.touch(f, l.merges)].half = true
	}
}

// merged: of a file that was announced more than once, the last time was when it was written.
func (l *logReader) merged(w *troupe.WorkspaceResult) {
	if l.merges == nil {
		return
	}
	seen := make(map[string]bool)
	for _, i := range slices.Backward(l.merges.index) {
		if s := &l.h.steps[i]; w != nil && w.Into != "" && w.NotMerged == "" && !seen[s.path] {
			seen[s.path], s.half = true, false
		}
	}
	l.merges = nil
}

func (l *logReader) command(c Command) place {
	c.Turn, c.Agent, c.at = l.turn(), l.agent, l.at
	t := &l.h.turns[c.Turn-1]
	t.Commands = append(t.Commands, c)
	p := place{c.Turn, len(t.Commands) - 1}
	if c.State != wire.CommandRunning {
		l.ran(p)
	}
	return p
}

// ran notes that a command has ended: the next checkpoint has all that it changed.
func (l *logReader) ran(p place) {
	if l.folder() != nil {
		l.unsaved = append(l.unsaved, unsaved{l.seq, func(own *ownFolder) { own.ran = append(own.ran, p) }})
	}
}

func changedBy(c troupe.CommandRun) (out []string) {
	if c.Watched != nil {
		for _, f := range c.Watched.Changed {
			out = append(out, f.Path)
		}
	}
	return out
}

// ended notes the end of a command in the background.
func (l *logReader) ended(o troupe.Outcome) {
	p, ok := l.tasks[o.TaskID()]
	if !ok || o.Kind.OfSession() {
		return
	}
	c := &l.h.turns[p.turn-1].Commands[p.index]
	if c.State != wire.CommandRunning {
		return // its end was read before the mail came
	}
	c.State, c.until = wire.CommandEnded, l.at
	l.ran(p)
	for _, ran := range o.Evidence.Commands {
		c.Text, c.ExitCode = ran.Command, ran.ExitCode
		c.changed = append(c.changed, changedBy(ran)...)
	}
}

// end notes what was under way when the log ends.
func (l *logReader) end() {
	if len(l.h.turns) == 0 {
		return
	}
	for _, at := range slices.SortedFunc(maps.Keys(l.started), func(a, b troupe.Coord) int {
		return cmp.Or(a.Reply-b.Reply, a.Call-b.Call)
	}) {
		l.command(Command{Tool: l.started[at].Name, Text: l.text(at), State: wire.CommandRunning})
	}
}

// text is what a call was to do: its command, its file, or its input.
func (l *logReader) text(at troupe.Coord) string {
	input := l.calls[at].Input
	var named struct {
		Command  string `json:"command"`
		FilePath string `json:"file_path"`
	}
	if json.Unmarshal([]byte(input), &named) == nil { // a model may well have written broken JSON
		return cmp.Or(named.Command, named.FilePath, input)
	}
	return input
}
