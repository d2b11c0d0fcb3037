package chat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/chat/editor"
	"github.com/troupe-dev/troupe/internal/cli/chat/render"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Options are what a conversation can be given.
type Options struct {
	Opening Opening
	Cwd     string              // the folder of the conversation
	History string              // file of what was entered; "" keeps none
	Mask    func(string) string // takes secrets out of it
	HangUp  <-chan struct{}     // the terminal is going away: leave, at once
	Local   *time.Location      // for times of day; nil: the machine's
}

// screen is where a person reads and writes: *editor.Editor or *editor.Plain.
type screen interface {
	Events() <-chan editor.Event
	Flow(lines, tail string)
	SetPrompt(string)
	SetMark(int)
	Clear()
	Put(string) bool // back on the line, if nothing else stands there
	Width() int
	Close() error
}

// conversation is one use of Run. One goroutine has it.
type conversation struct {
	c     *console.Console
	b     Backend
	o     Options
	s     screen
	m     machine
	color bool
	tree  *Tree
	view  *render.View
	undo  func(ctx context.Context) (string, error)
	first Opening // what was chosen for a conversation that has not begun

	events <-chan followed
	stop   func() // ends the following
	ended  <-chan error
	leave  bool
	// reading: a line was asked for and has not come yet.
	reading bool
}

// followed is what a follower brought.
type followed struct {
	events []troupe.Event
	err    error
}

// Run holds a conversation until the person, or the input, ends it.
func Run(ctx context.Context, c *console.Console, b Backend, o Options) (err error) {
	c.SetToWork()
	if o.Local == nil {
		o.Local = time.Local
	}
	v := &conversation{c: c, b: b, o: o, color: c.Color(c.OutTTY)}
	interrupts := make(chan struct{}, 1)
	closeScreen, err := v.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeScreen()) }()
	raw := v.raw()
	count := 0
	restore := c.Interrupts.Take(func() {
		select {
		case interrupts <- struct{}{}:
			count = 0
		default:
			// Nobody took the last one: something hangs. All that counts is committed.
			if count++; count > 1 {
				closeScreen() //nolint:errcheck // the process ends here
				c.Interrupts.Leave(console.ExitInterrupted)
			}
		}
	})
	defer restore()
	defer v.letGo()
	v.greet()
	if o.Opening.Resume != "" || o.Opening.Continue || o.Opening.Message.Text != "" {
		o.Opening.flags = true
		if err := v.begin(ctx, o.Opening); err != nil {
			return err
		}
	}
	for !v.leave {
		v.ready()
		select {
		case ev := <-v.s.Events():
			v.key(ctx, ev)
		case <-interrupts:
			if raw {
				// The keyboard's Ctrl-C comes as a key. A signal says that the terminal or
				// the machine is going away.
				return nil
			}
			v.act(ctx, v.m.interrupt(""))
		case <-o.HangUp:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case f := <-v.events:
			if f.err != nil {
				return f.err
			}
			v.show(ctx, f.events)
		case d := <-v.deltas():
			v.view.Delta(d)
			v.flow("")
		case err := <-v.ended:
			if err != nil {
				return err
			}
			return v.last(ctx)
		}
	}
	v.farewell()
	return nil
}

// open takes the terminal over, or reads lines where there is none to take.
func (v *conversation) open() (func() error, error) {
	home, _ := v.c.Lookup("HOME")
	name, _ := v.c.Lookup("TERM")
	in, isFile := v.c.In.(*os.File)
	tty := isFile && term.IsTerminal(in.Fd())
	v.m.terminal = tty
	if !tty || !v.c.OutTTY || name == "dumb" {
		v.s = editor.OpenPlain(v.c.In, v.c.Out)
		return v.s.Close, nil
	}
	e, err := editor.Open(in, v.c.Out, editor.Options{History: v.o.History, Mask: v.o.Mask, Complete: completer(v.o.Cwd, home)})
	if e == nil {
		return nil, err
	}
	v.s = e
	if err != nil {
		v.say(err.Error())
	}
	return e.Close, nil
}

