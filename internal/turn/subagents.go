package turn

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// subagentRef is what calls of troupe.VocabularySubagents answer of an agent at work.
type subagentRef struct {
	Name   string           `json:"name"`
	ID     troupe.SessionID `json:"subagent_id"`
	Status string           `json:"status"`
}

// subagentEnd is what became of a run.
type subagentEnd struct {
	Result     string `json:"result,omitempty"`
	Error      string `json:"error,omitempty"`
	Iterations int    `json:"iterations"`
	ToolsUsed  int    `json:"tools_used"`
}

// subagentRow is a subagent in a list.
type subagentRow struct {
	ID        troupe.SessionID `json:"id"`
	Name      string           `json:"name"`
	Task      string           `json:"task"`
	Status    string           `json:"status"`
	CreatedAt time.Time        `json:"created_at"`
	Model     string           `json:"model"`
}

// RenderSubagent says which agent a call is about, and how far it is.
func RenderSubagent(s troupe.Session, status troupe.Status) string {
	return asJSON(subagentRef{escaped(s.Name), s.ID, status.OfSubagent()})
}

// RenderSubagents is the list of a session's agents.
func RenderSubagents(all []troupe.Session) string {
	rows := make([]subagentRow, len(all))
	for i, s := range all {
		rows[i] = rowOf(s)
	}
	return asJSON(rows)
}

// RenderSubagentInFull is all about one agent. end is that of its last run, if the session knows it.
func RenderSubagentInFull(s troupe.Session, end *troupe.Outcome) string {
	out := struct {
		subagentRow
		subagentEnd
	}{rowOf(s), subagentEnd{Iterations: s.Tally.Turns, ToolsUsed: s.Tally.ToolUses}}
	if end == nil || s.Status.Live() {
		if s.Status == troupe.Completed {
			out.Result, _, _ = wordsOf(troupe.Outcome{Result: s.Result})
		}
		return asJSON(out)
	}
	var b strings.Builder
	b.WriteString(warning(*end))
	var cut int
	out.Result, out.Error, cut = wordsOf(*end)
	b.WriteString(asJSON(out) + "\n" + rest(*end, out.Result, cut))
	renderMeasured(&b, *end)
	return b.String()
}

func rowOf(s troupe.Session) subagentRow {
	return subagentRow{ID: s.ID, Name: escaped(s.Name), Task: escaped(s.Title), Status: s.Status.OfSubagent(),
		CreatedAt: s.CreatedAt.UTC().Truncate(time.Second), Model: s.Model}
}

// renderSubagentResult is the end of an agent as the result of the call that waited for it.
func renderSubagentResult(o troupe.Outcome) string {
	var b strings.Builder
	b.WriteString(warning(o))
	text, problem, cut := wordsOf(o)
	b.WriteString(asJSON(struct {
		subagentRef
		subagentEnd
	}{subagentRef{escaped(o.Name), o.Session, o.Status.OfSubagent()},
		subagentEnd{text, problem, o.Tally.Turns, o.Tally.ToolUses}}) + "\n" + rest(o, text, cut))
	renderMeasured(&b, o)
	return b.String()
}

// renderSubagentEnd is how a session is told that an agent in the background has ended: in one line, for all of it is
// read by get_subagents. The brackets are the runtime's.
func renderSubagentEnd(o troupe.Outcome) string {
	inside := strings.NewReplacer("[", "(", "]", ")")
	said := value(o.Result, 2*maxValue)
	if o.Status != troupe.Completed {
		said = value(o.Error, maxError)
	}
	if said == "" {
		said = "without a final text"
	}
	earlier := ""
	if o.Earlier {
		earlier = " (an earlier run; it has gone on since)"
	}
	return warning(o) + reminder(fmt.Sprintf("[Subagent '%s' (%s) %s: %s]%s", inside.Replace(value(o.Name, maxValue)),
		o.Session, o.Status.OfSubagent(), inside.Replace(said), earlier))
}

// wordsOf is what a run ended with, as much of it as its parent is shown.
func wordsOf(o troupe.Outcome) (text, problem string, cut int) {
	text, cut = Cap(o.Result, MaxResult)
	return troupe.Escape(text), value(o.Error, maxError), cut
}

func escaped(s string) string { return troupe.Escape(oneLine(s)) }

// asJSON writes values whose texts cannot look like marks of the runtime any more.
func asJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("turn: JSON of plain texts and numbers: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}
