package run

import (
	"bytes"
	"context"
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
