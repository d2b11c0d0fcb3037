package render

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
)

// Past says whether what is shown from here on happened before it is shown. Then the words that a
// person had entered are shown too: while they are entered they stand on the screen already.
func (v *View) Past(on bool) { v.past = on }

// promptRows bounds what is shown of a prompt that is shown again.
const promptRows = 10

// asked shows the words that set an agent to work, as they stood where they were entered.
func (v *View) asked(m troupe.Mail) {
	text, with := withoutAttached(troupe.JoinText(m.Blocks))
	if m.Typed != nil && strings.HasPrefix(*m.Typed, "/") {
		text = *m.Typed // what stands behind a command is for the model
	}
	mark := "> "
	if m.From != "" {
		v.put(v.paint(36, "← ") + "message from " + v.Cast.who(m.From) + ":")
		mark = "  "
	}
	var rows []string
	lines := strings.Split(strings.TrimSpace(console.Clean(text)), "\n")
	for _, l := range lines {
		for _, row := range console.Wrap(strings.ReplaceAll(l, "\t", "    "), v.room(len(mark))) {
			rows = append(rows, mark+row)
			mark = "  "
		}
	}
	if over := len(rows) - promptRows; over > 1 {
		note := console.Count(over, "more row") + v.wholeAt(console.Clean(text))
		rows = append(rows[:promptRows], v.paint(2, "  … "+note))
	}
	for _, row := range rows {
		v.put(row)
	}
	if len(with) > 0 {
		v.put(v.paint(2, "  with "+v.fit(console.Line(strings.Join(with, ", "), 200), 7)))
	}
}

// wholeAt keeps a text for Whole and says where.
func (v *View) wholeAt(text string) string { return " · /show " + strconv.Itoa(v.shelf.add(text)) }

// attached is the beginning of a file or a folder that went with a prompt.
var attached = regexp.MustCompile(`(?m)^<attached-(?:file|folder) path="([^"\n]*)"`)

// withoutAttached is what a person wrote, and the names of what went with it.
func withoutAttached(text string) (words string, with []string) {
	at := attached.FindAllStringSubmatchIndex(text, -1)
	if len(at) == 0 {
		return text, nil
	}
	for _, m := range at {
		with = append(with, text[m[2]:m[3]])
	}
	return strings.TrimRight(text[:at[0][0]], "\n"), with
}
