// Package render turns what happens in a tree of agents into plain, scrolling text: the main
// agent's words as they come, a line for each tool call, a frame around each sub-agent. It
// is a function of what it is given, without a clock or a terminal of its own.
//
// A View is used by one goroutine. Events of one session must come in order.
package render

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/live"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Options are what a view can be given.
type Options struct {
	Color bool
	Width int            // columns; 0: unknown, nothing is wrapped or cut to fit
	Cwd   string         // paths below it are shown relative to it
	Local *time.Location // for times of day; nil: the machine's
	// Markdown: replies are shown without its marks. Where they go to a file or a program they
	// are left as they are.
	Markdown bool
	// Rows: what is at work stands below in rows, which say what is tried again. It is not said twice.
	Rows bool
}

// View collects text until it is taken.
type View struct {
	Cast   *Cast
	o      Options
	root   troupe.SessionID // the agent whose words are shown whole; all others have frames
	open   int              // frames that are open
	mine   map[troupe.MailID]bool
	reply  reply
	sealed bool       // a reply of the main agent is on its way
	mute   bool       // it is a summary, which nobody reads as it comes
	queue  []piece    // those that were sent after an event that was not shown yet
	shown  int64      // the main agent's last event that was shown
	whole  int64      // of these, the one that ended its last reply
	heard  wire.Delta // the last piece
	shelf  *shelf
	board  live.Board
	past   bool // what is shown happened before: a person's own words are not on the screen
	out    strings.Builder
}

// agent is one session as it is drawn.
type agent struct {
	id         troupe.SessionID
	num        int // 0 for the main agent
	name       string
	kind       string
	title      string
	color      string // that its definition gives it
	parent     troupe.SessionID
	calls      map[troupe.Coord]troupe.Call
	open       bool
	shared     bool // its frame was open beside another
	background bool
	idle       bool     // it was born so: its first run is nothing to tell
	notes      []string // what of its definition does not hold
	plan       string   // the file of the plan that it writes, which is shown when it asks about it
	fault      string   // what its last model call failed with for good, which was shown
}

func (a *agent) plans(by troupe.Authority) {
	a.plan = ""
	if by.Planning != nil {
		a.plan = by.Planning.File
	}
}

// New makes the view of one tree.
func New(root troupe.SessionID, o Options) *View {
	if o.Local == nil {
		o.Local = time.Local
	}
	v := &View{o: o, root: root, Cast: &Cast{main: root, agents: make(map[troupe.SessionID]*agent)},
		mine: make(map[troupe.MailID]bool), shelf: new(shelf)}
	v.mine[troupe.PromptMailID(root)] = true
	return v
}

// Mine keeps a message from being shown when it is delivered: whoever wrote it has seen it.
func (v *View) Mine(id troupe.MailID) { v.mine[id] = true }

// SetWidth says how many columns there are from here on.
func (v *View) SetWidth(n int) { v.o.Width = n }

// Take returns the whole lines since the last call, and what is shown behind them for now:
// an unfinished line, or what is under way.
func (v *View) Take() (lines, tail string) {
	lines = v.out.String()
	v.out.Reset()
	return lines, v.tail()
}

// Event shows one event.
func (v *View) Event(e troupe.Event) {
	a := v.Cast.agent(e.Session)
	if v.isMain(a) {
		v.place(e)
	}
	switch b := e.Body.(type) {
	case troupe.Created:
		a.name, a.kind, a.title, a.parent = b.Name, b.Profile.Kind(), b.Title, b.Parent
		a.notes, a.color = b.Profile.Notes, b.Profile.Color
		a.background, a.idle = b.Background, b.Profile.Team != "" && !b.Coord.OfCall()
		a.plans(b.Authority)
	case troupe.Started:
		v.started(a, b)
	case troupe.MailDelivered:
		v.delivered(a, b)
	case troupe.CallSealed:
		if v.isMain(a) {
			v.sealed, v.mute = true, b.Compact
		}
	case troupe.Replied:
		v.replied(a, b)
	case troupe.ToolFinished:
		v.finished(a, b)
	case troupe.ModelFailed:
		v.failed(a, e.At, b)
	case troupe.Ended:
		v.ended(a, b.Outcome)
	default:
		v.remark(a, e.Body)
	}
	for _, l := range console.SkillsOf(e.Body) {
		wrapped(v, a, "", "! ", 33, l)
	}
}

