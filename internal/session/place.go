package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/turn"
)

// Workspaces makes folders for sessions to work in, and keeps what is done there. All of it but Plan is called beside
// the actors, and each operation can be done again after a crash at any moment of it.
type Workspaces interface {
	// Plan settles where a session works that is born, or goes on, beside the one that asks. It changes nothing. It is
	// called by the actor, and may ask git whether there can be such a folder.
	Plan(asks troupe.Session, w Wish) (troupe.Workspace, error)
	// Open makes a session's folder, or finds it as it was left, or makes it anew from what was kept of it.
	Open(ctx context.Context, o Opening) (troupe.WorkspaceBase, error)
	// Save keeps the content of the folder, and says how it differs from the last checkpoint that the log has.
	Save(ctx context.Context, s troupe.Session, u Unsaved) (troupe.Checkpoint, error)
	// Close keeps all of it at the end of a run and removes the folder if that loses nothing.
	Close(ctx context.Context, s troupe.Session, c Closing) (troupe.WorkspaceResult, error)
	// Merge works out what bringing the work of a session, whose folder was closed, into the folder that it was made
	// from would write there. It writes nothing.
	Merge(ctx context.Context, s troupe.Session, into Into) (Merge, error)
}

// Unsaved is what a checkpoint is of.
type Unsaved struct {
	Files []string // that differ from the last one; nil: any may
	Last  string   // the tree of the last one; "": what the folder began with
}

// Closing is a folder that is to be closed.
type Closing struct {
	Stay  string // why it has to stay, whatever is in it; "" if nothing needs it
	Began string // the tree of the checkpoint that the run began with; "": what the folder began with
	// Going is called when it is about to be removed, and is there still; nil: nothing is to be told.
	Going func(ctx context.Context)
}

// Opening is a folder that is to be opened.
type Opening struct {
	Session troupe.Session
	// Hides are the files that rules keep the session from reading, which are not carried over; nil: none.
	Hides func(path string) bool
	// Base is what the folder began with, as the log has it; nil: it was not there before.
	Base *troupe.WorkspaceBase
	// Since is when this process took the session's tree up.
	Since time.Time
	// Made is called once it was made, so that nothing in it is unknown; not where it was found. nil: nobody asks.
	Made func()
	// Progress is told now and then how many of its files are there, by one goroutine at a time; nil: nobody asks.
	Progress func(done, all int)
	// Fill has a hook make the folder at a path; nil: none does.
	Fill func(ctx context.Context, path string) error
}

// Wish is a workspace that is asked for.
type Wish struct {
	ID   troupe.SessionID // of the session, or of the one that the call would give birth to
	Kind troupe.WorkspaceKind
	// Name is what it is to be called; "": a name is made of Title.
	Name, Title string
	// Hook: where git can make no worktree, because there is no repository, a hook can.
	Hook bool
}

// noWorkspaces makes none: all sessions work where their parents do.
type noWorkspaces struct{}

func (noWorkspaces) Plan(troupe.Session, Wish) (troupe.Workspace, error) {
	return troupe.Workspace{}, errors.ErrUnsupported
}

func (noWorkspaces) Open(context.Context, Opening) (troupe.WorkspaceBase, error) {
	return troupe.WorkspaceBase{}, errors.ErrUnsupported
}

func (noWorkspaces) Save(context.Context, troupe.Session, Unsaved) (troupe.Checkpoint, error) {
	return troupe.Checkpoint{}, errors.ErrUnsupported
}

func (noWorkspaces) Merge(context.Context, troupe.Session, Into) (Merge, error) {
	return Merge{}, errors.ErrUnsupported
}

func (noWorkspaces) Close(context.Context, troupe.Session, Closing) (troupe.WorkspaceResult, error) {
	return troupe.WorkspaceResult{}, errors.ErrUnsupported
}

// placeOp is what is done to a session's folder beside its actor.
type placeOp int

