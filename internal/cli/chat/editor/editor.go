package editor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/charmbracelet/x/term"
)

// EventKind says what a person did.
type EventKind int

// Kinds of event.
const (
	Line       EventKind = iota // Text was entered
	Interrupt                   // Ctrl-C; Text is what stands there unfinished
	EOF                         // Ctrl-D on an empty line, or the end of the input
	Background                  // Ctrl-B where no text is
	Plan                        // Shift-Tab
	Escape                      // the Esc key; Text is what stands there unfinished
	Resized                     // the terminal has another width
	Closed                      // the terminal is gone; Err says how. It is the last event
)

// Event is something a person did.
type Event struct {
	Kind EventKind
	Text string
	// Mark is the last SetMark before the first character of Text was typed: what came
	// later, the person may not have seen when they began.
	Mark int
	Err  error
}

// Options are what an editor can be given.
type Options struct {
	History string              // file; "" keeps it in memory
	Mask    func(string) string // takes out of an entry what may not be kept
	// Complete proposes what may stand instead of before[from:]; it must be quick.
	Complete func(before string) (from int, candidates []string)
}

// Editor is a terminal with a text to edit at its foot.
type Editor struct {
	in     *os.File
	out    io.Writer
	saved  *term.State
	keys   keySource
	o      Options
	events chan Event
	done   chan struct{}
	wg     sync.WaitGroup
	once   sync.Once

	mu      sync.Mutex
	text    text
	history *history
	prompt  string
	tail    string
	drawn   foot
	mark    int
	began   int
	tabbed  bool // the key before was a Tab that left more than one choice
	closed  bool
	state
}

// state is what the terminal is in besides what is drawn.
type state struct {
	gone   bool // the terminal is; there is nothing to give back
	titled bool // it has a title of ours
}

// Open takes a terminal over. The error of a history that cannot be read comes with an
// editor that works without.
func Open(in *os.File, out io.Writer, o Options) (*Editor, error) {
	saved, err := term.MakeRaw(in.Fd())
	if err != nil {
		return nil, fmt.Errorf("set up the terminal: %w", err)
	}
	keys, err := newKeySource(in)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("set up the terminal: %w", err), term.Restore(in.Fd(), saved))
	}
	h, herr := openHistory(o.History, o.Mask)
	e := &Editor{in: in, out: out, saved: saved, keys: keys, o: o, history: h, events: make(chan Event, 8),
		done: make(chan struct{})}
	e.write(pasteOn)
	watch := e.watchSize() // from before it is first asked for
	e.mu.Lock()
	e.draw()
	e.mu.Unlock()
	e.wg.Add(2)
	go e.read()
	go watch()
	return e, herr
}

// Terminals mark pasted text, when asked to.
const (
	pasteOn  = "\x1b[?2004h"
	pasteOff = "\x1b[?2004l"
)

// Close gives the terminal back. It may be called more than once.
func (e *Editor) Close() error {
	var err error
	e.once.Do(func() {
		close(e.done)
		e.keys.cancel()
		e.wg.Wait()
		e.mu.Lock()
		defer e.mu.Unlock()
		e.closed = true
		e.write(e.drawn.erase(e.width()) + pasteOff)
		if e.titled {
			e.write("\x1b[23;2t")
		}
		e.drawn = foot{}
		if err = term.Restore(e.in.Fd(), e.saved); e.gone {
			err = nil
		}
		err = errors.Join(err, e.keys.close())
		close(e.events)
	})
	return err
}

// Events are what the person does. They end with Closed, or when the editor is closed.
func (e *Editor) Events() <-chan Event { return e.events }

// Print writes whole lines above the prompt.
func (e *Editor) Print(lines string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.print(lines, e.tail)
}

// Flow writes whole lines and replaces the unfinished one behind them, as one step.
func (e *Editor) Flow(lines, tail string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if lines == "" && tail == e.tail {
		return
	}
	e.print(lines, tail)
}

