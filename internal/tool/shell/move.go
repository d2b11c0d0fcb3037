package shell

import (
	"os"
	"sync"
	"time"
)

// underway is a command that runs: it can be moved to the background until it is over.
type underway struct {
	mu    sync.Mutex
	out   printed
	moved bool
	over  bool
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
	u.over = true
	u.out.close()
	return u.out, u.moved
}

// move has the output go to a log from here on.
func (u *underway) move(log string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	c, ok := u.out.(*capture)
	if u.over || !ok {
		return false
	}
	j, err := c.toLog(log)
	if err != nil {
		return false
	}
	u.out, u.moved = j, true
	u.more <- defaultLong * time.Millisecond // it is sent once
	u.leave()
	return true
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
func (c *call) Move(log string) (name string, ok bool) {
	u := c.under.Load()
	if u == nil || !u.move(log) {
		return "", false
	}
	return c.label, true
}
