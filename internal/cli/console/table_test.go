package console_test

import (
	"bytes"
	"testing"

	"github.com/troupe-dev/troupe/internal/cli/console"
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
