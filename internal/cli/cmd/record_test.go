package cmd

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/cli/run"
	"github.com/troupe-dev/troupe/internal/wire"
)

// sampleRecording is the recording that the package's own tests hold to.
const sampleRecording = "../../model/replay/testdata/sample.jsonl"

type recordBench struct {
	t        *testing.T
	c        *console.Console
	out, err bytes.Buffer
	runner   Runner
	parsed   []string
	asked    run.Asked
}

func newRecordBench(t *testing.T) *recordBench {
	b := &recordBench{t: t}
	data, dir := t.TempDir(), t.TempDir()
	b.c = &console.Console{
		Out: &b.out, Err: &b.err, Cwd: dir, Now: time.Now, Version: "test",
		Lookup: func(name string) (string, bool) { return data, name == "TROUPE_HOME" },
	}
	b.runner = Runner{
		Parse: func(_ *console.Console, args []string, _ string) (run.Asked, error) {
			b.parsed = args
			b.asked.Begin, b.asked.Output = wire.Begin{Prompt: "fix it", Cwd: dir}, run.Output{Format: "text"}
			return b.asked, nil
		},
		Execute: func(context.Context, *console.Console, *home.Home, run.Asked, *home.Player) (wire.Report, error) {
			return wire.Report{Status: troupe.Failed}, nil
		},
		End: func(c *console.Console, r wire.Report, _ run.Asked) error {
			if _, err := c.Out.Write([]byte("finished\n")); err != nil {
				return err
			}
			return &console.Exit{Code: 4}
		},
	}
	return b
}

func (b *recordBench) run(make func(*console.Console, Runner) *cobra.Command, args ...string) (int, string) {
	b.t.Helper()
	b.out.Reset()
	b.err.Reset()
	cmd := make(b.c, b.runner)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(b.t.Context())
	text := b.err.String()
	if err != nil {
		text += err.Error()
	}
	return console.Code(err), text
}

func TestRecordUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		make func(*console.Console, Runner) *cobra.Command
		args []string
		want string
	}{
		{newRecord, nil, "takes one file"},
		{newRecord, []string{"a", "b", "--", "-p"}, "takes one file"},
		{newRecord, []string{"--", "-p", "x"}, "takes one file"},
		{newRecord, []string{"a"}, "something to run"},
		{newRecord, []string{"a", "--"}, "something to run"},
		{newRecord, []string{"a", "--from", "x", "--", "-p"}, "nothing can stand behind"},
		{newRecord, []string{"no/where/a", "--", "-p"}, "there is no folder"},
		{newRecord, []string{"a", "--from", "none"}, "there is no session"},
		{newRecord, []string{"a", "-p", "x"}, "stands behind --"},
		{newRecord, []string{"a", "x"}, "troupe record FILE -- -p"},
		{newReplay, []string{"a", "-p", "x"}, "stands behind --"},
		{newRecord, []string{sampleAt(t), "--", "-p", "x"}, "is there already"},
		{newRecord, []string{sampleAt(t), "--from", "x"}, "is there already"},
		{newReplay, nil, "takes one file"},
		{newReplay, []string{"a"}, "cannot be read"},
		{newReplay, []string{sampleAt(t)}, "does not say what was run"},
	} {
		b := newRecordBench(t)
		if code, text := b.run(c.make, c.args...); code != troupe.ExitUsage || !strings.Contains(text, c.want) {
			t.Errorf("%q ends with %d, %q; want %q", c.args, code, text, c.want)
		}
		if b.parsed != nil && !strings.Contains(c.want, "folder") {
			t.Errorf("%q: %q was about to run", c.args, b.parsed)
		}
	}
}

