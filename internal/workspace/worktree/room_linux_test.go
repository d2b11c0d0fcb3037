package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/troupe-dev/troupe"
)

// smallDisk mounts a disk of so many megabytes in the home, and gives its folder.
func (b *bench) smallDisk(t *testing.T, name, megabytes string) string {
	t.Helper()
	small := filepath.Join(b.home, name)
	if err := os.Mkdir(small, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size="+megabytes+"m"); err != nil {
		t.Skip("no small disk can be made here: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(small, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return small
}

// large makes a file that takes no room, and would as a copy.
func (b *bench) large(name string, bytes int64) {
	b.t.Helper()
	b.write(name, "")
	if err := os.Truncate(filepath.Join(b.dir, name), bytes); err != nil {
		b.t.Fatal(err)
	}
}

// TestRoomOnEachDisk: what is going to be written counts, untracked, changed and copied files included, on the disk
// where it is going to be; the birth is refused, with numbers, and so is the making where the files came since.
func TestRoomOnEachDisk(t *testing.T) {
	b := newBench(t)
	small := b.smallDisk(t, "small", "100")
	tiny := b.smallDisk(t, "tiny", "20")
	b.git(b.home, "clone", "-q", b.dir, filepath.Join(tiny, "project"))
	b.k.folders = filepath.Join(small, "folders")
	b.roomOn(small, 40<<20)
	b.k.data = filepath.Join(small, "data")
	b.roomOn(small, 20<<20) // each alone would have room
	b.k = b.keeper()
	b.k.data = filepath.Join(tiny, "data")
	b.roomOn(tiny, 40<<20)
	b.k, b.dir = b.keeper(), filepath.Join(tiny, "project")
	b.roomOn(tiny, 40<<20)
}

func (b *bench) roomOn(disk string, bytes int64) {
	b.t.Helper()
	plan := func() (troupe.Workspace, error) {
		b.k.asked.last = answer{}
		return b.k.Plan(b.t.Context(), Wish{Owner: newID(b.t), Kind: troupe.WorkspaceTree, Title: "t", From: b.dir})
	}
	ws, err := plan()
	if err != nil {
		b.t.Errorf("there is room on %s: %v", disk, err)
		return
	}
	refused := func(what string, err error) {
		b.t.Helper()
		if err == nil || !strings.Contains(err.Error(), "no room") || !strings.Contains(err.Error(), "and "+disk) {
			b.t.Errorf("%s on %s: %v", what, disk, err)
		}
	}
	for name, prepare := range map[string]func(){
		"untracked": func() { b.large("untracked", bytes) },
		"changed":   func() { b.large("a.txt", bytes) },
		"copied":    func() { b.write(".worktreeinclude", "*.log\n"); b.large("x.log", bytes) },
	} {
		if name == "copied" && (bytes < 40<<20 || strings.HasSuffix(disk, "tiny")) {
			continue // it is copied into the folder alone
		}
		prepare()
		_, err := plan()
		refused(name, err)
		if _, err := b.k.Open(b.t.Context(), ws, Making{}); err != nil {
			refused(name+" meanwhile", err)
		} else {
			b.t.Errorf("%s: made without room on %s", name, disk)
		}
		if there(ws.Top) || there(filepath.Join(b.k.data, string(ws.Owner))) {
			b.t.Error("something of it is there")
		}
		b.git(b.dir, "checkout", "-q", ".")
		b.git(b.dir, "clean", "-qfdx")
	}
	b.open(ws)
	b.close(ws)
}

// TestFullDiskOfTheCaller fills the disk of the caller's repository before an agent's end: nothing is lost.
func TestFullDiskOfTheCaller(t *testing.T) {
	b := newBench(t)
	small := b.smallDisk(t, "small", "8")
	b.git(b.home, "clone", "-q", b.dir, filepath.Join(small, "project"))
	b.dir = filepath.Join(small, "project")
	ws := b.made("full")
	put(t, filepath.Join(ws.Top, "mine.txt"), "line of the agent\n")
	b.save(ws)
	filler := filepath.Join(small, "filler")
	_ = os.WriteFile(filler, make([]byte, 16<<20), 0o600) // as much as there is room for
	res, err := b.k.Close(t.Context(), ws, Ending{Message: "full"})
	if err == nil && res.Kept == "" || res.Gone {
		t.Errorf("ended on a full disk: %+v, %v", res, err)
	}
	if get(filepath.Join(ws.Top, "mine.txt")) != "line of the agent\n" {
		t.Error("the agent's file is gone")
	}
	b.has(filepath.Join(b.k.data, string(ws.Owner), "repo.git"), []string{"line of the agent"})
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	b.fsck(filepath.Join(b.dir, ".git"))
	if res := b.close(ws); !res.Gone || b.show(res.Tip, "mine.txt") != "line of the agent\n" {
		t.Errorf("result: %+v", res)
	}
}
