// Package live shows a run as it happens: a line for each thing an agent did, a frame
// around each sub-agent. It draws from the events of the log and nothing else.
package live

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// View turns events into lines. It is used by one goroutine.
type View struct {
	w      io.Writer
	color  bool
	width  int // columns; 0: unknown
	cwd    string
	agents map[troupe.SessionID]*agent
	warned warnings
	places places
	board  Board
}

type agent struct {
	name  string
	kind  string
	title string
	depth int
	color int
	calls map[troupe.Coord]string
	start bool
	idle  bool // it was born so: its first run is nothing to tell
}

// New makes a view that writes to w, as lines of at most width columns (0: as long as they
// are). Paths below cwd are shown relative to it.
func New(w io.Writer, color bool, width int, cwd string) *View {
	return &View{w: w, color: color, width: width, cwd: cwd, agents: make(map[troupe.SessionID]*agent),
		warned: make(warnings), places: make(places)}
}

// Know tells the view of sessions whose beginning it will not see.
func (v *View) Know(sessions []wire.Session) {
	for _, s := range sessions {
		a := &agent{name: s.Name, kind: s.Type, title: s.Title, depth: s.Depth, color: palette(string(s.ID), s.Depth),
			calls: make(map[troupe.Coord]string)}
		if a.name == "" {
			a.name = "main"
		}
		v.agents[s.ID] = a
	}
	v.places.know(sessions)
}

// Show writes what events say. Events of one session must come in order; those of several
// are put in the order of their times, which is only for the eye.
func (v *View) Show(events []troupe.Event) {
	console.Arrange(events)
	for _, e := range events {
		v.event(e)
	}
}

func (v *View) event(e troupe.Event) {
	a := v.agents[e.Session]
	if a == nil {
		a = &agent{name: "main", calls: make(map[troupe.Coord]string)}
		v.agents[e.Session] = a
	}
	v.places.take(e)
	for _, l := range console.SkillsOf(e.Body) {
		v.line(a, "│", v.paint(33, "! "+l))
	}
	switch b := e.Body.(type) {
	case troupe.Created:
		a.kind, a.title, a.depth = b.Profile.Kind(), b.Title, b.Depth
		if b.Name != "" {
			a.name = b.Name
		}
		a.color = console.AgentColor(b.Profile.Color, palette(string(e.Session), b.Depth))
		a.idle = b.Profile.Team != "" && !b.Coord.OfCall()
		if b.Depth > 0 {
			for _, n := range b.Profile.Notes {
				v.line(a, "│", v.paint(33, "! "+console.Line(n, 0)))
			}
		}
	case troupe.Queued:
		if b.Why != "" {
			v.line(a, "│", v.paint(2, console.Line(b.Why, v.room(160))))
		}
	case troupe.Started:
		v.started(a, b)
	case troupe.Replied:
		v.replied(a, b)
	case troupe.ToolFinished:
		v.finished(a, b)
	case troupe.ModelFailed:
		v.failed(a, e.At, b)
	case troupe.ModelChanged:
		v.line(a, "│", "goes on with "+console.Model(b.Model))
	case troupe.AutoJudged:
		if b.Effect == troupe.Allow {
			v.line(a, "│", v.paint(2, "allowed by the model of mode auto: "+console.Line(b.Why, v.room(120))))
		}
	case troupe.RequestOpened:
		if !b.Auto {
			v.asks(a, b)
		}
	case troupe.HookRan:
		if text := console.Hook(b); text != "" {
			v.line(a, "│", v.paint(2, text))
		}
	case troupe.BudgetWarned:
		if text, first := v.warned.take(e.Session, b); first {
			v.line(a, "│", v.paint(33, "! "+text))
		}
	case troupe.TeamChanged:
		if len(b.Members) > 0 { // else a call has brought it
			v.line(a, "│", console.Line(Team(b), v.room(160)))
		}
	case troupe.BoardChanged:
		v.board.Width = v.room(160)
		for _, l := range v.board.Take(b) {
			v.line(a, "│", l)
		}
	case troupe.Ended:
		v.ended(e.Session, a, b.Outcome)
	}
}