func (v *conversation) raw() bool { _, ok := v.s.(*editor.Editor); return ok }

// ready asks for the next line where lines come only when asked for.
func (v *conversation) ready() {
	// The mark is set when the question stands there and before the prompt asks for its answer.
	v.s.SetMark(v.m.mark)
	v.s.SetPrompt(v.m.prompt())
	// One line at a time: what is right for the next one is known when this one has been acted on.
	if p, ok := v.s.(interface{ Next() }); ok && !v.reading && v.m.ready() {
		v.reading = true
		p.Next()
	}
}

func (v *conversation) greet() {
	if v.m.terminal {
		v.say("troupe " + v.c.Version + " in " + v.c.ShortPath(v.o.Cwd) + ". /help says what there is; Ctrl+D ends.")
	}
}

func (v *conversation) farewell() {
	if v.tree != nil && v.m.terminal {
		v.say("Go on later: troupe --continue, or troupe --resume " + string(v.tree.Root))
	}
}

// say shows words of our own.
func (v *conversation) say(text string) {
	v.flow(v.dim(v.wrap(strings.TrimRight(text, "\n"))) + "\n")
}

// wrap breaks lines where the screen has an edge.
func (v *conversation) wrap(s string) string { return console.WrapText(s, v.width()) }

func (v *conversation) dim(s string) string {
	if !v.color || s == "" {
		return s
	}
	return "\x1b[2m" + strings.ReplaceAll(s, "\n", "\x1b[0m\n\x1b[2m") + "\x1b[0m"
}

// flow shows what the view has, and lines of our own behind it.
func (v *conversation) flow(own string) {
	lines, tail := "", ""
	if v.view != nil {
		lines, tail = v.view.Take()
	}
	v.s.Flow(lines+own, tail)
}

func (v *conversation) deltas() <-chan wire.Delta {
	if v.tree == nil {
		return nil
	}
	return v.tree.Deltas
}

// key carries out what the person did.
func (v *conversation) key(ctx context.Context, ev editor.Event) {
	v.reading = false
	switch ev.Kind {
	case editor.Line:
		if ev.Err != nil {
			v.say("troupe: " + ev.Err.Error())
			return
		}
		v.act(ctx, v.m.line(ev.Text, ev.Mark))
	case editor.Interrupt:
		v.act(ctx, v.m.interrupt(ev.Text))
	case editor.EOF:
		v.act(ctx, v.m.eof())
	case editor.Closed:
		v.leave = true
	}
}

// show draws events and follows what they say about the conversation itself.
func (v *conversation) show(ctx context.Context, events []troupe.Event) {
	// Pieces that were sent before these events were committed are here by now. Some belong
	// before them, some to what comes after; the view knows.
	for more := true; more; {
		select {
		case d := <-v.tree.Deltas:
			v.view.Queue(d)
		default:
			more = false
		}
	}
	console.Arrange(events)
	if w := v.s.Width(); w > 0 {
		v.view.SetWidth(w)
	}
	asked := false
	for _, e := range events {
		v.view.Event(e)
		switch e.Body.(type) {
		case troupe.Started:
			v.running(e.Session, true)
			asked = true
		case troupe.Ended:
			v.running(e.Session, false)
			asked = true
		case troupe.RequestOpened, troupe.RequestAnswered:
			asked = true
		}
	}
	v.view.Flush()
	v.flow("")
	if asked {
		v.requests(ctx)
	}
}

func (v *conversation) running(id troupe.SessionID, on bool) {
	if id == v.tree.Root {
		v.m.running(on)
	}
}

// requests looks which requests are open.
func (v *conversation) requests(ctx context.Context) {
	open, err := v.b.Look.Requests(ctx, v.tree.Root)
	if err != nil {
		v.complain(err)
		return
	}
	v.act(ctx, v.m.requests(open))
}

