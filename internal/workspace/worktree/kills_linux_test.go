package worktree

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	randv2 "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool/files"
	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// livesIn makes the test binary a process that makes, uses and ends workspaces in a folder until it is killed.
const livesIn = "TROUPE_WORKTREE_TEST_LIVES_IN"

func TestMain(m *testing.M) {
	if home := os.Getenv(livesIn); home != "" {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		live := func(ctx context.Context) error { return forEver(ctx, home) }
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

// The phases in which a process is to be killed. Between them it does what is short, such as writing a line.
const (
	inCreation = "creation" // from the caller's repository to the folder
	inCommit   = "commit"   // the agent's own git, and the commit of what it left
	inFetch    = "fetch"    // from the agent's repository to the keeper, and from there to the caller's
	inRemoval  = "removal"  // of the folder, once all is handed over
	inMerge    = "merge"    // into the caller's folder
)

func phases() []string { return []string{inCreation, inCommit, inFetch, inRemoval, inMerge} }

// life is what one process does with the workspaces of a home. What it has done of each it notes in a file of its own,
// as a session does in its log, and only after it was done: the next process reads there where to go on.
type life struct {
	bench
	slot   int
	phase  string
	aloud  bool        // each step is told, for a parent that kills at one of them
	folder *sync.Mutex // the caller's files are one at a time's to write, as the gate has it
}

func newLife(home string) *life {
	l := &life{bench: bench{home: home, dir: filepath.Join(home, "project")}, folder: &sync.Mutex{}}
	l.k = l.keeper()
	l.k.step = func(name string) error {
		switch {
		case name == "looked" && l.phase == inFetch: // all is brought, and the files have their turn
			l.phase = ""
		case name == "committed", name == "transferred":
			l.phase = inFetch
		case name == "handed":
			l.phase = inRemoval
		}
		l.tell(name)
		return nil
	}
	return l
}

// tell says what was done, and in which phase the slot is now.
func (l *life) tell(what string) {
	if l.aloud {
		fmt.Printf("%d/%s/%s\n", l.slot, l.phase, what)
	}
}

// in does something that is a phase from its beginning on.
func (l *life) in(phase string, do func() error) error {
	l.phase = phase
	l.tell("begun")
	err := do()
	l.phase = ""
	l.tell("ended")
	return err
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

// forEver begins one workspace after the other in each slot, behind what was left in the middle. Every git that is run,
// the agents' own too, has the file open that it was given.
func forEver(ctx context.Context, home string) error {
	errs := make(chan error)
	var folder sync.Mutex
	const first = 3 // of the files that a process is given
	syscall.CloseOnExec(first)
	left := os.NewFile(first, "left")
	ctx = git.Keeping(ctx, left)
	for slot := range slots {
		go func() {
			l := newLife(home)
			l.slot, l.aloud, l.folder, l.given = slot, true, &folder, []*os.File{left}
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
	var base troupe.WorkspaceBase
	err := l.in(inCreation, func() (err error) {
		base, err = l.k.Open(ctx, ws, Making{Base: d.Base})
		return err
	})
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
	var res troupe.WorkspaceResult
	err = l.in(inCommit, func() (err error) {
		res, err = l.k.Close(ctx, ws, Ending{Message: "end"})
		return err
	})
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
		if err := l.in(inCommit, func() error { return l.commands(ctx, ws, args...) }); err != nil {
			return err
		}
	}
	save := func() error {
		_, err := l.k.Save(ctx, ws, changed, "")
		return err
	}
	if n < 2 { // it has a commit that the keeper lacks
		return l.in(inFetch, save)
	}
	return save()
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
	return l.in(inMerge, func() error {
		m, err := l.k.Merge(ctx, ws, Into{})
		if err != nil || len(m.Conflicts) > 0 {
			return errors.Join(err, fmt.Errorf("conflicts: %+v", m.Conflicts))
		}
		l.tell("computed")
		files.Sweep(l.dir) // of what a merge that was killed has left beside the files, as whoever merges does first
		_, err = Apply(l.dir, m.Changes)
		l.tell("applied")
		return err
	})
}

// TestLooksWhenStill: whether all is whole is judged when the gits that a killed process left have ended. Red before:
// "missing commit", of one that an agent's git had made while `git fsck` was looking.
func TestLooksWhenStill(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	if err := os.Mkdir(filepath.Join(b.home, "deeds"), 0o700); err != nil {
		t.Fatal(err)
	}
	began, ended := filepath.Join(b.home, "began"), filepath.Join(b.home, "ended")
	bin := filepath.Join(b.home, "bin")
	// An agent's git that makes its commit between fsck's look at the objects and the one at the refs: a pipe is among
	// these, and who reads them waits there. If nobody looks, it makes none.
	put(t, filepath.Join(bin, "git"), `#!/bin/sh
if [ "$1" != commit ]; then
	exec `+git+` "$@"
fi
pipe=.git/refs/aaa/pipe
mkdir .git/refs/aaa && mkfifo $pipe && : > `+began+`
timeout 2 sh -c 'pipe=$1; shift; exec 7> $pipe && rm $pipe && "$@" && `+git+` rev-parse HEAD >&7' sh $pipe `+git+` "$@"
rm -f $pipe
: > `+ended+`
`)
	if err := os.Chmod(filepath.Join(bin, "git"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd, _, left := b.live("PATH=" + bin + ":" + os.Getenv("PATH"))
	err = retry(t.Context(), time.Minute, func() (bool, error) { return !there(began), nil })
	if err != nil || !there(began) {
		t.Errorf("git did not begin: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if there(ended) {
		t.Fatal("git ended before its process")
	}
	if agents := b.wholeNow(left); agents == 0 || !there(ended) {
		t.Errorf("%d repositories of agents; git had ended: %v", agents, there(ended))
	}
}

// TestReallyKilled kills processes that make, save, end and merge workspaces, at moments that a seed draws, with the
// git that they run or without it: each second time in the middle of the phase whose turn it is, until each of the five
// was hit. After each kill a ref of a keeper or of the caller has each line that was saved, whatever gits of the killed
// process are at work still, and once they have ended every repository is whole, the agents' own and the keepers'
// included. In the end whatever a process had written is in a kept ref of the
// caller's, and what was merged is in its folder. TROUPE_ALL_WORKTREES=1 has 200 kills, TROUPE_KILLS_SEED repeats a run
// as far as moments can be repeated.
func TestReallyKilled(t *testing.T) {
	whole(t)
	t.Parallel()
	kills := 50
	if os.Getenv(allWorktrees) != "" {
		kills = 200
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
	hit, agents := map[string]int{}, 0
	missed := func() string {
		for _, phase := range phases() {
			if hit[phase] == 0 {
				return phase
			}
		}
		return ""
	}
	for n := 0; n < kills || missed() != "" && n < 2*kills+100; n++ {
		want := ""
		if n >= kills {
			want = missed()
		} else if n%2 == 0 {
			want = phases()[n/2%len(phases())]
		}
		group := rng.IntN(2) == 0
		var at []string
		var left *os.File
		if want == "" {
			at, left = b.killOne(group, rng.IntN(60), "", time.Duration(rng.IntN(15_000))*time.Microsecond)
		} else {
			at, left = b.killOne(group, rng.IntN(4), want, time.Duration(rng.IntN(5_000))*time.Microsecond)
		}
		for _, phase := range at {
			hit[phase]++
		}
		agents += b.wholeNow(left)
		if n%3 == 2 {
			b.git(b.dir, "gc", "-q", "--prune=now")
		}
		if t.Failed() {
			t.Fatalf("after kill %d, in %q", n, at)
		}
	}
	t.Logf("killed in: %v; repositories of agents that were looked at: %d", hit, agents)
	if phase := missed(); phase != "" || agents == 0 {
		t.Errorf("no kill in %q; %d repositories of agents", phase, agents)
	}
	b.allThere()
}

// killOne has a process live, kills it a while after it has told of so many steps, of those that begin a phase if one
// is wanted, and says in which phases its slots were. What is left comes to its end when its gits have.
func (b *bench) killOne(group bool, steps int, phase string, after time.Duration) (at []string, left *os.File) {
	b.t.Helper()
	cmd, out, left := b.live()
	victim := cmd.Process.Pid
	if group {
		victim = -victim
	}
	was := make([]string, slots)
	sc := bufio.NewScanner(out)
	for n := 0; sc.Scan(); {
		told := strings.Split(sc.Text(), "/")
		slot, err := strconv.Atoi(told[0])
		if len(told) != 3 || err != nil {
			b.t.Error(sc.Text())
			continue
		}
		begins := told[1] != "" && told[1] != was[slot]
		was[slot] = told[1]
		if phase != "" && !(begins && told[1] == phase) {
			continue
		}
		if n == steps {
			timer := time.NewTimer(after)
			<-timer.C
			if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
				b.t.Error(err)
			}
		}
		n++
	}
	if err := cmd.Wait(); err == nil {
		b.t.Error("it was not killed")
	}
	return slices.DeleteFunc(was, func(phase string) bool { return phase == "" }), left
}

// live begins a process that tells what it does. What is left of it can be read until it and all its gits have ended.
func (b *bench) live(environ ...string) (cmd *exec.Cmd, told io.Reader, left *os.File) {
	b.t.Helper()
	cmd = exec.CommandContext(b.t.Context(), os.Args[0])
	cmd.Env = slices.Concat(os.Environ(), []string{livesIn + "=" + b.home}, environ)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	told, err := cmd.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	left, open, err := os.Pipe()
	if err != nil {
		b.t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{open}
	if err := errors.Join(cmd.Start(), open.Close()); err != nil {
		b.t.Fatal(err)
	}
	return cmd, told, left
}

// wholeNow holds every repository to what must be so directly after a kill, and says how many were agents' own.
//
// `git fsck` reads the objects first and the refs and their logs then: of a repository that a git is at work in it
// calls missing what came between the two. So it looks when all gits of the killed process have ended; what was saved
// has to be there at once.
func (b *bench) wholeNow(left *os.File) (agents int) {
	b.t.Helper()
	l := newLife(b.home)
	l.t = b.t
	repositories := []string{filepath.Join(b.dir, ".git")}
	var handed []string
	for _, name := range l.names() {
		d, err := l.read(name)
		if err != nil {
			b.t.Error(err)
			continue
		}
		if own := filepath.Join(d.Workspace.Top, ".git"); there(own) {
			repositories = append(repositories, own)
			agents++
		}
		keeper := filepath.Join(b.k.data, string(d.Workspace.Owner), "repo.git")
		switch {
		case d.Closed:
			handed = append(handed, d.Lines...)
		case d.Base != nil:
			b.has(keeper, d.Lines)
			repositories = append(repositories, keeper)
		}
	}
	b.has(b.dir, handed)
	err := left.SetReadDeadline(time.Now().Add(time.Minute))
	if err == nil {
		_, err = io.Copy(io.Discard, left)
	}
	if err = errors.Join(err, left.Close()); err != nil {
		b.t.Fatalf("a git outlives its process for a minute: %v", err)
	}
	b.fsck(repositories...)
	return agents
}

// names are the workspaces that were begun.
func (l *life) names() (names []string) {
	paths, err := filepath.Glob(l.deedOf("*"))
	if err != nil {
		l.t.Fatal(err)
	}
	for _, path := range paths {
		names = append(names, strings.TrimSuffix(filepath.Base(path), ".json"))
	}
	return names
}

// allThere ends what is left in the middle, and looks for all that was ever told to be written.
func (b *bench) allThere() {
	b.t.Helper()
	l := newLife(b.home)
	l.t = b.t
	var lines []string
	names := l.names()
	for _, name := range names {
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