// remark shows the events that are a line and nothing more. A request is none: whoever shows this
// asks it.
func (v *View) remark(a *agent, body troupe.Body) {
	switch b := body.(type) {
	case troupe.ModelChanged:
		v.line(a, "goes on with "+console.Model(b.Model), "")
	case troupe.AuthorityChanged:
		a.plans(b.Authority)
		if b.By != "" {
			pre := v.prefix(a)
			for _, row := range console.Wrap("permissions changed: "+console.Line(changed(b), 0),
				v.room(ansi.StringWidth(pre))) {
				v.put(pre + row)
			}
		}
	case troupe.RequestAnswered:
		answered(v, a, b)
	case troupe.Compacted:
		if v.isMain(a) {
			v.sealed, v.mute = false, false
		}
		why := b.Why
		if had := b.Usage.Total() - b.Usage.Output; had > 0 {
			why = strings.TrimSuffix(fmt.Sprintf("%s tokens became a summary of %s; %s", troupe.FormatTokens(had),
				troupe.FormatTokens(b.Usage.Output), why), "; ")
		}
		wrapped(v, a, "", "~ the conversation was shortened: ", 2, why)
	case troupe.BoardChanged:
		v.board.Width = v.room(ansi.StringWidth(v.prefix(a)))
		for _, l := range v.board.Take(b) {
			v.line(a, "", l)
		}
	case troupe.HookRan:
		if text := console.Hook(b); text != "" {
			wrapped(v, a, "", "· ", 2, text)
		}
	case troupe.BudgetWarned:
		wrapped(v, a, "", "! ", 33, b.Text)
	}
}

// changed says what is different about somebody's permissions: the rule that came last, or the mode.
func changed(b troupe.AuthorityChanged) string {
	if n := len(b.Authority.Rules); n > 0 && b.Authority.Rules[n-1].Source == b.By {
		r := b.Authority.Rules[n-1]
		what := "allowed"
		switch r.Effect {
		case troupe.Deny:
			what = "denied"
		case troupe.Ask:
			what = "asked about"
		case troupe.Allow:
		}
		if r.For != "" {
			what += " to an agent that this yes starts, and to those that it starts,"
		}
		return fmt.Sprintf("%s is %s from now on (%s)", r.Text, what, b.By)
	}
	if strings.HasPrefix(b.By, "mode ") {
		return b.By
	}
	return fmt.Sprintf("%s (%s)", console.Mode(b.Authority.Mode), b.By)
}

// called is the one name that an agent has wherever it is shown.
func (a *agent) called() string { return cmp.Or(a.name, a.title, a.kind) }

func (v *View) started(a *agent, b troupe.Started) {
	if v.isMain(a) || a.idle && b.Run == 1 {
		return
	}
	text := fmt.Sprintf("#%d %s", a.num, console.Line(a.called(), 0))
	mark := " · " + console.Line(a.kind, 30)
	if up := v.Cast.agents[a.parent]; up != nil && !v.isMain(up) {
		mark += fmt.Sprintf(" for #%d", up.num)
	}
	if b.Run > 1 {
		mark += " (goes on)"
	}
	line := v.edge(a, "┌─ ") + v.named(a, 0, nameFit(v, text, 3+ansi.StringWidth(mark))) + v.paint(2, mark)
	if beside := ansi.StringWidth(line) + 2; a.title != "" && !strings.EqualFold(a.title, a.called()) &&
		(v.o.Width == 0 || v.o.Width-beside >= shortest) {
		line += v.paint(2, ": "+v.fit(console.Line(a.title, 0), beside))
	}
	v.put(line)
	if !a.open {
		a.open = true
		v.open++
	}
	for _, n := range a.notes {
		wrapped(v, a, "", "! ", 33, n)
	}
	a.notes = nil
	if v.open > 1 {
		for _, x := range v.Cast.byNum {
			x.shared = x.shared || x.open
		}
	}
}