const (
	placeIdle placeOp = iota
	placeOpens
	placeSaves
	placeEnds   // its commands in the background are told to end, for the folder is to be closed
	placeCloses // and then it is
	placeLooks  // what merging its work would write is worked out, and judged
	placeMerges // and written
)

// place is the folder of a session that has one of its own: made beside the first model call of a run, saved beside
// those that follow, closed at the end of the run. Tools wait for the first two, and the end for the last.
type place struct {
	a *actor
	// shares is whose folder a child works in, if it is not its own, and of the tree that a child's own borrows from;
	// "" if neither is so. Both are set for life. A main agent moves, and is no other agent in the folder that it
	// leaves.
	shares troupe.SessionID
	of     string
	doing  placeOp
	cancel context.CancelFunc
	begun  bool         // there may be something of the folder: this run has begun to open it
	ends   bool         // the run is about to end, and opens it no more
	last   bool         // it was saved for this end
	open   bool         // the folder was found or made in this run
	looked bool         // and it was made then, or all of it was looked at since: people may have changed it before
	parked map[int]bool // calls that wait for it, by index
	// closed is what came of the folder. It stands until something else than the end follows.
	closed *troupe.WorkspaceResult
	broken string  // why the session has no folder and its run has to end; "" if it has one
	held   []input // ends of commands, which are nobody's news while the folder is closed
	back   mergeBack
}

// inPlace is what came of an operation on the folder.
type inPlace struct {
	op     placeOp
	after  int64 // the last event before it began
	base   troupe.WorkspaceBase
	saved  troupe.Checkpoint
	closed troupe.WorkspaceResult
	looked looked
	made   bool // the folder, by this opening
	ran    []troupe.HookRan
	err    error
	cut    bool // it failed as it was cut short: with the process, or by the end of the run
}

func (inPlace) input() {}

func placeOf(a *actor) place {
	out := place{a: a, back: mergeBack{a: a}}
	w := a.st.Session.Workspace
	switch {
	case !w.Kind.Made() || a.st.Session.Depth == 0:
	case turn.Keeps(&a.st):
		out.of = w.Of
	default:
		out.shares = w.Owner
	}
	return out
}

// whereItWorks tells a session where it works; "" where that is its parent's folder and nothing more is to be said.
func whereItWorks(w troupe.Workspace) string {
	var text string
	switch w.Kind {
	case troupe.WorkspaceTree:
		text = fmt.Sprintf("You work in a git worktree of your own: %s, on the branch %s. It began with everything "+
			"that was "+
			"in %s, uncommitted changes included. Only you write there: change, build and commit as you like; what "+
			"you "+
			"leave uncommitted is committed on that branch when you end. Nothing you do here changes %s, and you "+
			"cannot "+
			"write there: paths in it that you were given stand for the same places in your worktree.", w.Folder,
			w.Branch, w.From, w.Of)
	case troupe.WorkspaceCopy:
		if w.ByHook {
			text = hookMade(w)
			break
		}
		text = fmt.Sprintf("You work in a copy of your own: %s. It began with everything that was in %s. Only you "+
			"write "+
			"there. Nothing you do here changes %s, and you cannot write there: paths in it that you were given stand "+
			"for the same places in your copy. What you change is kept when you end.", w.Folder, w.From, w.Of)
	case troupe.WorkspaceEmpty:
		text = fmt.Sprintf("You work in a folder of your own, %s, which was empty at the beginning. What you leave "+
			"there "+
			"is kept when you end. You can read %s, and cannot write there.", w.Folder, w.Of)
	case troupe.WorkspaceReadOnly:
		text = fmt.Sprintf("You work in %s as it is, while others may change it, and cannot write there: a change is "+
			"refused, whatever anybody allows. Your temporary folder is yours to write.", w.Folder)
	default:
		return ""
	}
	return troupe.Quote("system-reminder", text)
}

