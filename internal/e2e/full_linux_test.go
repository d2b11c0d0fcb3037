package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestFullDisk: the disk with the home fills up in the middle of a run. The run is broken off
// with the reason and what to do, what was logged can be read while there is no room, and
// with room again the run goes on: nothing is lost, nothing done twice.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := syscall.Mount("tmpfs", p.home(), "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("cannot mount a small file system here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(p.home(), 0); err != nil {
			t.Error(err)
		}
	})
	ballast := filepath.Join(p.home(), "ballast")
	p.write("../s.yaml", `
replies:
  - agent: main
    turn: 1
    calls: [{tool: Agent, input: {name: kid, description: d, prompt: p, run_in_background: true}}, {tool: Bash, input: {command: "echo main 1 >> main.txt"}}]
  - {agent: main, turn: 2, calls: [{tool: Bash, input: {command: "echo main 2 >> main.txt; cat go; head -c 9000000 /dev/zero > `+ballast+`; true"}}]}
  - {agent: main, turn: 3, calls: [{tool: Bash, input: {command: "echo main 3 >> main.txt"}}]}
  - {agent: main, text: all done}
  - {turn: 1, calls: [{tool: Bash, input: {command: "echo kid 1 >> main.txt"}}]}
  - {turn: 2, calls: [{tool: Bash, input: {command: "echo > go; echo > gone; sleep 300", run_in_background: true}}, {tool: Bash, input: {command: "timeout 30 cat gone; seq 200"}}]}
  - text: seen
`)
	p.mkfifo("go")
	p.mkfifo("gone") // the kid's end would end its command, which may not have come to say go
	full := func(args ...string) {
		t.Helper()
		r := p.troupe(args...)
		if r.code != 1 || r.out != "" || !strings.HasPrefix(r.errOut, "troupe: ") ||
			strings.Contains(r.errOut, "goroutine") ||
			!strings.Contains(r.errOut, "full") || !strings.Contains(r.errOut, "space") {
			t.Errorf("exit %d\n%s%s", r.code, r.out, r.errOut)
		}
	}
	full("-p", "go", "--name", "job", "--model", "script:../s.yaml", "--permission-mode", "bypassPermissions")
	if _, err := os.Stat(ballast); err != nil {
		t.Fatal(err)
	}
	before := p.troupe("log", "job", "--json")
	if before.code != 0 || !strings.Contains(before.out, "echo main 1") {
		t.Errorf("what was logged cannot be read: exit %d\n%s%s", before.code, before.out, before.errOut)
	}
	full("-p", "--resume", "job")
	full("-p", "another", "--model", "script:../s.yaml")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if run := p.run(0, "-p", "--resume", "job"); run.Result != "all done" || len(run.Agents) != 2 ||
		run.Agents[1].Status != troupe.Completed {
		t.Errorf("in the end: %+v", run)
	}
	if after := p.troupe("log", "job", "--json").out; !strings.HasPrefix(after, before.out) {
		t.Errorf("what was logged before is not the beginning of the log:\n%s\n%s", before.out, after)
	}
	p.audit("job")
	for _, step := range []string{"main 1", "main 2", "main 3", "kid 1"} {
		if n := strings.Count(p.read("main.txt"), step+"\n"); n > 1 || n == 0 && step != "main 3" {
			t.Errorf("%s was done %d times", step, n)
		}
	}
	if n := len(left(t, p, "owners", "*")); n > 0 {
		t.Error(fmt.Sprint("processes that met the full disk left locks: ", n))
	}
}

// TestRemoveFromFullDisk: what is to go can go though there is no room left to say so.
func TestRemoveFromFullDisk(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := syscall.Mount("tmpfs", p.home(), "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("cannot mount a small file system here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(p.home(), 0); err != nil {
			t.Error(err)
		}
	})
	p.write("../s.yaml", "replies:\n  - {turn: 1, calls: [{tool: Bash, input: {command: \"seq 200000\"}}]}\n  - "+
		"text: done\n")
	p.write("../n.yaml", "replies: [{text: done}]")
	for _, name := range []string{"large", "spare"} {
		p.run(0, "-p", "go", "--name", name, "--model", "script:../s.yaml", "--permission-mode", "bypassPermissions")
	}
	p.run(0, "-p", "go", "--name", "small", "--model", "script:../n.yaml")
	ballast, err := os.Create(filepath.Join(p.home(), "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = ballast.Write(make([]byte, 512))
	}
	info, err := ballast.Stat()
	if err == nil { // room for what opening takes
		err = errors.Join(ballast.Truncate(info.Size()-44<<10), ballast.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if r := p.troupe("rm", "small"); r.code != 1 || !strings.Contains(r.errOut, "full") ||
		strings.Contains(r.errOut, "freed") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.errOut)
	}
	if r := p.troupe("rm", "large"); r.code != 0 || !strings.HasPrefix(r.out, "removed ") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.errOut)
	}
	if r := p.troupe("sessions"); strings.Contains(r.out, "large") || !strings.Contains(r.out, "spare") {
		t.Errorf("left are\n%s%s", r.out, r.errOut)
	}
}

// TestFirstStartOnAFullDisk: wherever the disk fills up during the first start, it says so, and the
// next start with room again works.
func TestFirstStartOnAFullDisk(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("../n.yaml", "replies: [{text: done}]")
	failed := 0
	for room := int64(0); room <= 600<<10; room += 24 << 10 {
		if err := syscall.Mount("tmpfs", p.home(), "tmpfs", 0, "size=2m"); err != nil {
			t.Skipf("cannot mount a small file system here: %v", err)
		}
		ballast := filepath.Join(p.home(), "ballast")
		if err := os.WriteFile(ballast, make([]byte, 2<<20-room), 0o600); err != nil && room > 0 {
			t.Error(err)
		}
		first := p.troupe("-p", "go", "--name", "job", "--model", "script:../n.yaml")
		if first.code != 0 {
			failed++
			if first.code != 1 || !strings.Contains(first.errOut, "space") && !strings.Contains(first.errOut, "disk") {
				t.Errorf("with room for %d bytes: exit %d\n%s%s", room, first.code, first.out, first.errOut)
			}
		}
		if err := os.Remove(ballast); err != nil {
			t.Error(err)
		}
		if r := p.troupe("-p", "go", "--model", "script:../n.yaml"); r.code != 0 {
			t.Errorf("with room for %d bytes, then more: exit %d\n%s%s\nThe first start: %s", room, r.code, r.out,
				r.errOut, first.errOut)
		}
		if r := p.troupe("sessions"); r.code != 0 {
			t.Errorf("with room for %d bytes, then more: sessions: exit %d\n%s%s", room, r.code, r.out, r.errOut)
		}
		if err := syscall.Unmount(p.home(), 0); err != nil {
			t.Fatal(err)
		}
	}
	if failed < 3 {
		t.Errorf("only %d first starts met the full disk", failed)
	}
}
