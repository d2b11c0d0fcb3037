package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// Save makes a checkpoint. Changed are absolute paths that are known to have changed since the last one; nil: that is
// not known. Last is the tree of the checkpoint that it is compared with; "": what the workspace began with. The keeper
// may have saved since: its process died before the log said so.
func (k *Keeper) Save(ctx context.Context, ws troupe.Workspace, changed []string, last string) (troupe.Checkpoint,
	error) {
	p, err := k.place(ws)
	if err != nil {
		return troupe.Checkpoint{}, err
	}
	ctx, release, err := k.hold(ctx, string(ws.Owner))
	if err != nil {
		return troupe.Checkpoint{}, err
	}
	defer release()
	rec, err := readRecord(p.folder)
	if err != nil {
		return troupe.Checkpoint{}, fmt.Errorf("save the workspace %s: %w", ws.Name, err)
	}
	if err := p.putBack(); err != nil {
		return troupe.Checkpoint{}, err
	}
	if there, _, err := p.has(rec); err != nil || !there {
		return troupe.Checkpoint{}, missing(p, ws.Top, err)
	}
	s, err := k.save(ctx, p, rec, ws.Top, changed)
	if err != nil {
		return s.Checkpoint, err
	}
	r, err := k.keeper(p)
	if err != nil {
		return s.Checkpoint, err
	}
	err = r.compared(ctx, rec.since(cmp.Or(last, rec.Base.Commit)), &s.Checkpoint)
	return s.Checkpoint, err
}

// missing says that the folder is not where it was made, or that another one is there.
func missing(p place, folder string, err error) error {
	return &troupe.UserError{Problem: "the folder of the workspace " + p.ws.Name + " is not at " + folder + " any more",
		Hint: "what was saved of it last is kept: it is made again when its agent goes on", Err: err}
}

// saved is a checkpoint, and what is not in it.
type saved struct {
	troupe.Checkpoint
	kept kept
	odd  []string // what git cannot store
	why  string   // why commits of the agent's repository could not be kept; "" if all could
}

// saveMost is how long a checkpoint may take: git waits for ever for a pipe that took a file's place while it looked.
const saveMost = 10 * time.Minute

// save stores the content of a folder in the keeper, and what the agent's repository there refers to.
func (k *Keeper) save(ctx context.Context, p place, rec *record, folder string, changed []string) (saved, error) {
	out, err := saveNow(ctx, k, p, rec, folder, changed)
	if err == nil || p.ws.Kind != troupe.WorkspaceTree {
		return out, err
	}
	if _, lost := os.Lstat(filepath.Join(p.ws.Of, ".git")); errors.Is(lost, fs.ErrNotExist) {
		err = fmt.Errorf("%s has no .git any more, which this borrows from: %w", p.ws.Of, err)
	}
	return out, err
}

func saveNow(ctx context.Context, k *Keeper, p place, rec *record, folder string, changed []string) (saved, error) {
	ctx, cancel := context.WithTimeout(ctx, saveMost)
	defer cancel()
	r, err := k.keeper(p)
	if err != nil {
		return saved{}, err
	}
	if info, err := os.Lstat(folder); err != nil || !info.IsDir() {
		return saved{}, missing(p, folder, err)
	}
	kept, err := readKept(p)
	if err != nil {
		return saved{}, err
	}
	if err := unlock(p); err != nil {
		return saved{}, err
	}
	next := maps.Clone(kept)
	out := saved{}
	if p.ws.Kind == troupe.WorkspaceTree {
		branch, err := p.keep(ctx, r, rec, folder, next)
		if err != nil {
			out.why = err.Error()
		} else if branch != rec.Branch {
			rec.Branch = branch
			if err := k.write(p, rec); err != nil {
				return saved{}, err
			}
		}
	}
	var s scan
	if changed == nil {
		odd := survey(folder)
		s, err = r.scan(ctx, folder)
		s.odd = append(s.odd, odd...)
	} else {
		s, err = r.known(ctx, folder, changed)
	}
	if err != nil {
		return saved{}, err
	}
	if next[keptHead] != "" && (changed == nil || next[keptHead] != kept[keptHead]) {
		if err := r.takeForced(ctx, folder, next[keptHead], &s); err != nil {
			return saved{}, err
		}
	}
	if changed == nil {
		if err := r.takeNested(ctx, folder, &s); err != nil {
			return saved{}, err
		}
	}
	left, err := r.take(ctx, folder, s)
	if err != nil {
		return saved{}, err
	}
	s.odd = append(s.odd, left...)
	if changed == nil {
		if left, err = p.saveBeside(ctx, r, folder, next); err != nil {
			return saved{}, err
		}
		s.odd = append(s.odd, left...)
	}
	if err := own(ctx, p, r, next.besides(kept)); err != nil {
		return saved{}, err
	}
	out.odd, out.Tip = s.odd, next[keptHead]
	// Also when nothing is new in the index: a process may have died before what is in it was kept.
	if out.Tree, err = ownTree(ctx, p, r, folder, kept[keptSaved], rec.Base.Commit); err != nil {
		return saved{}, err
	}
	next[keptSaved] = out.Tree
	out.kept = next
	if err := k.step("tree"); err != nil || maps.Equal(next, kept) {
		return out, err
	}
	return out, errors.Join(next.write(p), k.step("saved"))
}