func (v *View) started(a *agent, b troupe.Started) {
	if a.idle && b.Run == 1 {
		return
	}
	if a.depth == 0 {
		if b.Run > 1 {
			v.line(a, "│", "goes on")
		}
		return
	}
	text := console.Line(a.kind, 40)
	if a.title != "" {
		text += ": " + console.Line(a.title, v.room(80)-len(text))
	}
	if b.Run > 1 {
		text += " (goes on)"
	}
	v.line(a, "┌", text)
	a.start = true
}

func (v *View) replied(a *agent, b troupe.Replied) {
	calls := false
	for _, block := range b.Blocks {
		if block.Type == troupe.CallBlock && block.Call != nil {
			a.calls[troupe.Coord{Reply: block.Call.Reply, Call: block.Call.Index}] = v.summary(*block.Call)
			calls = true
		}
	}
	// The last words are the result; what is said on the way is shown as it comes.
	if text := troupe.JoinText(b.Blocks); calls && text != "" {
		v.line(a, "│", v.paint(2, "“"+console.Line(text, v.room(140)-2)+"”"))
	}
}

func (v *View) finished(a *agent, b troupe.ToolFinished) {
	at := troupe.Coord{Reply: b.Result.Reply, Call: b.Result.Call}
	text := a.calls[at]
	delete(a.calls, at)
	if text == "" {
		text = console.Line(b.Name, 60)
	}
	switch {
	case b.Outcome != nil:
		return // the child's own frame said it
	case TellsBoard(b.Name) && !b.Result.IsError && b.Denied == nil:
		return // what it changed was said
	case b.Denied != nil:
		mark, why := console.Denial(b.Denied.Why)
		v.line(a, "│", v.paint(31, "✗ ")+text+v.paint(31, " "+mark+console.Line(why, v.room(200))))
		return
	case b.Result.IsError:
		v.line(a, "│", v.paint(31, "✗ ")+text+
			v.paint(31, " "+console.Line(troupe.JoinText(b.Result.Blocks), v.room(120))))
		return
	}
	mark := v.paint(32, "✓ ")
	for _, c := range b.Evidence.Commands {
		if c.ExitCode != 0 {
			mark = v.paint(33, "! ") // it ran, and it says that something is wrong
		}
	}
	measured := Measured(b)
	if measured != "" {
		measured = "  " + measured
	}
	v.line(a, "│", mark+text+v.paint(2, measured))
}

// Measured is what the runtime saw of a call, in a few words; "" if there is nothing to say.
func Measured(b troupe.ToolFinished) string {
	var out []string
	for _, f := range b.Evidence.Files {
		if f.Wrote {
			out = append(out, fmt.Sprintf("+%d −%d", f.Added, f.Removed))
		}
	}
	for _, c := range b.Evidence.Commands {
		out = append(out, fmt.Sprintf("exit %d", c.ExitCode))
		if c.Tests != nil {
			out = append(out, fmt.Sprintf("%s: %d passed, %d failed", console.Line(c.Tests.Runner, 20), c.Tests.Passed,
				c.Tests.Failed))
		}
	}
	return strings.Join(out, " · ")
}

func (v *View) failed(a *agent, at time.Time, b troupe.ModelFailed) {
	text := console.Line(b.Message, 160)
	if !b.RetryAt.IsZero() {
		text += fmt.Sprintf("; waits until %s, then tries again (attempt %d)", console.Clock(b.RetryAt.Local(), at),
			b.Attempt+1)
	}
	v.line(a, "│", v.paint(33, "… "+text))
}

