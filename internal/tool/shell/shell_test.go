package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/shell"
	"github.com/troupe-dev/troupe/internal/tool/tooltest"
)

// hostEnv makes the test binary a process that runs one command and waits to be killed;
// with bareEnv, one that finds no program for its watcher; with logEnv, in the background.
const (
	hostEnv = "SHELL_TEST_COMMAND"
	bareEnv = "SHELL_TEST_BASH"
	logEnv  = "SHELL_TEST_LOG"
)

func TestMain(m *testing.M) {
	if command := os.Getenv(hostEnv); command != "" {
		host(command)
	}
	goleak.VerifyTestMain(m)
}

func host(command string) {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	env := tool.Env{Cwd: dir, Environ: os.Environ(), OutputDir: filepath.Join(dir, "out"), CallID: "r1c0",
		Log: os.Getenv(logEnv)}
	in, err := json.Marshal(map[string]any{"command": command, "run_in_background": env.Log != ""})
	if err != nil {
		panic(err)
	}
	var o shell.Options
	if bash := os.Getenv(bareEnv); bash != "" {
		if err := os.Setenv("PATH", ""); err != nil {
			panic(err)
		}
		o.LookPath = func(string) (string, error) { return bash, nil }
	}
	p, err := shell.New(o).Prepare(env, string(in))
	if err != nil {
		panic(err)
	}
	out, err := p.Run(context.Background(), env)
	fmt.Println(troupe.JoinText(out.Blocks), err)
	os.Exit(0)
}

type bench struct {
	t     testing.TB
	shell *shell.Shell
	env   tool.Env
}

func newBench(t testing.TB) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := shell.New(shell.Options{Grace: 200 * time.Millisecond, Drain: 100 * time.Millisecond})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &bench{t, s, tool.Env{Cwd: dir, OutputDir: filepath.Join(dir, "out"), CallID: "r1c0",
		Environ: []string{"PATH=" + os.Getenv("PATH"), "X=y", "PWD=/wrong"}}}
}

func (b *bench) prepare(args map[string]any) tool.Prepared {
	b.t.Helper()
	in, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	p, err := b.shell.Prepare(b.env, string(in))
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *bench) run(command string) (tool.Output, string) {
	b.t.Helper()
	out, err := b.prepare(map[string]any{"command": command}).Run(b.t.Context(), b.env)
	if err != nil {
		b.t.Fatal(err)
	}
	return out, troupe.JoinText(out.Blocks)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tooltest.Runner(t, b.shell.Tools()[0], b.env, `{"command":"echo hi","timeout":5000,"description":"greet"}`,
		troupe.ClassExec)
}

func TestRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct {
		command, want string
		code          int
	}{
		{"echo out; echo err >&2; echo out2", "out\nerr\nout2", 0},
		{"true", "(No output.)", 0},
		{"echo no; exit 3", "no\n(Exit code 3.)", 3},
		{"exit 3", "(Exit code 3.)", 3},
		{"kill -TERM $$", "(Ended by a signal: terminated.)", -1},
		{"pwd; echo $PWD $X", b.env.Cwd + "\n" + b.env.Cwd + " y", 0},
		{"cat; echo end", "end", 0}, // there is no input
		{"(exec 3</dev/tty) 2>/dev/null || echo no tty", "no tty", 0},
		{"-x; echo $0", "", 0},
		{`printf '\033[31mred\033[0m\r\nb\xff'`, "red\nb\uFFFD", 0},
		{"cd /; pwd", "/", 0},
		{"pwd", b.env.Cwd, 0},
		{"sleep 300 & echo started", "started\n(Processes it had left running were ended.)", 0},
		{"trap '' TERM; (sleep 300; sleep 300) & echo started", "started\n(Processes it had left running were ended.)",
			0},
	} {
		out, text := b.run(c.command)
		if c.want != "" && text != c.want || out.IsError {
			t.Errorf("%s: got %q (error %v), want %q", c.command, text, out.IsError, c.want)
		}
		e := out.Evidence.Commands
		if len(e) != 1 || e[0].Command != c.command || e[0].ExitCode != c.code || e[0].Tests != nil {
			t.Errorf("%s: evidence %+v", c.command, e)
		}
	}
	out, _ := b.run("echo '=== 2 passed in 0.01s ==='; # pytest")
	if got := out.Evidence.Commands[0].Tests; got == nil || *got != (troupe.TestCount{Runner: "pytest", Passed: 2}) {
		t.Errorf("tests %+v", got)
	}
}

