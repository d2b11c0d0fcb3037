package change

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

// Bounds of what a person is shown of a change: more than people read, so that a yes is to what was seen. What is left
// out is always counted, and it is said where it stands.
const (
	maxDiff     = 64 << 10 // bytes of the diff
	maxDiffLine = 8 << 10  // bytes of one line of it
	maxSame     = 500      // bytes of a line of which the beginning, where it is as before, need not be shown
	allOfIt     = "`troupe log --json` has all of the call"
	maxCompared = 1 << 20 // bytes on either side, where they differ at all
	contextSize = 3       // lines around a change
)

// Preview shows what a call would change, as it stands now. It takes no lock, because it
// changes nothing, and the run checks everything again.
func Preview(env tool.Env, t Target, apply func(*File) (string, error)) (text string, futile bool) {
	f, err := look(env, t)
	var after string
	if err == nil {
		defer f.close()
		after, err = apply(f)
	}
	if err != nil {
		var r refused
		if errors.As(err, &r) {
			return visible(r.Error()), true
		}
		return "Nothing can be said of the change: " + visible(err.Error()), false
	}
	name := f.Name
	if len(t.Touched) > 1 {
		name += " (a link to " + env.Rel(t.Real()) + ")"
	}
	return diff(name, f.Exists(), string(f.Old), after), false
}

