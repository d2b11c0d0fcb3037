package shell_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

// inBackground gives the calls of a bench a log.
func (b *bench) inBackground() *bench {
	b.env.Log = filepath.Join(b.env.Cwd, "logs", "b1.0.txt")
	return b
}

func (b *bench) log() string {
	b.t.Helper()
	got, err := os.ReadFile(b.env.Log)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(got)
}

func TestBackground(t *testing.T) {
	t.Parallel()
	b := newBench(t).inBackground()
	for _, c := range []struct {
		command, want, log string
		code               int
	}{
		{"echo out; echo err >&2", "(Exit code 0.)\nIts output is in LOG:\nout\nerr", "out\nerr\n", 0},
		{"true", "(Exit code 0.)\n(No output.)", "", 0},
		{"printf no; exit 3", "(Exit code 3.)\nIts output is in LOG:\nno", "no", 3},
		{"kill -TERM $$", "(Ended by a signal: terminated.)\n(No output.)", "", -1},
		{"sleep 300 & echo started", "(Exit code 0.)\n(Processes it had left running were ended.)\nIts output is in " +
			"LOG:\nstarted", "started\n", 0},
		{`printf '\033[31mred\033[0m\n'`, "(Exit code 0.)\nIts output is in LOG:\nred", "\033[31mred\033[0m\n", 0},
	} {
		out, text := b.run(c.command)
		if want := strings.ReplaceAll(c.want, "LOG", b.env.Log); text != want || out.IsError {
			t.Errorf("%s: got %q (error %v), want %q", c.command, text, out.IsError, want)
		}
		if got := b.log(); got != c.log {
			t.Errorf("%s: the log has %q, want %q", c.command, got, c.log)
		}
		if e := out.Evidence.Commands; len(e) != 1 || e[0].Command != c.command || e[0].ExitCode != c.code {
			t.Errorf("%s: evidence %+v", c.command, e)
		}
	}
	out, _ := b.run("echo '=== 2 passed in 0.01s ==='")
	if got := out.Evidence.Commands[0].Tests; got == nil || got.Passed != 2 {
		t.Errorf("tests %+v", got)
	}
}

// What is told at the end is short, and the log has it all.
func TestBackgroundLongOutput(t *testing.T) {
	t.Parallel()
	b := newBench(t).inBackground()
	_, text := b.run("seq 100000; printf 'no newline'")
	want := new(strings.Builder)
	for i := range 100_000 {
		fmt.Fprintln(want, i+1)
	}
	want.WriteString("no newline")
	if got := b.log(); got != want.String() {
		t.Errorf("the log has %d bytes, want %d", len(got), want.Len())
	}
	head, tail, _ := strings.Cut(text, "the last of it:\n")
	if head != "(Exit code 0.)\nIts output, 575 KB, is in "+b.env.Log+"; " {
		t.Errorf("it begins %q", head)
	}
	if len(tail) < 2<<10 || len(tail) > 4<<10 || !strings.HasSuffix(want.String(), "\n"+tail) {
		t.Errorf("%d bytes at the end: %.50q … %q", len(tail), tail, tail[max(0, len(tail)-50):])
	}
}

// The log is bounded and says so, and the command is not held up when it is full.
func TestBackgroundEndlessOutput(t *testing.T) {
	t.Parallel()
	b := newBench(t).inBackground()
	_, text := b.run("head -c 70000000 /dev/zero | tr '\\0' '\\n'; echo end")
	const note = "\n[The log ends here: it has 64.0 MB, and the rest is not kept.]\n"
	if got := b.log(); len(got) != 64<<20+len(note) || !strings.HasSuffix(got, note) ||
		strings.Count(got, "ends here") != 1 {
		t.Errorf("the log has %d bytes and ends %q", len(got), got[len(got)-100:])
	}
	if !strings.HasSuffix(text, "end") || !strings.Contains(text,
		"Its output was 66.8 MB; the first 64.0 MB are in "+b.env.Log) {
		t.Errorf("got %q", text)
	}
}