func (v *conversation) complain(err error) { v.say("troupe: " + console.Clean(err.Error())) }

// last shows what is left when the whole tree has ended.
func (v *conversation) last(ctx context.Context) error {
	v.stop()
	for f := range v.events {
		if f.err == nil {
			v.show(ctx, f.events)
		}
	}
	events, err := v.tree.Events.All(ctx)
	if err == nil {
		v.show(ctx, events)
		v.farewell()
	}
	return err
}

// begin begins a tree, or goes on with one.
func (v *conversation) begin(ctx context.Context, o Opening) error {
	t, err := v.b.Begin(ctx, o)
	if err != nil {
		return err
	}
	v.take(ctx, t, o.Message.Text != "" || len(o.Message.Images) > 0)
	return nil
}

// take makes a tree the one that is talked to. told says that it has something to do.
func (v *conversation) take(ctx context.Context, t *Tree, told bool) {
	v.tree = t
	v.view = render.New(t.Root, render.Options{Color: v.color, Width: v.width(), Cwd: v.o.Cwd, Local: v.o.Local})
	v.view.Know(t.Before)
	v.m.begun, v.m.working = true, told
	for _, w := range t.Warnings {
		v.say("troupe: " + console.Clean(w))
	}
	if len(t.Before) > 0 {
		main := t.Before[0]
		v.m.working = told || main.Status.Live()
		v.recall(main)
	}
	v.follow(ctx)
	v.requests(ctx)
}

// width is the screen's, or else what the process was told.
func (v *conversation) width() int {
	if w := v.s.Width(); w > 0 {
		return w
	}
	if v.c.OutTTY {
		return v.c.Width
	}
	return 0
}

// recallLines is how much of the last words is shown when a conversation goes on.
const recallLines = 12

// recall says where the conversation stands.
func (v *conversation) recall(main troupe.Session) {
	v.say(fmt.Sprintf("Going on with %s: %s (%s)", main.ID, console.Line(main.Title, 60), main.Status))
	if main.Result == "" {
		return
	}
	lines := strings.Split(strings.TrimRight(console.Clean(main.Result), "\n"), "\n")
	if n := len(lines); n > recallLines {
		lines = append([]string{"…"}, lines[n-recallLines:]...)
	}
	v.flow(strings.Join(lines, "\n") + "\n")
}

// follow reads the tree's events in a goroutine of its own, which stop ends and waits for.
func (v *conversation) follow(ctx context.Context) {
	v.events, v.stop = followEvents(ctx, v.tree.Events)
}

// followEvents reads on until stop is called. What is in the channel then must be taken until
// it is closed: whoever calls stop ranges over the rest.
func followEvents(ctx context.Context, f Follower) (events <-chan followed, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	out := make(chan followed)
	go func() {
		defer close(out)
		for ctx.Err() == nil {
			events, err := f.Next(ctx)
			if err == nil && len(events) > 0 {
				// What Next read of one session may follow from what another has committed and
				// Next has not read yet. A look at all of them afterwards holds that too, and
				// the times then put it before.
				var more []troupe.Event
				more, err = f.All(context.WithoutCancel(ctx))
				events = append(events, more...)
			}
			if ctx.Err() != nil {
				err = nil
			}
			if len(events) > 0 || err != nil {
				out <- followed{events, err}
			}
			if err != nil {
				return
			}
		}
	}()
	return out, cancel
}

// letGo ends whatever belongs to the tree.
func (v *conversation) letGo() {
	if v.tree == nil {
		return
	}
	v.stop()
	for range v.events { // what is left is in the log
	}
	v.tree.Events.Close()
	if err := v.tree.Close(); err != nil {
		v.complain(err)
	}
	v.tree, v.view, v.events, v.ended, v.undo = nil, nil, nil, nil, nil
	v.m = machine{terminal: v.m.terminal, mark: v.m.mark}
}
