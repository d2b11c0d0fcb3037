package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The public packages that `make test-mcp` runs, pinned: what it shows today it shows tomorrow.
const (
	npmEverything  = "@modelcontextprotocol/server-everything@2026.8.31"
	npmFilesystem  = "@modelcontextprotocol/server-filesystem@2026.8.31"
	npmConformance = "@modelcontextprotocol/conformance@0.1.16"
	npmNode        = "node@22.23.3" // which the conformance suite needs
)

// needNPM skips a test that was not asked for, and fails where Node is missing: then nothing was tried.
func needNPM(t *testing.T) {
	t.Helper()
	if os.Getenv("TROUPE_TEST_NPM") == "" {
		t.Skip("the public MCP servers are tried by `make test-mcp`")
	}
	if _, err := exec.LookPath("npx"); err != nil {
		t.Fatal("Node is missing: npx is not on the PATH, so nothing of npm was tried")
	}
}

// npmHome is a folder with a user and a home of its own, and how troupe is run there.
func npmHome(t *testing.T) (dir string, run func(args ...string) string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir, func(args ...string) string {
		t.Helper()
		cmd := exec.Command(binary, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, ".user"), "TROUPE_HOME="+filepath.Join(dir, ".home"),
			"TROUPE_TEST_SECRET=not-for-servers")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("troupe %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
}

const everythingCalls = `
replies:
  - agent: main
    turn: 1
    calls:
      - {tool: mcp__everything__echo, input: {message: hello there}}
      - {tool: mcp__everything__get-sum, input: {a: 40, b: 2}}
      - {tool: mcp__everything__get-env, input: {}}
      - {tool: mcp__everything__get-tiny-image, input: {}}
      - {tool: mcp__everything__get-structured-content, input: {location: Chicago}}
      - {tool: mcp__everything__trigger-long-running-operation, input: {duration: 1, steps: 2}}
      - {tool: mcp__everything__trigger-elicitation-request, input: {}}
      - {tool: mcp__everything__get-sum, input: {a: x}}
      - {tool: ListMcpResourcesTool, input: {}}
      - {tool: ReadMcpResourceTool, input: {server: everything, uri: "demo://resource/dynamic/text/1"}}
  - {agent: main, text: all called}
`

// TestNPMEverything: the server that the protocol's authors wrote to try clients with is fetched, started in the
// sandbox, listed, and called: texts, an image, structured content, progress, a question, errors, resources, prompts.
func TestNPMEverything(t *testing.T) {
	needNPM(t)
	t.Parallel()
	dir, run := npmHome(t)
	run("mcp", "add", "everything", "--", "npx", "-y", npmEverything)
	wants(t, run("mcp", "test", "everything"), "mcp__everything__echo", "prompts    args-prompt", "resources  yes")
	put(t, filepath.Join(dir, "s.yaml"), everythingCalls)
	wants(t, run("-p", "--model", "script:s.yaml", "--allowed-tools", "mcp__everything", "--name", "called", "go"),
		"all called")
	out := run("log", "called")
	wants(t, out, "Echo: hello there", "The sum of 40 and 2 is 42.", `"TMPDIR": `, "The image above is the MCP logo.",
		"Long running operation completed", "this run cannot ask a person",
		"expected number",
		"demo://resource/static/document/", "This is a plaintext resource")
	if strings.Contains(out, "not-for-servers") {
		t.Error("the server was told a variable that its entry does not name")
	}
	wants(t, run("-p", "--model", "script:s.yaml", "--allowed-tools", "mcp__everything", "--name", "prompted",
		"/mcp__everything__args-prompt Paris"), "all called")
	wants(t, run("log", "prompted"), "What's weather in Paris?")
	everythingAsks(t, dir, run)
}

// everythingAsks: the form of that server, which has a field of each kind there is, is put to a person.
func everythingAsks(t *testing.T, dir string, run func(args ...string) string) {
	t.Helper()
	asked := make(chan string)
	go func() {
		defer close(asked)
		asked <- run("-p", "--model", "script:s.yaml", "--allowed-tools", "mcp__everything", "--name", "asked", "--ask",
			"10m", "go")
	}()
	for {
		select {
		case out := <-asked:
			t.Fatalf("it ended without a question:\n%s", out)
		case <-time.After(100 * time.Millisecond):
		}
		if strings.Contains(run("requests"), "asked asks 13 questions") {
			break
		}
	}
	run("answer", "--text", "name=Ada", "--choice", "check=Yes", "--text", "email=ada@example.com",
		"--text", "birthdate=1815-12-10", "--text", "integer=7", "--choice", "number=(leave it out)",
		"--choice", "firstLine=(leave it out)", "--choice", "homepage=(leave it out)",
		"--choice", "legacyTitledEnum=Birds", "--choice", "titledSingleSelectEnum=Green Lantern",
		"--choice", "titledMultipleSelectEnum=Tuna", "--choice", "titledMultipleSelectEnum=Trout",
		"--choice", "untitledSingleSelectEnum=Ross", "--choice", "untitledMultipleSelectEnum=Piano")
	wants(t, <-asked, "all called")
	wants(t, run("log", "asked"), "User provided the requested information", "Name: Ada", `"hero-2"`, `"fish-3"`,
		`"pet-3"`,
		`"integer": 7`)
}

const filesystemCalls = `
replies:
  - agent: main
    turn: 1
    calls:
      - {tool: mcp__files__read_text_file, input: {path: notes.txt}}
      - {tool: mcp__files__write_file, input: {path: made.txt, content: made by a server}}
      - {tool: mcp__files__read_text_file, input: {path: .env}}
      - {tool: mcp__files__write_file, input: {path: .mcp.json, content: "{}"}}
      - {tool: mcp__files__read_text_file, input: {path: /etc/hostname}}
  - {agent: main, text: all called}
`

// TestNPMFilesystem: the public server for files works in the folder, and the sandbox holds it: it neither reads what
// is hidden nor writes what is protected, although its own rules would let it.
func TestNPMFilesystem(t *testing.T) {
	needNPM(t)
	t.Parallel()
	dir, run := npmHome(t)
	put(t, filepath.Join(dir, "s.yaml"), filesystemCalls)
	put(t, filepath.Join(dir, "notes.txt"), "words in a file")
	put(t, filepath.Join(dir, ".env"), "KEY=very-hidden-words")
	run("mcp", "add", "files", "--", "npx", "-y", npmFilesystem, dir)
	wants(t, run("mcp", "test", "files"), "mcp__files__read_text_file", "sandbox    workspace")
	wants(t, run("-p", "--model", "script:s.yaml", "--allowed-tools", "mcp__files", "--name", "called", "go"),
		"all called")
	out := run("log", "called")
	wants(t, out, "words in a file", "EACCES: permission denied, open '"+filepath.Join(dir, ".env")+"'",
		"EACCES: permission denied, open '"+filepath.Join(dir, ".mcp.json")+"'", "path outside allowed directories")
	if strings.Contains(out, "very-hidden-words") {
		t.Error("the server read a hidden file")
	}
	data, err := os.ReadFile(filepath.Join(dir, "made.txt"))
	if err != nil || string(data) != "made by a server" {
		t.Errorf("made.txt: %q, %v", data, err)
	}
}

func wants(t *testing.T, out string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(out, w) {
			t.Errorf("no %q in:\n%s", w, out)
		}
	}
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
