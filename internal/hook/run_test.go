package hook

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool/shell"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func runner(t testing.TB) *Runner {
	sh := shell.New(shell.Options{})
	t.Cleanup(func() { _ = sh.Close() })
	exec := func(ctx context.Context, p Program) (int, error) {
		return sh.Once(ctx, shell.Service{Command: "/bin/sh", Args: []string{"-c", p.Command}, Env: p.Environ,
			Dir: p.Dir, Stderr: p.Stderr}, p.Stdin, p.Stdout)
	}
	return &Runner{Exec: exec, Environ: []string{"PATH=" + os.Getenv("PATH")}, Mask: func(s string) string {
		return strings.ReplaceAll(s, "hunter2", "•••")
	}, Now: time.Now, Client: http.DefaultClient, Lookup: os.LookupEnv}
}

func call(dir string) troupe.HookMoment {
	s := troupe.Session{ID: "c1", Root: "r1", Type: "Explore", Name: "Look", Cwd: dir}
	return troupe.HookMoment{Event: troupe.HookPreToolUse, Session: s, Path: "main/Look",
		Line: []string{"main", "Explore"},
		Mode: troupe.ModePlan, Match: []string{"Bash"}, Call: &troupe.Call{Reply: 2, Index: 1, Name: "Bash",
			Input: `{"command":"ls"}`}}
}

func command(run string) Hook {
	return Hook{Event: troupe.HookPreToolUse, Kind: Command, Run: run, Origin: Origin{Source: "s.json"}}
}

