package shell_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sandbox"
	"github.com/troupe-dev/troupe/internal/tool/shell"
)

// confinedBench runs commands in a real sandbox.
func confinedBench(t *testing.T, level troupe.Level) *bench {
	t.Helper()
	b := newBench(t)
	box := sandbox.New(sandbox.Options{})
	if len(box.Levels()) == 0 {
		t.Skip("this kernel cannot confine commands")
	}
	b.shell = shell.New(shell.Options{Grace: 200 * time.Millisecond, Drain: 100 * time.Millisecond,
		Confine: func(c troupe.Confinement, bin string, argv []string, attr *os.ProcAttr) (shell.Confined, error) {
			p, err := box.Start(c, bin, argv, attr)
			if err != nil {
				return nil, err
			}
			return p, nil
		}})
	t.Cleanup(func() { _ = b.shell.Close() })
	temp := t.TempDir()
	b.env.Confine = &troupe.Confinement{Level: level, Temp: temp}
	if level == troupe.LevelWorkspace {
		b.env.Confine.Writable = []string{b.env.Cwd}
	}
	return b
}

func TestConfinedCommand(t *testing.T) {
	t.Parallel()
	b := confinedBench(t, troupe.LevelReadOnly)
	out, text := b.run("touch PWNED || true; echo seen")
	want := "create " + filepath.Join(b.env.Cwd, "PWNED")
	if !strings.Contains(text, "seen") || !strings.HasSuffix(text, "(The sandbox did not let it: "+want+".)") {
		t.Errorf("the model is told\n%s", text)
	}
	run := out.Evidence.Commands[0]
	if run.Sandbox != troupe.LevelReadOnly || run.Watched == nil || len(run.Watched.Attempts) != 1 ||
		run.ExitCode != 0 {
		t.Errorf("the record is %+v", run)
	}
	if _, err := os.Stat(filepath.Join(b.env.Cwd, "PWNED")); err == nil {
		t.Error("it was made")
	}
	b.env.Confine.Level, b.env.Confine.Writable = troupe.LevelWorkspace, []string{b.env.Cwd}
	out, text = b.run("touch PWNED")
	if run = out.Evidence.Commands[0]; run.Sandbox != troupe.LevelWorkspace || run.Watched == nil ||
		len(run.Watched.Attempts) > 0 || !run.Watched.Touched || run.ExitCode != 0 {
		t.Errorf("the record is %+v: %s", run, text)
	}
	b.env.Confine = nil
	out, _ = b.run("true")
	if run = out.Evidence.Commands[0]; run.Sandbox != "" || run.Watched != nil {
		t.Errorf("the record is %+v", run)
	}
}

// Nothing a confined command leaves behind lives on, wherever it went.
func TestConfinedCommandLeavesNobody(t *testing.T) {
	t.Parallel()
	for _, level := range []troupe.Level{troupe.LevelReadOnly, troupe.LevelWorkspace} {
		b := confinedBench(t, level)
		_, text := b.run("(ulimit -x 7; setsid sh -c 'ulimit -x 8; sleep 1000' &) ; (setsid sh -c 'setsid sleep 1000 " +
			"& sleep 1000' &) ; sleep 0.2; echo on")
		if !strings.Contains(text, "were ended") || strings.Contains(text, "still runs") {
			t.Errorf("%s: %s", level, text)
		}
	}
}

func TestConfinedCommandIsNotRunWithoutItsSandbox(t *testing.T) {
	t.Parallel()
	for name, confine := range map[string]shell.Confine{
		"none": nil,
		"refusing": func(troupe.Confinement, string, []string, *os.ProcAttr) (shell.Confined, error) {
			return nil, errors.New("this kernel cannot do that")
		},
	} {
		b := newBench(t)
		b.shell = shell.New(shell.Options{Confine: confine})
		t.Cleanup(func() { _ = b.shell.Close() })
		b.env.Confine = &troupe.Confinement{Level: troupe.LevelReadOnly}
		out, text := b.run("touch ran")
		if _, err := os.Stat(filepath.Join(b.env.Cwd, "ran")); err == nil || !out.IsError ||
			!strings.HasPrefix(text, "The command was not run: ") {
			t.Errorf("%s: %v: %s", name, err, text)
		}
	}
}
