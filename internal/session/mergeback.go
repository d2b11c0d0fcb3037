package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// Into is whose folder work is merged into.
type Into struct {
	Session troupe.Session
	// Hides are the files that rules keep that session from reading; nil: none.
	Hides func(path string) bool
}

// Merge is one that was worked out.
type Merge struct {
	// Files are those that would be written or removed; none: nothing is left to be merged, or it conflicts. What they
	// hold is kept already, for undo.
	Files []troupe.FileTouch
	// Leads are other names of theirs: where a link leads that is replaced. Rules about these hold as well.
	Leads []string
	// Conflicts are files that both sides have changed, and Left names what is not brought over; both for people.
	Conflicts, Left []string
	// Write writes all of it, or as much as it can. Done again after a crash it writes what is missing. The error is
	// ErrUnwritten, if no file was written. Cancelled before the first file it writes none, and then it ends.
	Write func(ctx context.Context) error
}

// ErrUnwritten is the error of a merge of which nothing was written.
var ErrUnwritten = errors.New("nothing was written")

// mergeBack brings the work of a session that was started with merge: auto into the folder that its own was made from,
// after that was closed and before the end of the run is logged. So the end, the mail that tells of it and what it says
// of the merge are one transaction. The files are announced before the first is written; a process that dies between
// leaves an end that is not logged, and the next one does all of it again.
type mergeBack struct {
	a     *actor
	queue string  // the tree that it waits to write to, or writes to; "": it does not
	plan  *looked // what was worked out and is acted on next
	tries int
	done  bool // nothing more is to be merged in this run
	// unwritten: this process has announced all that is announced, and no file of it was written.
	unwritten bool
	stopped   bool // before any was, so none is to be
}

// looked is a merge that was worked out and judged.
type looked struct {
	merge   Merge
	why     string // it may not be made, and why; "": it may
	parent  troupe.SessionID
	version int // of the parent's line of authority
}

// mergeTries is how often a merge is worked out anew because a file was changed before it was written.
const mergeTries = 3

// settled has the work merged, and reports whether there is no more to be done about it.
func (m *mergeBack) settled(ctx context.Context, end turn.End) (bool, error) {
	p := &m.a.place
	w := m.a.st.Session.Workspace
	switch {
	case p.doing != placeIdle:
		return false, nil
	case m.done:
		return true, nil
	case w.Merge == "" || m.a.st.Session.Depth == 0 || p.closed.Tip != "" && p.closed.Tip == p.closed.Base,
		p.closed.Into != "" || p.closed.NotMerged != "": // the latter is a replay's, which does none of it
		return m.finish(), nil
	case p.closed.Tip == "":
		p.closed.NotMerged = p.closed.Kept
		return m.finish(), nil
	case w.Merge == troupe.MergeAsk:
		p.closed.NotMerged = troupe.MergeWaitsWhy
		return m.finish(), nil
	}
	if why := m.unwanted(end); why != "" {
		m.tell(why)
		return m.finish(), nil
	}
	if m.plan != nil {
		return m.act(ctx)
	}
	if m.queue = w.Of; !m.a.h.merges.enter(w.Of, m.a) {
		return false, nil // it is told when it is its turn
	}
	m.looks(ctx)
	return false, nil
}

// looks has the merge worked out and judged.
func (m *mergeBack) looks(ctx context.Context) {
	m.a.place.begin(context.WithoutCancel(ctx), placeLooks, func(ctx context.Context, s troupe.Session, in *inPlace) {
		in.looked, in.err = m.look(ctx, s), ctx.Err()
	})
}

// interrupt ends the wait for others that merge, and what is worked out, for the run ends otherwise by now. What was
// begun to be written is finished, also what another process has begun.
func (m *mergeBack) interrupt() {
	if m.unwritten || len(m.a.st.Place.Merging) == 0 {
		m.a.place.cancel()
	}
}

// byHand is what can be done about work that was not merged.
const byHand = "; MergeWorktree merges it, or puts it before a person"

const conflicts = "it conflicts"

