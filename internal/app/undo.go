package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool/files"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Undo is what there is to do to bring the files that a tree's tools changed back to what
// they were before a turn of its root. Making it changes nothing.
type Undo struct {
	Root  troupe.SessionID
	Turn  int              // back to before this turn; 0: Redo is set
	Redo  int              // the undo that is taken back; 0: Turn or Merge is set
	Merge *merging         // that is taken back alone; nil: it is an undo of turns
	from  troupe.Workspace // whose work that merge brought
	Files []UndoFile
	Same  []string // files that hold already what they held then
	// Commands may have changed anything since; what they changed is not undone.
	Commands []Command
	Links    []string          // links in agents' own folders that were changed: they stay
	Gone     []wire.GoneFolder // agents' own folders that are not there any more
	Merges   []wire.MergeRef   // what people merged since, and is taken back too

	past past
	// turned add those in whose place there is something else, once it is known what the undo removes.
	turned []func(free func(path string) bool)
	cut    []string  // files of undos that were cut off, which may have left something beside them
	last   int       // the root's last turn when it was made
	seen   int       // how many undos there had been
	after  time.Time // of the last change by then
}

// UndoFile is one file of an undo.
type UndoFile struct {
	wire.UndoFile
	Now, To string // hashes of what it holds and is to hold; "" is no file
	blamed  bool   // who has changed it is known
	mode    os.FileMode
	turns   bool   // its place is free only once others of the undo are gone from it
	mixed   string // why others' work is in it; "" if none is
	Exec    *bool  // whether it is to be executable; nil: as it is
}

// undoReport is what came of an undo.
type undoReport struct {
	Undo                // as it was carried out: Files are those that were changed
	Number   int        // of this undo
	Left     []UndoFile // those that were not, with the reason
	TakeBack string     // the command that takes it back; "" if nothing was changed
}

// planUndo works out how to go back to before a turn; 0 is the last one whose changes have
// not been undone, and where going back would change a file.
func (a undoing) planUndo(ctx context.Context, root troupe.SessionID, turn int) (Undo, error) {
	h, err := a.history(ctx, root)
	if err != nil {
		return Undo{}, err
	}
	if turn < 0 || turn > len(h.turns) {
		return Undo{}, &troupe.UserError{
			Problem: fmt.Sprintf("session %s has no turn %d; it has made %d", root, turn, len(h.turns)),
			Hint:    fmt.Sprintf("`troupe undo %s --list` lists them.", root), Code: troupe.ExitUsage,
		}
	}
	if turn > 0 {
		return h.backTo(ctx, turn), nil
	}
	var last *Undo
	for u := range h.newest(ctx) {
		if len(u.Files) > 0 {
			return u, nil
		}
		if last == nil {
			last = &u
		}
	}
	if last != nil {
		return *last, nil
	}
	return Undo{}, &troupe.UserError{
		Problem: fmt.Sprintf("no tool of session %s has changed a file that was not put back already", root),
		Hint: fmt.Sprintf("What commands changed cannot be undone. `troupe undo %s --list` lists the turns, "+
			"and the commands that ran.", root),
	}
}

// planRedo works out how to take back the newest undo that was not taken back yet.
func (a undoing) planRedo(ctx context.Context, root troupe.SessionID) (Undo, error) {
	h, err := a.history(ctx, root)
	if err != nil {
		return Undo{}, err
	}
	e, ok := h.lastUndo()
	if !ok {
		return Undo{}, &troupe.UserError{Problem: fmt.Sprintf("nothing was undone in session %s that could be taken "+
			"back", root)}
	}
	u := h.plan()
	u.Redo = e.Number
	if e.Undid != "" {
		if u.Merge, err = h.merge(e.Undid); err != nil {
			return Undo{}, err
		}
	}
	for _, f := range e.Files {
		if own := h.folders[h.folderOf(f.Path)]; own != nil && own.gone {
			u.goneToo(own)
			continue
		}
		left := step{path: f.Path, from: f.From, to: f.To, half: !e.Done}
		redo := UndoFile{UndoFile: wire.UndoFile{Path: f.Path}, To: f.From, mode: os.FileMode(f.Mode)}
		if f.Exec {
			exec := executable(redo.mode)
			redo.Exec = &exec
		}
		u.add(ctx, redo, left, false)
	}
	u.turn()
	return u, nil
}

