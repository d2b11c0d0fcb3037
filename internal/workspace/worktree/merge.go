package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// Into is where work is merged to.
type Into struct {
	// Folder is the caller's, the top of its repository; "": that which the workspace is of.
	Folder string
	// Hidden says which of its files no agent may read: they are not looked at, and not written.
	Hidden func(path string) bool
	// Theirs and Ours are paths of which that side is taken as it is, whatever the other has.
	Theirs, Ours []string
	// Anew: what the caller has declined before is a change again, to be decided once more.
	Anew bool
	// caller is that repository as it was looked at a moment ago; nil: it is looked at.
	caller *caller
	// had is the tree that the caller has, in the place of what is in its folder; "": that.
	had string
	// Listed: it is only to be shown, so of the caller's files those are looked at that can matter to it.
	Listed bool
	// Judge is asked about the files that conflict before they are handed back; nil: nobody has to be.
	Judge func(paths []string) error
}

// Change is one file that a merge writes.
type Change struct {
	Path string // absolute
	Mode uint32 // of a new file, and whether it can be run; 0 if it is Gone
	// Was is what it holds now, as a troupe.FileTouch has it; "": it is not there. WasLink: it is a link, which leads
	// to that.
	Was     string
	WasLink bool
	// Above is the file or link above it that goes by the same merge, so that nothing is there yet; "": none.
	Above string
	// Content is what it is to hold: of a link, where it leads. Gone: it is to be removed.
	Content []byte
	Gone    bool
	Link    bool
	// Uncommitted: it is Gone, and what it held is not in what the caller has committed.
	Uncommitted bool
}

// Merged is what merging a workspace into its caller's folder would do. Nothing of it is done.
type Merged struct {
	// Changes are to be written, all or none; none while there are Conflicts, unless those that merge were asked for.
	Changes   []Change
	Conflicts []Conflict
	// Unresolved are the files that still have the markers of conflicts that were handed back: of these the workspace
	// is taken to have what it had before.
	Unresolved []string
	// Left names what is not brought over, with its reason.
	Left []string
	// Snapshot and Result are the trees of the caller's content now, and after it.
	Snapshot, Result      string
	Files, Added, Removed int
	// Declined are files of which the caller has kept its own side, and has another content than the workspace.
	Declined []string
	// Own is what the workspace has of the files of which Into.Ours takes the caller's side, for Decline.
	Own map[string]string
	// Already: the caller has all of it, but for what it declined.
	Already bool
}

// mergeAnew is how often a merge is worked out anew because the caller's files are changed meanwhile.
const mergeAnew = 3

// Merge computes what merging the workspace's present content into the caller's would write. What the caller has not
// committed counts as what it has. It writes nothing there. A file that is changed meanwhile is no conflict: the merge
// is worked out anew.
func (k *Keeper) Merge(ctx context.Context, ws troupe.Workspace, in Into) (Merged, error) {
	was := ""
	for try := 0; ; try++ {
		var out Merged
		err := k.merging(ctx, ws, in, func(m *merging) error {
			var err error
			if out, err = m.merge(ctx); err != nil || in.Listed || len(out.Changes) == 0 {
				return err
			}
			return m.offer()
		})
		at := slices.IndexFunc(out.Conflicts, func(c Conflict) bool { return c.moved })
		if err != nil || at < 0 || out.Snapshot == was { // git takes what is there for something else, and always will
			return out, err
		}
		if was = out.Snapshot; try == mergeAnew {
			return Merged{}, &troupe.UserError{
				Problem: out.Conflicts[at].Path + " is changed again and again while it is merged; nothing was written",
				Hint:    "run it again"}
		}
	}
}

// merging is one computation. It has a repository of its own, which borrows from the keeper and the caller, and is
// thrown away: nothing that is only looked at is kept.
type merging struct {
	k      *Keeper
	p      place
	rec    *record
	r      repo
	caller *caller
	in     Into
	base   string // trees
	given  string // the base, with what was handed of the caller's and taken over
	ours   string
	theirs string
	raw    string            // what the workspace has, with markers that were handed to it; theirs is without
	marks  []string          // the files that have them
	own    map[string]string // see Merged
	came   map[string]came   // whose work is on the caller's side of files that conflict, by their paths
}

