package console_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestTable: a terminal is shown what fits on its lines, anything else all of it.
func TestTable(t *testing.T) {
	t.Parallel()
	const whole = "ID   NAME  COST  WHAT\nab1  café  $1    fix the login bug\nab2  日本  $22\n"
	for name, c := range map[string]struct {
		tty   bool
		width int
		want  string
	}{
		"no terminal":              {false, 20, whole},
		"wide":                     {true, 60, whole},
		"width is unknown":         {true, 0, whole},
		"the last is cut":          {true, 30, "ID   NAME  COST  WHAT\nab1  café  $1    fix the logi…\nab2  日本  $22\n"},
		"spare are left out":       {true, 20, "ID   WHAT\nab1  fix the login …\nab2\n"},
		"what is not spare is cut": {true, 8, "ID   WH…\nab1  fi…\nab2\n"},
	} {
		var out bytes.Buffer
		table := (&console.Console{Out: &out, OutTTY: c.tty, Width: c.width}).Table(console.Column{Title: "ID"},
			console.Column{Title: "NAME", Spare: 1}, console.Column{Title: "COST", Spare: 2},
			console.Column{Title: "WHAT"})
		table.Row("ab1", "café", "$1", "fix the login bug")
		table.Row("ab2", "日本", "$22", "")
		if err := table.Write(); err != nil {
			t.Fatal(err)
		}
		if out.String() != c.want {
			t.Errorf("%s:\n%s-- want\n%s", name, out.String(), c.want)
		}
	}
}

// TestTableCuts: a column that may be cut is, before another one is left out, and further once none is left to leave
// out; no line is wider than the terminal.
func TestTableCuts(t *testing.T) {
	t.Parallel()
	for width, want := range map[int]string{
		50: "NAME                SPARE       WHAT\na-rather-long-name  in the way  fix the login bug\nb\n",
		42: "NAME              SPARE       WHAT\na-rather-long-n…  in the way  fix the log…\nb\n",
		33: "NAME                WHAT\na-rather-long-name  fix the logi…\nb\n",
		24: "NAME        WHAT\na-rather-…  fix the log…\nb\n",
		20: "NAME      WHAT\na-rathe…  fix the l…\nb\n",
	} {
		var out bytes.Buffer
		table := (&console.Console{Out: &out, OutTTY: true, Width: width}).Table(
			console.Column{Title: "NAME", Least: 8}, console.Column{Title: "SPARE", Spare: 1},
			console.Column{Title: "WHAT"})
		table.Row("a-rather-long-name", "in the way", "fix the login bug")
		table.Row("b", "", "")
		if err := table.Write(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("at %d:\n%s-- want\n%s", width, out.String(), want)
		}
	}
}

// TestPrintedValuesAreLines: cells and values of whatever type, and what is said, do nothing to a terminal; values have
// no lines of their own.
func TestPrintedValuesAreLines(t *testing.T) {
	t.Parallel()
	type word string
	const bad = "a\x1b[2J\a\nFORGED\tb"
	var out bytes.Buffer
	c := &console.Console{Out: &out, Lookup: func(name string) (string, bool) {
		return "1", name == "FORCE_COLOR"
	}}
	table := c.Table(console.Column{}, console.Column{}, console.Column{})
	table.Row(word(bad), errors.New(bad), []string{bad})
	if err := errors.Join(table.Write(), c.Printf("%s %v %d\n", word(bad), errors.New(bad), 7)); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 2 {
		t.Errorf("%q", out.String())
	}
	if err := c.Say(bad); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\a") {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	team := wire.Team{Name: "t", Members: []wire.Teammate{{Name: "bob" + bad, Color: "red"}}}
	if err := c.Team(team); err != nil || strings.Count(out.String(), "\x1b") != 2 {
		t.Errorf("the colour of a name of ours: %q, %v", out.String(), err)
	}
}