// delivered shows what reached an agent from others than the person who watches.
func (v *View) delivered(a *agent, b troupe.MailDelivered) {
	for _, m := range b.Mail {
		switch m.Kind {
		case troupe.MailPrompt:
			if v.past && v.isMain(a) {
				v.asked(m)
				continue
			}
			if v.mine[m.ID] || m.ID == troupe.PromptMailID(a.id) {
				continue
			}
			from := console.Person(m.Caller)
			if m.From != "" {
				from = v.Cast.who(m.From)
			}
			v.line(a, v.paint(36, "← ")+"message from "+from+":", troupe.JoinText(m.Blocks))
		case troupe.MailMessage:
			v.line(a, v.paint(36, "← ")+console.MessageFrom(*m.Message)+":", troupe.JoinText(m.Blocks))
		case troupe.MailTaskEnded:
			if o := m.Ended; o != nil && !o.Kind.OfSession() {
				after := ""
				if o.DurationMS > 0 { // it is not known of one that ended with its process
					after = " after " + console.Duration(o.DurationMS)
				}
				v.line(a, fmt.Sprintf("● %s %s%s:", o.Task, console.EndWord(string(o.TaskStatus())), after), o.Name)
			}
		case troupe.MailMonitor:
			if h := m.Heard; h != nil {
				v.line(a, fmt.Sprintf("● %s tells:", h.Task), strings.Join(h.Lines, "\n"))
			}
		case troupe.MailFork:
			if m.Forked.Refused != "" {
				v.line(a, v.paint(33, "no fork was started:"), m.Forked.Refused)
			}
		case troupe.MailNotice, troupe.MailStop, troupe.MailAnswer, troupe.MailGrant, troupe.MailCompact,
			troupe.MailModel, troupe.MailBoard:
		}
	}
}

func (v *View) finished(a *agent, b troupe.ToolFinished) {
	at := troupe.Coord{Reply: b.Result.Reply, Call: b.Result.Call}
	call, ok := a.calls[at]
	delete(a.calls, at)
	if !ok {
		call.Name = b.Name
	}
	what := live.What(call, v.o.Cwd)
	switch {
	case b.Task != nil && b.Task.Kind.OfSession():
		child := v.Cast.agent(troupe.SessionID(b.Task.ID))
		child.background, child.shared = true, true
		v.line(child, v.paint(2, "goes on in the background"), "")
	case b.Task != nil:
		v.call(a, v.paint(32, "✓ "), call.Name, what, "in the background as "+string(b.Task.ID))
	case b.Outcome != nil: // the child's own frame said it
	case live.TellsBoard(b.Name) && !b.Result.IsError && b.Denied == nil: // what it changed was said
	case b.Denied != nil:
		v.call(a, v.paint(31, "✗ "), call.Name, what, "")
		mark, why := console.Denial(b.Denied.Why)
		wrapped(v, a, "  ", mark, 31, why)
	case b.Interrupt:
		v.call(a, v.paint(33, "! "), call.Name, what, "interrupted")
	case b.Result.IsError:
		v.call(a, v.paint(31, "✗ "), call.Name, what, "")
		part(v, a, output(b), fewLines, len(b.Evidence.Commands) > 0)
		told(v, a, b)
	default:
		mark := v.paint(32, "✓ ")
		for _, c := range b.Evidence.Commands {
			if c.ExitCode != 0 {
				mark = v.paint(33, "! ") // it ran, and it says that something is wrong
			}
		}
		v.call(a, mark, call.Name, what, live.Measured(b))
		came(v, a, call, b)
	}
}

