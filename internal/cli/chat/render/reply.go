package render

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// reply is the main agent's reply while it comes: deltas first, then the event that holds everything.
type reply struct {
	said     strings.Builder // all text that was shown of it
	line     string          // of that, what stands in the unfinished line
	begun    bool            // something of the line is shown, or was
	prose    prose
	thinking string
	thought  bool // the thinking was shown
	calling  string
	lost     bool // a piece of it is missing: what comes after it is shown when all is there
}

// piece is a delta that waits for its place.
type piece struct {
	wire.Delta
	gap bool // one or more before it never came
}

// maxQueue bounds the pieces that wait for their place; the event holds what is beyond.
const maxQueue = 4096

// Delta shows a piece of the main agent's reply. One that was sent after an event that was
// not shown yet waits for it. What sub-agents say on the way is not shown as it comes.
func (v *View) Delta(d wire.Delta) {
	v.Queue(d)
	v.Flush()
}

// Queue keeps a piece until the events that were read with it are shown. One of a reply that
// is whole already is not needed any more.
func (v *View) Queue(d wire.Delta) {
	if d.Session != v.root || d.Output != "" || d.Stage != "" || len(v.queue) >= maxQueue {
		return
	}
	before := v.heard.No
	if d.After != v.heard.After {
		before = 0 // it is of another reply
	}
	gap := d.No > before+1
	v.heard = d
	if d.After >= v.whole {
		v.queue = append(v.queue, piece{d, gap})
	}
}

// Flush shows the pieces whose place has come.
func (v *View) Flush() {
	n := 0
	for ; v.sealed && n < len(v.queue) && v.queue[n].After <= v.shown; n++ {
		if d := v.queue[n]; !v.mute {
			v.reply.lost = v.reply.lost || d.gap
			v.reply.delta(v, d.Delta)
		}
	}
	v.queue = v.queue[n:]
}

// place notes how far the main agent's log was shown. Pieces of a reply that this event ends
// have come too late.
func (v *View) place(e troupe.Event) {
	v.shown = e.Seq
	switch e.Body.(type) {
	case troupe.ModelFailed: // nothing else will hold what came of it
		v.Flush()
	case troupe.Replied, troupe.Compacted:
	default:
		return
	}
	v.whole = e.Seq
	for len(v.queue) > 0 && v.queue[0].After < v.whole {
		v.queue = v.queue[1:]
	}
}

func (r *reply) delta(v *View, d wire.Delta) {
	if r.lost {
		return
	}
	if d.Thinking != "" && !r.thought && len(r.thinking) < maxThinking {
		r.thinking += d.Thinking
	}
	if d.Text != "" {
		v.think()
		r.said.WriteString(d.Text)
		v.flow(d.Text)
	}
	if d.Tool != "" {
		v.think()
		v.endLine()
		r.calling = d.Tool
	}
}

// maxThinking is more than is ever shown of a thought.
const maxThinking = 2000

// think shows the thinking, once: one line of it.
func (v *View) think() {
	r := &v.reply
	if r.thought || strings.TrimSpace(r.thinking) == "" {
		return
	}
	r.thought = true
	v.put(v.paint(2, "∴ "+v.shorten(console.Line(r.thinking, maxThinking), 2)))
}

// replied makes the reply whole. Of its text only what no delta has brought is shown.
func (v *View) replied(a *agent, b troupe.Replied) {
	var full strings.Builder
	var thinking string
	var breaks []int // where a block of text ends
	calls := 0
	for _, block := range b.Blocks {
		switch {
		case block.Type == troupe.TextBlock:
			full.WriteString(block.Text)
			breaks = append(breaks, full.Len())
		case block.Type == troupe.ThinkingBlock && thinking == "":
			thinking = block.Text
		case block.Type == troupe.CallBlock && block.Call != nil:
			calls++
			a.calls[troupe.Coord{Reply: block.Call.Reply, Call: block.Call.Index}] = *block.Call
		}
	}
	if !v.isMain(a) {
		// Its last words are its result, which its parent reads; what it says on the way is
		// for whoever watches.
		if text := strings.TrimSpace(full.String()); calls > 0 && text != "" {
			pre := v.prefix(a)
			v.put(pre + v.paint(2, "“"+v.fit(console.Line(text, 400), ansi.StringWidth(pre)+2)+"”"))
		}
		return
	}
	if v.reply.thinking == "" {
		v.reply.thinking = thinking
	}
	v.think()
	v.sealed, v.mute = false, false
	v.fill(full.String(), breaks)
	v.endReply()
}

