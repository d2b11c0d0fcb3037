package worktree

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/disk"
)

// was is what an agent's repository was when it was kept last; of a new one, what it begins with.
type was struct {
	head    string // the file HEAD
	commit  string
	tree    string // of the commit
	refs    []gitRef
	stashes []string // the newest first
}

// wasAt says where HEAD was, and the refs. A commit that was made at an end is on the branch since.
func (p place) wasAt(ctx context.Context, r repo, rec *record, kept kept) was {
	w := was{commit: kept[keptHead]}
	branch := rec.Branch
	if w.commit == "" {
		w.commit, branch = rec.Base.Commit, "refs/heads/"+p.ws.Branch
	}
	if end := kept[keptEnd]; end != "" && reaches(ctx, r, end, w.commit) {
		w.commit = end
	}
	for name, id := range kept {
		if short, ok := strings.CutPrefix(name, keptAgent); ok && "refs/"+short != branch {
			w.refs = append(w.refs, gitRef{name: "refs/" + short, id: id})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		if strings.HasPrefix(name, keptStashed) {
			w.stashes = append(w.stashes, kept[name])
		}
	}
	w.head = w.commit + "\n"
	if branch != "" {
		w.head = "ref: " + branch + "\n"
		w.refs = append(w.refs, gitRef{name: branch, id: w.commit})
	}
	w.tree, _ = r.out(ctx, "rev-parse", "--verify", w.commit+"^{tree}") // what is kept is whole
	return w
}

// over puts the refs in the place of those of the same name.
func (w was) over(refs []gitRef) []gitRef {
	all := map[string]gitRef{}
	for _, r := range slices.Concat(refs, w.refs) {
		all[r.name] = r
	}
	return slices.Collect(maps.Values(all))
}

// bringBack copies what the keeper has and the caller has not into the agent's repository, which no agent has seen
// yet, and writes the list of its stashes.
func (w was) bringBack(ctx context.Context, p place, r repo, dir string, rec *record,
	saved string) error {
	ids := []string{w.commit}
	if saved != w.tree && saved != "" {
		ids = append(ids, saved) // the index may name what was not committed
	}
	for _, ref := range w.refs {
		ids = append(ids, ref.id)
	}
	ids = append(ids, w.stashes...)
	in := revisions(ids, rec.Base.Commit)
	if err := r.hand(ctx, in, r.with("GIT_DIR="+dir), p.folder); err != nil {
		return err
	}
	if len(w.stashes) == 0 {
		return nil
	}
	log, before := "", strings.Repeat("0", len(w.commit))
	for _, id := range slices.Backward(w.stashes) {
		log += before + " " + id + fmt.Sprintf(" Troupe <troupe@localhost> %d +0000\tkept by troupe\n",
			p.k.now().Unix())
		before = id
	}
	if err := os.MkdirAll(filepath.Join(dir, "logs", "refs"), 0o700); err != nil {
		return err
	}
	return disk.Cache(filepath.Join(dir, "logs", "refs", "stash"), []byte(log))
}
