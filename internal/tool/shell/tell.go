package shell

import (
	"bytes"
	"sync"
	"time"
)

// teller shows who watches the end of what a command prints, now and then while it runs.
type teller struct {
	show func(string) // must not block

	mu    sync.Mutex
	tail  []byte
	timer *time.Timer // set while something was not shown yet
	done  bool
}

const (
	tellEvery = 300 * time.Millisecond
	tellBytes = 2 << 10 // of the end of the output
)

// newTeller is nil if nobody watches; a nil teller tells nothing.
func newTeller(show func(string)) *teller {
	if show == nil {
		return nil
	}
	return &teller{show: show}
}

func (t *teller) add(p []byte) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tail = append(t.tail, p[max(0, len(p)-tellBytes):]...)
	if over := len(t.tail) - tellBytes; over > 0 {
		t.tail = append(t.tail[:0], t.tail[over:]...)
	}
	if t.timer == nil {
		t.timer = time.AfterFunc(tellEvery, t.tell)
	}
}

// tell shows whole lines, and what stands in the last one.
func (t *teller) tell() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer = nil; t.done {
		return
	}
	text := t.tail
	if i := bytes.IndexByte(text, '\n'); len(text) == tellBytes && i >= 0 {
		text = text[i+1:] // the first line may have lost its beginning
	}
	t.show(clean(text))
}

// end has nothing be shown any more.
func (t *teller) end() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done = true; t.timer != nil {
		t.timer.Stop()
	}
}
