package shell

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// watch reads group numbers from its input and, when the input ends, kills those that were
// not taken back, and then whoever bears one of our marks ($1 to $2), until there is nobody.
// It knows nothing else and needs nothing of the environment.
const watch = `g=" "
while read -r op id; do
  case $op in
    +) g="$g$id " ;;
    -) case $g in *" $id "*) g="${g%% "$id" *} ${g#* "$id" }" ;; esac ;;
  esac
done
[ "$g" = " " ] && exit
for id in $g; do kill -9 "-$id" 2>/dev/null; done
[ "$1" ] || exit
marked() { case $1 in *[!0-9]*|"") false ;; *) [ "$1" -ge "$2" ] && [ "$1" -le "$3" ] ;; esac; }
round=0
while [ $round -lt 50 ]; do
  round=$((round+1)) found=
  for p in /proc/[0-9]*; do
    while read -r a b c soft hard _; do
      [ "$a $b $c" = "Max file locks" ] || continue
      if marked "$soft" "$1" "$2" || marked "$hard" "$1" "$2"; then
        read -r stat <"$p/stat"
        case ${stat##*) } in
          [ZX]*) ;;
          *) kill -9 "${p#/proc/}" && found=1 ;;
        esac
      fi
      break
    done <"$p/limits"
  done 2>/dev/null
  [ "$found" ] || exit
done`

// guard tells the watcher which commands must not outlive this process. If it cannot be
// started, or has died, commands run all the same: it is a net, not what they hang on.
type guard struct {
	marks   *marks
	mu      sync.Mutex
	groups  map[int]bool
	pipe    *os.File // to the watcher; nil while there is none
	watcher *os.Process
}

func newGuard(m *marks) *guard { return &guard{marks: m, groups: map[int]bool{}} }

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
	first, last := g.marks.bounds()
	p, err := os.StartProcess(sh, []string{"sh", "-c", watch, "sh", first, last}, &os.ProcAttr{
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
