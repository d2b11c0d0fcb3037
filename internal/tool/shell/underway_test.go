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
	if !u.move(log) || left != 1 {
		t.Errorf("after the move it has left its turn %d times", left)
	}
	_, moved := u.end()
	if u.leave(); !moved || left != 1 {
		t.Errorf("moved %v, and its turn was left %d times", moved, left)
	}
	over := newUnderway(newCapture(env), func() {})
	over.end()
	if over.move(late) {
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
