package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNPMServers: the public servers of the protocol's authors are fetched, started in the sandbox and listed. It
// needs the network and some minutes: `make test-mcp`.
func TestNPMServers(t *testing.T) {
	t.Parallel()
	if os.Getenv("TROUPE_TEST_NPM") == "" {
		t.Skip("the public MCP servers are tried by `make test-mcp`")
	}
	if _, err := exec.LookPath("npx"); err != nil {
		t.Fatal("Node is missing: npx is not on the PATH, so the public MCP servers were not tried")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		cmd := exec.Command(binary, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, ".user"), "TROUPE_HOME="+filepath.Join(dir, ".home"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("troupe %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"everything": {[]string{"@modelcontextprotocol/server-everything"}, "mcp__everything__echo"},
		"files":      {[]string{"@modelcontextprotocol/server-filesystem", dir}, "mcp__files__read_text_file"},
	} {
		run(append([]string{"mcp", "add", name, "--", "npx", "-y"}, c.args...)...)
		if out := run("mcp", "test", name); !strings.Contains(out, c.want) {
			t.Errorf("%s does not have %s:\n%s", name, c.want, out)
		}
	}
}
