package chat

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/chat/editor"
	"github.com/troupe-dev/troupe/internal/cli/chat/render"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/panes"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Options are what a conversation can be given.
type Options struct {
	History string              // file of what was entered; "" keeps none
	Mask    func(string) string // takes secrets out of it
	HangUp  <-chan struct{}     // the terminal is going away: leave, at once
	Local   *time.Location      // for times of day; nil: the machine's
	Server  string              // the address of the server that has the sessions; "": they are here
	Folder  string              // where the server has agents work; "": in the folder of what begins
	Heard   <-chan string       // what is told of the server
	Status  bool                // a line above the prompt says what the conversation works with
	// Panes finds out where the members of a tree's team can have panes; nil: nowhere.
	Panes func(ctx context.Context, root troupe.SessionID) panes.Found
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
	Height() int
	Close() error
}

// standing is what a conversation works with.
type standing struct {
	model string
	mode  troupe.Mode
}

// conversation is one use of Run. One goroutine has it.
type conversation struct {
	trees  *trees
	c      *console.Console
	o      Options
	s      screen
	m      machine
	color  bool
	home   string // of the person; "" is unknown
	tree   *tree
	view   *render.View
	beside *transcript    // what is shown instead of the view; nil: the view is
	board  board          // what is at work in the tree
	undo   wire.UndoOrder // what /undo proposed
	own    ownLine        // the status line of the settings
	first  standing       // what a conversation would begin with; "" is unknown
	warned bool           // of the mode that holds
	// model and mode were chosen for the conversation that comes next.
	model string
	mode  troupe.Mode
	// modeBefore is the mode that held when another was asked for.
	modeBefore troupe.Mode
	leave      bool
	// reading: a line was asked for and has not come yet.
	reading bool
}

// Run holds a conversation until the person, or the input, ends it. b is what it begins with; if
// there are neither words nor a session to go on with, the first words begin it.
func Run(ctx context.Context, c *console.Console, a api.API, b wire.Begin, o Options) error {
	c.SetToWork()
	trees, first := newTrees(a, b)
	v := newConversation(c, trees, o)
	return hold(ctx, v, func() error {
		v.greet(ctx, first.Resume != "" || first.Continue)
		if something(first) {
			return v.begin(ctx, first)
		}
		return nil
	})
}

func newConversation(c *console.Console, t *trees, o Options) *conversation {
	if o.Local == nil {
		o.Local = time.Local
	}
	return &conversation{trees: t, c: c, o: o, color: c.Color(c.OutTTY)}
}

// hold takes the terminal over, calls begin, and goes on until the person, or the input, ends it.
func hold(ctx context.Context, v *conversation, begin func() error) (err error) {
	interrupts := make(chan struct{}, 1)
	closeScreen, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeScreen()) }()
	raw := v.raw()
	v.board = board{time: v.c.Now, on: raw}
	v.own = ownLine{on: raw && v.o.Status, came: make(chan cameLine, 1)}
	defer v.own.close()
	v.home, _ = v.c.Lookup("HOME")
	count := 0
	restore := v.c.Interrupts.Take(func() {
		select {
		case interrupts <- struct{}{}:
			count = 0
		default:
			// Nobody took the last one: something hangs. All that counts is committed.
			if count++; count > 1 {
				closeScreen() //nolint:errcheck // the process ends here
				v.c.Interrupts.Leave(troupe.ExitInterrupted)
			}
		}
	})
	defer restore()
	defer func() {
		if !v.leave {
			v.tree.abandon()
		}
		v.letGo()
	}()
	defer v.board.close()
	if err := begin(); err != nil {
		return err
	}
	for !v.leave {
		v.ready()
		batches, ended := v.tree.comes()
		select {
		case ev := <-v.s.Events():
			v.key(ctx, ev)
		case <-interrupts:
			if raw {
				// The keyboard's Ctrl-C comes as a key. A signal says that the terminal or
				// the machine is going away.
				return nil
			}
			v.perform(ctx, v.m.interrupt(""))
		case <-v.o.HangUp:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-v.board.tick():
			v.flow("")
			v.lookAfter(ctx)
		case <-v.own.due:
			v.own.run(ctx, v)
		case c := <-v.own.came:
			v.own.take(v, c)
		case text := <-v.o.Heard:
			v.say(text)
		case text := <-v.tree.said():
			v.say(text)
		case <-v.tree.orphaned():
			hosted(ctx, v, true)
		case f := <-batches:
			switch {
			case f.err != nil && v.m.attached:
				broken(v, f.err)
				continue
			case f.err != nil:
				return f.err
			}
			if len(f.Events)+len(f.Deltas) == 0 {
				cut(ctx, v)
				continue
			}
			if v.show(ctx, f.Batch); v.board.still {
				hosted(ctx, v, false)
			}
		case err := <-ended:
			if errors.Is(err, troupe.ErrAsleep) {
				v.say(console.Asleep(string(v.tree.root)).Error())
				v.leave = true // its panes go as they do with /sleep
				return nil
			}
			if err != nil {
				return err
			}
			return v.last(ctx)
		}
	}
	v.farewell(ctx)
	return nil
}

