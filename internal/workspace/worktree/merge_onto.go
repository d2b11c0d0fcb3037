package worktree

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Onto replays the commits of the workspace on a branch of the caller's repository, without the one that had what the
// caller had not committed. What the workspace has not committed is one more commit. A branch that is not there begins
// where the caller was when the workspace was made. One that is checked out is refused: its files would seem changed.
// If conflicts were handed to the workspace, all of it is one commit, without what was the caller's in them. While they
// are not resolved it is refused. Dropped are the files of which the branch cannot have what was done: the workspace
// took back what the caller had not committed of them, which is on no branch.
func (k *Keeper) Onto(ctx context.Context, ws troupe.Workspace, branch string) (commits int, dropped []string,
	conflict *Conflict, err error) {
	full := "refs/heads/" + branch
	if !goodRef(full) || strings.HasPrefix(branch, "-") || branch == "HEAD" {
		return 0, nil, nil, &troupe.UserError{Problem: fmt.Sprintf("%q is no name of a branch", branch)}
	}
	err = k.merging(ctx, ws, Into{}, func(m *merging) error {
		if m.caller == nil {
			return &troupe.UserError{Problem: "the workspace " + ws.Name +
				" is of no repository, which has no branches",
				Hint: "merge it into the folder"}
		}
		var err error
		if dropped, err = m.takenBack(ctx); err == nil {
			commits, conflict, err = m.onto(ctx, branch, len(dropped) > 0)
		}
		return err
	})
	return commits, dropped, conflict, err
}

// takenBack are the files that the workspace has as the caller's last commit has them, and not as it found them.
func (m *merging) takenBack(ctx context.Context) ([]string, error) {
	base, err := m.treeOf(ctx, m.rec.Base.Commit)
	if err != nil {
		return nil, err
	}
	deltas, err := m.r.deltas(ctx, base, m.theirs)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(deltas))
	for i, d := range deltas {
		names[i] = d.name
	}
	had := map[string]entry{}
	if head := m.rec.Base.Head; head != "" {
		if had, err = m.r.entries(ctx, head, names); err != nil {
			return nil, err
		}
	}
	have, err := m.r.entries(ctx, m.theirs, names)
	return slices.DeleteFunc(names, func(name string) bool { return had[name] != have[name] }), err
}

func (m *merging) onto(ctx context.Context, branch string, lacks bool) (int, *Conflict, error) {
	if err := m.refuseMarked(ctx); err != nil {
		return 0, nil, err
	}
	full := "refs/heads/" + branch
	list, err := m.caller.out(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return 0, nil, err
	}
	if slices.Contains(strings.Split(list, "\n"), "branch "+full) {
		return 0, nil, &troupe.UserError{Problem: "the branch " + branch +
			" is checked out, so that only its files may " +
			"be changed", Hint: "merge into the folder with “troupe merge " + m.p.ws.Name + "”, or name another branch"}
	}
	was, start := "", m.rec.Base.Head
	for _, r := range m.caller.refs {
		if r.name == full {
			was, start = r.id, r.id
		}
	}
	steps, err := m.steps(ctx)
	if err != nil {
		return 0, nil, err
	}
	tip, commits, conflict, err := m.replay(ctx, start, steps)
	for err == nil && conflict != nil && len(m.rec.Handed) > 0 {
		name := strings.TrimPrefix(conflict.Path, m.p.ws.Of+"/")
		if whole, e := m.withCallers(ctx, &steps[0], name); e != nil || !whole {
			err = e
			break
		}
		tip, commits, conflict, err = m.replay(ctx, start, steps)
	}
	if err != nil || conflict != nil || tip == "" {
		return 0, conflict, err
	}
	had := replayed{Tree: m.raw, Commit: tip}
	if !lacks && !slices.Contains(m.rec.Onto, had) { // before the branch has it: alone it says nothing
		m.rec.Onto = append(m.rec.Onto, had)
		if err := m.k.write(m.p, m.rec); err != nil {
			return 0, nil, err
		}
	}
	if tip == was {
		return 0, nil, nil
	}
	if was == "" {
		was = strings.Repeat("0", len(tip))
	}
	return commits, nil, m.bring(ctx, tip, "update "+full+"\x00"+tip+"\x00"+was+"\x00")
}

// withCallers has a step bring what was handed in one file along: the agent resolved it there, and the branch has not
// got what it is built on. It reports whether the step is another one by that.
func (m *merging) withCallers(ctx context.Context, s *step, name string) (bool, error) {
	base, err := m.treeOf(ctx, m.rec.Base.Commit)
	if err != nil {
		return false, err
	}
	was, err := m.r.entries(ctx, base, []string{name})
	if err != nil {
		return false, err
	}
	from, err := graft(ctx, m.r, s.from, map[string]entry{name: was[name]})
	changed := from != s.from
	s.from = from
	return changed, err
}