// The secrets of this process are not a command's: it sees what Env gives it, and only that.
func TestEnvironmentIsTheCallers(t *testing.T) {
	b := newBench(t)
	t.Setenv("SECRET_OF_OURS", "leaked")
	b.env.Environ = nil
	if _, text := b.run("echo $SECRET_OF_OURS; export -p"); strings.Contains(text, "leaked") {
		t.Errorf("got %s", text)
	}
}

func TestNotStarted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.env.Cwd = filepath.Join(b.env.Cwd, "gone")
	if out, text := b.run("true"); !out.IsError || !strings.Contains(text, "working folder") {
		t.Errorf("got %q", text)
	}
	none := shell.New(shell.Options{LookPath: func(string) (string, error) { return "", exec.ErrNotFound }})
	p, err := none.Prepare(b.env, `{"command":"true"}`)
	if err != nil {
		t.Fatal(err)
	}
	b.env.Cwd = "/"
	if out, err := p.Run(t.Context(), b.env); err != nil || !out.IsError {
		t.Errorf("got %+v %v", out, err)
	}
	closed := shell.New(shell.Options{})
	if err := closed.Close(); err != nil {
		t.Error(err)
	}
	if p, err = closed.Prepare(b.env, `{"command":"true"}`); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(t.Context(), b.env); err == nil {
		t.Error("a closed shell ran a command")
	}
}

func TestFallsBackToSh(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	s := shell.New(shell.Options{LookPath: func(name string) (string, error) {
		if name == "sh" {
			return sh, nil
		}
		return "", exec.ErrNotFound
	}})
	b.shell = s
	if _, text := b.run("echo hi"); text != "hi" {
		t.Errorf("got %q", text)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestLongOutput(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, text := b.run("seq 100000; printf 'no newline'")
	want := new(strings.Builder)
	for i := range 100_000 {
		fmt.Fprintln(want, i+1)
	}
	want.WriteString("no newline")
	path := filepath.Join(b.env.OutputDir, "r1c0.txt")
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want.String() {
		t.Errorf("the file has %d bytes, want %d, %v", len(got), want.Len(), err)
	}
	if len(text) > 31<<10 || !strings.HasPrefix(text, "1\n2\n") || !strings.HasSuffix(text, "\n100000\nno newline") ||
		!strings.Contains(text, "left out; all of it is in "+path) {
		t.Errorf("%d bytes: %.100q … %q", len(text), text, text[len(text)-100:])
	}
	head, tail, _ := strings.Cut(text, "\n… [")
	_, tail, _ = strings.Cut(tail, "…\n")
	if !strings.HasPrefix(want.String(), head) || !strings.HasSuffix(want.String(), tail) || len(tail) < 15<<10 ||
		len(head) < 7<<10 {
		t.Errorf("what is shown is not the beginning (%d bytes) and the end (%d bytes)", len(head), len(tail))
	}
	// Just as much as is shown whole, and a byte more.
	if _, text := b.run("head -c 30720 /dev/zero | tr '\\0' x"); len(text) != 30720 {
		t.Errorf("30 KB show as %d bytes", len(text))
	}
	if _, text := b.run("head -c 30721 /dev/zero | tr '\\0' x"); !strings.Contains(text, "left out") {
		t.Errorf("a byte more than 30 KB shows as %d bytes", len(text))
	}
	b.env.OutputDir = ""
	if _, text := b.run("seq 100000"); !strings.Contains(text, "could not be kept") {
		t.Errorf("without a folder: %.100q", text)
	}
}

// The file is bounded, and the command is not held up when it is full.
func TestEndlessOutput(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, text := b.run("head -c 70000000 /dev/zero | tr '\\0' '\\n'; echo end")
	info, err := os.Stat(filepath.Join(b.env.OutputDir, "r1c0.txt"))
	if err != nil || info.Size() != 64<<20 || !strings.HasSuffix(text, "end") ||
		!strings.Contains(text, "the first 64.0 MB are in") {
		t.Errorf("%v %v %q", info, err, text[max(0, len(text)-100):])
	}
}

// fifo makes a named pipe that a test and a command meet at.
func (b *bench) fifo(name string) string {
	b.t.Helper()
	path := filepath.Join(b.env.Cwd, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// receive reads from a named pipe what somebody writes to it.
func receive(t testing.TB, path string) string {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(got))
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, command := range map[string]string{
		"polite":   "echo begun; sleep 300; echo not reached",
		"stubborn": "trap '' TERM; echo begun; sleep 300 & sleep 300; sleep 300",
	} {
		out, err := b.prepare(map[string]any{"command": command, "timeout": 100}).Run(t.Context(), b.env)
		if err != nil {
			t.Fatal(err)
		}
		text := troupe.JoinText(out.Blocks)
		if !out.IsError || !strings.HasPrefix(text, "begun\n(Ended: it had not finished after 100ms.") ||
			out.Evidence.Commands[0].ExitCode != -1 {
			t.Errorf("%s: %q %+v", name, text, out.Evidence)
		}
	}
}

func TestCancelEndsTheGroup(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"polite":   "sleep 300 & echo $$ $! > pids; sleep 300",
		"stubborn": "trap '' TERM; (trap '' TERM; sleep 300; sleep 300) & echo $$ $! > pids; sleep 300; sleep 300",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			pids := b.fifo("pids")
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan tool.Output, 1)
			go func() {
				out, err := b.prepare(map[string]any{"command": command}).Run(ctx, b.env)
				if err != nil {
					t.Error(err)
				}
				done <- out
			}()
			running := strings.Fields(receive(t, pids))
			cancel()
			if out := <-done; !out.IsError || !strings.Contains(troupe.JoinText(out.Blocks), "cancelled") {
				t.Errorf("got %+v", out)
			}
			for _, pid := range running {
				awaitEnd(t, pid)
			}
		})
	}
}