func (v *View) ended(id troupe.SessionID, a *agent, o troupe.Outcome) {
	if a.idle && o.Run == 1 {
		return
	}
	if text := v.places.ended(id, o); text != "" {
		v.line(a, "│", text)
	}
	if text := console.Flags(o.Flags); text != "" {
		v.line(a, "│", v.paint(33, "! "+text))
	}
	if text := console.Verified(o.Verified); text != "" {
		v.line(a, "│", text)
	}
	if o.Unchecked != "" {
		v.line(a, "│", v.paint(33, "! "+console.Line(o.Unchecked, v.room(160))))
	}
	text := "done"
	if o.Status != troupe.Completed {
		text = v.paint(31, console.EndWord(string(o.Status)))
		if o.Error != "" {
			text += ": " + console.Line(o.Error, 160)
		}
	}
	text += v.paint(2, fmt.Sprintf(" · %s · %s tokens · %s · %s", console.Count(o.Tally.ToolUses, "tool use"),
		troupe.FormatTokens(o.Tally.Usage.Total()), o.Tally.Cost, console.Duration(o.DurationMS)))
	v.line(a, "└", text)
}

const nameWidth = 18

// room is how many columns of n there are behind a name.
func (v *View) room(n int) int {
	if v.width == 0 {
		return n
	}
	return max(20, min(n, v.width-nameWidth-3))
}

// line writes a line of an agent's. What is wider than the view goes on below, and no word is broken that a row has
// room for.
func (v *View) line(a *agent, edge, text string) {
	name := console.Middle(console.Line(a.name, 0), nameWidth)
	if v.width > 0 {
		text = strings.ReplaceAll(ansi.Wrap(text, v.room(v.width), ""), "\n", "\n"+strings.Repeat(" ", nameWidth+3))
	}
	fmt.Fprintf(v.w, "%s %s\n", v.paint(a.color, edge+" "+name+strings.Repeat(" ", nameWidth-ansi.StringWidth(name))),
		text)
}

// summary is a call in a few words.
func (v *View) summary(c troupe.Call) string {
	what := What(c, v.cwd)
	name := console.Line(c.Name, 60)
	if what == "" {
		return name
	}
	return name + " " + v.paint(1, console.Line(what, max(1, v.room(100)-len(name)-3)))
}

// What is the argument of a call that says most about it, not yet made safe to print; "" if
// there is none. Paths below cwd are relative to it. Of a server's tool nothing is known: all arguments are shown.
func What(c troupe.Call, cwd string) string {
	var in map[string]any
	if json.Unmarshal([]byte(c.Input), &in) != nil {
		return ""
	}
	if strings.HasPrefix(c.Name, "mcp__") {
		if len(in) == 0 {
			return ""
		}
		return strings.TrimSpace(c.Input)
	}
	for _, key := range [...]string{"file_path", "command", "pattern", "description", "url", "path", "to", "task",
		"worktree",
		"subject", "taskId"} {
		if s, ok := in[key].(string); ok && s != "" {
			return strings.TrimPrefix(s, cwd+"/")
		}
	}
	return ""
}

func (v *View) paint(code int, s string) string { return console.Paint(v.color, code, s) }

// palette gives each sub-agent a colour of its own, the same on every run.
func palette(id string, depth int) int {
	if depth == 0 {
		return 0
	}
	h := fnv.New32a()
	h.Write([]byte(id))
	return [...]int{36, 35, 34, 33, 96, 95, 94}[h.Sum32()%7]
}

// asks says what an agent waits for an answer to.
func (v *View) asks(a *agent, b troupe.RequestOpened) {
	what, text := "waits for permission: ", b.Decision.Why
	switch {
	case b.RequestBody.Kind == troupe.RequestQuestion && len(b.Questions) > 0:
		what, text = "asks: ", b.Questions[0].Text
	case b.RequestBody.Kind == troupe.RequestPlan:
		what = "waits for a word on its plan: "
	case b.RequestBody.Kind == troupe.RequestTool:
		what, text = "waits for a client to carry out: ", b.Action
	}
	v.line(a, "│", v.paint(33, what)+console.Line(text, v.room(160)))
}