// add looks at what stands at a path and decides what is to be done. last is the last
// change that the runtime knows of; lost says that the content to go back to was not kept.
func (u *Undo) add(ctx context.Context, f UndoFile, last step, lost bool) {
	now, err := standing(f.Path, last.from, last.to, f.To)
	if f.To != "" && inTheWay(err) {
		u.turned = append(u.turned, func(free func(path string) bool) {
			if f.turns = free(f.Path); f.turns {
				now, err = files.Found{}, nil
			}
			u.put(ctx, f, last, lost, now, err)
		})
		return
	}
	u.put(ctx, f, last, lost, now, err)
}

// put is add of a file whose place holds what was found.
func (u *Undo) put(ctx context.Context, f UndoFile, last step, lost bool, now files.Found, err error) {
	f.Now = now.Hash
	if _, link := files.ContentOf(f.To); link {
		f.Exec = nil
	}
	if f.Exec != nil && f.To != "" {
		if info, err := os.Lstat(f.Path); err == nil && executable(info.Mode()) == *f.Exec {
			f.Exec = nil // as it is
		}
	}
	var to []byte
	switch {
	case err != nil:
		f.Obstacle, f.Problem = wire.ObstaclePlace, err.Error()
	case lost:
		f.Obstacle, f.Problem = wire.ObstacleLost, "what it held was not kept"
	case f.Now == f.To && (f.To == "" || f.Exec == nil):
		u.Same = append(u.Same, f.Path)
		return
	default:
		if f.To != "" {
			to, err = u.past.get(ctx, f.To)
		}
		switch {
		case err != nil:
			f.Obstacle, f.Problem = wire.ObstacleLost, "what it held is not to be had: "+err.Error()
		case f.Now == last.to || last.half && f.Now == last.from:
		case f.Now == "":
			f.Obstacle, f.Problem = wire.ObstacleChanged, "something else has removed it since"
		default:
			f.Obstacle, f.Problem = wire.ObstacleChanged, "something else has changed it since"
		}
		f.Added, f.Removed = files.CountLines(now.Content, to)
	}
	switch f.Action = wire.UndoRestore; {
	case f.To == "" && f.Obstacle != wire.ObstacleLost:
		f.Action = wire.UndoRemove
	case f.Now == "":
		f.Action = wire.UndoCreate
	}
	if f.mixed != "" {
		f.blend(f.mixed)
	}
	u.Files = append(u.Files, f)
}

// standing is what is at a path. A link is what may be there only if a merge has made or replaced one.
func standing(path string, known ...string) (files.Found, error) {
	for _, hash := range known {
		if _, link := files.ContentOf(hash); link {
			return files.Look(path)
		}
	}
	data, exists, err := files.Now(path)
	if err != nil || !exists {
		return files.Found{}, err
	}
	return files.Found{Hash: troupe.ContentHash(data), Content: data}, nil
}

func (u Undo) paths() []string {
	out := make([]string, len(u.Files))
	for i, f := range u.Files {
		out[i] = f.Path
	}
	return out
}

// Blocked lists the files that cannot be put back: without force, or even with it.
func (u Undo) Blocked(force bool) []UndoFile {
	var out []UndoFile
	for _, f := range u.Files {
		if f.Stays(force) {
			out = append(out, f)
		}
	}
	return out
}

