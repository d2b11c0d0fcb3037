package shell

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// underway is a command that runs: it can be moved to the background until it is over.
type underway struct {
	mu    sync.Mutex
	out   printed
	moved bool
	ends  bool               // it has ended, or is being ended
	more  chan time.Duration // the time it has from now on
	leave func()             // gives its turn to another command; it may be called twice
}

func newUnderway(out printed, leave func()) *underway {
	return &underway{out: out, more: make(chan time.Duration, 1), leave: sync.OnceFunc(leave)}
}

// add takes what the command printed.
func (u *underway) add(p []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.out.add(p)
}

// end takes what was printed when nothing more comes.
func (u *underway) end() (out printed, moved bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ends = true
	u.out.close()
	return u.out, u.moved
}

// What a command that cannot be moved is.
var (
	errNotBegun   = errors.New("the command has not begun")
	errEnds       = errors.New("the command has ended, or is being ended")
	errBackground = errors.New("the command runs in the background")
)

// move has the output go to a log from here on. With an error the command goes on as it was.
func (u *underway) move(log string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	c, ok := u.out.(*capture)
	switch {
	case !ok:
		return errBackground
	case u.ends:
		return errEnds
	}
	j, err := c.toLog(log)
	if err != nil {
		return fmt.Errorf("there is no place for its output: %w", err)
	}
	u.out, u.moved = j, true
	u.more <- defaultLong * time.Millisecond // it is sent once
	u.leave()
	return nil
}

// timeIsUp has the command not be moved any more, since its time is over. It reports false if it was moved before
// that, and has its new time in more.
func (u *underway) timeIsUp() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.more) > 0 {
		return false
	}
	u.ends = true
	return true
}

// ending has the command not be moved any more.
func (u *underway) ending() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ends = true
}

// toLog makes the log of a command that goes on in the background: with all that was printed until now.
func (c *capture) toLog(path string) (*journal, error) {
	if c.file != nil {
		if err := os.Rename(c.file.f.Name(), path); err != nil {
			return nil, err
		}
		return &journal{path: path, file: c.file, tail: c.tail, total: c.total, lost: c.lost}, nil
	}
	env := c.env
	env.Log = path
	j, err := newJournal(env)
	if err != nil {
		return nil, err
	}
	j.add(c.head)
	j.add(c.tail)
	if j.total = c.total; j.lost == nil {
		j.lost = c.lost
	}
	return j, nil
}

// Move implements tool.Mover.
func (c *call) Move(log string) (name string, err error) {
	u := c.under.Load()
	if u == nil {
		return "", errNotBegun
	}
	if err := u.move(log); err != nil {
		return "", err
	}
	return c.label, nil
}