// step is one commit that is to be made again.
type step struct {
	from, to string // trees
	commit   string // whose message and author it has; "": ours, with the subject
	subject  string
}

// steps are the commits of a workspace, the oldest first, and what it has not committed. Where its history does not go
// back to the base, all of it is one.
func (m *merging) steps(ctx context.Context) ([]step, error) {
	if len(m.rec.Handed) > 0 {
		// Single commits have what came of the caller's, and how conflicts were resolved is in none of them alone.
		return []step{{from: m.given, to: m.theirs, subject: "What " + m.p.ws.Name + " did"}}, nil
	}
	kept, err := readKept(m.p)
	if err != nil {
		return nil, err
	}
	head := kept[keptHead]
	if end := kept[keptEnd]; end != "" && (head == "" || reaches(ctx, m.r, end, head)) {
		head = end
	}
	var steps []step
	at, base := m.rec.Base.Commit, m.rec.Base.Commit
	if head != "" && reaches(ctx, m.r, head, base) {
		list, err := m.r.out(ctx, "rev-list", "--first-parent", "--reverse", "--parents", head, "^"+base)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(list) {
			ids := strings.Fields(line)
			if len(ids) < 2 || ids[1] != at {
				steps, at = nil, base // the base came by a merge
				break
			}
			steps, at = append(steps, step{from: ids[1], to: ids[0], commit: ids[0]}), ids[0]
		}
	}
	from, err := m.treeOf(ctx, at)
	if err != nil {
		return nil, err
	}
	if from != m.theirs {
		steps = append(steps, step{from: from, to: m.theirs, subject: "What " + m.p.ws.Name + " left uncommitted"})
	}
	return steps, nil
}

// replay makes the steps again on a commit; "" begins a history. A step that changes nothing there is left out.
func (m *merging) replay(ctx context.Context, tip string, steps []step) (string, int, *Conflict, error) {
	commits := 0
	for _, s := range steps {
		from, err := m.treeOf(ctx, s.from)
		if err != nil {
			return "", 0, nil, err
		}
		to, err := m.treeOf(ctx, s.to)
		if err != nil {
			return "", 0, nil, err
		}
		var onto string
		if tip != "" {
			onto, err = m.treeOf(ctx, tip)
		} else {
			onto, err = m.r.feed(ctx, "", "mktree")
		}
		if err != nil {
			return "", 0, nil, err
		}
		o, err := m.k.threeWay(ctx, m.r, from, onto, to)
		if err != nil {
			return "", 0, nil, err
		}
		if names := o.names(); len(names) > 0 {
			c := m.conflict(o, names[0])
			c.Path, c.Ours = filepath.Join(m.p.ws.Of, names[0]), ""
			return "", 0, &c, nil
		}
		if o.tree == onto {
			continue
		}
		// A tree that an agent made may have names which no checkout takes.
		if err := m.r.with("GIT_INDEX_FILE="+m.r.aside("index.onto")).run(ctx, "read-tree", o.tree); err != nil {
			return "", 0, nil, err
		}
		if tip, err = m.again(ctx, s, o.tree, tip); err != nil {
			return "", 0, nil, err
		}
		commits++
	}
	return tip, commits, nil, nil
}

// again makes a commit with the message and the author of another. Signatures and other headers are not taken over.
func (m *merging) again(ctx context.Context, s step, tree, parent string) (string, error) {
	if s.commit == "" {
		var parents []string
		if parent != "" {
			parents = []string{parent}
		}
		return m.k.commit(ctx, m.r, tree, s.subject, parents...)
	}
	text, err := m.r.out(ctx, "cat-file", "commit", s.commit)
	if err != nil {
		return "", err
	}
	head, message, _ := strings.Cut(text, "\n\n")
	committer, err := m.r.out(ctx, "var", "GIT_COMMITTER_IDENT")
	if err != nil {
		return "", err
	}
	person := regexp.MustCompile(`^[^<>\n\x00]+ <[^<>\n\x00]*> [0-9]{1,12} [+-][0-9]{4}$`)
	author, encoding := committer, ""
	for line := range strings.SplitSeq(head, "\n") {
		if name, ok := strings.CutPrefix(line, "author "); ok && person.MatchString(name) {
			author = name
		}
		if strings.HasPrefix(line, "encoding ") {
			encoding = line + "\n"
		}
	}
	above := ""
	if parent != "" {
		above = "parent " + parent + "\n"
	}
	id, err := m.r.feed(ctx, fmt.Sprintf("tree %s\n%sauthor %s\ncommitter %s\n%s\n%s\n", tree, above, author, committer,
		encoding, message), "hash-object", "-t", "commit", "-w", "--stdin")
	if err != nil {
		return "", errors.Join(fmt.Errorf("commit %s cannot be made again", s.commit), err)
	}
	return id, nil
}