// takeForced adds to a scan what the agent committed although it is ignored: it is in its commit, so that one without
// it would delete it.
func (r repo) takeForced(ctx context.Context, folder, head string, s *scan) error {
	list, err := r.out(ctx, "diff-index", "--cached", "-r", "-z", "--name-only", "--diff-filter=D", head)
	if err != nil {
		return err
	}
	more, err := r.sortOut(ctx, folder, fields(list))
	if err != nil {
		return err
	}
	s.odd = append(s.odd, slices.DeleteFunc(more.odd, func(name string) bool {
		return inFolder(name) || slices.Contains(s.odd, name)
	})...)
	for _, name := range more.here {
		if !slices.Contains(s.here, name) {
			s.here = append(s.here, name)
		}
	}
	return nil
}

// known is a scan of paths that are said to have changed. What is ignored and not in the index is not taken.
func (r repo) known(ctx context.Context, folder string, changed []string) (scan, error) {
	var names []string
	for _, path := range changed {
		if !troupe.Within(path, folder) || path == folder {
			continue
		}
		name := strings.TrimPrefix(path, folder+"/")
		if slices.Contains(strings.Split(name, "/"), ".git") {
			continue
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return scan{}, nil
	}
	for _, name := range names {
		// A folder, or what was one, stands for any number of files.
		if info, err := os.Lstat(filepath.Join(folder, name)); err == nil && info.IsDir() {
			return r.scan(ctx, folder)
		}
	}
	surveyOf(folder, names)
	if r.all {
		return r.sortOut(ctx, folder, names)
	}
	ignored, err := r.on(folder).feed(ctx, strings.Join(names, "\x00")+"\x00", "check-ignore", "-z", "--stdin")
	if err != nil && !exited(err, 1) {
		return r.scan(ctx, folder) // one of them is below a link by now, or in a repository of its own
	}
	skip := fields(ignored)
	names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(skip, n) })
	return r.sortOut(ctx, folder, names)
}

// keep brings to the keeper what an agent's repository refers to, and says on which branch it is.
func (p place) keep(ctx context.Context, r repo, rec *record, folder string, next kept) (branch string, err error) {
	agent, err := agentDir(folder)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, agent.Close()) }()
	a, err := readAgent(agent)
	if err != nil {
		return "", err
	}
	born, err := readPacked(filepath.Join(p.folder, "born"))
	if err != nil {
		return "", err
	}
	have, want := map[string]bool{}, a.wanted(born)
	for _, id := range next {
		have[id] = true
	}
	var lack []string
	for _, id := range slices.Concat(slices.Collect(maps.Values(want)), a.old) {
		if !have[id] {
			have[id] = true
			lack = append(lack, id)
		}
	}
	bad := map[string]bool{}
	var trouble error
	if len(lack) > 0 {
		trouble = r.bring(ctx, agent, p, len(rec.Base.Commit)/2)
		bad = p.incomplete(ctx, r, lack, slices.Collect(maps.Values(next)), rec.Tips)
		lost := slices.ContainsFunc(slices.Collect(maps.Values(want)), func(id string) bool { return bad[id] })
		if !lost {
			trouble = nil // what could not be brought is needed by nothing that the agent can name
		} else if trouble == nil {
			trouble = errors.New("its repository refers to objects that are not there")
		}
	}
	if head := want[keptHead]; head != "" && head != next[keptHead] && !bad[head] {
		if err := bounded(ctx, r, head); err != nil {
			trouble = errors.Join(trouble, err)
			bad[head] = true
		}
	}
	next.replace(want, a.old, bad)
	return a.branch, trouble
}

// replace puts what an agent's repository refers to now in the place of what it did, which is kept by its id.
func (k kept) replace(want kept, old []string, bad map[string]bool) {
	named := map[string]bool{k[keptBase]: true}
	for name, id := range k {
		if strings.HasPrefix(name, keptAgent) || strings.HasPrefix(name, keptStashed) || name == keptHead {
			if want[name] != id && !bad[want[name]] {
				delete(k, name)
				old = append(old, id)
			}
		}
	}
	for name, id := range want {
		if !bad[id] {
			k[name] = id
		}
	}
	for name, id := range k {
		if !strings.HasPrefix(name, keptOld) {
			named[id] = true
		}
	}
	for _, id := range old {
		if !bad[id] && !named[id] {
			k[keptOld+id] = id
		}
	}
	maps.DeleteFunc(k, func(name, id string) bool { return strings.HasPrefix(name, keptOld) && named[id] })
}

// incomplete are those of the commits of which something is not there, though all of what is kept is. Of the others
// the keeper has all that neither is kept nor in the tips by then.
func (p place) incomplete(ctx context.Context, r repo, ids, kept []string, tips string) map[string]bool {
	if tips != "" {
		kept = append(kept, tips)
	}
	whole := func(ids []string) bool {
		all, err := reached(ctx, r, ids, kept...)
		return err == nil && own(ctx, p, r, slices.Collect(maps.Keys(all))) == nil
	}
	bad := map[string]bool{}
	if whole(ids) {
		return bad
	}
	// Those that are not there at all are found by one git, the others by halves.
	list, _ := r.feed(ctx, revisions(ids), "cat-file", "--batch-check")
	for line := range strings.Lines(list) {
		if id, ok := strings.CutSuffix(strings.TrimSpace(line), " missing"); ok {
			bad[id] = true
		}
	}
	var halve func(ids []string)
	halve = func(ids []string) {
		switch {
		case len(ids) == 0 || ctx.Err() == nil && whole(ids):
		case len(ids) == 1 || ctx.Err() != nil:
			for _, id := range ids {
				bad[id] = true
			}
		default:
			halve(ids[:len(ids)/2])
			halve(ids[len(ids)/2:])
		}
	}
	halve(slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return bad[id] }))
	return bad
}