// hookMade tells a session where it works if a hook has made that.
func hookMade(w troupe.Workspace) string {
	return fmt.Sprintf("You work in a worktree of your own: %s. A hook of the user's made it from %s, with the "+
		"version control of that, so it may lack what was not committed there. Only you write in it: leave your "+
		"changes as they are, they are kept when you end. Nothing you do here changes %s, and you cannot write "+
		"there, so a commit may be refused: paths in it that you were given stand for the same places in your "+
		"worktree.", w.Folder, w.From,
		w.Of)
}

// has reports whether the session works in a folder that was made for it or for one above it.
func (p *place) has() bool {
	return p.a.st.Session.Workspace.Kind.Made()
}

// ready begins what the folder needs before tools can be used, and reports whether they can: reads, whether
// one that changes nothing can. One that may change something waits until there is a checkpoint of what the calls of
// the replies before have changed. Between the calls of one reply there is none.
func (p *place) ready(ctx context.Context, reads bool) bool {
	if !reads && turn.Overdue(&p.a.st) {
		p.save(ctx)
	}
	if !p.has() || p.open && (p.doing == placeIdle || p.doing == placeSaves && reads) {
		return true
	}
	if st := p.a.st.Session.Status; p.doing == placeIdle && p.broken == "" && !p.ends && !turn.Keeping(&p.a.st) &&
		st.Live() && st != troupe.Spawning {
		p.begun = true
		o := Opening{Session: p.a.st.Session, Since: upSince(p.a.tree)}
		o.Hides = gate.Hidden(p.a.tree.chain.chain(p.a.id), []string{o.Session.Dir()}, p.a.h.d.Home)
		if turn.Keeps(&p.a.st) {
			o.Base = p.a.st.Place.Base
		}
		o.Progress = p.tells()
		ph := p.hooksAt(troupe.HookWorktreeCreate)
		p.begin(ctx, placeOpens, func(ctx context.Context, _ troupe.Session, in *inPlace) { p.opens(ctx, ph, o, in) })
	}
	return false
}

// tellEvery is how often it is told how far the making of a folder has come: a small one is there before.
const tellEvery = 250 * time.Millisecond

// inMaking is how far the making of the folder has come.
type inMaking struct{ done, all int }

func (inMaking) input() {}

// tells has the actor told of the making of the folder; nil if no surface could be told.
func (p *place) tells() func(done, all int) {
	if p.a.h.d.Deltas == nil {
		return nil
	}
	last := p.a.h.d.Now()
	return func(done, all int) {
		if now := p.a.h.d.Now(); now.Sub(last) >= tellEvery {
			last = now
			p.a.post(inMaking{done, all})
		}
	}
}

// tell tells those who watch how far the making of the folder has come.
func (p *place) tell(in inMaking) {
	if p.doing == placeOpens {
		p.a.h.d.Deltas(p.a.root, p.a.id, Delta{After: p.a.st.Session.Seq, Stage: troupe.StageWorkspace, Done: in.done,
			All: in.all})
	}
}

// begin does something to the folder beside the actor.
func (p *place) begin(ctx context.Context, op placeOp, do func(ctx context.Context, s troupe.Session, in *inPlace)) {
	s := p.a.st.Session
	p.doing = op
	p.cancel = p.a.goCancel(ctx, func(ctx context.Context) {
		in := inPlace{op: op, after: s.Seq}
		do(ctx, s, &in)
		in.cut = in.err != nil && ctx.Err() != nil
		p.a.post(in)
	})
}

// park has a call wait until the folder is ready.
func (p *place) park(ctx context.Context, i int) error {
	if p.parked == nil {
		p.parked = make(map[int]bool)
	}
	p.parked[i] = true
	// The reply with the call is told before what becomes of the call.
	if err := p.a.flush(ctx, nil); err != nil {
		return err
	}
	if deltas := p.a.h.d.Deltas; deltas != nil {
		c := p.a.st.Calls[i]
		deltas(p.a.root, p.a.id, Delta{After: p.a.st.Session.Seq, Stage: troupe.StageWorkspace,
			Call: troupe.Coord{Reply: c.Reply, Call: c.Index}})
	}
	return nil
}