// applyUndo carries an undo out. Unless force is set it does nothing if a single file
// cannot be put back; with it, what something else changed is replaced too, and files that
// cannot be put back at all are left. What it replaces is kept first, so that it can be
// taken back. Everything that can fail is tried before the first file is changed; what
// fails even then is in Left.
//
// A tree that another process advances is refused. One that this process advances is not:
// a file that an agent writes at the same moment is left as the agent wrote it.
func (a undoing) applyUndo(ctx context.Context, u Undo, force bool) (undoReport, error) {
	t, err := a.app.tree(ctx, u.Root)
	if err != nil {
		return undoReport{}, err
	}
	live := slices.ContainsFunc(t.Sessions, func(s troupe.Session) bool { return s.Status.Live() })
	if t.Running && live && !a.app.isOwner(t.Owner.ID) {
		return undoReport{}, busy(t.Sessions[0], t.Owner)
	}
	sweepBeside(slices.Concat(u.cut, u.Same, u.paths()))
	left := u.Blocked(force)
	if len(left) > 0 && !force {
		return undoReport{}, blocked(left, u)
	}
	u.Files = slices.DeleteFunc(slices.Clone(u.Files), func(f UndoFile) bool {
		return f.Obstacle != wire.ObstacleNone && f.Obstacle != wire.ObstacleChanged
	})
	r := undoReport{Undo: u, Number: u.seen + 1, Left: left}
	if len(u.Files) > 0 {
		if err := a.apply(ctx, &r); err != nil {
			return undoReport{}, fmt.Errorf("nothing was put back: %w", err)
		}
	}
	if u.Merge != nil && u.Redo == 0 {
		if err := a.recall(ctx, u.Merge); err != nil {
			return r, fmt.Errorf("the files were put back, but what you kept your own of is not shown as a conflict "+
				"again: %w", err)
		}
	}
	if len(r.Files) > 0 {
		r.TakeBack = fmt.Sprintf("troupe undo %s --redo", u.Root)
		if u.Redo > 0 {
			r.TakeBack = fmt.Sprintf("troupe undo %s", u.Root)
			if u.Merge != nil {
				r.TakeBack += " --merge " + u.Merge.id
			}
		}
		if err := a.tellUndone(ctx, r); err != nil {
			return r, fmt.Errorf("the files were put back, but the session could not be told: %w", err)
		}
	}
	return r, nil
}

// recall has files that a merge declined conflict again.
func (a undoing) recall(ctx context.Context, m *merging) error {
	if len(m.declined) == 0 {
		return nil
	}
	rows, err := a.app.keeper.Names("")
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.Workspace.Owner == m.owner {
			return a.app.keeper.Recall(ctx, row.Workspace, m.declined)
		}
	}
	return nil // it was removed
}

// tellUndone has the agents know that files are not as they left them.
func (a undoing) tellUndone(ctx context.Context, r undoReport) error {
	return a.tell(ctx, r.Root, troupe.Mail{
		ID: troupe.MailID(fmt.Sprintf("undo:%s:%d", r.Root, r.Number)), To: r.Root,
		Kind: troupe.MailNotice, Blocks: []troupe.Block{troupe.Text(r.Notice())},
	})
}

func (a *App) isOwner(id troupe.OwnerID) bool {
	e := a.engine.Load()
	return e != nil && e.owner == id
}

func blocked(left []UndoFile, u Undo) error {
	const show = 10
	e := &troupe.UserError{Problem: fmt.Sprintf("%d of %d files cannot be put back, so nothing was:", len(left),
		len(u.Files)), Err: troupe.ErrBlocked}
	force := false
	for i, f := range left {
		if i < show {
			e.Problem += "\n  " + f.Path + ": " + f.Problem
		}
		force = force || f.Obstacle == wire.ObstacleChanged
	}
	if len(left) > show {
		e.Problem += fmt.Sprintf("\n  … and %d more", len(left)-show)
	}
	e.Hint = "Forced, it puts back all the others."
	if force {
		e.Hint = "Forced, it replaces what was changed since as well; that is kept and can be brought back. What " +
			"cannot be put back at all is left."
	}
	return e
}

