package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk fills the disk in the middle of making a worktree and of saving it.
func TestFullDisk(t *testing.T) {
	b := newBench(t)
	for i := range 60 {
		b.write(fmt.Sprintf("f%d.txt", i), strings.Repeat(fmt.Sprint(i), 20_000))
	}
	b.git(b.dir, "add", "-A")
	b.git(b.dir, "commit", "-qm", "many")
	small := b.smallDisk(t, "small", "1")
	b.k = New(Options{Data: filepath.Join(small, "data"), Folders: filepath.Join(small, "folders"),
		Environ: b.environ()})
	b.k.free = func(string) (int64, bool) { return 0, false }
	ws := b.plan("full")
	if _, err := b.k.Open(t.Context(), ws, Making{}); err == nil || there(ws.Top) {
		t.Fatalf("made on a full disk: %v", err)
	}
	if err := syscall.Mount("", small, "", syscall.MS_REMOUNT, "size=8m"); err != nil {
		t.Fatal(err)
	}
	b.open(ws)
	put(t, filepath.Join(ws.Top, "mine.txt"), "line of the agent\n")
	filler := filepath.Join(small, "filler")
	_ = os.WriteFile(filler, make([]byte, 16<<20), 0o600) // as much as there is room for
	put(t, filepath.Join(b.home, "large"), strings.Repeat("x", 100_000))
	if _, err := b.k.Close(t.Context(), ws, Ending{Message: "full"}); err == nil {
		t.Error("closed on a full disk")
	}
	if get(filepath.Join(ws.Top, "mine.txt")) != "line of the agent\n" {
		t.Error("the agent's file is gone")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if res := b.close(ws); !res.Gone || b.show(res.Tip, "mine.txt") != "line of the agent\n" {
		t.Errorf("result: %+v", res)
	}
}
