package cmd

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

func TestAnswer(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		answer wire.Answer
		json   bool
		says   string
		did    string
	}{
		{wire.Answer{Allow: true}, false, "main/Auth Explorer: allowed: rm -rf build\\u{202e} && echo <done>\nno " +
			"process " +
			"is running it; it will be read when you resume the session: troupe -p --resume 7k3f00000000\n",
			"allow=true session=false"},
		{wire.Answer{Note: "no"}, false, "main/Auth Explorer: denied: rm", `allow=false session=false "no"`},
		{wire.Answer{Allow: true, Session: true}, false, "main/Auth Explorer: allowed, and Bash(rm -rf build) for " +
			"this " +
			"session: rm", "allow=true session=true"},
		{wire.Answer{Allow: true}, true,
			`{"request":"9m2000000000-1.0","allow":true,"session":false,"always":false,"effect":"waits"}`,
			"allow=true"},
	} {
		var b bytes.Buffer
		h := leftWorld{apitest.New()}
		err := answer(t.Context(), &console.Console{Out: &b}, h, []string{"9m2"}, x.answer, picked{}, x.json)
		if err != nil || !strings.HasPrefix(b.String(), x.says) {
			t.Errorf("%+v: %v\n%s", x.answer, err, b.String())
		}
		if calls := h.Calls(); len(calls) != 1 || !strings.Contains(calls[0], x.did) {
			t.Errorf("%+v did %q", x.answer, calls)
		}
	}
}

func TestNoRule(t *testing.T) {
	t.Parallel()
	h := noRule{leftWorld{apitest.New()}}
	err := answer(t.Context(), &console.Console{Out: &bytes.Buffer{}}, h, nil, wire.Answer{Allow: true, Session: true},
		picked{}, false)
	if err == nil || !strings.Contains(err.Error(), "no rule would allow") || len(h.Calls()) > 0 {
		t.Errorf("%v, did %q", err, h.Calls())
	}
}

type noRule struct{ leftWorld }

func (h noRule) Request(ctx context.Context, id string) (wire.Request, error) {
	r, err := h.leftWorld.Request(ctx, id)
	r.Grant = ""
	return r, err
}

// TestAnswerArguments: what is wrong is refused before the home is opened.
func TestAnswerArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"yes"}, {"9m2"}, {"a", "b", "allow"}, {"9m2", "yes"}, {"deny", "--session"},
		{"deny", "--always"}, {"9m2", "deny", "--always"}, {"", "allow"}} {
		cmd := newAnswer(&console.Console{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
		cmd.SetArgs(args)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.ExecuteContext(t.Context()); console.Code(err) != troupe.ExitUsage {
			t.Errorf("answer %q: %v", args, err)
		}
	}
}

// TestTakeWord: the word may stand first or last; if both could be it, the last one is.
func TestTakeWord(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"allow": " allow", "9m2 allow": "9m2 allow", "deny 9m2": "9m2 deny", "allow deny": "allow deny", "9m2": "",
		"": "", "a b allow": "",
	} {
		ref, word, ok := takeWord(strings.Fields(args))
		if got := strings.Join(ref, " ") + " " + word; ok != (want != "") || ok && got != want {
			t.Errorf("%q is taken as %q, %v", args, got, ok)
		}
	}
}

// TestActionText: a change is shown by its lines.
func TestActionText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"go test ./...\n":  "go test ./...",
		"-old\n+new\u202e": "Edit\n  │ -old\n  │ +new\\u{202e}",
	} {
		if got := (wire.Request{Tool: "Edit", Action: text}); actionText(got) != want {
			t.Errorf("%q is shown as %q, want %q", text, actionText(got), want)
		}
	}
}
