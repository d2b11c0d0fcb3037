package shell

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// watch reads group numbers from its input and, when the input ends, kills those that were
// not taken back. It knows nothing else and needs nothing of the environment.
const watch = `g=" "
while read -r op id; do
  case $op in
    +) g="$g$id " ;;
    -) case $g in *" $id "*) g="${g%% "$id" *} ${g#* "$id" }" ;; esac ;;
  esac
done
for id in $g; do kill -9 "-$id" 2>/dev/null; done`

// guard tells the watcher which groups must not outlive this process. If it cannot be
// started, or has died, commands run all the same: it is a net, not what they hang on.
type guard struct {
	mu      sync.Mutex
	groups  map[int]bool
	pipe    *os.File // to the watcher; nil while there is none
	watcher *os.Process
}

func newGuard() *guard { return &guard{groups: map[int]bool{}} }

func (g *guard) add(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.groups[pid] = true
	if g.pipe != nil && g.tell('+', pid) {
		return
	}
	if g.begin() != nil {
		return
	}
	for id := range g.groups {
		g.tell('+', id)
	}
}

func (g *guard) remove(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.groups, pid)
	if g.pipe != nil {
		g.tell('-', pid)
	}
}

// tell is false if the watcher is gone.
func (g *guard) tell(op rune, pid int) bool {
	if _, err := fmt.Fprintf(g.pipe, "%c %d\n", op, pid); err != nil {
		g.end()
		return false
	}
	return true
}

// begin starts a watcher. It has a session of its own, so that what ends us at a terminal
// does not end it first, and is not tied to the life of a thread.
func (g *guard) begin() error {
	sh, err := exec.LookPath("sh")
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close() //nolint:errcheck // nothing is written
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // the watcher has its own
	p, err := os.StartProcess(sh, []string{"sh", "-c", watch}, &os.ProcAttr{
		Dir: "/", Env: []string{"LC_ALL=C"}, Files: []*os.File{r, null, null}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		_ = w.Close() // nobody reads it
		return err
	}
	g.pipe, g.watcher = w, p
	return nil
}

// end lets the watcher go and waits for it.
func (g *guard) end() {
	_ = g.pipe.Close() // whatever happens, it is no longer ours
	_, _ = g.watcher.Wait()
	g.pipe, g.watcher = nil, nil
}

func (g *guard) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe != nil {
		g.end()
	}
	return nil
}
