package e2e_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// explain has the gate judge calls, without running anything.
func (p *place) explain(calls []wire.Call, args ...string) map[string]wire.Verdict {
	p.t.Helper()
	var in, out, errOut bytes.Buffer
	enc := json.NewEncoder(&in)
	for _, c := range calls {
		if err := enc.Encode(c); err != nil {
			p.t.Fatal(err)
		}
	}
	cmd := p.command(append([]string{"permissions", "explain"}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, &errOut
	if err := cmd.Run(); err != nil {
		p.t.Fatalf("%v\n%s", err, errOut.String())
	}
	verdicts := make(map[string]wire.Verdict)
	for line := range strings.Lines(out.String()) {
		var v wire.Verdict
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			p.t.Fatalf("%v: %s", err, line)
		}
		verdicts[string(v.ID)] = v
	}
	if len(verdicts) != len(calls) {
		p.t.Fatalf("%d verdicts on %d calls", len(verdicts), len(calls))
	}
	return verdicts
}

// TestScenarios: situations that other tools got wrong, by their numbers in the public record
// beside the cases, and what the gate says. What runs read-only can do none of the harm.
func TestScenarios(t *testing.T) {
	t.Parallel()
	const (
		allow = "allow"
		ask   = "ask"
		deny  = "deny"
		held  = "read-only" // and asks about what it wants beyond
	)
	many := strings.Repeat("true; ", 60) + "curl x"
	long := "true " + strings.Repeat("x", 12_000) + "; curl x"
	nested := strings.Repeat("echo $(", 200) + "curl x" + strings.Repeat(")", 200)
	for _, tt := range []struct {
		id, agent, mode, tool string
		input                 map[string]any
		want, read            string // read: on a machine that cannot confine commands; "" is the same
	}{
		{id: "S09 a folder that begins alike", mode: "acceptEdits", tool: "Write", input: file("../project-evil/x"),
			want: ask},
		{id: "S09 dots", mode: "acceptEdits", tool: "Write", input: file("sub/..//../x"), want: ask},
		{id: "S10 written through a link", mode: "acceptEdits", tool: "Write", input: file("out/passwd"), want: ask},
		{id: "S10 read through a link", tool: "Read", input: map[string]any{"file_path": "out/passwd"}, want: ask},
		{id: "S13 deny, dotted", mode: "bypassPermissions", tool: "Write", input: file("./x/../go.mod"), want: deny},
		{id: "S13 deny, through a link", mode: "bypassPermissions", tool: "Write", input: file("mod"), want: deny},
		{id: "S14 hooks", mode: "acceptEdits", tool: "Write", input: file(".git/hooks/post-merge"), want: ask},
		{id: "S14 a pointer to a repository", mode: "acceptEdits", tool: "Write", input: file("sub/.git"), want: ask},
		{id: "S14 a repository by its looks", mode: "acceptEdits", tool: "Write", input: file("g/HEAD"), want: ask},
		{id: "S14 a pointer, by a redirect", mode: "acceptEdits", tool: "Bash", input: bashInput("echo x > .git"),
			want: held, read: ask},
		{id: "S14 agents, by a child", agent: "general-purpose", mode: "acceptEdits", tool: "Write",
			input: file(".claude/agents/a.md"), want: ask},
		{id: "S14 editors", mode: "acceptEdits", tool: "Write", input: file(".vscode/settings.json"), want: ask},
		{id: "S14 by a redirect", mode: "acceptEdits", tool: "Bash", input: bashInput("echo x > .envrc"), want: held,
			read: ask},
		{id: "S28 plan above", agent: "loose", mode: "plan", tool: "Write", input: file("a"), want: deny},
		{id: "S28 plan above, a command", agent: "loose", mode: "plan", tool: "Bash", input: bashInput("make"),
			want: held, read: deny},
		{id: "S33 taken away and listed", agent: "git", mode: "bypassPermissions", tool: "Bash",
			input: bashInput("git status"), want: deny},
		{id: "S46 a longer name", tool: "WebFetch", input: page("https://go.dev.evil.com/"), want: ask},
		{id: "S46 in the path", tool: "WebFetch", input: page("https://evil.com/go.dev"), want: ask},
		{id: "S46 a user", tool: "WebFetch", input: page("https://go.dev@evil.com/"), want: deny},
		{id: "S46 the same, written otherwise", tool: "WebFetch", input: page("https://GO.DEV./"), want: allow},
		{id: "S46 looks alike", tool: "WebFetch", input: page("https://gо.dev/"), want: ask}, // a Cyrillic o
		{id: "S47 carries much away", tool: "WebFetch", input: page("https://go.dev/?d=" + strings.Repeat("x", 1500)),
			want: ask},
		{id: "S66 cat", tool: "Bash", input: bashInput("cat .env"), want: held, read: deny},
		{id: "S66 git", tool: "Bash", input: bashInput("git show HEAD:.env"), want: deny},
		{id: "S66 by /proc", tool: "Bash", input: bashInput("cat /proc/self/cwd/.env"), want: held, read: deny},
		{id: "S66 by a glob", tool: "Bash", input: bashInput("cat .e*"), want: held, read: ask},
		{id: "S66 Read", mode: "bypassPermissions", tool: "Read", input: map[string]any{"file_path": "sub/../.env"},
			want: deny},
		{id: "S68 sixty parts", mode: "bypassPermissions", tool: "Bash", input: bashInput(many), want: deny},
		{id: "S68 a long one", mode: "bypassPermissions", tool: "Bash", input: bashInput(long), want: deny},
		{id: "S68 nested", mode: "bypassPermissions", tool: "Bash", input: bashInput(nested), want: deny},
		{id: "S69 one part allowed", tool: "Bash", input: bashInput("go test ./... && make"), want: held, read: ask},
		{id: "S69 behind variables and wrappers", tool: "Bash", input: bashInput("X=1 timeout 3 nohup curl x"),
			want: deny},
		{id: "S69 in a function", tool: "Bash", input: bashInput("f() { curl x; }; f"), want: deny},
		{id: "S69 in a subshell", tool: "Bash", input: bashInput("(cd sub; c''url x)"), want: deny},
		{id: "S69 xargs", tool: "Bash", input: bashInput("ls | xargs -n 1 curl"), want: deny},
		{id: "S69 find", tool: "Bash", input: bashInput("find . -exec curl {} \\;"), want: deny},
		{id: "S70 declare", tool: "Bash", input: bashInput("declare x=$(curl x)"), want: deny},
		{id: "S70 a here-document", tool: "Bash", input: bashInput("cat <<E\n$(curl x)\nE"), want: deny},
		{id: "S70 arithmetic", tool: "Bash", input: bashInput("echo $((a[$(curl x)]))"), want: deny},
		{id: "S70 a subscript in quotes", mode: "bypassPermissions", tool: "Bash",
			input: bashInput("[[ -v 'a[$(curl x)]' ]]"), want: held, read: ask},
		{id: "S70 case", tool: "Bash", input: bashInput("case x in $(curl x)) ;; esac"), want: deny},
		{id: "S71 carriage return", mode: "bypassPermissions", tool: "Bash", input: bashInput("ls\rcurl x"), want: held,
			read: ask},
		{id: "S71 not a blank", mode: "bypassPermissions", tool: "Bash", input: bashInput("ls\u00a0-l"), want: held,
			read: ask},
		{id: "S71 vertical tab", mode: "bypassPermissions", tool: "Bash", input: bashInput("ls\vcurl"), want: held,
			read: ask},
		{id: "S71 nothing", tool: "Bash", input: bashInput("ls \x00 x"), want: deny},
	} {
		t.Run(tt.id, func(t *testing.T) {
			t.Parallel()
			for _, machine := range []string{"", "landlock"} {
				p := newPlace(t)
				p.lacks = machine
				p.write(".env", "A=b\n")
				p.write("go.mod", "module x\n")
				p.write("../home/settings.json",
					`{"permissions": {"allow": ["Bash(go test:*)", "WebFetch(domain:go.dev)"], "deny": ["Bash(curl:*)", "Edit(go.mod)"]}}`)
				p.write("../user/.claude/agents/loose.md", "---\nname: loose\ndescription: d\npermissionMode: "+
					"bypassPermissions\n---\nDo.\n")
				p.write("../user/.claude/agents/git.md", "---\nname: git\ndescription: d\ntools: Bash(git:*), "+
					"Read\ndisallowedTools: Bash\n---\nDo.\n")
				for name, to := range map[string]string{"out": "/etc", "mod": "go.mod"} {
					if err := os.Symlink(to, filepath.Join(p.dir, name)); err != nil {
						t.Fatal(err)
					}
				}
				input, err := json.Marshal(tt.input)
				if err != nil {
					t.Fatal(err)
				}
				want := tt.want
				if machine != "" && tt.read != "" {
					want = tt.read
				}
				call := wire.Call{ID: json.RawMessage("1"), Agent: tt.agent, Tool: tt.tool, Input: input}
				args := []string{"--permission-mode", "default"}
				if tt.mode != "" {
					args[1] = tt.mode
				}
				v := p.explain([]wire.Call{call}, args...)["1"]
				got := string(v.Decision)
				if got == allow && v.Sandbox == troupe.LevelReadOnly {
					got = held
				}
				if got != want {
					t.Errorf("without %q: %s, want %s (%s)", machine, got, want, v.Why)
				}
			}
		})
	}
}

func file(name string) map[string]any { return map[string]any{"file_path": name, "content": "x"} }

func bashInput(command string) map[string]any { return map[string]any{"command": command} }

func page(url string) map[string]any { return map[string]any{"url": url, "prompt": "p"} }

// TestWebFetchAddresses (S45): addresses that are not public are refused before anybody is
// asked, however they are written, also where everything is allowed.
func TestWebFetchAddresses(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var calls []wire.Call
	for _, host := range []string{
		"2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0", "127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254",
		"100.64.0.1", "198.18.0.1", "0.0.0.0",
		"[::1]", "[::]", "[::ffff:7f00:1]", "[::ffff:169.254.169.254]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
		"[fe80::1]", "[fe80::1%25eth0]", "[fd00::1]",
	} {
		id, err := json.Marshal(host)
		if err != nil {
			t.Fatal(err)
		}
		input, err := json.Marshal(page("http://" + host + "/"))
		if err != nil {
			t.Fatal(err)
		}
		calls = append(calls, wire.Call{ID: id, Tool: "WebFetch", Input: input})
	}
	for _, args := range [][]string{{"--allowed-tools", "WebFetch"}, {"--permission-mode", "bypassPermissions"}} {
		for id, v := range p.explain(calls, args...) {
			if v.Decision != "deny" {
				t.Errorf("%s %s: %s (%s)", id, args, v.Decision, v.Why)
			}
		}
	}
	// And in a run, for names that only turn out to be such when they are looked up.
	p.calls("main", "{tool: WebFetch, input: {url: \"http://localhost./x\", prompt: p}}",
		"{tool: WebFetch, input: {url: \"http://127.0.0.1/x\", prompt: p}}")
	run := p.run(0, "-p", "--model", "script:../s.yaml", "--allowed-tools", "WebFetch", "go")
	if len(run.Denials) > 0 || strings.Count(p.results("main"), "may not be reached") != 2 {
		t.Errorf("%+v\n%s", run.Denials, p.results("main"))
	}
}

// TestNothingOverpaints (S57 to S59): what the world says cannot move the cursor, hide a part
// of itself, or write the terminal's clipboard or title, in requests, logs and lists.
func TestNothingOverpaints(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	evil := "\x1b]52;c;ZXZpbA==\a\x1b[2J\x1b[1A\x1bc\u009b2J\x1b]0;t\a\u202e\u200b\r\b"
	name, err := json.Marshal("a" + evil + "b")
	if err != nil {
		t.Fatal(err)
	}
	command, err := json.Marshal("printf '" + evil + "'; touch x" + strings.Repeat(" ", 5000) + "; touch evil")
	if err != nil {
		t.Fatal(err)
	}
	p.write("f.txt", evil+"\n")
	p.write("../s.yaml", "replies:\n  - turn: 1\n    text: "+string(name)+
		"\n    calls:\n      - {tool: Write, input: {file_path: "+string(name)+", content: "+string(name)+
		"}}\n      - {tool: Read, input: {file_path: f.txt}}\n      - {tool: Bash, input: {command: "+string(command)+
		"}}\n  - text: "+string(name)+"\n")
	proc, err := startProcess(p.command("-p", "--model", "script:../s.yaml", "--name", "job", "--ask", "10m",
		"--output-format", "stream-json", "go"))
	if err != nil {
		t.Fatal(err)
	}
	p.eventually([]string{"job asks for"}, "requests")
	var shown strings.Builder
	note := func(args ...string) {
		r := p.troupe(args...)
		shown.WriteString(r.out + r.errOut)
		if args[0] == "requests" && strings.ContainsRune(r.out, '\u200b') {
			t.Errorf("what is asked hides a character: %q", r.out)
		}
	}
	seen := 0
	for line := range proc.lines {
		if strings.Contains(line, `"request.opened"`) {
			seen++
			note("requests")
			note("answer", "deny")
		}
	}
	if r, err := proc.wait(); err != nil || r.code != 0 || seen == 0 {
		t.Fatalf("%v, exit %d, %d requests\n%s", err, r.code, seen, r.errOut)
	}
	for _, args := range [][]string{{"log", "job"}, {"log", "job", "--tree"}, {"show", "job"}, {"sessions"},
		{"tasks", "job"}, {"cost", "job"}} {
		note(args...)
	}
	for i, r := range shown.String() {
		if r != '\n' && r != '\t' && (r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e') {
			t.Fatalf("%U is shown as it is: %q", r, shown.String()[max(0, i-60):min(shown.Len(), i+60)])
		}
	}
	if !strings.Contains(shown.String(), "touch evil") {
		t.Error("the end of the command is not shown")
	}
}
