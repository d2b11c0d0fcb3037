package worktree

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/disk"
)

// born settles the refs that the agent's repository begins with: the caller's branches, as those of a remote that
// cannot be pushed to, and its tags. The caller's repository keeps what they lead to while the folder is there, or the
// agent's own collection would fail once a branch is deleted there.
func (p place) born(ctx context.Context, r repo, c *caller, rec *record) error {
	if !c.has(gitRef{name: refOf(p.ws, "born"), id: rec.Tips}) {
		rec.Tips = "" // an end that was killed let them go
	}
	refs, err := bornOf(ctx, r, c)
	if err != nil {
		return err
	}
	// What it is born with is known to be the caller's, and need not be kept.
	if err := disk.Cache(filepath.Join(p.folder, "born"), packed(refs)); err != nil {
		return err
	}
	var tips []string
	for _, ref := range refs {
		tips = append(tips, ref.commit())
	}
	not := []string{rec.Base.Commit}
	if rec.Tips != "" && holds(ctx, r, rec.Tips) {
		not = append(not, rec.Tips) // what was kept since may need it
	}
	tips, err = lone(ctx, r, tips, not...)
	if err != nil || len(tips) == 0 {
		return err
	}
	return p.keepTips(ctx, r, c, rec, append(not[1:], tips...))
}

// keepTips has the caller's repository keep commits by one commit on all of them.
func (p place) keepTips(ctx context.Context, r repo, c *caller, rec *record, tips []string) error {
	tree, err := r.feed(ctx, "", "mktree")
	if err != nil {
		return err
	}
	id, err := p.k.commit(ctx, r, tree, "What the repository of "+p.ws.Name+" was born with", tips...)
	if err != nil {
		return err
	}
	ctx, release, err := p.k.holdCaller(ctx, c)
	if err != nil {
		return err
	}
	defer release()
	if err := r.hand(ctx, revisions([]string{id}, tips...), c.repo, p.folder, "--keep="+p.pinned()); err != nil {
		return err
	}
	if err := c.update(ctx, []string{"update " + refOf(p.ws, "born") + "\x00" + id + "\x00\x00"}); err != nil {
		return err
	}
	if err := p.unpin(c); err != nil {
		return err
	}
	rec.Tips = id
	if err := p.k.write(p, rec); err != nil {
		return err
	}
	return p.k.step("kept tips")
}

// dropTips lets the caller's repository have what the agent's was born with, once that is gone: what was made of it is
// kept by other refs. If that cannot be done now, the record says so still, and the next end does it.
func (e *ending) dropTips(ctx context.Context) error {
	if !e.res.Gone || e.caller == nil {
		return nil
	}
	name := refOf(e.p.ws, "born")
	if slices.ContainsFunc(e.caller.refs, func(ref gitRef) bool { return ref.name == name }) {
		ctx, release, err := e.k.holdCaller(ctx, e.caller)
		if err != nil {
			return err
		}
		defer release()
		if err := e.caller.update(ctx, []string{"delete " + name + "\x00\x00"}); err != nil {
			return err
		}
		if err := e.k.step("dropped tips"); err != nil {
			return err
		}
	}
	e.rec.Tips = ""
	return nil
}

// commit is what a ref leads to.
func (r gitRef) commit() string {
	if r.peeled != "" {
		return r.peeled
	}
	return r.id
}

// bornOf lists them. A tag that leads to no commit is left out: one commit over all of them cannot hold it.
func bornOf(ctx context.Context, r repo, c *caller) ([]gitRef, error) {
	var refs []gitRef
	var tags []string
	for _, ref := range c.refs {
		if branch, ok := strings.CutPrefix(ref.name, "refs/heads/"); ok {
			refs = append(refs, gitRef{"refs/remotes/origin/" + branch, ref.id, ref.peeled})
		} else if strings.HasPrefix(ref.name, "refs/tags/") {
			refs, tags = append(refs, ref), append(tags, ref.commit())
		}
	}
	if len(tags) == 0 {
		return refs, nil
	}
	list, err := r.feed(ctx, revisions(tags), "cat-file", "--batch-check=%(objectname) %(objecttype)")
	if err != nil {
		return nil, err
	}
	commits := map[string]bool{}
	for line := range strings.Lines(list) {
		if id, ok := strings.CutSuffix(strings.TrimSpace(line), " commit"); ok {
			commits[id] = true
		}
	}
	return slices.DeleteFunc(refs, func(ref gitRef) bool {
		return strings.HasPrefix(ref.name, "refs/tags/") && !commits[ref.commit()]
	}), nil
}

// bornTags copies tags that are objects of their own to the agent's repository: no commit holds them.
func (p place) bornTags(ctx context.Context, r repo, refs []gitRef, dir string) error {
	var tags, not []string
	for _, ref := range refs {
		if ref.peeled != "" {
			tags, not = append(tags, ref.id), append(not, ref.peeled)
		}
	}
	if len(tags) == 0 {
		return nil
	}
	return r.hand(ctx, revisions(tags, not...), r.with("GIT_DIR="+dir), p.folder)
}
