package e2e_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestTornLog: a damaged place in the log of the database takes what was logged behind it. The next command says so
// before SQLite removes the log, and the doctor as long as the copy of it is there.
func TestTornLog(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("../s.yaml", `
replies:
  - {turn: 1, calls: [{tool: Bash, input: {command: "echo up > up; sleep 300; true"}}]}
  - text: done
`)
	up := p.fifo("up")
	old, err := startProcess(p.command("-p", "go", "--model", "script:../s.yaml", "--name", "job",
		"--permission-mode", "bypassPermissions", "--output-format", "stream-json"))
	if err != nil {
		t.Fatal(err)
	}
	up()
	if err := old.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := old.wait(); err != nil {
		t.Log(err)
	}
	log, err := os.OpenFile(filepath.Join(p.home(), "troupe.db-wal"), os.O_WRONLY, 0)
	if err == nil {
		_, err = log.WriteAt([]byte("damage"), 32+24+4000) // in the page of the first frame
		err = errors.Join(err, log.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	r := p.troupe("sessions")
	for _, want := range []string{"was damaged at byte 32", "look first at what it did", "troupe.db-wal.damaged1"} {
		if !strings.Contains(r.errOut, want) {
			t.Errorf("does not say %q: exit %d\n%s%s", want, r.code, r.out, r.errOut)
		}
	}
	if r := p.troupe("sessions"); strings.Contains(r.errOut, "damaged") {
		t.Errorf("it says so again: %s", r.errOut)
	}
	if r := p.troupe("doctor"); !strings.Contains(r.out+r.errOut, "troupe.db-wal.damaged1 is a log") {
		t.Errorf("doctor: %s%s", r.out, r.errOut)
	}
}