// merging prepares a computation, and does it while nothing else goes on with the workspace.
func (k *Keeper) merging(ctx context.Context, ws troupe.Workspace, in Into, do func(*merging) error) error {
	p, err := k.place(ws)
	if err != nil {
		return err
	}
	ctx, release, err := k.hold(ctx, string(ws.Owner))
	if err != nil {
		return err
	}
	defer release()
	rec, err := readRecord(p.folder)
	if err != nil {
		return fmt.Errorf("merge the workspace %s: %w", ws.Name, err)
	}
	if err := p.putBack(); err != nil {
		return err
	}
	tree, err := k.content(ctx, p, rec)
	if err != nil {
		return err
	}
	return k.mergeTree(ctx, p, rec, tree, in, do)
}

// content is the tree of what a workspace has now: of its folder, or of what is kept of it.
func (k *Keeper) content(ctx context.Context, p place, rec *record) (string, error) {
	if rec.Base.Commit == "" {
		return "", fmt.Errorf("the workspace %s was never made", p.ws.Name)
	}
	there, _, err := p.has(rec)
	if err != nil {
		return "", err
	}
	if there {
		s, err := k.save(ctx, p, rec, p.ws.Top, nil)
		return s.Tree, err
	}
	kept, err := readKept(p)
	return kept.newest(rec), err
}

// mergeTree prepares the merging of a tree.
func (k *Keeper) mergeTree(ctx context.Context, p place, rec *record, tree string, in Into,
	do func(*merging) error) error {
	if in.Folder == "" {
		in.Folder = p.ws.Of
	}
	m := &merging{k: k, p: p, rec: rec, in: in, caller: in.caller}
	if p.ws.Kind == troupe.WorkspaceTree && m.caller == nil {
		var err error
		if m.caller, err = k.callerOf(ctx, in.Folder); err != nil {
			return noCaller(in.Folder, err)
		}
	}
	scratch := scratchOf(p.folder)
	if err := disk.RemoveTree(scratch); err != nil {
		return err
	}
	err := m.prepare(ctx, scratch, tree)
	if err == nil {
		err = do(m)
	}
	if gone := disk.RemoveTree(scratch); err == nil {
		err = gone
	}
	return err
}

// scratchOf is where the repository of a computation is. A process that is killed leaves it, half made as it is.
func scratchOf(folder string) string { return filepath.Join(folder, "merge.git") }

// Tidy removes what computations of merges have left whose process was killed: nothing is kept there.
func Tidy(ctx context.Context, k *Keeper) error {
	left, err := filepath.Glob(scratchOf(disk.Pattern(k.data) + "/*"))
	for _, scratch := range left {
		id := filepath.Base(filepath.Dir(scratch))
		if _, ok := troupe.ParseSessionID(id); !ok {
			continue
		}
		_, release, busy := k.holdFor(ctx, id, 0)
		if busy != nil {
			continue // it is at work
		}
		err = errors.Join(err, disk.RemoveTree(scratch))
		release()
	}
	return err
}