// TestPain35HooksTellAgentsApart: every payload says which agent it is about.
func TestPain35HooksTellAgentsApart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, event := range troupe.HookEvents() {
		m := call(dir)
		m.Event = event
		h := command("cat > told; env > environ")
		h.Event = event
		said := runner(t).Run(t.Context(), []Hook{h}, m)
		if said.Ran[0].Effect == troupe.HookFailed {
			t.Fatal(said.Ran[0].Why)
		}
		told, err := os.ReadFile(filepath.Join(dir, "told"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"session_id":"r1"`, `"agent_id":"c1"`, `"agent_name":"Look"`,
			`"agent_type":"Explore"`,
			`"agent_path":"main/Look"`, `"cwd":"` + dir + `"`, `"hook_event_name":"` + string(event) + `"`,
			`"permission_mode":"plan"`, `"tool_input":{"command":"ls"}`, `"tool_use_id":"c1/r2c1"`} {
			if !strings.Contains(string(told), want) {
				t.Errorf("%s is not told %s: %s", event, want, told)
			}
		}
		environ, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !strings.Contains(string(environ), "CLAUDE_PROJECT_DIR="+dir+"\n") ||
			!strings.Contains(string(environ), troupe.AgentVariable+"=c1\n") ||
			strings.Contains(string(environ), "HOME=") {
			t.Errorf("its environment is %s, %v", environ, err)
		}
	}
}

// TestTogether: hooks run side by side, and the strictest counts, in the order of the list.
func TestTogether(t *testing.T) {
	t.Parallel()
	allow := `echo '{"hookSpecificOutput": {"permissionDecision": "allow"}}'`
	ask := `echo '{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "sure?"}}'`
	input := func(to string) Hook {
		return command(`echo '{"hookSpecificOutput": {"updatedInput": {"command": "` + to + `"}}}'`)
	}
	for name, tt := range map[string]struct {
		hooks []Hook
		want  troupe.Effect
		why   string
		input string
	}{
		"none":           {},
		"deny over all":  {hooks: []Hook{command(allow), command("exit 2"), command(ask)}, want: troupe.Deny},
		"ask over allow": {hooks: []Hook{command(allow), command(ask)}, want: troupe.Ask, why: "sure?"},
		"allow":          {hooks: []Hook{command("true"), command(allow)}, want: troupe.Allow},
		"crash over all": {hooks: []Hook{command(allow), command("exit 1")}, want: troupe.Deny,
			why: "the hook failed"},
		"one input":  {hooks: []Hook{input("ls"), input("ls")}, input: `{"command":"ls"}`},
		"two inputs": {hooks: []Hook{input("ls"), input("pwd")}, want: troupe.Deny, why: "another input"},
		"an end": {hooks: []Hook{command(`echo '{"continue": false}'`)}, want: troupe.Deny,
			why: "ends the run"},
		"no such program": {hooks: []Hook{command("./not-there")}, want: troupe.Deny, why: "exit code 127"},
	} {
		said := runner(t).Run(t.Context(), tt.hooks, call(t.TempDir()))
		if said.Effect != tt.want || said.Input != tt.input || !strings.Contains(said.Why, tt.why) {
			t.Errorf("%s: %+v", name, said)
		}
	}
	dir := t.TempDir()
	var hooks []Hook
	for _, name := range []string{"a", "b", "c"} { // each waits for the other two
		h := command("touch " + name + "; until test -e a && test -e b && test -e c; do sleep 0.05; done")
		h.Seconds = 60
		hooks = append(hooks, h)
	}
	if said := runner(t).Run(t.Context(), hooks, call(dir)); said.Effect != "" {
		t.Errorf("they do not run side by side: %+v", said)
	}
}

// TestEnds: a timeout and a stop end a hook with all that it has started, and what a hook prints is bounded and masked.
func TestEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	slow := command("(sleep 1; touch late) & sleep 30")
	slow.Seconds = 0.1
	if said := runner(t).Run(t.Context(), []Hook{slow}, call(dir)); !strings.Contains(said.Why,
		"had not ended after 100ms") {
		t.Errorf("%+v", said)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if said := runner(t).Run(ctx, []Hook{command("sleep 30")}, call(dir)); said.Effect != troupe.Deny {
		t.Errorf("a hook that was stopped says %+v", said)
	}
	said := runner(t).Run(t.Context(), []Hook{command("yes hunter2 | head -c 900000; echo hunter2 >&2; exit 2")},
		call(dir))
	if ran := said.Ran[0]; len(ran.Said) > maxSaid+10 || strings.Contains(ran.Said+ran.Why, "hunter2") {
		t.Errorf("it is said to have said %d bytes: %s", len(ran.Said), ran.Why)
	}
	<-time.After(1100 * time.Millisecond)
	if _, err := os.Stat(filepath.Join(dir, "late")); err == nil {
		t.Error("what a hook had started outlived its timeout")
	}
}

// TestEndsWhatStrayed: a timeout and a stop end also what has left the group of a hook; what a hook leaves running that
// ends by itself goes on.
func TestEndsWhatStrayed(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere a hook's processes are its group")
	}
	stray := `setsid sh -c 'echo $$ > pid; exec sleep 600' & until test -s pid; do sleep 0.01; done; `
	for name, tt := range map[string]struct {
		rest    string
		seconds float64
		stop    bool
		lives   bool
	}{
		"timeout": {rest: "sleep 600", seconds: 2}, "stop": {rest: "sleep 600", stop: true},
		"an end": {rest: "exit 0", lives: true},
	} {
		dir := t.TempDir()
		pid := func() int {
			data, _ := os.ReadFile(filepath.Join(dir, "pid"))
			n, _ := strconv.Atoi(strings.TrimSpace(string(data)))
			return n
		}
		h := command(stray + tt.rest)
		h.Seconds = tt.seconds
		ctx, cancel := context.WithCancel(t.Context())
		if tt.stop {
			go func() {
				for pid() == 0 {
					<-time.After(time.Millisecond)
				}
				cancel()
			}()
		}
		runner(t).Run(ctx, []Hook{h}, call(dir))
		cancel()
		id := pid()
		if id == 0 {
			t.Fatal(name + ": it did not begin")
		}
		if lives := !gone(t, id); lives != tt.lives {
			t.Errorf("%s: what it left runs: %v", name, lives)
		}
		if tt.lives {
			_ = syscall.Kill(id, syscall.SIGKILL)
		}
	}
}

// gone: a process is gone, or nobody has waited for it yet.
func gone(t *testing.T, pid int) bool {
	t.Helper()
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// TestPinned: a script of the project that was changed is not run.
func TestPinned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "check.sh")
	write := func(text string) {
		// A process that another test forks meanwhile would have it open for writing, and it could not be started.
		syscall.ForkLock.RLock()
		err := os.WriteFile(script, []byte(text), 0o700)
		syscall.ForkLock.RUnlock()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, run := range []string{"sh check.sh", "./check.sh --all", `"$CLAUDE_PROJECT_DIR"/check.sh`,
		"true && ./check.sh"} {
		write("#!/bin/sh\nexit 0")
		h := command(run)
		h.Pin(dir)
		if said := runner(t).Run(t.Context(), []Hook{h}, call(dir)); said.Effect != "" {
			t.Errorf("%s: as it was, it says %+v", run, said)
		}
		write("#!/bin/sh\ntouch pwned")
		if said := runner(t).Run(t.Context(), []Hook{h}, call(dir)); said.Effect != troupe.Deny {
			t.Errorf("%s: changed, it says %+v", run, said)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
		t.Error("it was run")
	}
	// All of a file counts, however large it is.
	large := strings.Repeat("# a comment line\n", 20<<20/17)
	write("#!/bin/sh\n" + large + "exit 0")
	h := command("sh check.sh")
	h.Pin(dir)
	write("#!/bin/sh\n" + large + "exit 1")
	if err := h.unchanged(); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("a change behind 16 MB is not seen: %v", err)
	}
	if err := os.Remove(script); err != nil {
		t.Fatal(err)
	}
	if err := h.unchanged(); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("of a script that is gone it is said: %v", err)
	}
	h = command("grep -q x main.go")
	write("x")
	if h.Pin(dir); h.Files != nil {
		t.Errorf("what a command looks at is pinned: %v", h.Files)
	}
}

// TestHTTP: what an address answers is read as what a command prints; headers have the variables that are named.
func TestHTTP(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/broken":
			w.WriteHeader(http.StatusTeapot)
		case r.Header.Get("A") == "x "+os.Getenv("PATH") && r.Method == http.MethodPost:
			_, _ = w.Write([]byte(`{"hookSpecificOutput": {"permissionDecision": "ask"}}`))
		}
	}))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	h := Hook{Event: troupe.HookPreToolUse, Kind: HTTP, Run: server.URL,
		Headers: map[string]string{"A": "x${HOME} $PATH"},
		Env:     []string{"PATH"}}
	if said := runner(t).Run(t.Context(), []Hook{h}, call(t.TempDir())); said.Effect != troupe.Ask {
		t.Errorf("%+v", said)
	}
	h.Run = server.URL + "/broken"
	if said := runner(t).Run(t.Context(), []Hook{h}, call(t.TempDir())); said.Effect != troupe.Deny ||
		said.Ran[0].Exit != 418 {
		t.Errorf("%+v", said)
	}
}

// TestPrompt: a small model says yes or no, and what it costs is in the bill.
func TestPrompt(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]troupe.Effect{
		`{"ok": true}`: "", "```json\n{\"ok\": false, \"reason\": \"r\"}\n```": troupe.Deny, "sure": troupe.Deny,
		`{"decision": "approve"}`: troupe.Deny, "!": troupe.Deny,
	} {
		r := runner(t)
		r.Ask = func(_ context.Context, _ troupe.Session, question, text string) (string, troupe.Usage, troupe.Money,
			error) {
			if !strings.Contains(question, "is it safe?") || !strings.Contains(text, `"tool_name":"Bash"`) {
				t.Errorf("it was asked %q about %q", question, text)
			}
			if answer == "!" {
				return "", troupe.Usage{}, 0, errors.New("overloaded")
			}
			return answer, troupe.Usage{Input: 7}, 9, nil
		}
		h := Hook{Event: troupe.HookPreToolUse, Kind: Prompt, Run: "is it safe?"}
		said := r.Run(t.Context(), []Hook{h}, call(t.TempDir()))
		if said.Effect != want || answer != "!" && said.Ran[0].Cost != 9 {
			t.Errorf("%s: %+v", answer, said)
		}
	}
}

// BenchmarkHook: a hook that exits at once costs under 5 ms.
func BenchmarkHook(b *testing.B) {
	due, m, r := []Hook{command("exit 0")}, call(b.TempDir()), runner(b)
	for b.Loop() {
		if said := r.Run(b.Context(), due, m); said.Effect != "" {
			b.Fatal(said)
		}
	}
}

// BenchmarkDue: what fifty hooks cost a call that none of them is about.
func BenchmarkDue(b *testing.B) {
	var hooks []Hook
	for range 50 {
		h := command("exit 0")
		h.Matcher = "^(Edit|Write)$"
		hooks = append(hooks, h)
	}
	s, m := NewSet(hooks, nil), call("/")
	for b.Loop() {
		if len(s.Of(m, false)) > 0 {
			b.Fatal("due")
		}
	}
}

// BenchmarkFifty: what fifty hooks with a script each cost a run that begins: under 10 ms.
func BenchmarkFifty(b *testing.B) {
	dir := b.TempDir()
	var raw strings.Builder
	raw.WriteString(`{"PreToolUse": [`)
	for i := range 50 {
		name := filepath.Join(dir, "check"+strconv.Itoa(i)+".sh")
		if err := os.WriteFile(name, []byte("#!/bin/sh\nexit 0\n"), 0o700); err != nil {
			b.Fatal(err)
		}
		if i > 0 {
			raw.WriteByte(',')
		}
		raw.WriteString(`{"matcher": "^Bash$", "hooks": [{"type": "command", "command": "sh ` + name + `"}]}`)
	}
	raw.WriteString(`]}`)
	for b.Loop() {
		hooks, _ := Read([]byte(raw.String()), Origin{Source: "s.json"})
		for i := range hooks {
			hooks[i].Pin(dir)
		}
		if due := NewSet(hooks, nil).Of(call(dir), false); len(due) != 50 || len(due[0].Files) != 1 {
			b.Fatal(due)
		}
	}
}

// TestStatusIsMaskedAndBounded: what a status line prints is shown at once, so it has no secret and no more than is
// kept of any hook, however much it prints.
func TestStatusIsMaskedAndBounded(t *testing.T) {
	t.Parallel()
	h := command("printf 'at '; yes hunter2 | head -c 1000000") // the limit is in the middle of one
	h.Event = troupe.HookStatus
	m := call(t.TempDir())
	m.Event, m.Call = troupe.HookStatus, nil
	said, err := runner(t).Status(t.Context(), h, m, 80)
	if err != nil || !strings.HasPrefix(said, "at •••\n•••\n") || strings.Contains(said, "hunt") {
		t.Errorf("it says %.40q … %q: %v", said, said[max(0, len(said)-20):], err)
	}
	if n := len(strings.TrimSuffix(said, "…")); n > maxSaid || n < maxSaid-10 {
		t.Errorf("it is shown with %d bytes, and %d are kept", n, maxSaid)
	}
}
