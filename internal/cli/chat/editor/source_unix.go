//go:build unix

package editor

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"
)

// keySource reads a terminal in a way that can be given up.
type keySource struct {
	in     *os.File
	wake   *os.File // readable once it is cancelled
	signal *os.File
}

// Reads end with these as well.
var (
	errQuiet     = errors.New("nothing came")
	errCancelled = errors.New("the reading was given up")
)

func newKeySource(in *os.File) (keySource, error) {
	r, w, err := os.Pipe()
	return keySource{in: in, wake: r, signal: w}, err
}

// quietMS is how long the rest of an escape sequence may take. Over a slow line its bytes
// come in more than one piece.
const quietMS = 50

// read waits for bytes. With brief set it gives up after a moment, with errQuiet.
func (k keySource) read(buf []byte, brief bool) (int, error) {
	wait := -1
	if brief {
		wait = quietMS
	}
	fds := []unix.PollFd{{Fd: int32(k.in.Fd()), Events: unix.POLLIN}, {Fd: int32(k.wake.Fd()), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, wait)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case n == 0:
			return 0, errQuiet
		case fds[1].Revents != 0:
			return 0, errCancelled
		default:
			return k.in.Read(buf)
		}
	}
}

func (k keySource) cancel() { k.signal.Close() } //nolint:errcheck // closing is the signal; nothing can fail

func (k keySource) close() error { return k.wake.Close() }

// watchSize draws the foot anew when the terminal has another size, and takes the terminal
// over again when the process was stopped and goes on. Another width is told. It listens from when it returns; what
// it returns acts on what it hears.
func (e *Editor) watchSize() (watch func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGCONT)
	columns := e.width()
	return func() {
		defer e.wg.Done()
		defer signal.Stop(signals)
		for {
			select {
			case s := <-signals:
				e.mu.Lock()
				if s == syscall.SIGCONT {
					e.retake()
				}
				e.redraw()
				before := columns
				columns = e.width()
				e.mu.Unlock()
				if columns != before {
					e.emit(Event{Kind: Resized})
				}
			case <-e.done:
				return
			}
		}
	}
}

// suspend stops the process as Ctrl-Z does elsewhere. The terminal is taken over again when
// SIGCONT comes, or at once if nothing stops it.
func (e *Editor) suspend() {
	e.write(e.drawn.erase(e.width()) + pasteOff)
	e.drawn = foot{}
	if term.Restore(e.in.Fd(), e.saved) != nil {
		return
	}
	syscall.Kill(syscall.Getpid(), syscall.SIGTSTP) //nolint:errcheck // a process may signal itself
	e.retake()
}

func (e *Editor) retake() {
	if _, err := term.MakeRaw(e.in.Fd()); err == nil {
		e.write(pasteOn)
	}
}
