package run

import (
	"bytes"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestResultOnTerminal: a model's words cannot move the cursor of a terminal or hide what follows; a
// file or a program gets them as they are.
func TestResultOnTerminal(t *testing.T) {
	t.Parallel()
	r := wire.Report{Status: troupe.Completed, Result: "a\x1b[2J\x1b]0;t\a\u202eb\tc\n\nd\u009b1A\r\n"}
	for _, tt := range []struct {
		tty  bool
		want string
	}{
		{true, "a\\u{001b}[2J\\u{001b}]0;t\\u{0007}\\u{202e}b\tc\n\nd\\u{009b}1A\\u{000d}\n"},
		{false, "a\x1b[2J\x1b]0;t\a\u202eb\tc\n\nd\u009b1A\r\n"},
	} {
		var out, warned bytes.Buffer
		c := &console.Console{Out: &out, Err: &warned, OutTTY: tt.tty}
		if err := Finish(c, r, Output{Format: formatText}); err != nil {
			t.Fatal(err)
		}
		if out.String() != tt.want || warned.Len() > 0 {
			t.Errorf("on a terminal: %v: %q, want %q; and %q", tt.tty, &out, tt.want, &warned)
		}
	}
}

// TestStoppedInWords: people read "stopped" of a run, as in tables; JSON has the status of the wire.
func TestStoppedInWords(t *testing.T) {
	t.Parallel()
	r := wire.Report{SessionID: "7k3f", Status: troupe.Cancelled, Cause: troupe.CauseInterrupt, Error: "stopped by you"}
	for format, want := range map[string]string{formatText: "troupe: stopped: ", formatJSON: `"status":"cancelled"`} {
		var out, warned bytes.Buffer
		c := &console.Console{Out: &out, Err: &warned}
		if err := Finish(c, r, Output{Format: format}); console.Code(err) != troupe.ExitInterrupted {
			t.Errorf("%s: %v", format, err)
		}
		if said := out.String() + warned.String(); !strings.Contains(said, want) {
			t.Errorf("%s does not say %q: %s", format, want, said)
		}
	}
}
