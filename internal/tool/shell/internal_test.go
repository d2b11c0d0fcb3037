package shell

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// However output is cut into writes, no secret of a line reaches the file, and all else does.
func TestKeptMasksAcrossWrites(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-hunter2"
	mask := func(s string) string { return strings.ReplaceAll(s, secret, "***") }
	long := strings.Repeat("x", maxLine-7) + secret + strings.Repeat("y", 2*maxLine) + secret +
		strings.Repeat(secret, maxLine/8)
	texts := []string{"a " + secret + " b\n" + secret + "\nend", long, long + "\n" + long,
		strings.Repeat(secret, 2*maxLine/len(secret)), "", "\n\n"}
	r := rand.New(rand.NewPCG(1, 2))
	for i, text := range texts {
		for _, most := range []int{1, 7, 100, 5000, 32 << 10, 1 << 20} {
			if most < 100 && len(text) > maxLine {
				continue // the long ones are slow in small pieces
			}
			f, err := os.Create(filepath.Join(t.TempDir(), "kept"))
			if err != nil {
				t.Fatal(err)
			}
			k := &kept{f: f, mask: mask}
			for rest := text; rest != ""; {
				n := min(len(rest), 1+r.IntN(most))
				if err := k.write([]byte(rest[:n])); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if len(k.rest) > maxLine+1<<20 {
				t.Errorf("text %d: it holds back %d bytes", i, len(k.rest))
			}
			if err := k.close(); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(f.Name())
			if err != nil || string(got) != mask(text) {
				t.Errorf("text %d in writes of up to %d: got %d bytes, want %d, %d secrets among them", i, most,
					len(got), len(mask(text)), strings.Count(string(got), secret))
			}
		}
	}
}

// The watcher ends what still runs when its host is gone, and not what a command that has ended was: its number
// may be another program's by then.
func TestWatcherForgetsWhatHasEnded(t *testing.T) {
	t.Parallel()
	group := func() *exec.Cmd {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sleep", "300")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	g := newGuard(newMarks())
	ended, other, running := group(), group(), group()
	for _, cmd := range []*exec.Cmd{ended, other, running} {
		g.add(cmd.Process.Pid)
	}
	g.remove(ended.Process.Pid)
	// A watcher that begins in the place of one that died is told of what runs, and of nothing else.
	g.mu.Lock()
	if err := g.watcher.Kill(); err != nil {
		t.Error(err)
	}
	g.end()
	g.mu.Unlock()
	last := group()
	g.add(last.Process.Pid)
	g.remove(other.Process.Pid)
	if err := g.close(); err != nil { // it has acted when it has ended
		t.Error(err)
	}
	for name, tt := range map[string]struct {
		cmd  *exec.Cmd
		want syscall.Signal
	}{
		"still ran": {running, syscall.SIGKILL}, "was last": {last, syscall.SIGKILL},
		"had ended": {ended, syscall.SIGTERM}, "ended later": {other, syscall.SIGTERM},
	} {
		if err := tt.cmd.Process.Signal(syscall.SIGTERM); err != nil { // too late for what was killed
			t.Error(err)
		}
		_ = tt.cmd.Wait() // by a signal
		how, ok := tt.cmd.ProcessState.Sys().(syscall.WaitStatus)
		if got := how.Signal(); !ok || got != tt.want {
			t.Errorf("the command that %s was ended by %v, want %v", name, got, tt.want)
		}
	}
}

// A secret that would be cut in two is not told by its half.
func TestJournalTellsNoHalfSecrets(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-hunter2"
	for shift := range len(secret) + 1 {
		j := &journal{file: &kept{mask: func(s string) string { return strings.ReplaceAll(s, secret, "***") }},
			total: 1 << 20}
		j.tail = []byte(strings.Repeat("x", logTail+maxSecret-shift) + secret +
			strings.Repeat("y", logTail-len(secret)+shift))
		if text, all := j.last(); all || len(text) != logTail || strings.Contains(text, "er2") {
			t.Errorf("shift %d: %v, %d bytes, begin %.20q", shift, all, len(text), text)
		}
	}
}

// What it costs, at the end of each command, to see that nothing of it is left.
func BenchmarkNobodyLeft(b *testing.B) {
	all := kin{group: 1 << 30, mark: 7}
	for b.Loop() {
		if all.signal(0) {
			b.Fatal("somebody bears a mark that nobody was given")
		}
	}
}
