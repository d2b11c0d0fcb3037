//go:build unix

package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/cli/chat/ptytest"
)

// talk begins a conversation at a terminal; the returned function ends it by Ctrl-D.
func (p *place) talk(width int, args ...string) (*ptytest.Terminal, func()) {
	p.t.Helper()
	term := ptytest.Open(p.t, width, 40)
	cmd := p.command(args...)
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.TTY, term.TTY, term.TTY
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	done := false
	p.t.Cleanup(func() {
		if !done { // a test that has failed leaves it to us
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			term.Close()
		}
	})
	return term, func() {
		p.t.Helper()
		term.Until("a prompt with nothing at work", func(s string) bool { return strings.HasSuffix(s, "\n>") })
		done = true
		term.Keys("\x04")
		if code, err := exitCode(cmd.Wait()); err != nil || code != 0 {
			p.t.Errorf("the conversation ended with %d, %v:\n%s", code, err, term.Shown())
		}
		term.Close()
	}
}

const statusScript = "input=$(cat); printf '%s' \"$input\" > \"$HOME/seen\"; " +
	"case $input in *'\"total_cost_usd\":0,'*) spent=nothing ;; *) spent=something ;; esac\n" +
	"echo \"line of $1, $COLUMNS columns, spent $spent\"\n"

// TestStatusLine: the command of the setting statusLine is told of the conversation what public scripts read, and what
// it prints stands in it; a run without one does not start it. It is read anew, so one that was just written is shown.
func TestStatusLine(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("../s.yaml", "price: {input: 1, output: 1, cache_read: 1, cache_write: 1}\nwindow: 100000\n"+
		"replies:\n  - {turn: 1, text: hello there, usage: {input: 20000, output: 10}}\n  - {text: more}\n")
	p.write("../user/.claude/line.sh", statusScript)
	set := func(who string) {
		p.write("../user/.claude/settings.json",
			`{"statusLine": {"type": "command", "command": "sh ~/.claude/line.sh `+who+`"}}`)
	}
	set("mine")
	p.troupe("-p", "--model", "script:../s.yaml", "go")
	seen := filepath.Join(p.root, "user", "seen")
	if _, err := os.Stat(seen); err == nil {
		t.Error("a run without a conversation started the status line")
	}
	term, end := p.talk(100, "--model", "script:../s.yaml")
	shows(term, "line of mine, 100 columns, spent nothing")
	term.Keys("hi\r")
	shows(term, "hello there")
	shows(term, "line of mine, 100 columns, spent something")
	set("another")
	term.Keys("and\r")
	shows(term, "line of another, 100 columns")
	end()
	var told struct {
		Session   string `json:"session_id"`
		Cwd       string `json:"cwd"`
		Version   string `json:"version"`
		Workspace struct {
			Current string `json:"current_dir"`
			Project string `json:"project_dir"`
		} `json:"workspace"`
		Model struct {
			ID   string `json:"id"`
			Name string `json:"display_name"`
		} `json:"model"`
		Style struct {
			Name string `json:"name"`
		} `json:"output_style"`
		Cost struct {
			USD float64 `json:"total_cost_usd"`
		} `json:"cost"`
		Window struct {
			Size int64  `json:"context_window_size"`
			Used *int64 `json:"used_percentage"`
			Now  *struct {
				Input int64 `json:"input_tokens"`
			} `json:"current_usage"`
		} `json:"context_window"`
	}
	data, err := os.ReadFile(seen)
	if err == nil {
		err = json.Unmarshal(data, &told)
	}
	w := told.Window
	if err != nil || told.Session == "" || told.Cwd != p.dir || told.Version == "" || told.Workspace.Current != p.dir ||
		told.Workspace.Project != p.dir || told.Model.ID == "" || told.Model.Name == "" ||
		told.Style.Name != "default" || told.Cost.USD <= 0 || w.Size != 100_000 || w.Used == nil || w.Now == nil {
		t.Errorf("the status line was told %s (%v)", data, err)
	}
}