// save keeps what the calls so far have changed, while the model is asked for more.
func (p *place) save(ctx context.Context) {
	if !p.has() || !p.open || p.doing != placeIdle {
		return
	}
	changed, any := turn.ToSave(&p.a.st)
	if !any {
		return
	}
	if !p.looked {
		changed = nil
	}
	u := Unsaved{Files: changed, Last: p.a.st.Place.Saved.Tree}
	p.begin(ctx, placeSaves, func(ctx context.Context, s troupe.Session, in *inPlace) {
		in.saved, in.err = p.a.h.d.Workspaces.Save(ctx, s, u)
	})
}

// movedBase is why a session does not go on whose folder is another one than the log says: a base never moves.
const movedBase = "its folder is not the one that it worked in"

// done notes what came of an operation.
func (p *place) done(in inPlace) error {
	if p.doing != in.op {
		return nil // of a run that is over
	}
	p.doing, p.cancel, p.parked = placeIdle, nil, nil
	if err := p.a.noteHooks(in.ran); err != nil {
		return err
	}
	if in.cut && in.op != placeLooks && in.op != placeMerges {
		return nil // the next owner of the session does it anew, and nothing is wrong with the folder
	}
	switch in.op {
	case placeOpens:
		if in.err != nil {
			p.broken = "the folder to work in could not be made: " + plain(in.err.Error())
			return nil
		}
		base := p.a.st.Place.Base
		if turn.Keeps(&p.a.st) && base != nil && base.Commit != in.base.Commit {
			p.broken = fmt.Sprintf("%s: it began with commit %.12s, and now with %.12s", movedBase, base.Commit,
				in.base.Commit)
			return nil
		}
		p.open, p.looked = true, in.made && len(in.ran) == 0 // hooks may have written there
		if turn.Keeps(&p.a.st) && base == nil {
			return p.a.stage(troupe.WorkspaceReady{Base: in.base})
		}
	case placeSaves:
		p.looked = in.err == nil
		out := troupe.WorkspaceSaved{Checkpoint: in.saved, After: in.after}
		if in.err != nil {
			out.Problem = plain(in.err.Error())
			p.open = false // it may not be there any more: it is looked for before the next call
		}
		if !turn.Keeps(&p.a.st) {
			out.Checkpoint.Changed = nil // by whom of those who share it is not known
		}
		if p.a.st.Session.Status.Live() {
			return p.a.stage(out)
		}
	case placeCloses:
		p.open = false
		if in.err != nil {
			w, why := p.a.st.Session.Workspace, plain(in.err.Error())
			in.closed = troupe.WorkspaceResult{Kind: w.Kind, Name: w.Name, Folder: w.Folder, Branch: w.Branch,
				Unkept: why, Kept: "what is in it could not be kept elsewhere: " + why}
		}
		if p.ends { // else the run went on meanwhile: its next end closes what it has by then
			p.closed = &in.closed
		}
	case placeLooks, placeMerges:
		p.back.heard(in)
	case placeIdle, placeEnds:
	}
	return nil
}

// before has the folder closed before the run ends, and its work merged if that is wished for. It reports whether the
// end can be logged now.
func (p *place) before(ctx context.Context, act turn.Action) (now bool, err error) {
	end, ends := act.(turn.End)
	if !ends {
		if _, parks := act.(turn.Park); !parks {
			p.goOn()
		}
		return true, nil
	}
	if p.ends = true; !p.has() || !turn.Keeps(&p.a.st) || !p.begun && !turn.Keeping(&p.a.st) {
		return true, nil
	}
	if p.closed != nil {
		return p.back.settled(ctx, end)
	}
	if p.a.st.Session.Depth == 0 && p.a.tree.settings().Attended {
		return p.savedLast(ctx), nil
	}
	p.close(ctx, end.Status == troupe.Completed)
	return false, nil
}