// open takes the terminal over, or reads lines where there is none to take.
func (v *conversation) open(ctx context.Context) (func() error, error) {
	home, _ := v.c.Lookup("HOME")
	name, _ := v.c.Lookup("TERM")
	in, isFile := v.c.In.(*os.File)
	tty := isFile && term.IsTerminal(in.Fd())
	v.m.terminal = tty
	if !tty || !v.c.OutTTY || name == "dumb" {
		v.s = editor.OpenPlain(v.c.In, v.c.Out)
		return v.s.Close, nil
	}
	e, err := editor.Open(in, v.c.Out,
		editor.Options{History: v.o.History, Mask: v.o.Mask,
			Complete: completer(v.trees.next.Cwd, home, valuesOf(ctx, v.trees.api, v.trees.next.Cwd),
				func() []wire.Skill { return skillsOf(ctx, v) })})
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

func (v *conversation) farewell(ctx context.Context) {
	if v.m.attached {
		detached(v)
		return
	}
	if v.tree != nil && v.m.terminal {
		leavesWork(ctx, v)
		v.say("Go on later: troupe --continue, or troupe --resume " + string(v.tree.root))
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
	switch {
	case v.beside != nil:
		lines, tail = v.beside.take()
	case v.view != nil:
		lines, tail = v.view.Take()
	}
	v.s.Flow(lines+own, v.board.below(tail))
}

// key carries out what the person did.
func (v *conversation) key(ctx context.Context, ev editor.Event) {
	v.reading, v.m.now = false, v.board.now()
	switch ev.Kind {
	case editor.Line:
		if ev.Err != nil {
			v.complain(ev.Err)
			return
		}
		know(ctx, v, ev.Text)
		v.perform(ctx, v.m.line(ev.Text, ev.Mark))
	case editor.Interrupt:
		v.perform(ctx, v.m.interrupt(ev.Text))
	case editor.Escape:
		v.perform(ctx, v.m.escape())
	case editor.Background:
		v.perform(ctx, v.m.background())
	case editor.Plan:
		if v.m.attached {
			v.say("The mode is the whole session's: the conversation with its main agent changes it.")
			return
		}
		if err := togglePlan(ctx, v); err != nil {
			v.complain(err)
		}
		stand(v)
	case editor.Resized:
		v.board.own = ownText(v.own.shown, v.width(), v.color)
		stand(v)
		v.flow("")
		if v.tree != nil && v.tree.team != nil {
			v.tree.team.Look() // the window may be another size
		}
	case editor.EOF:
		v.perform(ctx, v.m.eof())
	case editor.Closed:
		v.leave = true
	}
}

// show draws a batch and follows what its events say about the conversation itself.
func (v *conversation) show(ctx context.Context, b wire.Batch) {
	// Some pieces belong before the events they came with, some to what comes after; the view knows.
	for _, d := range b.Deltas {
		v.view.Queue(d)
	}
	console.Arrange(b.Events)
	v.births(ctx, b.Events)
	b = v.tree.only(b, v.view)
	if w := v.s.Width(); w > 0 {
		v.view.SetWidth(w)
		if v.beside != nil && v.beside.view != nil {
			v.beside.view.SetWidth(w)
		}
	}
	asked := false
	for _, e := range b.Events {
		v.view.Event(e)
		follows(v, e)
		followTeam(ctx, v, e)
		switch b := e.Body.(type) {
		case troupe.Started:
			v.running(e.Session, true)
		case troupe.Ended:
			v.running(e.Session, false)
			asked = true
		case troupe.RequestAnswered:
			asked = true
			v.m.answered(string(b.ID), render.AnsweredBy(b))
		case troupe.RequestOpened:
			asked = true
		case troupe.Slept:
			if e.Session == v.tree.root {
				v.tree.wait(ctx) // until it is put away: it ends the conversation
			}
		}
	}
	v.view.Flush()
	v.board.follow(b)
	for _, text := range v.board.work.Unanswered() {
		v.say("Not answered before the turn ended: “" + console.Line(text, 200) +
			"”. The agent has it before what you send next.")
	}
	if v.board.status = statusLine(v); len(b.Events) > 0 {
		v.own.want()
	}
	ended := v.beside != nil && v.beside.follow(b, v.view)
	v.flow("")
	marks(v)
	if ended {
		v.back()
		v.m.returned = v.board.now()
	}
	if asked {
		v.requests(ctx)
	}
}

func (v *conversation) running(id troupe.SessionID, on bool) {
	if id == v.tree.subject() {
		v.m.running(on)
	}
}

// requests looks which requests are open.
func (v *conversation) requests(ctx context.Context) {
	open, err := v.trees.api.Requests(ctx, v.tree.root)
	if err != nil {
		v.complain(err)
		return
	}
	v.m.now = v.board.now()
	v.perform(ctx, v.m.requests(v.tree.asks(open, v.view)))
	marks(v)
}

func (v *conversation) complain(err error) {
	v.say("troupe: " + console.Slashed(console.Clean(err.Error())))
}

// last shows what is left when the whole tree has ended.
func (v *conversation) last(ctx context.Context) error {
	err := v.tree.rest(ctx, func(b wire.Batch) error { v.show(ctx, b); return nil })
	if err == nil {
		v.leave = true
		v.farewell(ctx)
	}
	return err
}

// begin begins a tree, or goes on with one.
func (v *conversation) begin(ctx context.Context, b wire.Begin) error {
	t, err := v.trees.begin(ctx, b, true)
	if err != nil {
		return err
	}
	return v.take(ctx, t, b.Prompt != "" || len(b.Images) > 0)
}

// take makes a tree the one that is talked to. told says that it has something to do.
func (v *conversation) take(ctx context.Context, t *tree, told bool) error {
	v.tree = t
	v.view = render.New(t.root, render.Options{Color: v.color, Width: v.width(), Cwd: v.trees.next.Cwd,
		Local: v.o.Local, Markdown: v.raw(), Rows: v.board.on})
	v.view.Cast.Know(t.before)
	v.board.work = render.NewWork(v.view)
	v.m.begun, v.m.working = true, told
	for _, w := range t.warnings {
		v.say("troupe: " + console.Clean(w))
	}
	if len(t.before) > 0 {
		if w := t.before[0].Workspace; w != nil {
			t.work = *w
			saysWhere(v)
		}
		v.m.working = told || t.before[0].Status.Live()
		if err := recall(ctx, v); err != nil {
			return err
		}
	}
	if len(t.before) > 0 && v.o.Panes != nil {
		if of, err := v.trees.api.Team(ctx, t.root); err == nil && len(of.Members) > 0 {
			keepPanes(ctx, v)
		}
	}
	stand(v)
	v.flow("")
	v.requests(ctx)
	return nil
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

// letGo ends whatever belongs to the tree.
func (v *conversation) letGo() {
	if v.tree == nil {
		return
	}
	v.tree.close()
	v.tree, v.view, v.board.work, v.undo = nil, nil, nil, wire.UndoOrder{}
	v.model, v.mode = "", ""
	v.beside, v.board.beside = nil, nil
	v.m = machine{terminal: v.m.terminal, mark: v.m.mark}
	stand(v)
}
