package run

import (
	"fmt"
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
	c := &console.Console{In: &late{File: tty, keys: keys, types: []string{"n\n"}}, Out: io.Discard,
		Lookup: func(string) (string, bool) { return "", false }}
	if err := askTrust(t.Context(), c, a, "/src/a"); err != nil || a.trusted {
		t.Errorf("it was trusted unread: %v, %v", a.trusted, err)
	}
	// Nor is what was typed while a screen of many stood there, for those that were not shown yet.
	a = &asksMuch{}
	for i := range 60 {
		a.lines = append(a.lines, fmt.Sprintf("allow rule in .claude/settings.json: Bash(make %d)", i))
	}
	for last, types := range map[string][]string{"n\n": {"\n\ny\n", "\n\ny\n"}, "y\n": {"\nn\n", "\nn\n"}} {
		if _, err := io.WriteString(keys, "n\n"); err != nil {
			t.Fatal(err)
		}
		in := &late{File: tty, keys: keys, types: append(types, last)}
		a.trusted, c.In = false, in
		err := askTrust(t.Context(), c, a, "/src/a")
		if err != nil || a.trusted != (last == "y\n") || len(in.types) > 0 {
			t.Errorf("%q at the last question: trusted %v, %v; %q was not asked for", last, a.trusted, err, in.types)
		}
	}
}

// late types at each question, once it is read from.
type late struct {
	*os.File
	keys  *os.File
	types []string
	line  bool // is being read
}

func (l *late) Read(p []byte) (int, error) {
	if !l.line && len(l.types) > 0 {
		if _, err := io.WriteString(l.keys, l.types[0]); err != nil {
			return 0, err
		}
		l.types = l.types[1:]
	}
	n, err := l.File.Read(p)
	l.line = n > 0 && p[n-1] != '\n'
	return n, err
}