// Whoever reads the log while the command runs sees what it has said so far, without
// secrets, however they were written.
func TestLogGrows(t *testing.T) {
	t.Parallel()
	b := newBench(t).inBackground()
	b.env.Mask = func(s string) string { return strings.ReplaceAll(s, "hunter2-hunter2", "***") }
	b.fifo("go")
	done := make(chan tool.Output, 1)
	p := b.prepare(map[string]any{"command": "echo first; printf hunter2; cat go; echo -hunter2; echo last",
		"run_in_background": true})
	go func() {
		out, err := p.Run(t.Context(), b.env)
		if err != nil {
			t.Error(err)
		}
		done <- out
	}()
	await(t, "the first line in the log", func() bool {
		got, _ := os.ReadFile(b.env.Log)
		return string(got) == "first\n" // the second line has only begun
	})
	if err := os.WriteFile(filepath.Join(b.env.Cwd, "go"), nil, 0); err != nil {
		t.Fatal(err)
	}
	text := troupe.JoinText((<-done).Blocks)
	if got := b.log(); got != "first\n***\nlast\n" {
		t.Errorf("the log has %q", got)
	}
	if !strings.HasSuffix(text, ":\nfirst\n***\nlast") {
		t.Errorf("got %q", text)
	}
}

// await waits until something holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.Done():
			t.Fatalf("still not: %s", what)
		}
	}
}

// Without a place for its output a command is not run: nobody would see what it does.
func TestNoPlaceForLog(t *testing.T) {
	t.Parallel()
	b := newBench(t).inBackground()
	if err := os.WriteFile(filepath.Dir(b.env.Log), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, text := b.run("touch ran"); !out.IsError || !strings.Contains(text, "was not run") {
		t.Errorf("got %q", text)
	}
	if _, err := os.Stat(filepath.Join(b.env.Cwd, "ran")); err == nil {
		t.Error("it ran")
	}
}

// A disk that is full costs the log and not the command.
func TestLogCannotBeWritten(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	b := newBench(t)
	b.env.Log = "/dev/full"
	out, text := b.run("echo a; sleep 0; echo b; exit 4")
	if out.Evidence.Commands[0].ExitCode != 4 || !strings.Contains(text, "could not all be kept") ||
		!strings.HasSuffix(text, ":\na\nb") {
		t.Errorf("got %q", text)
	}
}

func TestBackgroundTimeouts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for in, want := range map[string]string{
		`{"command":"x","timeout":600000}`: "",
		`{"command":"x","timeout":600001}`: "`timeout` must be at most 600000, got " +
			"600001",
		`{"command":"x","timeout":600001,"run_in_background":false}`:     "run_in_background",
		`{"command":"x","timeout":86400000,"run_in_background":true}`:    "",
		`{"command":"x","timeout":86400001,"run_in_background":true}`:    "at most 86400000",
		`{"command":"x","timeout":0,"run_in_background":true}`:           "at least 1",
		`{"command":"x","timeout":null,"run_in_background":"maybe"}`:     "true or false",
		`{"command":"x","run_in_background":true,"run_in_background":0}`: "given twice",
	} {
		_, err := b.shell.Prepare(b.env, in)
		var ie *tool.InputError
		if want == "" && err != nil || want != "" && (!errors.As(err, &ie) || !strings.Contains(ie.Problem, want)) {
			t.Errorf("%s: got %v, want %s", in, err, want)
		}
	}
	b.inBackground()
	out, err := b.prepare(map[string]any{"command": "echo begun; sleep 300", "timeout": 100,
		"run_in_background": true}).Run(t.Context(), b.env)
	if text := troupe.JoinText(out.Blocks); err != nil || !out.IsError ||
		!strings.HasPrefix(text, "(Ended: it had not finished after 100ms. timeout can be up to 86400000.)\n") ||
		!strings.HasSuffix(text, "\nbegun") {
		t.Errorf("got %q %v", text, err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct{ command, description, want string }{
		{"go test ./...", "", "go test ./..."},
		{"go test ./...", " run\nthe tests ", "run the tests"},
		{"npm run dev -- --port 4000 --host 0.0.0.0 --open", "", "npm run dev -- --port 4000 --host…"},
		{strings.Repeat("x", 100), "", strings.Repeat("x", 39) + "…"},
		{strings.Repeat("ü", 40), "", strings.Repeat("ü", 40)},
		{"echo a\u202eb\x1b[31m", "\u200b", "echo a b [31m"},
		{"\u200b", "", "command"},
	} {
		p := b.prepare(map[string]any{"command": c.command, "description": c.description, "run_in_background": true})
		back, isBack := p.(tool.Backgrounder)
		shown, isShown := p.(tool.Previewer)
		if !isBack || !isShown {
			t.Fatalf("a %T", p)
		}
		if got, ok := back.Background(); !ok || got != c.want {
			t.Errorf("%q, %q: got %q %v, want %q", c.command, c.description, got, ok, c.want)
		}
		if got, _ := shown.Preview(b.env); got != c.command {
			t.Errorf("%q is shown as %q", c.command, got)
		}
	}
}

// strays is a command that starts processes which leave its group in every way there is, and
// writes their numbers to list.
func strays(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("setsid"); runtime.GOOS != "linux" || err != nil {
		t.Skip("needs Linux and setsid")
	}
	return `: > list
setsid sleep 300 & echo $! >> list
( ( setsid sh -c 'trap "" TERM; echo $$ >> list; sleep 300; sleep 300' & ) & )
( (trap "" HUP TERM; sleep 300 & echo $! >> list) & )
setsid -f sh -c 'echo $$ >> list; exec setsid -f env -i sh -c "echo \$\$ >> list; exec sleep 300"'
until test "$(wc -l < list)" -eq 5; do :; done
`
}

// Nothing that a command started outlives it, however it came into the world.
func TestStraysEndWithTheCommand(t *testing.T) {
	t.Parallel()
	for name, background := range map[string]bool{"foreground": false, "background": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if background {
				b.inBackground()
			}
			_, text := b.run(strays(t) + "echo done")
			if !strings.Contains(text, "done") || !strings.Contains(text,
				"(Processes it had left running were ended.)") || strings.Contains(text, "still runs") {
				t.Errorf("got %q", text)
			}
			list, err := os.ReadFile(filepath.Join(b.env.Cwd, "list"))
			if err != nil {
				t.Fatal(err)
			}
			for _, pid := range strings.Fields(string(list)) {
				awaitEnd(t, pid)
			}
		})
	}
}

