package worktree

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	randv2 "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// livesIn makes the test binary a process that makes, uses and ends workspaces in a folder until it is killed.
const livesIn = "TROUPE_WORKTREE_TEST_LIVES_IN"

func TestMain(m *testing.M) {
	if home := os.Getenv(livesIn); home != "" {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		live := newLife(home, true).forEver
		if one := os.Getenv(opens); one != "" {
			live = func(ctx context.Context) error { return openOne(ctx, home, one) }
		}
		err := live(ctx)
		cancel()
		fmt.Println("ERROR", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// slots is how many agents are at work side by side.
const slots = 2

// life is what one process does with the workspaces of a home. What it has done of each it notes in a file of its own,
// as a session does in its log, and only after it was done: the next process reads there where to go on.
type life struct {
	bench
	aloud  bool       // each step is told, for a parent that kills at one of them
	folder sync.Mutex // the caller's files are one at a time's to write, as the gate has it
}

func newLife(home string, aloud bool) *life {
	l := &life{bench: bench{home: home, dir: filepath.Join(home, "project")}, aloud: aloud}
	l.k = l.keeper()
	l.k.step = func(name string) error { l.tell(name); return nil }
	return l
}

func (l *life) tell(what string) {
	if l.aloud {
		fmt.Println(what)
	}
}

// deed is the log of one workspace.
type deed struct {
	Workspace      troupe.Workspace
	Base           *troupe.WorkspaceBase
	Lines          []string // that were written, and whose writing has returned
	Closed, Merged bool
}

func (l *life) deedOf(name string) string { return filepath.Join(l.home, "deeds", name+".json") }

func (l *life) note(d *deed) error {
	data, err := json.Marshal(d)
	path := l.deedOf(d.Workspace.Name)
	if err == nil {
		err = os.WriteFile(path+".new", data, 0o600)
	}
	l.tell("note")
	return errors.Join(err, os.Rename(path+".new", path))
}

// forEver begins one workspace after the other in each slot, behind what was left in the middle.
func (l *life) forEver(ctx context.Context) error {
	errs := make(chan error)
	for slot := range slots {
		go func() {
			for n := 0; ; n++ {
				if err := l.one(ctx, fmt.Sprintf("agent-%d-%d", slot, n)); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	return <-errs
}

// one has a workspace go on to its end, from wherever it is.
func (l *life) one(ctx context.Context, name string) error {
	d, err := l.read(name)
	if err != nil || d.Merged {
		return err
	}
	if d.Workspace.Owner == "" {
		id, err := troupe.NewRootID(rand.Reader)
		if err != nil {
			return err
		}
		d.Workspace, err = l.k.Plan(ctx, Wish{Owner: id, Kind: troupe.WorkspaceTree, Name: name, Exact: true,
			From: l.dir})
		if err := errors.Join(err, l.note(d)); err != nil {
			return fmt.Errorf("plan %s: %w", name, err)
		}
	}
	if !d.Closed {
		if err := l.work(ctx, d); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := l.merged(ctx, d.Workspace); err != nil {
		return fmt.Errorf("merge %s: %w", name, err)
	}
	d.Merged = true
	return l.note(d)
}

func (l *life) read(name string) (*deed, error) {
	var d deed
	data, err := os.ReadFile(l.deedOf(name))
	if errors.Is(err, os.ErrNotExist) {
		return &d, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &d)
	}
	return &d, err
}

// work is a run of an agent: the folder, what is done in it, and the end.
func (l *life) work(ctx context.Context, d *deed) error {
	ws := d.Workspace
	base, err := l.k.Open(ctx, ws, Making{Base: d.Base})
	if err != nil {
		return err
	}
	if d.Base != nil && d.Base.Commit != base.Commit {
		return fmt.Errorf("the base moved from %s to %s", d.Base.Commit, base.Commit)
	}
	d.Base = &base
	if err := l.note(d); err != nil {
		return err
	}
	for turn := len(d.Lines); turn < 4; turn++ {
		line := fmt.Sprintf("line %d of %s", turn, ws.Name)
		if err := l.turn(ctx, ws, turn, line); err != nil {
			return fmt.Errorf("turn %d: %w", turn, err)
		}
		d.Lines = append(d.Lines, line)
		if err := l.note(d); err != nil {
			return err
		}
	}
	res, err := l.k.Close(ctx, ws, Ending{Message: "end"})
	if err != nil {
		return fmt.Errorf("close: %w", err)
	}
	if !res.Gone {
		return fmt.Errorf("closed: %+v", res)
	}
	d.Closed = true
	return l.note(d)
}

// turn writes one line in one of the ways in which agents leave what they did, and has it saved.
func (l *life) turn(ctx context.Context, ws troupe.Workspace, n int, line string) error {
	name := "own-" + ws.Name + ".txt"
	if n == 1 {
		name = "stashed-" + ws.Name + ".txt"
	}
	path := filepath.Join(ws.Top, name)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	l.tell("written")
	var changed []string
	var commands [][]string
	switch n {
	case 0:
		commands = [][]string{{"add", "-A"}, {"commit", "-q", "--allow-empty", "-m", "one"}}
	case 1:
		commands = [][]string{{"stash", "push", "-qu"}}
	case 2:
		changed = []string{path}
	case 3:
		commands = [][]string{{"add", name}}
	}
	for _, args := range commands {
		if err := l.commands(ctx, ws, args...); err != nil {
			return err
		}
		l.tell("git")
	}
	_, err = l.k.Save(ctx, ws, changed, "")
	return err
}

// commands runs the agent's own git. What one that was killed left locked its agent unlocks, once it is sure that none
// is at work any more. `git stash` says nothing of a lock: it just exits with 1.
func (l *life) commands(ctx context.Context, ws troupe.Workspace, args ...string) error {
	try := func() (again bool, err error) {
		out, err := l.try(ws.Top, args...)
		if err == nil {
			return false, nil
		}
		again = out == "" || strings.Contains(out, ".lock': File exists")
		return again, fmt.Errorf("git %s: %w: %s", args[0], err, out)
	}
	err := retry(ctx, 2*time.Second, try)
	if err == nil {
		return nil
	}
	locks, walked := locksIn(ws.Top)
	if len(locks) == 0 || walked != nil {
		return errors.Join(err, walked)
	}
	for _, path := range locks {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	_, err = try()
	return err
}

// locksIn are git's lock files in a workspace.
func locksIn(top string) (locks []string, err error) {
	err = filepath.WalkDir(filepath.Join(top, ".git"), func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasSuffix(path, ".lock") {
			locks = append(locks, path)
		}
		if errors.Is(err, os.ErrNotExist) { // git at work removed it meanwhile
			err = nil
		}
		return err
	})
	return locks, err
}

// merged brings a workspace's work to the caller's folder.
func (l *life) merged(ctx context.Context, ws troupe.Workspace) error {
	l.folder.Lock()
	defer l.folder.Unlock()
	m, err := l.k.Merge(ctx, ws, Into{})
	if err != nil || len(m.Conflicts) > 0 {
		return errors.Join(err, fmt.Errorf("conflicts: %+v", m.Conflicts))
	}
	l.tell("computed")
	_, err = Apply(l.dir, m.Changes)
	l.tell("applied")
	return err
}

// TestReallyKilled kills processes that make, save, end and merge workspaces, at moments that a seed draws, with the
// git that they run or without it. Whatever a process had written before is in a kept ref in the end, every repository
// is whole, and what was merged is in the caller's folder. TROUPE_ALL_WORKTREES=1 has 60 kills, TROUPE_KILLS_SEED
// repeats a run as far as moments can be repeated.
func TestReallyKilled(t *testing.T) {
	t.Parallel()
	kills := 10
	if os.Getenv(allWorktrees) != "" {
		kills = 60
	}
	seed := randv2.Uint64()
	if s, err := strconv.ParseUint(os.Getenv("TROUPE_KILLS_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("TROUPE_KILLS_SEED=%d", seed)
	rng := randv2.New(randv2.NewPCG(seed, 1))
	b := newBench(t)
	if err := os.Mkdir(filepath.Join(b.home, "deeds"), 0o700); err != nil {
		t.Fatal(err)
	}
	behind := map[string]int{}
	for n := range kills {
		at := b.killOne(rng.IntN(60), time.Duration(rng.IntN(15_000))*time.Microsecond, rng.IntN(2) == 0)
		behind[at]++
		b.fsck(filepath.Join(b.dir, ".git"))
		if n%3 == 2 {
			b.git(b.dir, "gc", "-q", "--prune=now")
		}
		if t.Failed() {
			t.Fatalf("after kill %d, behind %q", n, at)
		}
	}
	t.Logf("killed behind: %v", behind)
	b.allThere()
}

// killOne has a process live, kills it a while after it has told of so many steps, and says which was the last.
func (b *bench) killOne(steps int, after time.Duration, group bool) (last string) {
	b.t.Helper()
	cmd := exec.CommandContext(b.t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), livesIn+"="+b.home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	victim := cmd.Process.Pid
	if group {
		victim = -victim
	}
	sc := bufio.NewScanner(out)
	for n := 0; sc.Scan(); n++ {
		last = sc.Text()
		if strings.HasPrefix(last, "ERROR") {
			b.t.Error(last)
		}
		if n == steps {
			timer := time.NewTimer(after)
			<-timer.C
			if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
				b.t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		b.t.Error("it was not killed")
	}
	return last
}

// allThere ends what is left in the middle, and looks for all that was ever told to be written.
func (b *bench) allThere() {
	b.t.Helper()
	l := newLife(b.home, false)
	names, err := filepath.Glob(l.deedOf("*"))
	if err != nil {
		b.t.Fatal(err)
	}
	var lines []string
	for _, path := range names {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		if err := l.one(b.t.Context(), name); err != nil {
			b.t.Error(err)
			continue
		}
		d, err := l.read(name)
		if err != nil || len(d.Lines) != 4 || !d.Merged {
			b.t.Errorf("%s: %+v, %v", name, d, err)
			continue
		}
		lines = append(lines, d.Lines...)
		merged := get(filepath.Join(b.dir, "own-"+name+".txt"))
		for _, n := range []int{0, 2, 3} {
			if !strings.Contains(merged, d.Lines[n]+"\n") {
				b.t.Errorf("%s: %q is not merged: %q", name, d.Lines[n], merged)
			}
		}
		b.fsck(filepath.Join(b.k.data, string(d.Workspace.Owner), "repo.git"))
	}
	b.t.Logf("%d workspaces, %d lines", len(names), len(lines))
	b.git(b.dir, "gc", "-q", "--prune=now")
	b.has(b.dir, lines)
	b.fsck(filepath.Join(b.dir, ".git"))
	for line := range strings.Lines(b.git(b.dir, "status", "--porcelain")) {
		if !strings.HasPrefix(line, "?? own-agent-") {
			b.t.Errorf("the caller's status: %s", line)
		}
	}
}