// fill shows what is missing of a text. If what was shown is not its beginning, as in a view
// that was opened in the middle of it, the text is shown again from the line before.
func (v *View) fill(full string, breaks []int) {
	said := v.reply.said.String()
	from := len(said)
	switch {
	case strings.HasPrefix(said, full):
		return
	case !strings.HasPrefix(full, said):
		from = 0
		for from < len(said) && from < len(full) && said[from] == full[from] {
			from++
		}
		from = strings.LastIndexByte(full[:from], '\n') + 1
		v.endLine()
		v.put(v.paint(2, "[parts of this did not arrive as it was written; whole, from there:]"))
		v.reply.prose = prose{o: proseOptions(v)}
		for line := range strings.Lines(full[:from]) {
			v.reply.prose.rows(strings.TrimSuffix(line, "\n"))
		}
	}
	for _, at := range breaks {
		if at > from {
			v.flow(full[from:at])
			from = at
		}
		v.endLine()
	}
}

// endReply closes what there is of a reply; the next begins anew.
func (v *View) endReply() {
	v.endLine()
	v.reply = reply{}
}

// flow adds text to the unfinished line and writes the lines that became whole.
func (v *View) flow(text string) {
	r := &v.reply
	for text != "" {
		part, rest, whole := strings.Cut(text, "\n")
		text = rest
		if part != "" {
			r.line += part
			r.begun = true
		}
		if whole {
			v.breakLine()
		}
	}
}

// room is how many columns are left beside others; 0: there is no end to them.
func (v *View) room(beside int) int {
	if v.o.Width == 0 {
		return 0
	}
	return max(v.o.Width-beside, shortest)
}

// breakLine ends the line because the text did.
func (v *View) breakLine() {
	r := &v.reply
	r.prose.o = proseOptions(v)
	for _, row := range r.prose.rows(strings.TrimSuffix(r.line, "\r")) {
		v.put(row)
	}
	r.line, r.begun = "", false
}

// proseOptions keep a row of a reply as wide at the foot, which leaves the last column free, as above it.
func proseOptions(v *View) Options {
	o := v.o
	if o.Rows && o.Width > 0 {
		o.Width--
	}
	return o
}

// endLine ends the line if there is one, and shows what waited for further lines.
func (v *View) endLine() {
	r := &v.reply
	if r.begun {
		v.breakLine()
	}
	for _, row := range r.prose.end() {
		v.put(row)
	}
}

// tail is the unfinished line with what waits for it, or else what the main agent thinks or is about to call.
func (v *View) tail() string {
	r := &v.reply
	switch {
	case r.line != "" || r.prose.table.holds():
		r.prose.o = proseOptions(v)
		ahead := r.prose // a fence that is not whole yet is none
		line := r.line
		if over := len(line) - maxTail; over > 0 {
			line = "…" + strings.ToValidUTF8(line[over:], "")
		}
		var rows []string
		if line != "" {
			rows = ahead.rows(line)
		}
		return strings.Join(append(rows, ahead.end()...), "\n")
	case r.thinking != "" && !r.thought:
		return v.paint(2, "∴ "+v.last(r.thinking))
	case r.calling != "":
		return v.paint(2, "… "+console.Line(r.calling, 40))
	}
	return ""
}

// maxTail bounds what is shown of a line that does not end; all of it is shown when it has.
const maxTail = 4 << 10

// last is the end of a text that grows, as far as whole words of it fit.
func (v *View) last(s string) string {
	w := v.o.Width - 3
	if w < shortest {
		w = 77
	}
	s = console.Line(s, 0)
	if n := ansi.StringWidth(s); n > w {
		s = ansi.TruncateLeft(s, n-w+1, "")
		if i := strings.IndexByte(s, ' '); i >= 0 && i < len(s)/2 {
			s = s[i:]
		}
		s = "…" + s
	}
	return s
}
