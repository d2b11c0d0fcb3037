package worktree

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
)

// allWorktrees is the variable that has tests of this package do as much as is promised.
const allWorktrees = "TROUPE_ALL_WORKTREES"

// crowd are agents that work beside each other on one repository.
type crowd struct {
	*bench
	keepers []*Keeper // as two processes have them
	folder  sync.Mutex
	lines   [][]string
}

// one is the life of one agent, from its folder to the merge.
func (c *crowd) one(i int, ws troupe.Workspace) error {
	k, other := c.keepers[i%2], c.keepers[(i+1)%2]
	if _, err := k.Open(c.t.Context(), ws, Making{}); err != nil {
		return err
	}
	write := func(name, text string) { put(c.t, filepath.Join(ws.Top, name), text+"\n") }
	own := fmt.Sprintf("own%d.txt", i)
	write(own, c.lines[i][0])
	if out, err := c.try(ws.Top, "commit", "-qam", "own"); err != nil {
		return fmt.Errorf("commit: %w: %s", err, out)
	}
	write("stashed.txt", c.lines[i][1])
	if out, err := c.try(ws.Top, "stash", "-qu"); err != nil {
		return fmt.Errorf("stash: %w: %s", err, out)
	}
	write(fmt.Sprintf("new%d.txt", i), c.lines[i][2])
	if _, err := other.Save(c.t.Context(), ws, nil, ""); err != nil {
		return fmt.Errorf("save: %w", err)
	}
	if res, err := k.Close(c.t.Context(), ws, Ending{Message: "end"}); err != nil || !res.Gone || res.Commits != 2 {
		return fmt.Errorf("close: %+v, %w", res, err)
	}
	c.folder.Lock() // as the gate has it in a session
	defer c.folder.Unlock()
	m, err := k.Merge(c.t.Context(), ws, Into{})
	if err != nil || len(m.Changes) != 2 {
		return fmt.Errorf("merge: %+v, %w", m, err)
	}
	_, err = Apply(c.dir, m.Changes)
	return err
}

// collects has the caller's repository collected again and again until the returned function is called.
func (c *crowd) collects() (stop func() error) {
	ended, collected := make(chan struct{}), make(chan error, 1)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-ended:
				collected <- nil
				return
			default:
			}
			if out, err := c.try(c.dir, "gc", "-q", "--prune=now"); err != nil {
				collected <- fmt.Errorf("gc %d: %w: %s", n, err, out)
				return
			}
		}
	}()
	return func() error {
		close(ended)
		return <-collected
	}
}

// TestPains28: many agents that commit, stash, are saved, end and merge at once on one repository, which is collected
// meanwhile, all get there, and every line of theirs is in a kept ref.
func TestPains28(t *testing.T) {
	t.Parallel()
	many := 50
	if testing.Short() {
		many = 8
	}
	c := &crowd{bench: newRaced(t), lines: make([][]string, many)}
	c.keepers = []*Keeper{c.k, c.keeper()}
	all := make([]troupe.Workspace, many)
	for i := range many {
		c.write(fmt.Sprintf("own%d.txt", i), "1\n")
		all[i] = c.plan(fmt.Sprintf("agent%d", i))
		for _, what := range []string{"committed", "stashed", "left"} {
			c.lines[i] = append(c.lines[i], fmt.Sprintf("line %s by agent %d", what, i))
		}
	}
	c.git(c.dir, "add", "-A")
	c.git(c.dir, "commit", "-qm", "many")
	stop := c.collects()
	errs := make([]error, many)
	var group sync.WaitGroup
	for i, ws := range all {
		group.Go(func() { errs[i] = c.one(i, ws) })
	}
	group.Wait()
	if err := stop(); err != nil {
		t.Error(err)
	}
	var lines []string
	for i, err := range errs {
		if err != nil {
			t.Errorf("agent %d: %v", i, err)
		}
		lines = append(lines, c.lines[i]...)
		if got := get(filepath.Join(c.dir, fmt.Sprintf("own%d.txt", i))); got != c.lines[i][0]+"\n" {
			t.Errorf("own%d.txt: %q", i, got)
		}
		c.fsck(filepath.Join(c.k.data, string(all[i].Owner), "repo.git"))
	}
	c.git(c.dir, "gc", "-q", "--prune=now")
	c.has(c.dir, lines)
	c.fsck(filepath.Join(c.dir, ".git"))
}
