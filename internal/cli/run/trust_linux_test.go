package run

import (
	"io"
	"os"
	"testing"

	"github.com/creack/pty"

	"github.com/troupe-dev/troupe/internal/cli/console"
)

// TestTypedAheadAnswersNothing: what was typed at a terminal before the question about trust could be read is no yes.
func TestTypedAheadAnswersNothing(t *testing.T) {
	t.Parallel()
	keys, tty, err := pty.Open()
	if err != nil {
		t.Skip(err)
	}
	defer keys.Close()
	defer tty.Close()
	if _, err := io.WriteString(keys, "y\ny\n"); err != nil {
		t.Fatal(err)
	}
	a := &asksMuch{lines: []string{"hook in .claude/settings.json: on Stop: id"}}
	c := &console.Console{In: &late{File: tty, keys: keys}, Out: io.Discard,
		Lookup: func(string) (string, bool) { return "", false }}
	if err := askTrust(t.Context(), c, a, "/src/a"); err != nil || a.trusted {
		t.Errorf("it was trusted unread: %v, %v", a.trusted, err)
	}
}

// late types a no when it is read from.
type late struct {
	*os.File
	keys *os.File
	said bool
}

func (l *late) Read(p []byte) (int, error) {
	if !l.said {
		l.said = true
		if _, err := io.WriteString(l.keys, "n\n"); err != nil {
			return 0, err
		}
	}
	return l.File.Read(p)
}