// unwanted is why a run's work is not merged by itself; "" if it is. What this end has announced is finished, however
// the run ends by now, unless that ended it before the first file was written.
func (m *mergeBack) unwanted(end turn.End) string {
	closed := m.a.place.closed
	switch {
	case len(m.a.st.Place.Merging) > 0 && !m.a.st.Place.Past && !m.stopped:
	case end.Status != troupe.Completed:
		return fmt.Sprintf("the agent did not come to its end (%s)%s", end.Status, byHand)
	case unproven(turn.Verified(&m.a.st)) != "":
		return unproven(turn.Verified(&m.a.st)) + byHand
	case closed.Unmerged != "":
		return closed.Unmerged + byHand
	}
	// What conflicted when the folder was closed is looked at again in its turn: others have merged since.
	return ""
}

// look works the merge out, and judges it as a change of its files that the parent would make. It runs beside the
// actor.
func (m *mergeBack) look(ctx context.Context, s troupe.Session) (out looked) {
	out.parent = s.Parent
	var parent troupe.Session
	if err := m.a.h.d.Store.View(ctx, func(r store.Reader) (err error) {
		parent, err = r.Session(s.Parent)
		return err
	}); err != nil {
		out.why = "the parent agent is not known: " + err.Error()
		return out
	}
	if st := parent.Status; st.Ended() && st != troupe.Completed {
		out.why = fmt.Sprintf("the parent agent has ended before it (%s); troupe merge merges it", st)
		return out
	}
	t := m.a.tree
	c := candidate{snapshot: &snapshot{h: m.a.h, tree: t, self: parent, hooks: hooksOf(t)}}
	if w := parent.Workspace; w.Kind.Made() {
		c.also = append(c.also, w.Of)
	}
	var err error
	if out.merge, err = m.a.h.d.Workspaces.Merge(ctx, s, Into{parent, c.hidden()}); err != nil {
		out.why = err.Error() + byHand
		return out
	}
	if len(out.merge.Conflicts) == 0 && len(out.merge.Files) > 0 {
		out.judge(c)
	}
	return out
}

// judge asks the gate about the merge as about a call of MergeWorktree of the parent's. Hooks that look at each change
// which an agent makes are for calls, and this is none: where there is one, it takes a call.
func (l *looked) judge(c candidate) {
	access := troupe.Access{Class: troupe.ClassEdit}
	for _, f := range l.merge.Files {
		access.Writes = append(access.Writes, f.Path)
	}
	access.Writes = append(access.Writes, l.merge.Leads...)
	c.access, c.call.Name, c.call.Input = &access, mergeTool, "{}"
	var d troupe.Decision
	switch d, l.version = c.decide(access); d.Effect {
	case troupe.Deny:
		l.why = plain(d.Why)
		return
	case troupe.Ask:
		l.why = plain(d.Why) + "; MergeWorktree puts it before a person"
		return
	case troupe.Allow:
	}
	for _, name := range []string{mergeTool, "Edit", "Write"} {
		if c.call.Name = name; c.needsJudge(d) {
			l.why = "hooks are asked about changes of files" + byHand
		}
	}
}

// mergeTool is the tool whose call a merge by itself takes the place of: who may not call it has nothing merged.
const mergeTool = "MergeWorktree"

// act carries out what was worked out: files are announced, and that is on disk, before the first is written.
func (m *mergeBack) act(ctx context.Context) (bool, error) {
	p, plan := &m.a.place, m.plan
	if plan.why == "" && len(plan.merge.Files) > 0 && plan.version != m.a.tree.chain.version(plan.parent) {
		m.plan = nil // the authority has changed since: it is judged by what holds now
		m.looks(ctx)
		return false, nil
	}
	switch {
	case plan.why != "":
		m.tell(plan.why)
		return m.finish(), nil
	case len(plan.merge.Conflicts) > 0:
		p.closed.Conflicts = plan.merge.Conflicts
		m.tell(conflicts)
		return m.finish(), nil
	case len(plan.merge.Files) == 0:
		p.closed.Left = plan.merge.Left
		m.tell("")
		return m.finish(), nil
	}
	of := m.a.st.Session.Workspace.Of
	m.unwritten, m.stopped = m.unwritten || len(m.a.st.Place.Merging) == 0, false
	if err := m.a.stage(troupe.WorkspaceMerged{Into: of, Files: plan.merge.Files}); err != nil {
		return false, err
	}
	if err := m.a.flush(ctx, nil); err != nil {
		return false, err
	}
	p.closed.Left = plan.merge.Left
	p.begin(context.WithoutCancel(ctx), placeMerges, func(ctx context.Context, _ troupe.Session, in *inPlace) {
		in.err = plan.merge.Write(ctx)
	})
	return false, nil
}

