package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/tool"
)

// TestMoveIsOnce: a command gives its turn away once, with the move, and what is over is not moved.
func TestMoveIsOnce(t *testing.T) {
	t.Parallel()
	env := tool.Env{OutputDir: t.TempDir(), CallID: "r1c0"}
	log, late := filepath.Join(env.OutputDir, "b1.log"), filepath.Join(env.OutputDir, "b2.log")
	left := 0
	u := newUnderway(newCapture(env), func() { left++ })
	if err := u.move(log); err != nil || left != 1 {
		t.Errorf("after the move it has left its turn %d times: %v", left, err)
	}
	_, moved := u.end()
	if u.leave(); !moved || left != 1 {
		t.Errorf("moved %v, and its turn was left %d times", moved, left)
	}
	over := newUnderway(newCapture(env), func() {})
	over.end()
	if over.move(late) == nil {
		t.Error("a command was moved after its end")
	}
	if _, err := os.Stat(late); err == nil {
		t.Error("what was over has a log")
	}
}

// TestMovedSaysWhatIsMissing: what could not be kept before the move is told at the end.
func TestMovedSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	env := tool.Env{OutputDir: t.TempDir(), CallID: "r1c0"}
	c := newCapture(env)
	c.add([]byte(strings.Repeat("x\n", keepHead+keepTail)))
	if err := c.file.f.Close(); err != nil { // a disk that is full
		t.Fatal(err)
	}
	c.add([]byte("lost\n"))
	j, err := c.toLog(filepath.Join(env.OutputDir, "b1.log"))
	if err != nil {
		t.Fatal(err)
	}
	if text := j.report("", ""); !strings.Contains(text, "could not all be kept") || !strings.HasSuffix(text, "lost") {
		t.Errorf("it ends with %q", text)
	}
}

// TestMoveWithoutPlace: a command whose output had no file is moved with what there is of it, and its end says
// that something is missing. One whose log cannot be made goes on as it was.
func TestMoveWithoutPlace(t *testing.T) {
	t.Parallel()
	env := tool.Env{OutputDir: t.TempDir(), CallID: "r1c0"}
	log, taken := filepath.Join(env.OutputDir, "b1.log"), filepath.Join(env.OutputDir, "b2.log")
	for _, folder := range []string{taken, filepath.Join(env.OutputDir, "r1c0.txt")} {
		if err := os.Mkdir(folder, 0o700); err != nil { // a file of that name cannot be made
			t.Fatal(err)
		}
	}
	u := newUnderway(newCapture(env), func() {})
	u.add([]byte(strings.Repeat("x\n", keepHead+keepTail) + "last\n"))
	if err := u.move(taken); err == nil || !strings.Contains(err.Error(), "b2.log") {
		t.Errorf("without a log it was moved: %v", err)
	}
	if out, moved := u.out.(*capture); !moved || u.moved || !strings.Contains(out.report("", ""), "could not be kept") {
		t.Error("it does not go on as it was")
	}
	if err := u.move(log); err != nil {
		t.Fatal(err)
	}
	u.add([]byte("more\n"))
	out, _ := u.end()
	if text := out.report("", ""); !strings.Contains(text, "could not all be kept") ||
		!strings.HasSuffix(text, "last\nmore") {
		t.Errorf("it ends with %q", text)
	}
	got, err := os.ReadFile(log)
	if err != nil || !strings.HasPrefix(string(got), "x\nx\n") || !strings.HasSuffix(string(got), "last\n") {
		t.Errorf("the log has %d bytes: %v", len(got), err)
	}
}
