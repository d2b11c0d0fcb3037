package e2e_test

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// TestKillAtEdit kills the process in the moment in which an edit takes effect, before or
// after it was logged. The model then looks and does what is left.
func TestKillAtEdit(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("f.txt", "END\n")
	p.write("../s.yaml", `
replies:
  - turn: 1
    calls: [{tool: Read, input: {file_path: f.txt}}]
  - turn: 2
    calls: [&e {tool: Edit, input: {file_path: f.txt, old_string: END, new_string: "added\nEND"}}]
  - contains: may or may not have taken effect
    calls: [{tool: Read, input: {file_path: f.txt}}]
  - contains: added
    text: it is there
  - contains: END
    calls: [*e]
  - text: it is there
`)
	changed := watch(t, p.dir)
	proc, err := startProcess(p.command("-p", "go", "--name", "job", "--model", "script:../s.yaml", "--permission-mode",
		"acceptEdits"))
	if err != nil {
		t.Fatal(err)
	}
	changed()
	_ = proc.cmd.Process.Kill() // it may have ended
	if r, err := proc.wait(); err != nil || r.code > 0 {
		t.Fatalf("%v, exit %d\n%s", err, r.code, r.errOut)
	}
	if got := p.read("f.txt"); got != "added\nEND\n" {
		t.Errorf("after the kill: %q", got)
	}
	if show := p.troupe("show", "job", "--json"); lookedUp(t, show.out, "status") != "completed" {
		if run := p.run(0, "-p", "--resume", "job"); run.Result != "it is there" {
			t.Errorf("got %+v", run)
		}
	}
	if got := p.read("f.txt"); got != "added\nEND\n" {
		t.Errorf("in the end: %q", got)
	}
	p.audit("job")
}

func lookedUp(t *testing.T, text, path string) string {
	t.Helper()
	got, err := lookup(text, path)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// watch returns a function that waits until a file is put in its place in the folder.
func watch(t *testing.T, dir string) (changed func()) {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK) // so that a deadline holds
	if err != nil {
		t.Skip("no inotify here: ", err)
	}
	f := os.NewFile(uintptr(fd), "inotify")
	t.Cleanup(func() { _ = f.Close() })
	if _, err := syscall.InotifyAddWatch(fd, dir, syscall.IN_MOVED_TO); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := f.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Error(err)
		}
		if _, err := f.Read(make([]byte, 4096)); err != nil {
			t.Error(err)
		}
	}
}