func TestStraysEndWhenCancelled(t *testing.T) {
	t.Parallel()
	b := newBench(t).inBackground()
	command := strays(t) + "{ echo $$; cat list; } > pids; sleep 300"
	pids := b.fifo("pids")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan tool.Output, 1)
	go func() {
		out, err := b.prepare(map[string]any{"command": command, "run_in_background": true}).Run(ctx, b.env)
		if err != nil {
			t.Error(err)
		}
		done <- out
	}()
	running := strings.Fields(receive(t, pids))
	cancel()
	if out := <-done; !out.IsError || len(running) != 6 || !strings.HasPrefix(troupe.JoinText(out.Blocks),
		"(Ended: it was stopped.)\n") {
		t.Errorf("got %+v of %q", out, running)
	}
	for _, pid := range running {
		awaitEnd(t, pid)
	}
}

// feed writes a line to a named pipe. Opened for both it does not wait for a reader, who may
// have been killed; the line is there until the file is closed.
func feed(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	return f
}

// The end of one command is not the end of another's processes.
func TestStraysOfOthersGoOn(t *testing.T) {
	t.Parallel()
	first, second := newBench(t), newBench(t)
	second.shell = first.shell
	up, down := first.fifo("up"), first.fifo("down")
	command := strays(t) + "cat list > up; read -r _ < down; for p in $(cat list); do kill -0 $p || echo lost; done; " +
		"echo end"
	done := make(chan string, 1)
	go func() {
		out, err := first.prepare(map[string]any{"command": command}).Run(t.Context(), first.env)
		if err != nil {
			t.Error(err)
		}
		done <- troupe.JoinText(out.Blocks)
	}()
	if running := strings.Fields(receive(t, up)); len(running) != 5 {
		t.Fatalf("got %q", running)
	}
	if _, text := second.run(strays(t) + "echo done"); !strings.Contains(text, "were ended") {
		t.Errorf("got %q", text)
	}
	w := feed(t, down)
	defer w.Close()
	if got := <-done; !strings.HasPrefix(got, "end") {
		t.Errorf("got %q", got)
	}
}

// A command that is another of us: what its commands start ends with it too, and its watcher
// with them.
func TestNestedStrays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	inner := strays(t) + "{ echo $$ $PPID; cat list; } > pids; sleep 300"
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b.env.Environ = append(b.env.Environ, "INNER="+inner)
	pids := b.fifo("pids")
	done := make(chan string, 1)
	p := b.prepare(map[string]any{"command": fmt.Sprintf("%s=$INNER %s & read -r _ < go", hostEnv, exe)})
	b.fifo("go")
	go func() {
		out, err := p.Run(t.Context(), b.env)
		if err != nil {
			t.Error(err)
		}
		done <- troupe.JoinText(out.Blocks)
	}()
	running := strings.Fields(receive(t, pids))
	w := feed(t, filepath.Join(b.env.Cwd, "go"))
	defer w.Close()
	if got := <-done; !strings.Contains(got, "were ended") || len(running) != 7 {
		t.Errorf("got %q of %q", got, running)
	}
	for _, pid := range slices.Compact(running) {
		awaitEnd(t, pid)
	}
}
