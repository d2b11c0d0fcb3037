package e2e_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/mcp/mcptest"
)

const loginScript = `
replies:
  - {agent: main, turn: 1, contains: look at it, calls: [{tool: Read, input: {file_path: FILE}}, {tool: Bash, input: {command: "cat FILE; env"}}, {tool: Grep, input: {pattern: access_token, path: DIR}}]}
  - {agent: main, turn: 1, calls: [{tool: mcp__docs__tell, input: {}}]}
  - {agent: main, text: all done}
`

// TestMCPLogin: a server that wants to know who asks is told as one that needs a login, wherever it is told; a person
// logs in with a browser; its tools are had then, and the token is in no log, no environment and no agent's reach. A
// project's server has to be trusted first, and an entry that leads elsewhere has no token.
func TestMCPLogin(t *testing.T) {
	t.Parallel()
	servers := mcptest.Authorize()
	defer servers.Close()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(binary, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, ".user"), "TROUPE_HOME="+filepath.Join(dir, ".home"))
		return cmd
	}
	run := func(args ...string) string {
		out, _ := command(args...).CombinedOutput() // what it says is looked at
		return string(out)
	}
	asks := func(name string) string {
		run("-p", "--model", "script:s.yaml", "--allowed-tools", "mcp__docs", "--name", name, "go")
		return run("log", name)
	}
	put(t, filepath.Join(dir, "s.yaml"), loginScript)
	put(t, filepath.Join(dir, ".mcp.json"), `{"mcpServers": {"docs": {"url": "`+servers.URL()+`"}}}`)

	wants(t, login(t, command("mcp", "login", "docs")), `there is no MCP server "docs" here`,
		"once its folder is trusted")
	run("--trust", "-p", "--model", "script:s.yaml", "go")
	const needs = "needs login: troupe mcp login docs"
	wants(t, run("mcp", "test", "docs"), needs)
	wants(t, run("mcp", "list"), "docs: "+needs)
	run("mcp", "logout", "docs")

	begun := login(t, command("mcp", "login", "docs"))
	wants(t, begun, "You are logged in to docs. It offers")
	wants(t, run("mcp", "get", "docs"), "login      yes", "mcp__docs__tell")
	out := asks("told")
	wants(t, out, "sent as Bearer ‹masked login at an MCP server›", "all done")
	token := servers.Tokens()[0]
	files, err := filepath.Glob(filepath.Join(dir, ".home", "logins", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	script := strings.NewReplacer("FILE", files[0], "DIR", filepath.Dir(files[0])).Replace(loginScript)
	put(t, filepath.Join(dir, "s.yaml"), script)
	run("-p", "--model", "script:s.yaml", "--allowed-tools", "Bash,Read,Grep", "--name", "looked", "look at it")
	out = run("log", "looked")
	wants(t, out, "logins at MCP servers")
	if strings.Contains(out, token) || strings.Contains(out, "refresh_token") {
		t.Errorf("an agent read the login:\n%s", out)
	}
	if found := holding(t, filepath.Join(dir, ".home"), token); len(found) != 1 || found[0] != files[0] {
		t.Errorf("the token is in %v", found)
	}

	// The token is worthless by now: the call's error says what to do.
	servers.Forget(true)
	wants(t, asks("refused"), "MCP server docs: "+needs)
	wants(t, run("mcp", "get", "docs"), "login      it has expired")
	wants(t, login(t, command("mcp", "login", "docs")), "You are logged in to docs.")

	// The project leads elsewhere: what answers there gets nothing.
	other := mcptest.Authorize()
	defer other.Close()
	put(t, filepath.Join(dir, ".mcp.json"), `{"mcpServers": {"docs": {"url": "`+other.URL()+`"}}}`)
	run("--trust", "-p", "--model", "script:s.yaml", "go")
	wants(t, run("mcp", "test", "docs"), needs)
	if sent := strings.TrimSpace(other.Sent()); sent != "" {
		t.Errorf("the other address was sent %q", sent)
	}
	put(t, filepath.Join(dir, ".mcp.json"), `{"mcpServers": {"docs": {"url": "`+servers.URL()+`"}}}`)
	run("--trust", "-p", "--model", "script:s.yaml", "go")
	wants(t, run("mcp", "test", "docs"), "mcp__docs__tell")
	wants(t, run("mcp", "logout", "docs"), "The login at docs is forgotten.")
	wants(t, run("mcp", "list"), "docs: "+needs)
	wants(t, run("mcp", "logout", "docs"), "You were not logged in to docs.")
	servers.Refuses = true
	wants(t, login(t, command("mcp", "login", "docs")), "docs: the login was refused (access_denied")
}

// login runs the command and opens what it prints, as a person with a browser does.
func login(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		all.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "http://127.0.0.1:") {
			if said, err := mcptest.Browse(lines.Text()); err != nil || !strings.Contains(said, "close this page") {
				t.Errorf("the browser shows %q, %v", said, err)
			}
		}
	}
	_ = cmd.Wait() // what it says is looked at
	return all.String()
}

// holding are the files below a folder that have a text in them.
func holding(t *testing.T, dir, text string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), text) {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
