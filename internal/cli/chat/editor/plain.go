package editor

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// maxLine bounds a line of plain input.
const maxLine = 16 << 20

// Plain reads lines from anything and prints to anything. It neither echoes nor moves a
// cursor; an unfinished line is not shown before it is finished.
type Plain struct {
	events chan Event
	done   chan struct{}
	next   chan struct{}
	once   sync.Once

	mu  sync.Mutex
	out io.Writer
}

// OpenPlain begins to read lines. One is read only when it is asked for with Next, so that
// what a program has written ahead waits for its turn. The reading goroutine ends with the
// input; Close does not wait for it, because a pipe nobody writes to cannot be given up.
func OpenPlain(in io.Reader, out io.Writer) *Plain {
	p := &Plain{events: make(chan Event), done: make(chan struct{}), next: make(chan struct{}, 1), out: out}
	go p.read(in)
	return p
}

func (p *Plain) read(in io.Reader) {
	r := bufio.NewReader(in)
	for {
		select {
		case <-p.next:
		case <-p.done:
			return
		}
		line, err := readLine(r)
		ev := Event{Kind: Line, Text: strings.ToValidUTF8(strings.TrimRight(line, "\r"), "\uFFFD"), Mark: -1}
		switch {
		case errors.Is(err, errLong):
			ev = Event{Kind: Line, Mark: -1, Err: err}
		case err != nil && line == "" && errors.Is(err, io.EOF):
			ev = Event{Kind: EOF}
		case err != nil && line == "":
			ev = Event{Kind: Closed, Err: err}
		}
		select {
		case p.events <- ev:
		case <-p.done:
			return
		}
		if ev.Kind != Line {
			return
		}
	}
}

var errLong = fmt.Errorf("a line is longer than %d MB and was left out", maxLine>>20)

// readLine reads a line of bounded length; the rest of one that is longer is passed over.
func readLine(r *bufio.Reader) (string, error) {
	var b strings.Builder
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if !long && b.Len()+len(part) > maxLine {
			long = true
			b.Reset()
		}
		if !long {
			b.Write(part)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if long {
			return "", errLong
		}
		return strings.TrimSuffix(b.String(), "\n"), err
	}
}

// Next asks for one more line. Asking twice asks once.
func (p *Plain) Next() {
	select {
	case p.next <- struct{}{}:
	default:
	}
}

// Events are the lines, then EOF or Closed.
func (p *Plain) Events() <-chan Event { return p.events }

// Print writes lines.
func (p *Plain) Print(lines string) { p.Flow(lines, "") }

// Flow writes whole lines; the unfinished one behind them is not shown.
func (p *Plain) Flow(lines, _ string) {
	if lines == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !strings.HasSuffix(lines, "\n") {
		lines += "\n"
	}
	io.WriteString(p.out, lines) //nolint:errcheck // whoever gave the writer watches its errors
}

// Close ends the events.
func (p *Plain) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// SetPrompt does nothing: there is no place for one.
func (p *Plain) SetPrompt(string) {}

// SetMark does nothing: a line may have been written long before it is read.
func (p *Plain) SetMark(int) {}

// Clear does nothing: there is no text.
func (p *Plain) Clear() {}

// Put does nothing: there is no text.
func (p *Plain) Put(string) bool { return false }

// Width is 0: unknown.
func (p *Plain) Width() int { return 0 }

// Height is unknown.
func (p *Plain) Height() int { return 0 }
