package render

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/live"
)

// How many lines of what came of a call are shown with it.
const (
	fewLines  = 5
	diffLines = 8
	wholeMost = 200 // results whose whole text is kept
)

// shelf keeps the whole texts of results of which only a part was shown, for Whole.
type shelf struct {
	texts []string
	first int // the number of the first that is kept, less one
}

// add keeps a text and returns its number.
func (s *shelf) add(text string) int {
	s.texts = append(s.texts, text)
	if over := len(s.texts) - wholeMost; over > 0 {
		s.texts, s.first = s.texts[over:], s.first+over
	}
	return s.first + len(s.texts)
}

// Whole is the text of a result that was shown in part, by the number that stood there; 0: the
// last one. It is safe to print.
func (v *View) Whole(n int) (text string, ok bool) {
	if n == 0 {
		n = v.shelf.first + len(v.shelf.texts)
	}
	if n <= v.shelf.first || n > v.shelf.first+len(v.shelf.texts) {
		return "", false
	}
	return v.shelf.texts[n-v.shelf.first-1], true
}

// part shows a few lines of a text below the line they belong to, and where the rest is.
func part(v *View, a *agent, text string, most int, last bool) {
	text = strings.Trim(console.Clean(text), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	lines := strings.Split(text, "\n")
	left := len(lines) - most
	note := ""
	if left > 0 {
		note = fmt.Sprintf("… %s · /show %d", console.Count(left, "more line"), v.shelf.add(text))
		if last {
			lines = lines[left:]
		} else {
			lines = lines[:most]
		}
	}
	if note != "" && last {
		v.line(a, "  "+v.paint(2, note), "")
	}
	for _, l := range lines {
		v.line(a, "  "+diffPaint(v, v.fit(strings.ReplaceAll(l, "\t", "    "), ansi.StringWidth(v.prefix(a))+2)), "")
	}
	if note != "" && !last {
		v.line(a, "  "+v.paint(2, note), "")
	}
}

// report shows the beginning of what an agent told the one that asked for it.
func report(v *View, a *agent, text string) {
	p := prose{o: v.o}
	if p.o.Width > 0 {
		p.o.Width -= len(reportEdge)
	}
	var rows []string
	lines := strings.Split(strings.TrimSpace(text), "\n")
	n := 0
	for ; n < len(lines) && len(rows) < fewLines; n++ {
		if strings.TrimSpace(lines[n]) != "" {
			rows = append(rows, p.rows(lines[n])...)
		}
	}
	left := len(lines) - n
	if len(rows) > fewLines {
		rows, left = rows[:fewLines], left+1
	}
	rows = append(rows, p.end()...)
	if over := len(rows) - fewLines; over > 0 {
		rows, left = rows[:fewLines], left+over
	}
	for _, row := range rows {
		v.put(reportEdge + row)
	}
	if left > 0 {
		v.put(reportEdge + v.paint(2, fmt.Sprintf("… %s · /show %d", console.Count(left, "more line"),
			v.shelf.add(console.Clean(text)))))
	}
}

const reportEdge = "   "

// diffPaint gives lines of a change their colour.
func diffPaint(v *View, l string) string {
	switch {
	case strings.HasPrefix(l, "+ "):
		return v.paint(32, l)
	case strings.HasPrefix(l, "- "):
		return v.paint(31, l)
	}
	return l
}

// came shows what came of a call that went well, or of a command that says that something is wrong.
func came(v *View, a *agent, call troupe.Call, b troupe.ToolFinished) {
	for _, f := range b.Evidence.Files {
		if f.Wrote {
			if f.Path != a.plan {
				part(v, a, change(call), diffLines, false)
			}
			return
		}
	}
	for _, c := range b.Evidence.Commands {
		if c.ExitCode != 0 {
			part(v, a, output(b), fewLines, true)
			break
		}
	}
	if len(b.Evidence.Denied) > 0 {
		told(v, a, b)
	}
}

// told shows what a command's result says besides what it printed: what was refused, and what would allow it.
func told(v *View, a *agent, b troupe.ToolFinished) {
	for _, block := range b.Result.Blocks[min(printed(b), len(b.Result.Blocks)):] {
		wrapped(v, a, "  ", "", 0, block.Text)
	}
}

// printed is how many blocks of a result hold what the call printed. Of a command it is the first one.
func printed(b troupe.ToolFinished) int {
	if len(b.Evidence.Commands) > 0 {
		return 1
	}
	return len(b.Result.Blocks)
}

// output is what a command printed, without the sentence on how it ended, which its line says.
func output(b troupe.ToolFinished) string {
	text := strings.TrimSpace(troupe.JoinText(b.Result.Blocks[:min(printed(b), len(b.Result.Blocks))]))
	for _, cut := range []string{"(Exit code ", "(No output.)"} {
		if i := strings.LastIndex(text, "\n"+cut); i >= 0 && !strings.Contains(text[i+1:], "\n") {
			text = text[:i]
		} else if strings.HasPrefix(text, cut) {
			_, text, _ = strings.Cut(text, "\n")
		}
	}
	return text
}

// change is what a call of Edit or Write was to do, as lines that come and go. The log has no more
// of the file than that.
func change(c troupe.Call) string {
	var in struct {
		Old     string `json:"old_string"`
		New     string `json:"new_string"`
		Content string `json:"content"`
		Edits   []struct {
			Old string `json:"old_string"`
			New string `json:"new_string"`
		} `json:"edits"`
	}
	if json.Unmarshal([]byte(c.Input), &in) != nil {
		return ""
	}
	var b strings.Builder
	switch {
	case in.Old != "" || in.New != "":
		diff(&b, in.Old, in.New)
	case in.Content != "":
		diff(&b, "", in.Content)
	}
	for _, e := range in.Edits {
		diff(&b, e.Old, e.New)
	}
	return b.String()
}

// diff writes the lines of one text that became another; what both begin and end with is left out.
func diff(b *strings.Builder, before, after string) {
	old, now := splitLines(before), splitLines(after)
	for len(old) > 0 && len(now) > 0 && old[0] == now[0] {
		old, now = old[1:], now[1:]
	}
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	for _, l := range old {
		b.WriteString("- " + l + "\n")
	}
	for _, l := range now {
		b.WriteString("+ " + l + "\n")
	}
}

func splitLines(s string) []string {
	if s = strings.TrimSuffix(s, "\n"); s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// AnsweredBy names who answered, without the process from which a person did: that may be a pane of their own.
func AnsweredBy(b troupe.RequestAnswered) string {
	if b.Caller != nil && b.By == b.Caller.String() {
		b.By = b.Caller.Name
	}
	return console.Line(b.By, 30)
}

// answered writes who answered a request, and what: to questions all that was said, for the questions stand above.
func answered(v *View, a *agent, b troupe.RequestAnswered) {
	call, known := a.calls[troupe.Coord{Reply: b.Reply, Call: b.Call}]
	if len(b.Said) > 0 {
		var in struct {
			Questions []troupe.Question `json:"questions"`
		}
		_ = json.Unmarshal([]byte(call.Input), &in) // a question of a server has none
		v.line(a, "answered by "+AnsweredBy(b)+":", "")
		for i, s := range b.Said {
			lead := fmt.Sprintf("  %d. ", i+1)
			if i < len(in.Questions) && in.Questions[i].Header != "" {
				lead = "  " + console.Line(in.Questions[i].Header, 40) + ": "
			}
			said := s.Choices
			if s.Text != "" {
				said = append(said[:len(said):len(said)], s.Text)
			}
			wrapped(v, a, "", lead, 2, strings.Join(said, ", "))
		}
		return
	}
	what := "allowed by "
	switch {
	case b.Effect != troupe.Allow:
		what = v.paint(31, "denied") + " by "
	case b.Result != nil:
		what = "carried out by "
	}
	what += AnsweredBy(b)
	about := b.Note
	if known && about == "" {
		about = call.Name + " " + live.What(call, v.o.Cwd)
	}
	if about != "" {
		what += ":"
	}
	v.line(a, what, about)
}