func sampleAt(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(sampleRecording)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestNotRecorded: what could not be replayed is refused before it runs.
func TestNotRecorded(t *testing.T) {
	t.Parallel()
	for want, asked := range map[string]run.Asked{
		"terminal":      {Way: run.InputText, Person: true},
		"runs --resume": {},
	} {
		b := newRecordBench(t)
		b.asked = asked
		parse := b.runner.Parse
		b.runner.Parse = func(c *console.Console, args []string, otherwise string) (run.Asked, error) {
			a, err := parse(c, args, otherwise)
			a.Begin.Continue = !a.Person
			return a, err
		}
		b.runner.Execute = func(context.Context, *console.Console, *home.Home, run.Asked, *home.Player) (wire.Report,
			error) {
			t.Errorf("%s: it runs", want)
			return wire.Report{}, nil
		}
		if code, text := b.run(newRecord, "new.jsonl", "--", "x"); code != troupe.ExitUsage ||
			!strings.Contains(text, "nothing was run") {
			t.Errorf("%s: it ends with %d, %q", want, code, text)
		}
	}
}

func TestOtherWords(t *testing.T) {
	t.Parallel()
	then := []string{"write it\n<file>x</file>", "y and more", "no"}
	for _, c := range []struct {
		want string
		said []string
	}{
		{"", nil},
		{"", []string{"write it", "y and more", "no"}},
		{"", []string{"write it", "y", "y and more ", "n: not that", "no", "v"}},
		{"something else (message 1)", []string{"wrote it", "y and more", "no"}},
		{"said less", []string{"write it", "y and more"}},
		{"said more", []string{"write it", "y and more", "no", "and that"}},
	} {
		got := otherWords(c.said, then, func(s string) string { return s })
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%q: %q; want %q", c.said, got, c.want)
		}
	}
}

// TestReplayExit: a run that made every call gives its own exit code, one that did not
// gives 1, and the home it ran in is gone either way.
func TestReplayExit(t *testing.T) {
	t.Parallel()
	b := newRecordBench(t)
	var dir string
	b.runner.Execute = func(_ context.Context, c *console.Console, _ *home.Home, asked run.Asked,
		p *home.Player) (wire.Report, error) {
		dir, _ = c.Lookup("TROUPE_HOME")
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
		if !asked.Output.Gone {
			t.Error("what is said of it tells how to go on")
		}
		if p.Root() != "0123456789ab" {
			t.Errorf("it runs as %s", p.Root())
		}
		return wire.Report{}, nil
	}
	code, text := b.run(newReplay, sampleAt(t), "--", "-p", "fix it")
	if code != 1 || !strings.Contains(text, "not as recorded: main never made its 1st call") || b.out.Len() > 0 {
		t.Errorf("it ends with %d, %q and prints %q", code, text, b.out.String())
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) || strings.Join(b.parsed, " ") != "-p fix it" {
		t.Errorf("%s is still there: %v; %q was run", dir, err, b.parsed)
	}
	if code, text = b.run(newReplay, sampleAt(t), "--json", "--", "-p"); code != 1 || text != "" ||
		!strings.HasPrefix(b.out.String(),
			`{"same":false,"calls":0,"mismatch":{"agent":"main","reply":1,"kind":"missing",`) {
		t.Errorf("it ends with %d, %q and prints %q", code, text, b.out.String())
	}

	// Nothing was recorded, nothing is made: the same.
	empty := filepath.Join(b.c.Cwd, "empty.jsonl")
	text = `{"format":"troupe-recording","version":1,"root":"0123456789ab","args":["-p","go"]}` + "\n" +
		`{"agent":{"path":"main","session":"0123456789ab","status":"failed"}}` + "\n" + `{"end":{}}` + "\n"
	if err := os.WriteFile(empty, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, text = b.run(newReplay, "empty.jsonl"); code != 4 || text != "" || b.out.String() != "finished\n" ||
		strings.Join(b.parsed, " ") != "-p go" {
		t.Errorf("it ends with %d, %q, prints %q and ran %q", code, text, b.out.String(), b.parsed)
	}
	if code, text = b.run(newReplay, "empty.jsonl", "--json"); code != 4 || text != "" ||
		b.out.String() != `{"same":true,"calls":0,"mismatch":null}`+"\n" {
		t.Errorf("it ends with %d, %q and prints %q", code, text, b.out.String())
	}
}