// diff is a unified diff for people: bounded, and with everything visible that could hide.
func diff(name string, exists bool, before, after string) string {
	name = visible(name)
	w := &diffWriter{}
	from, verb := name, "changes"
	if !exists {
		from, verb = "/dev/null", "would be a new file"
	}
	compared := before
	head, old, next := middle(before, after)
	remark := ""
	switch {
	case before == after && exists:
		return name + " would hold what it holds now."
	case isBinary(before):
		remark = fmt.Sprintf(" (it holds %s that are no text, and would lose them)",
			tool.FormatBytes(int64(len(before))))
	case max(len(old), len(next)) > maxCompared:
		remark = fmt.Sprintf(" (the %s it holds and the %s it would hold are too much to compare)",
			tool.FormatBytes(int64(len(before))), tool.FormatBytes(int64(len(after))))
	}
	if remark != "" {
		compared, head, old, next = "", 0, "", after // what it would hold is shown as if it were new
	}
	var edits []udiff.Edit
	if next != old {
		edits = udiff.Lines(old, next)
	}
	w.hunks(strings.Count(compared[:head], "\n"), old, edits)
	title := fmt.Sprintf("%s: %s%s", name, verb, remark)
	if remark == "" || w.added > 0 {
		title += fmt.Sprintf(", %s added, %d removed", plural(w.added, "line"), w.removed)
	}
	out := title + "\n--- " + from + "\n+++ " + name + "\n" + w.b.String()
	if w.left > 0 {
		out += fmt.Sprintf("… and %s more, not shown; %s\n", plural(w.left, "line"), allOfIt)
	}
	return out
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func isBinary(s string) bool { return strings.IndexByte(s[:min(len(s), 8000)], 0) >= 0 }

// middle cuts off what both texts begin and end with, whole lines of it, and leaves enough
// around the rest to show where it stands. head is where the middles begin.
func middle(before, after string) (head int, old, next string) {
	n := min(len(before), len(after))
	for head < n && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < n-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	for range contextSize + 1 {
		head = max(0, strings.LastIndexByte(before[:head], '\n'))
	}
	if head > 0 {
		head++
	}
	end := len(before) - tail
	for range contextSize + 1 {
		i := strings.IndexByte(before[end:], '\n')
		if i < 0 {
			end = len(before)
			break
		}
		end += i + 1
	}
	return head, before[head:end], after[head : len(after)-(len(before)-end)]
}

// diffWriter writes lines until it has no room; those after that it counts.
type diffWriter struct {
	b              strings.Builder
	left           int
	added, removed int
}

func (w *diffWriter) line(mark byte, text string) {
	if w.b.Len() > maxDiff {
		w.left++
		return
	}
	w.b.WriteByte(mark)
	body, ended := strings.CutSuffix(text, "\n")
	body, cut := tool.Cut(body, maxDiffLine)
	w.b.WriteString(visible(body))
	if cut > 0 {
		fmt.Fprintf(&w.b, "… (%d bytes more; %s)", cut, allOfIt)
	}
	w.b.WriteByte('\n')
	if !ended {
		w.b.WriteString("\\ No newline at the end\n")
	}
}

// hunk is edits so near to each other that what stands around them would overlap, by lines.
type hunk struct{ edits []lineEdit }

type lineEdit struct {
	from, to int // lines of the old text, the first is 0
	new      []string
}

// hunks writes edits of old, of which skipped lines stand before it in the file.
func (w *diffWriter) hunks(skipped int, old string, edits []udiff.Edit) {
	lines := splitLines(old)
	var all []hunk
	at, line := 0, 0
	for _, e := range edits {
		line += strings.Count(old[at:e.Start], "\n")
		le := lineEdit{from: line, new: splitLines(e.New)}
		line += len(splitLines(old[e.Start:e.End]))
		at, le.to = e.End, line
		if n := len(all); n > 0 && le.from-all[n-1].last().to <= 2*contextSize {
			all[n-1].edits = append(all[n-1].edits, le)
			continue
		}
		all = append(all, hunk{[]lineEdit{le}})
	}
	shift := 0 // lines the file has grown by before the hunk
	for _, h := range all {
		shift += w.hunk(skipped, shift, lines, h)
	}
}

func (h hunk) last() lineEdit { return h.edits[len(h.edits)-1] }

func (w *diffWriter) hunk(skipped, shift int, lines []string, h hunk) (grown int) {
	from, to := max(0, h.edits[0].from-contextSize), min(len(lines), h.last().to+contextSize)
	for _, e := range h.edits {
		w.removed += e.to - e.from
		w.added += len(e.new)
		grown += len(e.new) - (e.to - e.from)
	}
	w.line('@', fmt.Sprintf("@ -%s +%s @@\n", extent(skipped+from, to-from), extent(skipped+shift+from, to-from+grown)))
	at := from
	for _, e := range h.edits {
		for ; at < e.from; at++ {
			w.line(' ', lines[at])
		}
		for i := range e.to - e.from {
			w.line('-', unlike(lines[e.from+i], e.new, i))
		}
		for i := range e.new {
			w.line('+', unlike(e.new[i], lines[e.from:e.to], i))
		}
		at = e.to
	}
	for ; at < to; at++ {
		w.line(' ', lines[at])
	}
	return grown
}

// extent is a place in a file as a unified diff writes it.
func extent(from, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprintf("%d", from+1)
	default:
		return fmt.Sprintf("%d,%d", from+1, n)
	}
}

// unlike shortens a line that is too long to be shown to where it begins to differ from its
// counterpart, so that the cut does not hide the change.
func unlike(line string, others []string, i int) string {
	const before = 40 // bytes that are shown before the difference
	if len(line) <= maxSame || i >= len(others) {
		return line
	}
	same := 0
	for same < min(len(line), len(others[i])) && line[same] == others[i][same] {
		same++
	}
	same -= before
	for same > 0 && !utf8.RuneStart(line[same]) {
		same--
	}
	if same < before {
		return line
	}
	return fmt.Sprintf("(%d bytes the same) …", same) + line[same:]
}

func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// visible writes out what a terminal or a reader would not show, or would show as something
// else: control characters, marks of direction, spaces of other kinds, broken UTF-8. Tabs
// and newlines stay.
func visible(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\t' || r == '\n':
			b.WriteRune(r)
		case r == '\r':
			b.WriteString(`\r`)
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case troupe.Unseen(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
