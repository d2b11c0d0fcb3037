package cmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// endlessInput is an input that nobody ever closes, and that must not be read.
type endlessInput struct{ t *testing.T }

func (e endlessInput) Read([]byte) (int, error) {
	e.t.Error("standard input was read")
	return 0, nil
}

func TestSendText(t *testing.T) {
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
		{in: strings.Repeat("x", maxSendText+1), piped: true, fail: true},
	} {
		got, err := sendText(&console.Console{In: strings.NewReader(x.in), InPiped: x.piped}, x.args)
		if got.Text != x.want || (err != nil) != x.fail || x.fail && console.Code(err) != troupe.ExitUsage {
			t.Errorf("%q and %.20q: %.20q, %v", x.args, x.in, got.Text, err)
		}
		if err == nil && (got.Typed != nil) != x.piped || got.Typed != nil && *got.Typed != "" {
			t.Errorf("%q and %.20q: what was piped in counts as typed: %v", x.args, x.in, got.Typed)
		}
	}
	if got, err := sendText(&console.Console{In: endlessInput{t}, InPiped: true}, []string{"x"}); got.Text != "x" ||
		got.Typed != nil || err != nil {
		t.Errorf("%q, %v", got.Text, err)
	}
}

func TestSend(t *testing.T) {
	t.Parallel()
	h := leftWorld{apitest.New()}
	var b bytes.Buffer
	c := &console.Console{Out: &b, Cwd: "/src"}
	if err := send(t.Context(), c, h, "9m2", wire.Message{Text: "x"}, false); err != nil ||
		b.String() != "job/Auth Explorer: it reads this before its next model call\n" {
		t.Errorf("%v: %s", err, b.String())
	}
	b.Reset()
	if err := send(t.Context(), c, h, "main", wire.Message{Text: "x", Cancel: true}, true); err != nil ||
		b.String() != `{"session":"7k3f00000000","mail":"prompt:1","effect":"steers"}`+"\n" {
		t.Errorf("%v: %s", err, b.String())
	}
	if calls := h.Calls(); len(calls) != 2 || !strings.HasSuffix(calls[1], "cancel=true once=") {
		t.Errorf("did %q", calls)
	}
	if err := send(t.Context(), c, h, "nobody", wire.Message{Text: "x"}, false); console.Code(err) != troupe.ExitUsage {
		t.Errorf("to nobody: %v", err)
	}
}

func TestSentText(t *testing.T) {
	t.Parallel()
	left := wire.Tree{Sessions: []wire.Session{{ID: apitest.Root}}}
	for _, x := range []struct {
		effect string
		m      wire.Message
		want   string
	}{
		{"steers", wire.Message{}, "before its next model call"},
		{"steers", wire.Message{Cancel: true}, "and stops after the step it is in"},
		{"resumes", wire.Message{}, "it had ended and goes on with this"},
		{"waits", wire.Message{Cancel: true}, "no process is running it; it will be read when you resume the " +
			"session: troupe -p --resume 7k3f00000000"},
		{"waits", wire.Message{Fork: true}, "no process is running it; the fork begins when you resume the " +
			"session: troupe -p --resume 7k3f00000000"},
	} {
		if got := console.SentText(left, wire.Sent{Effect: x.effect}, x.m); !strings.Contains(got, x.want) {
			t.Errorf("%s: %q", x.effect, got)
		}
	}
}