// awaitEnd waits until a process is gone, or is a zombie that only waits to be counted.
func awaitEnd(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		if errors.Is(syscall.Kill(n, 0), syscall.ESRCH) {
			return
		}
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if _, after, ok := strings.Cut(string(stat), ") "); err == nil && ok && after[0] == 'Z' {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.Done():
			t.Errorf("process %s still runs", pid)
			_ = syscall.Kill(n, syscall.SIGKILL)
			return
		}
	}
}

// A process that left the group and holds the pipe does not hold up the result.
func TestHeldPipe(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is not installed")
	}
	b.fifo("never")
	// Who lowers the limit that its mark is in has none.
	_, text := b.run("ulimit -x 1; setsid sh -c 'echo $$ > pid; cat never' & until test -s pid; do :; done; echo done")
	pid, err := strconv.Atoi(receive(t, filepath.Join(b.env.Cwd, "pid")))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(-pid, syscall.SIGKILL) }()
	if !strings.HasPrefix(text, "done") || !strings.Contains(text, "outside its process group") {
		t.Errorf("got %q", text)
	}
}

// kill -9 of this process ends the shell and everything in its group.
func TestKilledHost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, pid := range b.killHost(twoPids) {
		awaitEnd(t, pid)
	}
}

// The same in the background, and of everything that has left the group.
func TestKilledHostInBackground(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, pid := range b.killHost(strays(t)+"{ echo $$; cat list; } > pids; sleep 300",
		logEnv+"="+filepath.Join(b.env.Cwd, "log")) {
		awaitEnd(t, pid)
	}
}

// Without the watcher the kernel still ends the shell.
func TestKilledHostWithoutWatcher(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if runtime.GOOS != "linux" || err != nil {
		t.Skip("only Linux does this")
	}
	b := newBench(t)
	pids := b.killHost(twoPids, bareEnv+"="+bash)
	awaitEnd(t, pids[0])
	group, err := strconv.Atoi(pids[0])
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(-group, syscall.SIGKILL) // what the watcher would have ended
}

// twoPids writes the shell's process and one that the shell started to a pipe. The host reads
// output only after it has told the watcher of the group. Once some of the output is in its
// file, the command knows that this has happened.
const twoPids = "trap '' TERM; seq 10000; until test -s out/r1c0.txt; do :; done; " +
	"(trap '' TERM; sleep 300; sleep 300) & echo $$ $! > pids; sleep 300"