// heard notes what came of looking, or of writing. If the run has gone on since, its next end merges what it has by
// then; what was written is in the log.
func (m *mergeBack) heard(in inPlace) {
	switch {
	case m.a.place.closed == nil:
		stopped := in.cut && m.unwritten && (in.op == placeLooks || errors.Is(in.err, ErrUnwritten))
		m.stopped = m.stopped || stopped
		m.over()
	case in.op == placeLooks:
		m.plan = &in.looked
	default:
		m.written(in.err)
	}
}

// written notes what came of writing.
func (m *mergeBack) written(err error) {
	m.plan, m.unwritten = nil, m.unwritten && errors.Is(err, ErrUnwritten)
	switch {
	case err == nil:
		m.tell("")
	case m.tries+1 < mergeTries:
		m.tries++ // a file was changed meanwhile: what is left is worked out against what it holds now
		return
	default:
		m.tell(plain(err.Error()) + byHand)
	}
	m.finish()
}

// tell has the outcome say what was merged.
func (m *mergeBack) tell(why string) {
	closed, w := m.a.place.closed, m.a.st.Session.Workspace
	if closed.NotMerged = why; why != conflicts {
		closed.Conflicts = nil // as of the folder's end; that is not why
	}
	if why == "" {
		closed.Into, closed.Conflicts, closed.Unmerged = w.Of, nil, ""
	}
	if m.unwritten {
		return
	}
	for _, path := range m.a.st.Place.Merging {
		closed.Into = w.Of
		closed.Merged = append(closed.Merged, strings.TrimPrefix(path, strings.TrimSuffix(w.Of, "/")+"/"))
	}
}

// finish: nothing more is merged, unless the run goes on.
func (m *mergeBack) finish() bool {
	m.over()
	m.done = true
	return true
}

// over forgets what was done for an end that has come, or does not come.
func (m *mergeBack) over() {
	m.leave()
	m.plan, m.tries, m.done, m.unwritten = nil, 0, false, m.stopped
}

// leave lets the next one merge.
func (m *mergeBack) leave() {
	if m.queue != "" {
		m.a.h.merges.leave(m.queue, m.a)
		m.queue = ""
	}
}

// mergeQueue has the agents of a process that merge into one tree do so one after the other, in the order in which they
// came to their ends: each is merged into what those before it left. Those of other processes are told from what a file
// holds when it is written.
type mergeQueue struct {
	mu      sync.Mutex
	waiting map[string][]*actor // by the tree; the first one merges
}

// enter reports whether it is an actor's turn. If not it is nudged when it is.
func (q *mergeQueue) enter(of string, a *actor) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == nil {
		q.waiting = make(map[string][]*actor)
	}
	if !slices.Contains(q.waiting[of], a) {
		q.waiting[of] = append(q.waiting[of], a)
	}
	return q.waiting[of][0] == a
}

// leave takes an actor out.
func (q *mergeQueue) leave(of string, a *actor) {
	q.mu.Lock()
	list := q.waiting[of]
	i := slices.Index(list, a)
	if i >= 0 {
		list = slices.Delete(list, i, i+1)
	}
	if q.waiting[of] = list; len(list) == 0 {
		delete(q.waiting, of)
	}
	var next *actor
	if i == 0 && len(list) > 0 {
		next = list[0]
	}
	q.mu.Unlock()
	if next != nil {
		next.post(inNudge{})
	}
}