// TestStatusLineOfProject: it runs once the folder is trusted, with all that it names, and no more when one of that has
// changed; the question shows it.
func TestStatusLineOfProject(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("../s.yaml", "replies:\n  - {text: hello there}\n")
	p.write("line.sh", statusScript)
	p.write(".claude/settings.json", `{"statusLine": {"type": "command", "command": "sh line.sh project"}}`)
	r := p.troupe("-p", "--model", "script:../s.yaml", "go")
	if strings.Contains(r.errOut, "statusLine") {
		t.Errorf("it is said not to be followed: %s", r.errOut)
	}
	args := []string{"--model", "script:../s.yaml"}
	term, end := p.talk(100, args...)
	shows(term, "hook in .claude/settings.json: the status line: sh line.sh project")
	shows(term, "script in line.sh")
	shows(term, "Enter?")
	term.Keys("no\r")
	shows(term, "\n>")
	term.Keys("hi\r")
	shows(term, "hello there")
	end()
	if strings.Contains(term.Shown(), "line of project") {
		t.Errorf("it ran untrusted:\n%s", term.Shown())
	}
	term, end = p.talk(100, args...)
	shows(term, "the status line: sh line.sh project")
	shows(term, "Enter?")
	term.Keys("yes\r")
	shows(term, "line of project, 100 columns")
	p.write("line.sh", "echo evil\n")
	term.Keys("hi\r")
	shows(term, "hello there")
	end()
	if strings.Contains(term.Shown(), "evil") {
		t.Errorf("it ran though its script had changed:\n%s", term.Shown())
	}
	if r := p.troupe("hooks"); !strings.Contains(r.out, "Status") || !strings.Contains(r.out, "no: ") {
		t.Errorf("`troupe hooks` prints\n%s", r.out)
	}
}

// TestStatusLineKeepsToItsFiles: a file of the project that a line of the user's own names is not run once it has
// changed, for an agent may have written it. That is told once.
func TestStatusLineKeepsToItsFiles(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("../s.yaml", "replies:\n  - {text: hello there}\n")
	p.write("line.sh", statusScript)
	p.write("../user/.claude/settings.json", `{"statusLine": {"type": "command", "command": "sh line.sh own"}}`)
	term, end := p.talk(100, "--model", "script:../s.yaml")
	shows(term, "line of own, 100 columns")
	p.write("line.sh", "echo evil\n")
	term.Keys("hi\r")
	shows(term, "the status line of the settings fails:")
	shows(term, "line.sh has changed since the status line")
	end()
	if strings.Contains(term.Shown(), "evil") {
		t.Errorf("it ran though its script had changed:\n%s", term.Shown())
	}
}

// TestStatuslineAgent: the agent that writes the setting asks a person about it, in every mode that asks, and what it
// wrote is shown.
func TestStatuslineAgent(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	own := filepath.Join(p.home(), "settings.json")
	p.write("../s.yaml", `
replies:
  - {agent: main, turn: 1, calls: [{tool: Agent, input: {subagent_type: Statusline, name: line, description: d, prompt: show x}}]}
  - {agent: Statusline, turn: 1, calls: [{tool: Write, input: {file_path: "`+own+`", content: '{"statusLine": {"type": "command", "command": "echo written by it"}}'}}]}
  - {text: all done}
`)
	p.troupe("-p", "--model", "script:../s.yaml", "--permission-mode", "acceptEdits", "go")
	if _, err := os.Stat(own); err == nil {
		t.Fatal("it was written without a person")
	}
	term, end := p.talk(100, "--model", "script:../s.yaml", "--permission-mode", "acceptEdits")
	shows(term, "\n>")
	term.Keys("go\r")
	shows(term, "main/line asks: Write")
	term.Keys("y\r")
	shows(term, "\nwritten by it\n")
	end()
}

func shows(term *ptytest.Terminal, words string) {
	term.Until("…"+words+"…", func(s string) bool { return strings.Contains(s, words) })
}