// SetPrompt replaces what stands before the text.
func (e *Editor) SetPrompt(p string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p != e.prompt {
		e.prompt = p
		e.redraw()
	}
}

// Title names the terminal until it is given back: it then has the title that it had.
func (e *Editor) Title(s string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.titled {
		e.write("\x1b[22;2t")
		e.titled = true
	}
	e.write("\x1b]2;" + s + "\x1b\\")
}

// SetMark sets the mark that the events carry from here on.
func (e *Editor) SetMark(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mark = n
}

// Clear empties the text.
func (e *Editor) Clear() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.text.set("")
	e.history.reset()
	e.redraw()
}

// Put gives the person words back to go on with, unless something else is being typed; those
// that were entered are in the history in any case.
func (e *Editor) Put(s string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.text.cells) > 0 {
		return false
	}
	e.text.set(s)
	e.began = e.mark
	e.redraw()
	return true
}

// Text is what stands on the line.
func (e *Editor) Text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.text.String()
}

// Width is how many columns there are now.
func (e *Editor) Width() int { return e.width() }

// Height is how many rows there are now.
func (e *Editor) Height() int { _, h := e.size(); return h }

func (e *Editor) print(lines, tail string) {
	e.tail = tail
	if e.closed {
		e.write(strings.ReplaceAll(lines, "\n", "\r\n"))
		return
	}
	out := e.drawn.erase(e.width())
	if lines != "" {
		if !strings.HasSuffix(lines, "\n") {
			lines += "\n"
		}
		out += strings.ReplaceAll(lines, "\n", "\r\n")
	}
	e.compose()
	e.write(out + e.drawn.draw())
}

// redraw draws the foot anew. The mutex is held.
func (e *Editor) redraw() { e.print("", e.tail) }

// draw draws the foot for the first time.
func (e *Editor) draw() {
	e.compose()
	e.write(e.drawn.draw())
}

func (e *Editor) compose() {
	w, h := e.size()
	e.drawn = layout(e.tail, e.prompt, &e.text, w, h)
}

// write goes to the terminal. That one is gone, the reading side notices.
func (e *Editor) write(s string) {
	io.WriteString(e.out, s) //nolint:errcheck // see above
}

func (e *Editor) width() int { w, _ := e.size(); return w }

// size asks the terminal, and believes what terminals are if it does not say.
func (e *Editor) size() (w, h int) {
	w, h, err := term.GetSize(e.in.Fd())
	if err != nil || w <= 0 || h <= 0 {
		return 80, 24
	}
	return w, h
}

// read turns keys into changes of the text and events, until the terminal or the editor is closed.
func (e *Editor) read() {
	defer e.wg.Done()
	var d decoder
	buf := make([]byte, 4096)
	for {
		n, err := e.keys.read(buf, d.pending())
		switch {
		case errors.Is(err, errQuiet):
			alone := d.alone()
			if d.drop(); alone && !e.emit(Event{Kind: Escape, Text: e.Text()}) {
				return
			}
			continue
		case errors.Is(err, errCancelled):
			return
		case err != nil || n == 0:
			if err == nil {
				err = io.EOF
			}
			e.mu.Lock()
			e.gone = true
			e.mu.Unlock()
			e.emit(Event{Kind: Closed, Err: err})
			return
		}
		for _, k := range d.feed(buf[:n]) {
			for _, ev := range e.key(k) {
				if !e.emit(ev) {
					return
				}
			}
		}
	}
}

func (e *Editor) emit(ev Event) bool {
	select {
	case e.events <- ev:
		return true
	case <-e.done:
		return false
	}
}

