package send

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/reach"
	"github.com/troupe-dev/troupe/internal/httpd/httpdtest"
	"github.com/troupe-dev/troupe/internal/wire"
)

// endless is an input that nobody ever closes, and that must not be read.
type endless struct{ t *testing.T }

func (e endless) Read([]byte) (int, error) {
	e.t.Error("standard input was read")
	return 0, nil
}

func TestWords(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		args        []string
		in, want    string
		piped, fail bool
	}{
		{args: []string{" look "}, want: "look"},
		{args: []string{"-"}, in: "a\nb\n", piped: true, want: "a\nb"},
		{in: "a\xff", piped: true, want: "a\ufffd"},
		{in: "a", fail: true}, // a terminal
		{in: " \n", piped: true, fail: true},
		{args: []string{"-"}, fail: true},
		{in: "a\x00b", piped: true, fail: true},
		{in: strings.Repeat("x", maxText+1), piped: true, fail: true},
	} {
		got, err := words(&console.Console{In: strings.NewReader(x.in), InPiped: x.piped}, x.args)
		if got != x.want || (err != nil) != x.fail || x.fail && console.Code(err) != console.ExitUsage {
			t.Errorf("%q and %.20q: %q, %v", x.args, x.in, got, err)
		}
	}
	if got, err := words(&console.Console{In: endless{t}, InPiped: true}, []string{"x"}); got != "x" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// left is a home whose tree nobody runs.
type left struct{ *httpdtest.World }

func (left) Tree(context.Context, troupe.SessionID) (app.Tree, error) {
	return app.Tree{Sum: troupe.Tree{Root: httpdtest.Root}, Paths: map[troupe.SessionID]string{httpdtest.Child: "main/Auth Explorer"}}, nil
}

func TestSend(t *testing.T) {
	t.Parallel()
	h := left{httpdtest.New()}
	var b bytes.Buffer
	c := &console.Console{Out: &b, Lookup: nothing, Cwd: "/src"}
	if err := execute(t.Context(), c, h, "9m2", wire.Message{Text: "x"}, false); err != nil || b.String() != "main/Auth Explorer: it reads this before its next model call\n" {
		t.Errorf("%v: %s", err, b.String())
	}
	b.Reset()
	if err := execute(t.Context(), c, h, "main", wire.Message{Text: "x", Cancel: true}, true); err != nil || b.String() != `{"session":"7k3f00000000","mail":"prompt:1","effect":"steers"}`+"\n" {
		t.Errorf("%v: %s", err, b.String())
	}
	if calls := h.Calls(); len(calls) != 2 || !strings.HasSuffix(calls[1], "cancel=true") {
		t.Errorf("did %q", calls)
	}
	if err := execute(t.Context(), c, h, "nobody", wire.Message{Text: "x"}, false); console.Code(err) != console.ExitUsage {
		t.Errorf("to nobody: %v", err)
	}
}

func TestEffect(t *testing.T) {
	t.Parallel()
	p := reach.Place{Tree: app.Tree{Sum: troupe.Tree{Root: httpdtest.Root}}}
	for _, x := range []struct {
		effect string
		cancel bool
		want   string
	}{
		{"steers", false, "before its next model call"},
		{"steers", true, "and stops after the step it is in"},
		{"resumes", false, "it had ended and goes on with this"},
		{"waits", true, "nobody is running it now; it will be read when it goes on: troupe -p --resume 7k3f00000000"},
	} {
		if got := effect(p, wire.Sent{Effect: x.effect}, x.cancel); !strings.Contains(got, x.want) {
			t.Errorf("%s: %q", x.effect, got)
		}
	}
}

// nothing is an environment without variables.
func nothing(string) (string, bool) { return "", false }