// close ends what is at work in the folder, and then closes it.
func (p *place) close(ctx context.Context, completed bool) {
	if p.doing == placeIdle {
		p.doing = placeEnds
		if p.a.st.Session.Depth > 0 { // those of a main agent go on when its run has ended
			p.a.tasks.endOwn()
		}
	}
	switch p.doing {
	case placeOpens:
		p.cancel()
	case placeEnds:
		if p.a.st.Session.Depth > 0 && len(p.held) < len(p.a.tasks.own) {
			return
		}
		c := Closing{Stay: othersIn(p.a.tree, p.a.st.Session.Workspace), Began: p.a.st.Place.Began}
		if len(p.a.tasks.own) > len(p.held) {
			c.Stay = "commands still run in it"
		}
		p.begin(ctx, placeCloses, p.closes(c, completed))
	case placeLooks, placeMerges:
		p.back.interrupt()
	case placeIdle, placeSaves, placeCloses:
	}
}

// closes keeps what is in the folder, at the end of a run, and removes it if that loses nothing. Hooks that are told of
// that have their time only where the run was not cut short.
func (p *place) closes(c Closing, completed bool) func(context.Context, troupe.Session, *inPlace) {
	bound := lastPatience
	if completed {
		bound = 0
	}
	ran := new([]troupe.HookRan)
	c.Going = p.going(bound, ran)
	return func(ctx context.Context, s troupe.Session, in *inPlace) {
		// What was done is kept even if the run was told to end at once.
		in.closed, in.err = p.a.h.d.Workspaces.Close(context.WithoutCancel(ctx), s, c)
		in.ran = *ran
	}
}

// savedLast: in a conversation a root keeps its folder when a run ends, for the next words are for the same work.
func (p *place) savedLast(ctx context.Context) bool {
	if p.doing == placeIdle && !p.last { // once: commands that go on would have it saved without end
		p.last = true
		p.save(ctx)
	}
	return p.doing == placeIdle
}

// goOn takes back what was done for an end that does not come.
func (p *place) goOn() {
	if p.doing == placeEnds {
		p.doing = placeIdle
	}
	p.closed, p.ends, p.last = nil, false, false
	if p.doing != placeLooks && p.doing != placeMerges { // what looks or writes keeps its place until it comes back
		p.back.over()
	}
	p.release()
}

// release hands on what was held while the folder was closed.
func (p *place) release() {
	held := p.held
	p.held = nil
	for _, in := range held {
		p.a.post(in)
	}
}

// hold keeps the end of a command from being news while the folder is closed; it ends with the run, and the outcome of
// that says so.
func (p *place) hold(in input) bool {
	if p.a.st.Session.Depth == 0 {
		return false
	}
	if p.doing != placeEnds && p.doing != placeCloses && p.closed == nil {
		return false
	}
	switch in := in.(type) {
	case inOwnDone:
	case inToolDone:
		if in.job.moved == nil {
			return false
		}
	default:
		return false
	}
	p.held = append(p.held, in)
	return true
}

// over forgets the run that has ended.
func (p *place) over() {
	p.release()
	p.back.over()
	p.begun, p.ends, p.open, p.looked, p.closed = false, false, false, false, nil
	p.broken, p.doing, p.parked = "", placeIdle, nil
}

// othersIn says how many agents work in a folder, or in one that borrows from it, besides the session that it was made
// for; "" if none does.
func othersIn(t *tree, w troupe.Workspace) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, a := range t.actors {
		if a.counted && (a.place.shares == w.Owner || a.place.of != "" && troupe.Within(a.place.of, w.Top)) {
			n++
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "another agent still works in it, or beside it"
	default:
		return fmt.Sprintf("%d other agents still work in it, or beside it", n)
	}
}
