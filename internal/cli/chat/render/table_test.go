package render_test

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/chat/render"
	"github.com/troupe-dev/troupe/internal/wire"
)

const billTable = "What it costs:\n\n" +
	"| Agent | Tokens | Cost |\n|:------|-------:|:----:|\n" +
	"| `main` | 1200 | $0.02 |\n| **Auth Explorer** | 31000 | a\\|b |\n\nThat is all."

// TestTables: a table has aligned columns where they fit, else each cell stands behind its title; what only looks
// like one stays as it is.
func TestTables(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		width int
		in    string
		want  string
	}{
		"fits": {60, billTable, "What it costs:\n\n" +
			"Agent          Tokens  Cost\n─────────────  ──────  ─────\n`main`           1200  $0.02\n" +
			"Auth Explorer   31000   a|b\n\nThat is all.\n"},
		"width is unknown": {0, "a|b\n-|-\n1|2", "a  b\n─  ─\n1  2\n"},
		"does not fit": {24, billTable, "What it costs:\n\nAgent: `main`\nTokens: 1200\nCost: $0.02\n\n" +
			"Agent: Auth Explorer\nTokens: 31000\nCost: a|b\n\nThat is all.\n"},
		"a cell is wrapped": {24, "| a | b |\n|---|---|\n| x | one two three four five six |",
			"a: x\nb: one two three four\n  five six\n"},
		"too many and too few cells": {40, "| a | b |\n|---|---|\n| 1 | 2 | 3 |\n| 4 |\n",
			"a  b\n─  ─  ─\n1  2  3\n4\n"},
		"no table":           {40, "a | b\nc | d\n\n---\n", "a | b\nc | d\n\n────────────────────\n"},
		"other cells":        {40, "a | b\n--- | --- | ---\n", "a | b\n--- | --- | ---\n"},
		"code":               {40, "```\n| a |\n|---|\n```\n", "    | a |\n    |---|\n"},
		"a list":             {40, "- a | b\n- c | d\n", "  • a | b\n  • c | d\n"},
		"words behind it":    {40, "|a|\n|-|\n|1|\nwords", "a\n─\n1\nwords\n"},
		"code behind it":     {40, "|a|\n|-|\n|1|\n```\nx | y\n```", "a\n─\n1\n    x | y\n"},
		"in an item":         {40, "- it:\n\n  | a |\n  |---|\n  | 1 |", "  • it:\n\n  a\n  ─\n  1\n"},
		"wide letters":       {40, "| 日本 | b |\n|---|---|\n| x | y |", "日本  b\n────  ─\nx     y\n"},
		"titles without row": {40, "| a | b |\n|---|---|\n", "a  b\n─  ─\n"},
	} {
		o := render.Options{Width: tt.width, Local: time.UTC, Markdown: true}
		if got := play(new(script).is(root, replied(1, troupe.Text(tt.in))), o); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, tt.want)
		}
		s := new(script)
		for _, r := range tt.in {
			s.says(text(string(r)))
		}
		if got := play(s.is(root, replied(1, troupe.Text(tt.in))), o); got != tt.want {
			t.Errorf("%s, letter by letter: got\n%s\nwant\n%s", name, got, tt.want)
		}
	}
}

// TestTableAsItComes: what is there of a table stands at the foot, and what of it was shown above is not long.
func TestTableAsItComes(t *testing.T) {
	t.Parallel()
	v := render.New(root, render.Options{Width: 40, Rows: true, Markdown: true, Local: time.UTC})
	v.Event(troupe.Event{Session: root, Seq: 1, Body: troupe.CallSealed{}})
	no := int64(0)
	says := func(s string) (lines, tail string) {
		no++
		v.Delta(wire.Delta{Session: root, Text: s, No: no, After: 1})
		return v.Take()
	}
	for _, tt := range []struct{ piece, tail string }{
		{"| a | b |", "| a | b |"}, {"\n", "| a | b |"}, {"|---|---|\n", "a  b\n─  ─"},
		{"| one | t", "a    b\n───  ─\none  t"}, {"wo |\n", "a    b\n───  ───\none  two"},
	} {
		if lines, tail := says(tt.piece); lines != "" || tail != tt.tail {
			t.Errorf("after %q: %q, behind it %q", tt.piece, lines, tail)
		}
	}
	if lines, tail := says("\nwords"); lines != "a    b\n───  ───\none  two\n\n" || tail != "words" {
		t.Errorf("%q, behind it %q", lines, tail)
	}
	says("\n| n |\n|---|\n")
	lines, _ := says(strings.Repeat("| 1 |\n", 1000))
	if n := strings.Count(lines, "\n"); n != 1002 || strings.Count(lines, "n\n─") != 1 {
		t.Errorf("%d rows of a long table were shown", n)
	}
}

// TestAdviceIsWhole: what says why a call was denied or failed, and what to do, is wrapped and not cut.
func TestAdviceIsWhole(t *testing.T) {
	t.Parallel()
	const advice = "it ran read-only and wanted to create /srv/data/of/the/whole/team/report.txt; this run cannot " +
		"ask " +
		"for permission; to allow it: --allowed-tools \"Bash(make report *)\", or --permission-mode acceptEdits"
	denied := result(1, 0, "Bash", "denied", true)
	denied.Denied = &troupe.Decision{Effect: troupe.Deny, Why: advice}
	refused := result(1, 1, "Bash", "touch: cannot touch 'x': Permission denied\n(Exit code 1.)", false)
	refused.Result.Blocks = append(refused.Result.Blocks, troupe.Text("("+advice+".)"))
	refused.Evidence = troupe.Evidence{Commands: []troupe.CommandRun{{Command: "make report", ExitCode: 1}},
		Denied: []troupe.Denial{{Tool: "Bash", Why: advice}}}
	got := play(new(script).is("a00000000000", born("kid", "Explore", "", root), troupe.Started{Run: 1},
		replied(1, call(1, 0, "Bash", `{"command":"make report"}`), call(1, 1, "Bash", `{"command":"make report"}`)),
		denied, refused, troupe.ModelFailed{Reply: 2, Message: advice}, troupe.BudgetWarned{Text: advice}),
		render.Options{Width: 60, Local: time.UTC})
	flat := strings.Join(strings.Fields(strings.ReplaceAll(got, "│", "")), " ")
	if n := strings.Count(flat, strings.Join(strings.Fields(advice), " ")); n != 4 {
		t.Errorf("the advice is whole %d times of 4:\n%s", n, got)
	}
	for line := range strings.Lines(got) {
		if ansi.StringWidth(strings.TrimSuffix(line, "\n")) > 60 {
			t.Errorf("too wide: %q", line)
		}
	}
}
