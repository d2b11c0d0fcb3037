package demo

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The fix that the demo's agents find, as they give it to Edit.
const (
	fixFile = "internal/auth/auth.go"
	fixOld  = "time.Duration(s.cfg.SessionMinutes)"
	fixNew  = "time.Duration(s.cfg.SessionMinutes) * time.Minute"
)

// What the demo says about its project must be true: one test fails, for the reason the
// agents give, and the fix makes it pass without breaking another.
func TestProjectFailsAndCanBeFixed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unpackProject(dir); err != nil {
		t.Fatal(err)
	}

	out, ok := goTest(t, dir)
	if ok {
		t.Fatalf("the bug is gone:\n%s", out)
	}
	for _, want := range []string{
		"--- FAIL: TestLoginStaysSignedIn",
		`auth_test.go:31: 20 minutes after login: got "", session expired; want "ada" to be signed in`,
		"FAIL\texample.com/porch/internal/auth",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the failure should say %q:\n%s", want, out)
		}
	}
	if n := strings.Count(out, "--- FAIL"); n != 1 {
		t.Errorf("%d tests fail, want 1:\n%s", n, out)
	}

	p := filepath.Join(dir, fixFile)
	code, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(code), fixOld); n != 1 {
		t.Fatalf("%q is in %s %d times, so Edit would refuse it", fixOld, fixFile, n)
	}
	if err := os.WriteFile(p, []byte(strings.Replace(string(code), fixOld, fixNew, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, ok := goTest(t, dir); !ok {
		t.Errorf("the fix does not fix it:\n%s", out)
	}
}

// The project must build everywhere, without a network.
func TestProjectNeedsOnlyGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unpackProject(dir); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^module \S+\n\ngo 1\.22\n$`).Match(mod) {
		t.Errorf("go.mod asks for more than a Go that everybody has:\n%s", mod)
	}
}

func goTest(t *testing.T, dir string) (out string, ok bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "test", "./...")
	cmd.Dir = dir
	// Whatever workspace or flags the developer works with are not the project's.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-count=1")
	b, err := cmd.CombinedOutput()
	return string(b), err == nil
}