// apply keeps, stages, records, publishes and records again. An error means that no file
// was changed.
func (a undoing) apply(ctx context.Context, r *undoReport) (err error) {
	staged := make([]*files.Staged, 0, len(r.Files))
	defer func() {
		for _, s := range staged { // those that were not published
			if s != nil {
				err = errors.Join(err, s.Discard())
			}
		}
	}()
	e := undoEntry{Number: r.Number, At: a.app.env.Now(), Turn: r.Turn, Last: r.last, Redo: r.Redo}
	if r.Merge != nil && r.Redo == 0 {
		e.Undid = r.Merge.id
	}
	if !e.At.After(r.after) { // a clock that was set back must not put it before what it undoes
		e.At = r.after.Add(1)
	}
	for _, f := range r.Files {
		to := undoneFile{Path: f.Path, From: f.Now, To: f.To}
		var s *files.Staged
		if !f.turns {
			if s, err = stage(ctx, r.past, f); err != nil {
				return fmt.Errorf("%s: %w", f.Path, err)
			}
			to.Mode, to.Exec = uint32(s.Mode()), f.Exec != nil && s.Mode() != 0
		}
		staged, e.Files = append(staged, s), append(e.Files, to)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	journal := a.app.undoJournal(r.Root)
	if err := journal.begin(e); errors.Is(err, fs.ErrExist) {
		return &troupe.UserError{Problem: "something else was undone in this session at the same moment",
			Hint: "Look again at what there is to undo.", Err: err}
	} else if err != nil {
		return fmt.Errorf("record the undo: %w", err)
	}
	failed := publish(ctx, r, staged)
	done := r.Files[:0]
	var undone []undoneFile
	for i, f := range r.Files {
		if err := failed[i]; err != nil {
			if f.Obstacle, f.Problem = wire.ObstaclePlace, err.Error(); errors.Is(err, files.ErrChanged) {
				f.Obstacle = wire.ObstacleChanged
			}
			r.Left = append(r.Left, f)
			continue
		}
		done, undone = append(done, f), append(undone, e.Files[i])
	}
	staged, r.Files, e.Files = nil, done, undone
	if err := journal.finish(e); err != nil {
		// The files speak for themselves: whoever reads the entry compares them with it.
		a.app.env.Log.Warn("note the end of an undo", "session", r.Root, "err", err)
	}
	return nil
}

// stage keeps what stands there and lays what is to stand there beside it.
func stage(ctx context.Context, from past, f UndoFile) (*files.Staged, error) {
	now, err := standing(f.Path, f.Now, f.To)
	if f.turns && errors.Is(err, files.ErrFolder) {
		err = nil // it goes if nothing is left in it
	}
	if err != nil {
		return nil, err
	}
	if now.Hash != f.Now {
		return nil, files.ErrChanged
	}
	if f.Now != "" {
		if _, err := from.store.Put(now.Content); err != nil {
			return nil, err
		}
	}
	if f.To == "" {
		return files.Stage(f.Path, f.Now, nil, 0)
	}
	to, err := from.get(ctx, f.To)
	if err != nil {
		return nil, err
	}
	if _, link := files.ContentOf(f.To); link {
		return files.StageLink(f.Path, f.Now, to)
	}
	s, err := files.Stage(f.Path, f.Now, &to, f.mode)
	if err != nil || f.Exec == nil {
		return s, err
	}
	if err := s.Executable(*f.Exec); err != nil {
		return nil, errors.Join(err, s.Discard())
	}
	return s, nil
}

func executable(mode os.FileMode) bool { return mode&0o100 != 0 }

// Notice tells the agents of the tree, whose conversations speak of files as they were.
func (u Undo) Notice() string {
	var back, gone []string
	for _, f := range u.Files {
		if f.To == "" {
			gone = append(gone, f.Path)
		} else {
			back = append(back, f.Path)
		}
	}
	var b strings.Builder
	switch {
	case u.Redo > 0:
		b.WriteString("The user has taken an undo back: files that tools of this session had changed hold again what " +
			"they held before it.")
	case u.Merge != nil:
		fmt.Fprintf(&b, "The user has undone the merge of the worktree %s: files hold again what they held before it.",
			quotePath(u.Merge.name))
	default:
		fmt.Fprintf(&b, "The user has undone changes: files that tools of this session changed hold again what they "+
			"held before turn %d.", u.Turn)
	}
	b.WriteString(" What you know of them from later is not true any more. Read them again before you build on them, " +
		"and do not repeat the changes unless you are asked to.\n")
	list(&b, "Put back", back)
	list(&b, "Removed", gone)
	if len(u.Commands) > 0 {
		b.WriteString("What commands changed was not undone.\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// list writes paths so that no name, however odd, can look like anything but a name.
func list(b *strings.Builder, what string, paths []string) {
	const most = 50
	if len(paths) == 0 {
		return
	}
	fmt.Fprintf(b, "%s:\n", what)
	for i, p := range paths {
		if i == most {
			fmt.Fprintf(b, "- and %d more\n", len(paths)-most)
			break
		}
		fmt.Fprintf(b, "- %s\n", quotePath(p))
	}
}

func quotePath(p string) string {
	if q := fmt.Sprintf("%q", p); q != `"`+p+`"` || strings.ContainsAny(p, "<>&") {
		return q
	}
	return p
}
