package worktree

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOtherDisk: folders of agents work on another file system than the project, and what keeps them on a third
// (ADR 0045).
func TestOtherDisk(t *testing.T) {
	b := newBench(t)
	other := filepath.Join(b.home, "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", other, "tmpfs", 0, "size=256m"); err != nil {
		var err2 error
		if other, err2 = os.MkdirTemp("/dev/shm", "troupe-test-*"); err2 != nil || sameDisk(t, other, b.dir) {
			t.Skip("there is no second disk here: ", err, err2)
		}
		t.Cleanup(func() { _ = os.RemoveAll(other) })
	} else {
		t.Cleanup(func() {
			if err := syscall.Unmount(other, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
	b.k = New(Options{Data: b.k.data, Folders: filepath.Join(other, "folders"), Environ: b.environ()})
	ws := b.made("away")
	put(t, filepath.Join(ws.Top, "a.txt"), "1\n")
	put(t, filepath.Join(ws.Top, "new.txt"), "new\n")
	b.save(ws)
	b.brought(ws)
	if get(filepath.Join(b.dir, "new.txt")) != "new\n" {
		t.Error("it was not merged")
	}
	put(t, filepath.Join(ws.Top, "more.txt"), "more\n")
	if res := b.close(ws); !res.Gone || b.show(res.Tip, "more.txt") != "more\n" {
		t.Errorf("closed: %+v", res)
	}
	b.open(ws)
	if get(filepath.Join(ws.Top, "more.txt")) != "more\n" {
		t.Error("it is not as it was")
	}
	b.fsck(filepath.Join(b.dir, ".git"))
}

func sameDisk(t *testing.T, a, b string) bool {
	t.Helper()
	var s1, s2 syscall.Stat_t
	if err := syscall.Stat(a, &s1); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Stat(b, &s2); err != nil {
		t.Fatal(err)
	}
	return s1.Dev == s2.Dev
}