// killHost lets another process run a command that writes processes to the pipe pids and
// kills it. It returns what was written.
func (b *bench) killHost(command string, environ ...string) []string {
	t := b.t
	t.Helper()
	pids := b.fifo("pids")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Dir = b.env.Cwd
	cmd.Env = append(append(os.Environ(), hostEnv+"="+command), environ...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	running := strings.Fields(receive(t, pids))
	if len(running) < 2 {
		t.Fatalf("got %q", running)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	return running
}

// Threads of this process come and go; a command does not die with any of them.
func TestThreadChurn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const commands = 4 // more would wait for turns
	texts := make(chan string, commands)
	for i := range commands {
		up := b.fifo(fmt.Sprint("up", i))
		b.fifo(fmt.Sprint("down", i))
		prepared := b.prepare(map[string]any{"command": fmt.Sprintf("echo > up%d; head -n 1 down%d; echo alive", i, i)})
		go func() {
			runtime.LockOSThread() // not unlocked: the thread the call came from ends with the goroutine
			out, err := prepared.Run(t.Context(), b.env)
			if err != nil {
				t.Error(err)
			}
			texts <- troupe.JoinText(out.Blocks)
		}()
		receive(t, up)
	}
	// As many goroutines at once, each on a thread of its own, that every idle thread is
	// taken, and with the goroutines the threads end.
	var wg, here sync.WaitGroup
	for range 64 {
		here.Add(1)
		wg.Go(func() {
			runtime.LockOSThread()
			here.Done()
			here.Wait()
		})
	}
	wg.Wait()
	for i := range commands {
		// A command that was killed no longer reads; opened for both, the pipe does not wait.
		down, err := os.OpenFile(filepath.Join(b.env.Cwd, fmt.Sprint("down", i)), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer down.Close()
		if _, err := down.WriteString("fed\n"); err != nil {
			t.Fatal(err)
		}
	}
	for range commands {
		if got := <-texts; got != "fed\nalive" {
			t.Errorf("got %q", got)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			if _, text := b.run(fmt.Sprintf("echo %d", i)); text != strconv.Itoa(i) {
				t.Errorf("call %d: %q", i, text)
			}
		})
	}
	wg.Wait()
}

// Output is not lost when this process gets to read it only after the deadline.
func TestLateReader(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.shell = shell.New(shell.Options{Drain: 1})
	for range 50 {
		_, text := b.run("seq 3000")
		// With no time at all to drain, a command that another test is just starting can be seen to
		// hold this one's pipe, until it becomes that command.
		text = strings.TrimSuffix(text, "\n(Something it started still runs, outside its process group.)")
		if !strings.HasPrefix(text, "1\n2\n") || !strings.HasSuffix(text, "\n3000") {
			t.Fatalf("got %d bytes: %.100s … %s", len(text), text, text[max(0, len(text)-200):])
		}
	}
	if err := b.shell.Close(); err != nil {
		t.Error(err)
	}
}

func TestCloseUnused(t *testing.T) {
	t.Parallel()
	s := shell.New(shell.Options{})
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func FuzzInputs(f *testing.F) {
	f.Add(`{"command":"ls","timeout":"5","description":""}`)
	s := shell.New(shell.Options{})
	f.Fuzz(func(t *testing.T, in string) {
		p, err := s.Prepare(tool.Env{Cwd: "/"}, in)
		var ie *tool.InputError
		if err != nil && !errors.As(err, &ie) {
			t.Fatalf("%T %v", err, err)
		}
		if err == nil && strings.TrimSpace(p.Access().Command) == "" {
			t.Fatal("an empty command")
		}
	})
}

func BenchmarkTrue(b *testing.B) {
	x := newBench(b)
	for b.Loop() {
		if out, text := x.run("true"); out.IsError {
			b.Fatal(text)
		}
	}
}

// What starting bash costs without us.
func BenchmarkPlainBash(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("bash", "-c", "true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// TestShows: who watches sees the end of what a command prints while it runs, and nothing after it.
func TestShows(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	told := make(chan string, 100)
	b.env.Shows = func(tail string) {
		select {
		case told <- tail:
		default:
		}
	}
	go func() {
		defer close(told)
		b.run("seq 1 2000; echo begun; while [ ! -e go ]; do sleep 0.05; done")
	}()
	first, ok := <-told
	if !ok || !strings.HasSuffix(first, "\n2000\nbegun\n") || len(first) > 2<<10 {
		t.Errorf("%v: it was shown %q", ok, first)
	}
	if err := os.WriteFile(filepath.Join(b.env.Cwd, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range told { // it ends when the command has
	}
}
