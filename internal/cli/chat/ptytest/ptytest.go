//go:build unix

// Package ptytest is a person in front of a terminal, for tests: keys go into a
// pseudo-terminal, and what is on its screen can be waited for.
//
// One goroutine copies what the program writes onto the screen; it ends when the test does.
package ptytest

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// Terminal is a pseudo-terminal. The program under test reads and writes TTY.
type Terminal struct {
	TTY *os.File

	t       testing.TB
	ptmx    *os.File
	mu      sync.Mutex
	vt      *vt
	changed chan struct{}
	gone    chan struct{}
}

// Open makes a terminal of w columns and h rows. Close must be called once the program has
// let go of it.
func Open(t testing.TB, w, h int) *Terminal {
	t.Helper()
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	x := &Terminal{TTY: tty, t: t, vt: newVT(w), changed: make(chan struct{}, 1), gone: make(chan struct{})}
	x.size(w, h)
	if x.ptmx, err = pollable(ptmx); err != nil {
		t.Fatal(err)
	}
	go x.copy()
	return x
}

// pollable is the same file in a form whose reads end when it is closed.
func pollable(f *os.File) (*os.File, error) {
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), f.Close()
}

func (x *Terminal) size(w, h int) {
	x.t.Helper()
	if err := pty.Setsize(x.TTY, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)}); err != nil {
		x.t.Fatal(err)
	}
}

func (x *Terminal) copy() {
	defer close(x.gone)
	buf := make([]byte, 4096)
	for {
		n, err := x.ptmx.Read(buf)
		if err != nil {
			return
		}
		x.mu.Lock()
		x.vt.write(buf[:n])
		x.mu.Unlock()
		select {
		case x.changed <- struct{}{}:
		default:
		}
	}
}

// Keys types.
func (x *Terminal) Keys(s string) {
	x.t.Helper()
	if _, err := x.ptmx.WriteString(s); err != nil {
		x.t.Fatal(err)
	}
}

// Shown is what is on the screen and above it.
func (x *Terminal) Shown() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.vt.String()
}

// Bells is how often the terminal rang.
func (x *Terminal) Bells() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.vt.bells
}

// Titled waits until the terminal has a title.
func (x *Terminal) Titled(want string) {
	x.t.Helper()
	x.Until("the title "+want, func(string) bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.vt.title == want
	})
}

// Screen waits until exactly this is shown.
func (x *Terminal) Screen(want string) {
	x.t.Helper()
	x.Until(want, func(s string) bool { return s == want })
}

// Until waits until what is shown is as it should be.
func (x *Terminal) Until(what string, ok func(shown string) bool) {
	x.t.Helper()
	deadline := time.After(20 * time.Second)
	for !ok(x.Shown()) {
		select {
		case <-x.changed:
		case <-deadline:
			x.t.Fatalf("the screen shows\n%s\n-- and should show\n%s", x.Shown(), what)
		}
	}
}

// Cursor waits until the cursor stands there, both counted from 0.
func (x *Terminal) Cursor(row, col int) {
	x.t.Helper()
	x.Until(fmt.Sprintf("the cursor at %d, %d", row, col), func(string) bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.vt.row == row && x.vt.col == col
	})
}

// Resize changes the width; as most terminals do, it breaks rows that no longer fit. The
// program is to be told with SIGWINCH.
func (x *Terminal) Resize(w, h int) {
	x.t.Helper()
	x.mu.Lock()
	x.vt.reflow(w)
	x.mu.Unlock()
	x.size(w, h)
}

// HangUp takes the terminal away from the program.
func (x *Terminal) HangUp() { x.ptmx.Close() } //nolint:errcheck // it is the test's own

// Close ends the terminal.
func (x *Terminal) Close() {
	x.TTY.Close()  //nolint:errcheck // it is the test's own
	x.ptmx.Close() //nolint:errcheck // as above
	<-x.gone
}
