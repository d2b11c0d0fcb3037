package hidden

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestQueueOverflows: more changes than the kernel keeps.
func TestQueueOverflows(t *testing.T) {
	t.Parallel()
	root := resolvedTemp(t)
	put(t, root+"/one")
	f := finder(t, root)
	now(t, f, secrets())
	for i := range 17_000 {
		name := filepath.Join(root, fmt.Sprint(i))
		must(t, os.Link(root+"/one", name), os.Remove(name))
	}
	put(t, root+"/late/.env")
	if got := now(t, f, secrets()); !slices.Equal(got, []string{root + "/late/.env"}) {
		t.Errorf("found %q", got)
	}
	put(t, root+"/.env")
	if got := now(t, f, secrets()); len(got) != 2 || f.State().Unwatched != "" {
		t.Errorf("found %q; %+v", got, f.State())
	}
}

// TestWatchesRunOut: then each call walks, says so, and keeps no watch that others could use.
func TestWatchesRunOut(t *testing.T) {
	t.Parallel()
	root := resolvedTemp(t)
	put(t, root+"/a/b/c/d/.env")
	f := finder(t, root)
	w, err := newWatch()
	must(t, err)
	w.most = 3
	f.watch = w
	for i := range 3 {
		put(t, fmt.Sprintf("%s/a/%d/.env", root, i))
		if got := now(t, f, secrets()); len(got) != i+2 {
			t.Errorf("found %q", got)
		}
	}
	if s := f.State(); !strings.Contains(s.Unwatched, "watches run out") || s.Names < 10 || f.watch != nil {
		t.Errorf("%+v", s)
	}
}

// TestWatchesRunOutLater: a folder comes for which there is no watch.
func TestWatchesRunOutLater(t *testing.T) {
	t.Parallel()
	root := resolvedTemp(t)
	f := finder(t, root)
	now(t, f, secrets())
	f.watch.most = 2
	put(t, root+"/a/b/c/.env")
	for range 2 {
		if got := now(t, f, secrets()); len(got) != 1 || f.State().Unwatched == "" {
			t.Errorf("found %q; %+v", got, f.State())
		}
	}
}

// TestWatchesAreFew: folders that come and go leave no watch and nothing in memory behind.
func TestWatchesAreFew(t *testing.T) {
	t.Parallel()
	root := resolvedTemp(t)
	f := finder(t, root)
	now(t, f, secrets())
	for i := range 100 {
		dir := filepath.Join(root, fmt.Sprint(i))
		put(t, dir+"/sub/.env")
		now(t, f, secrets())
		if i%2 == 0 {
			must(t, os.RemoveAll(dir))
		} else {
			must(t, os.Rename(dir, filepath.Join(t.TempDir(), "moved")))
		}
	}
	if got := now(t, f, secrets()); len(got) != 0 {
		t.Errorf("found %q", got)
	}
	if n := f.watch.placed.Load(); n != 1 || len(f.watch.nodes) != 1 || len(f.tree.top.children) != 0 ||
		len(f.tree.marked) != 0 {
		t.Errorf("%d watches, %d folders known, %d below the root, %d with hits", n, len(f.watch.nodes),
			len(f.tree.top.children), len(f.tree.marked))
	}
}

// TestFileSystems: the kernel's own are not looked into, and one that others can change is not watched.
func TestFileSystems(t *testing.T) {
	t.Parallel()
	f := finder(t, "/proc")
	now(t, f, secrets())
	if s := f.State(); s.Names != 0 {
		t.Errorf("looked at %d names of /proc", s.Names)
	}
	for magic, want := range map[uint32]disk{0xef53: local, 0x6969: remote, 0x65735546: remote, 0x9fa0: kernel} {
		if got := diskOf(magic); got != want {
			t.Errorf("%x: %v, want %v", magic, got, want)
		}
	}
}

// TestPathTooLong: a folder whose path no call takes stops nothing.
func TestPathTooLong(t *testing.T) {
	t.Parallel()
	root := resolvedTemp(t)
	put(t, root+"/.env")
	dir, err := os.OpenRoot(root)
	must(t, err)
	for range 20 {
		name := strings.Repeat("long", 60)
		must(t, dir.Mkdir(name, 0o755), dir.WriteFile(".env.x", nil, 0o600))
		below, err := dir.OpenRoot(name)
		must(t, err, dir.Close())
		dir = below
	}
	must(t, dir.Close())
	if got := now(t, finder(t, root), secrets()); len(got) < 15 {
		t.Errorf("found %d", len(got))
	}
}

// closedVariable names the folder in which the test plays an ordinary user.
const closedVariable = "TROUPE_TEST_CLOSED"

// TestClosedFolder: a folder that its owner closed is hidden whole, for who could open it again could read what it
// holds; and it is looked into once it is open.
func TestClosedFolder(t *testing.T) {
	root, ours := os.LookupEnv(closedVariable)
	if !ours {
		root = resolvedTemp(t)
		put(t, root+"/sub/.env")
		put(t, root+"/sub/plain")
	}
	if os.Geteuid() == 0 { // whom nothing is closed to
		asOther(t, root)
		return
	}
	f := finder(t, root)
	must(t, os.Chmod(root+"/sub", 0))
	for range 2 {
		if got := now(t, f, secrets()); !slices.Equal(got, []string{root + "/sub"}) {
			t.Errorf("while it is closed: %q", got)
		}
	}
	must(t, os.Chmod(root+"/sub", 0o755))
	if got := now(t, f, secrets()); !slices.Equal(got, []string{root + "/sub/.env"}) {
		t.Errorf("once it is open: %q", got)
	}
}

// asOther runs the test that calls it as a user that may not read everything.
func asOther(t *testing.T, root string) {
	t.Helper()
	const other = 65534
	for _, name := range []string{root, root + "/sub", root + "/sub/.env", filepath.Dir(root)} {
		must(t, os.Chown(name, other, other))
	}
	program := filepath.Join(root, "..", "program")
	data, err := os.ReadFile("/proc/self/exe")
	// A process that another test forks meanwhile would have it open for writing, and it could not be started.
	syscall.ForkLock.RLock()
	wrote := os.WriteFile(program, data, 0o755)
	syscall.ForkLock.RUnlock()
	must(t, err, wrote)
	cmd := exec.CommandContext(t.Context(), program, "-test.run", "^"+t.Name()+"$")
	cmd.Env, cmd.Dir = append(os.Environ(), closedVariable+"="+root), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: other, Gid: other}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as another user: %v\n%s", err, out)
	}
}