func (v *View) failed(a *agent, at time.Time, b troupe.ModelFailed) {
	if v.isMain(a) {
		v.endReply()
		v.sealed, v.mute = false, false
	}
	if b.RetryAt.IsZero() {
		if b.Fault != troupe.FaultInterrupted {
			wrapped(v, a, "", "✗ ", 31, b.Message)
			a.fault = b.Message
		}
		return
	}
	if v.o.Rows {
		return
	}
	until := console.Clock(b.RetryAt.In(v.o.Local), at)
	again := fmt.Sprintf(". Retry %d at %s", b.Attempt, until)
	for i, row := range console.Wrap(sentence(b.Message)+again, v.room(ansi.StringWidth(v.prefix(a))+2)) {
		edge := "… "
		if i > 0 {
			edge = "  "
		}
		v.line(a, v.paint(33, edge+row), "")
	}
}

func (v *View) ended(a *agent, o troupe.Outcome) {
	if a.idle && o.Run == 1 {
		return
	}
	if v.isMain(a) {
		v.endReply()
	}
	text, red := "done", 31
	if o.Status != troupe.Completed {
		text = console.EndWord(string(o.Status))
		if v.isMain(a) && o.Cause == troupe.CausePermission {
			// It did as it was told, and whoever said so is here.
			text, red = "stopped", 33
		}
		text = v.paint(red, text)
	}
	bill := fmt.Sprintf(" · %s · %s tokens · %s", console.Count(o.Tally.ToolUses, "tool use"),
		troupe.FormatTokens(o.Tally.Usage.Total()), console.Duration(o.DurationMS))
	if v.isMain(a) {
		v.put(v.paint(2, "── ") + text + v.paint(2, bill))
	} else {
		line := v.edge(a, "└─ ") + v.label(a, " ") + text + v.paint(2, bill)
		// Its beginning may be far up by now.
		if beside := ansi.StringWidth(line) + 3; (a.background || !a.open) &&
			(v.o.Width == 0 || v.o.Width-beside >= shortest) {
			line += v.paint(2, " · ") + v.named(a, 2, nameFit(v, console.Line(a.called(), 0), beside))
		}
		v.put(line)
		if a.open {
			a.open = false
			v.open--
		}
	}
	if text := console.Flags(o.Flags); text != "" {
		v.put(v.paint(33, "! "+text))
	}
	if text := console.Verified(o.Verified); text != "" {
		v.put("  " + v.fit(text, 3))
	}
	if o.Unchecked != "" {
		v.put(v.paint(33, "! "+v.fit(console.Line(o.Unchecked, 0), 3)))
	}
	if !v.isMain(a) && o.Status == troupe.Completed {
		report(v, a, o.Result)
	}
	if text := console.Workspace(o.Workspace); text != "" {
		for _, row := range console.Wrap(console.Slashed(text), v.room(3)) {
			v.put("   " + v.paint(2, row))
		}
	}
	// What the last model call failed with stands there; how often it was tried may not.
	problem := strings.TrimSpace(strings.TrimPrefix(o.Error, a.fault))
	if a.fault = ""; o.Status != troupe.Completed && problem != "" {
		indent := ""
		if !v.isMain(a) {
			indent = "   "
		}
		for _, row := range console.Wrap(console.Line(problem, 400), v.room(len(indent))) {
			v.put(indent + v.paint(red, row))
		}
	}
}

// put writes a line.
func (v *View) put(s string) {
	v.out.WriteString(s)
	v.out.WriteByte('\n')
}

// line writes a line of an agent: a text that is safe, and behind it one from elsewhere, cut
// to what fits.
func (v *View) line(a *agent, text, detail string) {
	pre := v.prefix(a)
	if detail != "" {
		if text != "" && !strings.HasSuffix(ansi.Strip(text), " ") {
			text += " "
		}
		text += v.shorten(console.Line(detail, 400), ansi.StringWidth(pre)+ansi.StringWidth(text))
	}
	v.put(pre + text)
}

// wholeLength bounds what is shown whole.
const wholeLength = 4000