// prepare makes the repository of the computation, and settles the three trees.
func (m *merging) prepare(ctx context.Context, scratch, tree string) error {
	if err := lent(ctx, m.p, m.caller); err != nil {
		return err
	}
	if err := writeKeeper(place{k: m.k, repo: scratch}, m.caller); err != nil {
		return err
	}
	stores := filepath.Join(m.p.repo, "objects") + "\n"
	if m.caller != nil {
		list, err := m.caller.stores()
		if err != nil {
			return err
		}
		stores += strings.Join(list, "\n") + "\n"
	}
	if err := disk.Cache(filepath.Join(scratch, "objects/info/alternates"), []byte(stores)); err != nil {
		return err
	}
	for _, folder := range []string{"none", "out"} {
		if err := os.Mkdir(filepath.Join(scratch, folder), 0o700); err != nil {
			return err
		}
	}
	r, err := m.k.keeper(place{ws: m.p.ws, repo: scratch})
	if err != nil {
		return err
	}
	m.r = r.set("core.bare=false", "core.sparseCheckout=false", "merge.conflictStyle=diff3", "merge.renames=true",
		"merge.directoryRenames=false", "merge.renameLimit=2000", "checkout.workers=0")
	m.r = m.r.on(filepath.Join(scratch, "none"))
	m.r.all = m.caller == nil
	if err := m.capable(ctx); err != nil {
		return err
	}
	if m.base, err = m.treeOf(ctx, m.rec.Base.Commit); err != nil {
		return err
	}
	if m.theirs, err = m.treeOf(ctx, tree); err != nil {
		return err
	}
	if m.base, m.theirs, err = m.p.compared(ctx, m.r, m.base, m.theirs); err != nil {
		return err
	}
	if m.ours = m.in.had; m.ours == "" {
		m.ours, err = m.present(ctx)
	}
	if err != nil {
		return err
	}
	if err := m.unhand(ctx); err != nil {
		return err
	}
	return m.settleBase(ctx)
}

// capable refuses a git that cannot merge without a folder.
func (m *merging) capable(ctx context.Context) error {
	problem, err := tooOld(ctx, m.r)
	if err != nil || problem == "" {
		return err
	}
	return &troupe.UserError{Problem: problem,
		Hint: "the work of " + m.p.ws.Name + " is kept: merge its branch by hand, or update git"}
}

// tooOld says why git cannot merge; "" if it can.
func tooOld(ctx context.Context, r repo) (problem string, err error) {
	out, err := r.out(ctx, "version")
	if err != nil {
		return "", err
	}
	return TooOld(out), nil
}

// TooOld says of what git names as its version why it cannot merge; "" if it can.
func TooOld(version string) string {
	const major, minor = 2, 38
	numbers := strings.Split(strings.TrimPrefix(version, "git version "), ".")
	if len(numbers) > 1 {
		a, e1 := strconv.Atoi(numbers[0])
		b, e2 := strconv.Atoi(numbers[1])
		if e1 == nil && e2 == nil && (a > major || a == major && b >= minor) {
			return ""
		}
	}
	return fmt.Sprintf("merging needs git %d.%d or newer, and this is %q", major, minor, version)
}

func (m *merging) treeOf(ctx context.Context, id string) (string, error) {
	return m.r.out(ctx, "rev-parse", "--verify", "--end-of-options", id+"^{tree}")
}

