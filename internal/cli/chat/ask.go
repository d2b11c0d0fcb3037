package chat

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/chat/render"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// askLines is how much of a long action is shown; v shows the rest.
const askLines = 40

// box is how a request is drawn.
type box struct {
	waiting  int  // how many more are open
	whole    bool // all of a long action
	explain  bool // say what each key gives
	width    int
	color    bool
	local    *time.Location
	now      time.Time
	home     string // paths below it begin with ~
	main     string // what the main agent was begun as, if that is not main
	said     int    // how many of its questions are answered
	attached string // the agent that is attached to; "": none is
	// markdown: a plan is shown without its marks, as replies are.
	markdown bool
	b        strings.Builder
}

// put writes a line with the edge before each of its rows. No row is wider than the screen. Words of our own go on a
// little further in than they began; what is asked for is shown as it is.
func (x *box) put(edge, text string) {
	in := 0
	switch {
	case ansi.StringWidth(edge) > ansi.StringWidth("┗━ "):
	case len(text) > 2 && text[1:3] == "  ": // a key, and what it answers
		in = 3
	default:
		in = 2
	}
	rows := console.Wrap(text, room(x.width, edge))
	if len(rows) > 1 {
		rows = console.Wrap(text, max(room(x.width, edge)-in, min(room(x.width, edge), 8)))
	}
	for i, row := range rows {
		at := edge
		if i > 0 {
			at = strings.Replace(at, "┏━", "┃ ", 1)
			row = strings.Repeat(" ", in) + row
		}
		if i < len(rows)-1 {
			at = strings.Replace(at, "┗━ ", "┃ ", 1)
		}
		x.b.WriteString(at + row + "\n")
	}
}

// showRequest draws a request: who asks, why, exactly what for, and what can be answered, a line for
// each choice.
func showRequest(r wire.Request, x *box) string {
	who := console.Middle(console.Line(r.Path, 0), 80)
	if r.Session == r.Root && x.main != "" {
		who += " (" + x.main + ")"
	}
	head, lines := asked(r)
	if q, ok := questionOf(r, x.said); ok {
		head, lines = x.question(r, q)
	}
	if r.Kind == troupe.RequestPlan && x.markdown {
		o := render.Options{Color: x.color, Markdown: true}
		if x.width > 0 {
			o.Width = room(x.width, "┃   ")
		}
		lines = render.Prose(strings.Join(lines, "\n"), o)
	}
	if r.WorktreeName != "" {
		x.put("┏━ ", who+" asks, in worktree "+console.Line(r.WorktreeName, 64)+": "+head)
	} else {
		x.put("┏━ ", who+" asks: "+head)
	}
	if first := x.b.String(); x.color {
		x.b.Reset()
		x.b.WriteString(strings.Replace(first, who, render.Agent(r.Path, who), 1))
	}
	hidden := 0 // behind the first lines
	if len(lines) > askLines && !x.whole {
		hidden = len(lines) - askLines
		lines = lines[:askLines]
	}
	for _, l := range lines {
		x.put("┃   ", l)
	}
	if hidden > 0 {
		x.put("┃   ", fmt.Sprintf("… %s; v shows all", console.Count(hidden, "more line")))
	}
	if r.Why != "" && len(r.Questions) == 0 {
		x.put("┃ ", "why: "+fromHere(r, console.Visible(console.Line(r.Why, 600)), x.home))
	}
	for _, want := range r.Listed() {
		x.put("┃   ", fromHere(r, console.VisibleLine(want), x.home))
	}
	for i, l := range outputLines(r) {
		if i == 0 {
			x.put("┃ ", "confined, it printed:")
		}
		x.put("┃   │ ", l)
	}
	if !r.Running {
		x.put("┃ ", "No process waits for this just now; the answer is kept for when one does.")
	}
	choices := x.choices(r)
	for i, c := range choices {
		edge := "┃ "
		if i == len(choices)-1 {
			edge = "┗━ "
		}
		x.put(edge, c)
	}
	return x.b.String()
}

// asked says what is asked for: in the first line, and in those below it.
func asked(r wire.Request) (head string, lines []string) {
	head = console.Line(r.Tool, 60)
	switch r.Kind {
	case troupe.RequestQuestion:
		head = "a question"
	case troupe.RequestPlan:
		head = "shall this plan be carried out?"
	case troupe.RequestPermission, troupe.RequestCost, troupe.RequestBackground, troupe.RequestTool:
	}
	if r.Calls > 1 {
		head += fmt.Sprintf(" (%d calls)", r.Calls)
	}
	var in map[string]any
	input, ok := strings.CutPrefix(r.Action, r.Tool+" ")
	if ok && json.Unmarshal([]byte(input), &in) == nil {
		// The input of a tool without a form of its own for people.
		for _, key := range slices.Sorted(maps.Keys(in)) {
			text, isText := in[key].(string)
			if !isText {
				raw, _ := json.Marshal(in[key]) // it was JSON a moment ago
				text = string(raw)
			}
			text = fromHere(r, console.Visible(text), "")
			if len(in) == 1 && !strings.Contains(text, "\n") {
				return head + " " + text, nil
			}
			lines = append(lines, strings.Split(console.VisibleLine(key)+": "+text, "\n")...)
		}
		return head, lines
	}
	return head, strings.Split(strings.TrimRight(console.Source(r.Action), "\n"), "\n")
}

// indents are the tabs that a line begins with, behind the mark of a change.
// fromHere has them begin at the folder in which the agent works.
func fromHere(r wire.Request, text, home string) string {
	return short(short(text, r.Worktree, ""), r.Folder, home)
}

// short has paths in words for people begin at the folder that is worked in, or at the home folder.
func short(text, folder, home string) string {
	for _, at := range []struct{ path, as string }{{folder, ""}, {home, "~/"}} {
		if len(at.path) > 1 {
			text = strings.ReplaceAll(text, " "+at.path+"/", " "+at.as)
			if rest, ok := strings.CutPrefix(text, at.path+"/"); ok {
				text = at.as + rest
			}
		}
	}
	return text
}

// room is what is left of the screen behind an edge; 0: it has no end.
func room(width int, edge string) int {
	if width <= 0 {
		return 0
	}
	return max(width-ansi.StringWidth(edge), 8)
}

// outputLines is the end of what a command printed before somebody was asked about it.
func outputLines(r wire.Request) []string {
	const most = 8
	text := strings.TrimSpace(r.Output)
	if text == "" {
		return nil
	}
	lines := strings.Split(console.Visible(text), "\n")
	if n := len(lines); n > most {
		lines = append([]string{fmt.Sprintf("… %d lines before", n-most)}, lines[n-most:]...)
	}
	return lines
}