// key applies one key.
func (e *Editor) key(k key) []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	empty := len(e.text.cells) == 0
	tabbed := e.tabbed
	e.tabbed = false
	var out []Event
	switch k.name {
	case keyEnter:
		out = e.enter()
	case keyInterrupt:
		out = []Event{{Kind: Interrupt, Text: e.text.String()}}
	case keyEOF:
		if empty {
			out = []Event{{Kind: EOF}}
		} else {
			e.text.edit(key{name: keyDelete})
		}
	case keyBackground:
		if empty {
			out = []Event{{Kind: Background}}
		} else {
			e.text.edit(key{name: keyLeft})
		}
	case keyPlan:
		out = []Event{{Kind: Plan}}
	case keyTab:
		e.complete(tabbed)
	case keyUp, keyDown, keyPrevious, keyNext, keySearch:
		e.recall(k.name)
	case keyClear:
		e.write("\x1b[2J\x1b[H")
		e.drawn = foot{}
	case keySuspend:
		e.suspend()
	default:
		e.text.edit(k)
	}
	if empty && len(e.text.cells) > 0 {
		e.began = e.mark
	}
	e.redraw()
	return out
}

// enter ends the text, or its line if a backslash says that it goes on.
func (e *Editor) enter() []Event {
	t := &e.text
	if n := len(t.cells); n > 0 && t.at == n && t.cells[n-1].text == `\` {
		t.remove(n-1, n)
		t.insert([]cell{{text: "\n"}})
		return nil
	}
	s := t.String()
	mark := e.began
	if s == "" {
		mark = e.mark
	}
	t.at = len(t.cells)
	said := strings.Join(wrapText(e.prompt, t, max(e.width()-1, 8)).rows, "\n")
	t.set("")
	if strings.TrimSpace(s) != "" {
		e.print(said, e.tail)
	}
	e.history.reset()
	if utf8.RuneCountInString(s) > 1 {
		if err := e.history.add(s); err != nil {
			e.history.file = "" // said once; from here on it lives in memory
			e.print("troupe: "+err.Error(), e.tail)
		}
	}
	return []Event{{Kind: Line, Text: s, Mark: mark}}
}

// recall shows another entry of the history. Within a text of many lines the arrows move
// from line to line first.
func (e *Editor) recall(name keyName) {
	var s string
	var ok bool
	switch now := e.text.String(); name {
	case keyUp:
		if e.text.vertical(false) {
			return
		}
		s, ok = e.history.step(now, true)
	case keyDown:
		if e.text.vertical(true) {
			return
		}
		s, ok = e.history.step(now, false)
	case keySearch:
		s, ok = e.history.search(now)
	default:
		s, ok = e.history.step(now, name == keyPrevious)
	}
	if ok {
		e.text.set(s)
	}
}

// maxChoices is how many candidates are listed.
const maxChoices = 24

func (e *Editor) complete(again bool) {
	if e.o.Complete == nil {
		return
	}
	before := join(e.text.cells[:e.text.at])
	from, all := e.o.Complete(before)
	if len(all) == 0 || from < 0 || from > len(before) {
		return
	}
	best := all[0]
	for _, c := range all[1:] {
		for !strings.HasPrefix(c, best) {
			_, n := utf8.DecodeLastRuneInString(best)
			best = best[:len(best)-n]
		}
	}
	typed := before[from:]
	if len(best) >= len(typed) && best != typed {
		n := len(split(typed))
		e.text.remove(e.text.at-n, e.text.at)
		for _, c := range split(best) {
			e.text.insert([]cell{c})
		}
	}
	if len(all) == 1 {
		return
	}
	if e.tabbed = true; again || best == typed { // nothing could be completed, so what there is is shown at once
		list := all
		if len(list) > maxChoices {
			list = append(append([]string(nil), list[:maxChoices]...),
				fmt.Sprintf("… and %d more", len(all)-maxChoices))
		}
		e.print(ansi.Wordwrap(visible(strings.Join(list, "  ")), max(e.width()-1, 8), ""), e.tail)
	}
}

// visible is s as the text would show it: names of files are other people's words.
func visible(s string) string {
	var b strings.Builder
	for _, c := range split(s) {
		b.WriteString(c.show)
	}
	return b.String()
}