// present is the tree of what the caller has now. Hidden files are in it as the base has them.
func (m *merging) present(ctx context.Context) (string, error) {
	top := m.in.Folder
	if m.caller == nil {
		if err := m.r.run(ctx, "read-tree", m.base); err != nil {
			return "", err
		}
	} else if err := copyIndex(m.caller, place{repo: filepath.Dir(m.r.runner.Dir)}); err != nil {
		return "", err
	}
	s, err := m.look(ctx)
	if err != nil {
		return "", err
	}
	leave(m.k, top, &s, m.in.Hidden)
	if m.p.ws.ByHook {
		s.here, s.gone = slices.DeleteFunc(s.here, control), slices.DeleteFunc(s.gone, control)
	}
	if _, err := m.r.take(ctx, top, s); err != nil {
		return "", err
	}
	tree, err := m.r.out(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	var left troupe.WorkspaceBase
	_, tree, err = m.r.unstage(ctx, &caller{top: top, head: m.base}, tree, m.in.Hidden, &left)
	return tree, err
}

// look finds what the caller has otherwise than the index. A workspace that began with nothing is compared with files
// of the same names alone.
func (m *merging) look(ctx context.Context) (scan, error) {
	if m.p.ws.Kind == troupe.WorkspaceEmpty {
		list, err := m.r.out(ctx, "ls-tree", "-r", "-z", "--name-only", "--full-tree", m.theirs)
		if err != nil {
			return scan{}, err
		}
		s, err := m.r.sortOut(ctx, m.in.Folder, fields(list))
		s.gone = nil
		return s, err
	}
	if m.in.Listed && m.caller != nil && len(m.rec.Handed) == 0 {
		if s, all, err := few(ctx, m); err != nil || all {
			return s, err
		}
	}
	s, err := m.r.scan(ctx, m.in.Folder)
	switch {
	case err != nil:
	case m.caller != nil:
		err = m.caller.unfiltered(s.here)
	default:
		err = m.r.takeNested(ctx, m.in.Folder, &s)
		s.nested = nil
	}
	return s, err
}

// merge does it: two trees with the base between them, then what that changes in the caller's folder.
func (m *merging) merge(ctx context.Context) (Merged, error) {
	out := Merged{Snapshot: m.ours, Result: m.ours, Own: m.own}
	if err := layAttributes(ctx, m.r, m.ours); err != nil {
		return out, err
	}
	o, err := m.k.threeWay(ctx, m.r, m.base, m.ours, m.theirs)
	if err != nil {
		return out, err
	}
	m.whose(ctx, o)
	out.Conflicts = m.conflicts(o)
	deltas, err := m.r.deltas(ctx, m.ours, o.tree)
	if err != nil {
		return out, err
	}
	deltas = slices.DeleteFunc(deltas, func(d delta) bool { return o.conflicted(d.name) })
	s := side{r: m.r, top: m.in.Folder, hidden: m.in.Hidden, deltas: deltas, left: &out.Left}
	if m.caller != nil && m.caller.settings["core.ignorecase"] == "true" {
		if err := s.fold(ctx, m.ours); err != nil {
			return out, err
		}
	}
	changes, blocked, err := s.changes(ctx, o.tree)
	if err != nil {
		return out, err
	}
	for _, c := range blocked {
		c.Ours, c.Theirs = m.names(c.Path)
		out.Conflicts = append(out.Conflicts, c)
	}
	if err := m.unresolved(ctx, &out); err != nil {
		return out, err
	}
	changes = m.withoutMarkers(&out, changes)
	if err := m.uncommitted(ctx, changes); err != nil {
		return out, err
	}
	if len(out.Conflicts) == 0 {
		out.Changes, out.Result = changes, o.tree
	}
	out.Already = len(changes) == 0 && len(out.Conflicts) == 0
	if out.Declined, err = m.keptOwn(ctx); err != nil {
		return out, err
	}
	return out, m.measure(ctx, &out, o.tree)
}

// measure counts what the changes add and remove.
func (m *merging) measure(ctx context.Context, out *Merged, tree string) error {
	if len(out.Changes) == 0 {
		return nil
	}
	list, err := m.r.out(ctx, "diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv",
		m.ours, tree)
	if err != nil {
		return err
	}
	written := map[string]bool{}
	for _, c := range out.Changes {
		written[c.Path] = true
	}
	for _, line := range fields(list) {
		added, rest, _ := strings.Cut(line, "\t")
		removed, name, _ := strings.Cut(rest, "\t")
		if !written[filepath.Join(m.in.Folder, name)] {
			continue
		}
		a, _ := strconv.Atoi(added) // “-” for what is no text
		d, _ := strconv.Atoi(removed)
		out.Files, out.Added, out.Removed = out.Files+1, out.Added+a, out.Removed+d
	}
	return nil
}

// clean finds out whether a tree of the workspace would merge into its caller's folder now: the names of files that
// would not, and, if it could not be found out, why.
func (k *Keeper) clean(ctx context.Context, p place, rec *record, tree string) (conflicts []string, why string) {
	err := k.mergeTree(ctx, p, rec, tree, Into{}, func(m *merging) error {
		out, err := m.merge(ctx)
		for _, c := range out.Conflicts {
			conflicts = append(conflicts, strings.TrimPrefix(c.Path, m.in.Folder+"/"))
		}
		return err
	})
	if err != nil {
		return nil, err.Error()
	}
	return conflicts, ""
}