// wrapped writes a text from elsewhere that is not cut, in rows that begin with the indent: it says what is wrong
// and what to do about it.
func wrapped(v *View, a *agent, indent, lead string, code int, text string) {
	pre := v.prefix(a) + indent
	rows := console.Wrap(lead+console.Line(text, wholeLength), v.room(ansi.StringWidth(pre)+2))
	for i, row := range rows {
		if rest, ok := strings.CutPrefix(row, lead); ok && i == 0 {
			row = v.paint(code, lead) + rest
		}
		if i > 0 {
			row = "  " + row
		}
		v.put(pre + row)
	}
}

// call writes the line of a call: what it was shrinks before what came of it, which has rows of its own where there
// is no room for both.
func (v *View) call(a *agent, mark, name, what, came string) {
	pre := v.prefix(a)
	text := mark + console.Line(name, 40)
	came = console.Line(came, 80)
	beside := ansi.StringWidth(pre+text) + 1
	below := came != "" && v.o.Width > 0 && beside+ansi.StringWidth(came)+
		2+min(shortest, ansi.StringWidth(what)) > v.o.Width
	if came != "" && !below {
		beside += ansi.StringWidth(came) + 2
	}
	if what != "" {
		text += " " + v.paint(1, v.shorten(console.Line(what, 400), beside))
	}
	if came != "" && !below {
		text += v.paint(2, "  "+came)
	}
	v.put(pre + text)
	if below {
		for _, row := range console.Wrap(came, v.room(ansi.StringWidth(pre)+2)) {
			v.put(pre + "  " + v.paint(2, row))
		}
	}
}

// prefix is what stands before the lines of a sub-agent.
func (v *View) prefix(a *agent) string {
	if v.isMain(a) {
		return ""
	}
	return v.edge(a, "│"+v.label(a, "")+" ")
}

// label is the number of an agent whose lines may stand between those of others.
func (v *View) label(a *agent, after string) string {
	if !a.shared && v.open <= 1 && a.open {
		return ""
	}
	return strconv.Itoa(a.num) + after
}

// shortest is how much of a text is shown however narrow the terminal is.
const shortest = 12

// fit cuts a text to the columns that are left beside others.
func (v *View) fit(s string, beside int) string {
	if v.o.Width == 0 {
		return console.Line(s, 160)
	}
	return ansi.Truncate(s, max(shortest, v.o.Width-beside), "…")
}

// shorten is fit for what people know by its words and the ends of its paths.
func (v *View) shorten(s string, beside int) string {
	if v.o.Width == 0 {
		return console.Line(s, 160)
	}
	return console.Shorten(s, max(shortest, v.o.Width-beside))
}

// nameFit cuts what an agent is called by its middle: its end tells it from others.
func nameFit(v *View, s string, beside int) string {
	const most = 120
	if v.o.Width == 0 {
		return console.Middle(s, most)
	}
	return console.Middle(s, max(shortest, min(most, v.o.Width-beside)))
}

// edge paints the frame of an agent in the color of its definition, or one of its own.
func (v *View) edge(a *agent, s string) string {
	return v.paint(EdgeColor(a.color, a.num), s)
}

// EdgeColor is the color of an agent's frame: that of its definition, or one by its number.
func EdgeColor(own string, num int) int {
	colors := [...]int{36, 35, 34, 33, 96, 95, 94}
	return console.AgentColor(own, colors[(max(num, 1)-1)%len(colors)])
}

// named paints an agent's name in the color of its definition, or else as other names are.
func (v *View) named(a *agent, other int, name string) string {
	return v.paint(console.AgentColor(a.color, other), name)
}

// Agent gives an agent's name the colour that is its own wherever it is named: always the same
// for the same path, and none that means something else here.
func Agent(path, name string) string {
	colours := [...]int{32, 34, 35, 36, 92, 94, 95, 96}
	h := fnv.New32a()
	_, _ = h.Write([]byte(path)) // it never fails
	return console.Paint(true, colours[h.Sum32()%uint32(len(colours))], name)
}

func (v *View) paint(code int, s string) string { return console.Paint(v.o.Color, code, s) }
