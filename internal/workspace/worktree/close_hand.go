package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// namedMost is how many refs of one workspace the caller's repository gets at an end, which writes a file for each.
const namedMost = 2000

// unnamed takes out of what is to be named what is too much: first what has another name, too. It is reached by one
// commit then, and the keeper has the names.
func unnamed(want map[string]string) (ids []string) {
	var twice, once []string
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		switch id := want[name]; {
		case !strings.Contains(name, "/"): // base, tip and the like
			seen[id] = true
		case seen[id]:
			twice = append(twice, name)
		default:
			seen[id] = true
			once = append(once, name)
		}
	}
	slices.Reverse(once)
	for _, name := range append(twice, once...) {
		if len(want) <= namedMost {
			break
		}
		ids = append(ids, want[name])
		delete(want, name)
	}
	return ids
}

// refs gives what is wanted refs in the caller's repository. Names that an agent chose may be none there: one is too
// long for the disk, or an end before left one that stands for a folder of another's. Then each is named by its id.
func (e *ending) refs(ctx context.Context, want map[string]string) error {
	update := func(named func(name string) string) error {
		var commands []string
		for _, name := range slices.Sorted(maps.Keys(want)) {
			commands = append(commands, "update "+refOf(e.p.ws, named(name))+"\x00"+want[name]+"\x00\x00")
		}
		slices.Sort(commands)
		return e.caller.update(ctx, slices.Compact(commands))
	}
	err := update(func(name string) string { return name })
	if err == nil || locked(err) || ctx.Err() != nil {
		return err
	}
	return update(func(name string) string {
		if strings.Contains(name, "/") {
			return "named/" + want[name]
		}
		return name
	})
}

// oldest makes one commit of what the agent's HEAD and branches have been and nothing else reaches; "" if all is
// reached.
func (e *ending) oldest(ctx context.Context, old, reached []string) (string, error) {
	old, err := lone(ctx, e.r, old, reached...)
	if err != nil || len(old) == 0 {
		return "", err
	}
	tree, err := e.r.feed(ctx, "", "mktree")
	if err != nil {
		return "", err
	}
	for first := true; first || len(old) > 1; first = false {
		var next []string
		for some := range slices.Chunk(old, parentsMost) {
			id, err := e.k.commit(ctx, e.r, tree, "Where HEAD and branches of "+e.p.ws.Name+" have been", some...)
			if err != nil {
				return "", err
			}
			next = append(next, id)
		}
		old = next
	}
	return old[0], nil
}

// parentsMost is how many parents a commit of ours gets: they are words of a command.
const parentsMost = 1000

// commits are those that objects are or lead to. What leads to none has a name in the keeper alone.
func (e *ending) commits(ctx context.Context, ids []string) (out []string, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	list, err := e.r.feed(ctx, strings.Join(ids, "^{commit}\n")+"^{commit}\n", "cat-file",
		"--batch-check=%(objectname) %(objecttype)")
	for line := range strings.Lines(list) {
		if id, kind, _ := strings.Cut(strings.TrimSpace(line), " "); kind == "commit" {
			out = append(out, id)
		}
	}
	return out, err
}

// base is the base, if the caller's repository has it: that of another home may not.
func (e *ending) base(ctx context.Context) []string {
	if holds(ctx, e.caller.repo, e.rec.Base.Commit) {
		return []string{e.rec.Base.Commit}
	}
	return nil
}

// transfer copies objects to the caller's repository.
func (e *ending) transfer(ctx context.Context, ids []string) error {
	has := e.base(ctx)
	for _, r := range e.caller.refs { // from an end before
		if strings.HasPrefix(r.name, refOf(e.p.ws, "")) {
			has = append(has, r.id)
		}
	}
	return e.r.hand(ctx, revisions(ids, has...), e.caller.repo, e.p.folder, "--keep="+e.p.pinned())
}

// reachable makes sure that the caller's repository has all of it, by itself.
func (e *ending) reachable(ctx context.Context, ids []string) error {
	in := revisions(ids, e.base(ctx)...)
	if _, err := e.caller.feed(ctx, in, "rev-list", "--objects", "--quiet", "--stdin"); err != nil {
		return fmt.Errorf("%s lacks what was brought to it: %w", e.p.ws.Of, err)
	}
	return nil
}

// branchTries is how many names are tried for the branch.
const branchTries = 100

// branch makes the tip a branch of the caller's, or moves the one that is ours. Another's is never moved, nor one that
// is checked out: its files would seem changed.
func (e *ending) branch(ctx context.Context) error {
	out, err := e.caller.out(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return err
	}
	at := map[string]string{}
	for _, r := range e.caller.refs {
		at[r.name] = r.id
	}
	for i := range branchTries {
		name := e.p.ws.Branch
		switch {
		case i == 0 && e.rec.Own != "":
			name = e.rec.Own
		case i > 0:
			name = fmt.Sprintf("%s-%d", e.p.ws.Branch, i+1)
		}
		if i > branchTries/2 { // a branch “troupe” leaves no room for any below it
			name = strings.ReplaceAll(name, "/", "-")
		}
		full := "refs/heads/" + name
		was, there := at[full]
		ours := !there || was == e.res.Tip || e.rec.Own == name && reaches(ctx, e.r, e.res.Tip, was)
		if !ours || slices.Contains(strings.Split(out, "\n"), "branch "+full) && was != e.res.Tip {
			continue
		}
		if was == "" {
			was = strings.Repeat("0", len(e.res.Tip))
		}
		err = e.caller.update(ctx, []string{"update " + full + "\x00" + e.res.Tip + "\x00" + was + "\x00"})
		if err == nil {
			e.rec.Own, e.res.Branch = name, name
			return e.k.write(e.p, e.rec)
		}
		if locked(err) {
			return err
		}
	}
	return fmt.Errorf("no branch could be made for %s: %w", e.p.ws.Name, cmp.Or(err, errors.New("its names are taken")))
}
