package run

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

type asksTwice struct{ trusted []string }

func (asksTwice) Untrusted(context.Context, string) ([]wire.Untrusted, error) {
	return []wire.Untrusted{
		{Folder: "/src/a", Lines: []string{"allow rule Bash(make) in .claude/settings.json", "hook \x1b[2J in x"},
			Changed: true, Added: []string{"hook \x1b[2J in x"}, Gone: []string{"model opus"}},
		{Folder: "/src/a/b", Lines: []string{"l"}, Wide: "it is your home"},
	}, nil
}

func (a *asksTwice) Trust(_ context.Context, t wire.Trust) error {
	a.trusted = append(a.trusted, t.Folder)
	return nil
}

func TestAskTrust(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{"y\nn\nhello": "/src/a", "n\nYES\nhello": "/src/a/b", "yy\n\nhello": "",
		"": ""} {
		var out bytes.Buffer
		in := strings.NewReader(typed)
		c := &console.Console{In: in, Out: &out, Lookup: func(string) (string, bool) { return "", false }}
		a := &asksTwice{}
		if err := askTrust(t.Context(), c, a, "/src/a/b"); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(a.trusted, ","); got != want {
			t.Errorf("%q trusts %q, want %q", typed, got, want)
		}
		// What was typed ahead is for the conversation.
		if rest, _ := io.ReadAll(in); typed != "" && string(rest) != "hello" {
			t.Errorf("%q leaves %q", typed, rest)
		}
		for _, s := range []string{"have changed since", "+ hook \\u{001b}[2J", "- model opus", "it is your home"} {
			if !strings.Contains(out.String(), s) {
				t.Errorf("no %q in:\n%s", s, out.String())
			}
		}
	}
}

type asksMuch struct {
	lines   []string
	trusted bool
}

func (a *asksMuch) Untrusted(context.Context, string) ([]wire.Untrusted, error) {
	return []wire.Untrusted{{Folder: "/src/a", Lines: a.lines}}, nil
}

func (a *asksMuch) Trust(context.Context, wire.Trust) error {
	a.trusted = true
	return nil
}

// TestAllIsShown: no yes counts before a person was shown all of it, screen by screen.
func TestAllIsShown(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 60 {
		lines = append(lines, fmt.Sprintf("allow rule in .claude/settings.json: Bash(make %d)", i))
	}
	lines = append(lines, "hook in .claude/settings.json: on SessionStart: "+strings.Repeat("long words ", 300)+"END")
	for typed, want := range map[string]bool{"y\n": false, "y\ny\n": false, "\n\n\n\n\ny\n": true,
		"n\ny\ny\ny\ny\n":    false,
		"y\ny\ny\ny\ny\ny\n": true, "": false, "\n\n\n\n\n\n\n": false} {
		var out bytes.Buffer
		c := &console.Console{In: strings.NewReader(typed), Out: &out, Width: 60,
			Lookup: func(string) (string, bool) { return "", false }}
		a := &asksMuch{lines: lines}
		if err := askTrust(t.Context(), c, a, "/src/a"); err != nil {
			t.Fatal(err)
		}
		asked := strings.Contains(out.String(), "Trust them, until they change?")
		if a.trusted != want || asked && !strings.Contains(out.String(), "END") {
			t.Errorf("%q: trusted %v, asked %v:\n%s", typed, a.trusted, asked, out.String())
		}
		for _, row := range strings.Split(out.String(), "\n") {
			if len([]rune(row)) > 60 && !strings.Contains(row, "n + Enter trusts") {
				t.Errorf("a row is longer than the terminal is wide: %q", row)
			}
		}
	}
}
