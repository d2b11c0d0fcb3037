package app

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/workspace/git"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// TestGitReadsNoMore: a folder that is exchanged for a link while git reads a file before another one has nothing saved
// that no agent may read, neither of an agent's own folder nor of the one that it is made from.
func TestGitReadsNoMore(t *testing.T) {
	t.Parallel()
	const secret = "a key that no agent may read"
	g, dir := guardedFolder(t)
	dir = filepath.Join(filepath.Dir(dir), "tree")
	keys := filepath.Join(g.app.dirs.Home, ".ssh")
	writeFile(t, filepath.Join(keys, "id"), secret)
	writeFile(t, filepath.Join(dir, "secrets", "id"), secret)
	writeFile(t, filepath.Join(dir, ".troupe", "settings.json"), `{"sandbox": {"deny_read": ["secrets/**"]}}`)
	writeFile(t, filepath.Join(dir, ".gitignore"), "secrets\n")
	writeFile(t, filepath.Join(dir, "a.txt"), "a\n")
	if out, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	reader := newReader(g.app)
	if len(reader.box.Levels()) == 0 {
		t.Skip("the kernel confines nothing here")
	}
	var folder, to string // the folder is exchanged for a link to the other when its file is read; "": it is not
	w := &workspaces{app: g.app, guard: g, keeper: worktree.New(worktree.Options{Data: g.app.dirs.Workspaces(),
		Folders: g.app.dirs.Worktrees, Environ: g.app.env.Environ,
		Reading: func(ctx context.Context, ws troupe.Workspace, repository string) (worktree.Reading, error) {
			how, err := reader.reading(ctx, ws, repository)
			if folder != "" {
				how.Start = startAnd(t, how.Start, filepath.Join(folder, "a"), func() { link(t, folder, to) })
			}
			return how, err
		}})}
	born := func(name string) (troupe.Session, error) {
		id, err := troupe.NewRootID(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		s := troupe.Session{ID: id, Root: id, Cwd: dir}
		if s.Workspace, err = w.Plan(s, session.Wish{ID: id, Kind: troupe.WorkspaceTree, Name: name}); err != nil {
			t.Fatal(err)
		}
		_, err = w.Open(t.Context(), session.Opening{Session: s})
		return s, err
	}
	large := strings.Repeat("\x00", 32<<20)
	for _, place := range []string{keys, filepath.Join(dir, "secrets")} {
		s, err := born("fresh-" + filepath.Base(place))
		if err != nil {
			t.Fatal(err)
		}
		folder, to = filepath.Join(s.Workspace.Top, "d"), place
		writeFile(t, filepath.Join(folder, "a"), large)
		writeFile(t, filepath.Join(folder, "id"), "mine")
		if saved, err := w.Save(t.Context(), s, session.Unsaved{}); err == nil {
			t.Errorf("saved what a link led to: %+v", saved)
		}
		link(t, folder, "")
		mine := folder
		folder = ""
		if saved, err := w.Save(t.Context(), s, session.Unsaved{}); err != nil || saved.Files == 0 {
			t.Errorf("saved %+v of %s afterwards: %v", saved, mine, err)
		}

		folder = filepath.Join(dir, "d")
		writeFile(t, filepath.Join(folder, "a"), large)
		writeFile(t, filepath.Join(folder, "id"), "yours")
		if _, err := born("base-" + filepath.Base(place)); err == nil {
			t.Error("a folder was made with what a link led to")
		}
		for _, name := range []string{folder, folder + "-link"} {
			if err := os.RemoveAll(name); err != nil {
				t.Fatal(err)
			}
		}
		folder = ""
	}
	if objects := kept(t, g.app.dirs.Workspaces(), secret); objects != "" {
		t.Errorf("the key is kept in %s", objects)
	}
}

// link exchanges a folder for a link; to "" takes that back.
func link(t *testing.T, folder, to string) {
	t.Helper()
	other := folder + "-link"
	if to != "" {
		if err := os.Symlink(to, other); err != nil {
			t.Error(err)
		}
	}
	if err := unix.Renameat2(unix.AT_FDCWD, folder, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE); err != nil {
		t.Error(err)
	}
	if to == "" {
		if err := os.Remove(other); err != nil {
			t.Error(err)
		}
	}
}

// TestReplacedInTheSameSecond: git that is confined sees that a file was replaced by one of its size and time.
func TestReplacedInTheSameSecond(t *testing.T) {
	t.Parallel()
	g, dir := guardedFolder(t)
	dir = filepath.Join(filepath.Dir(dir), "tree")
	writeFile(t, filepath.Join(dir, "a.txt"), "one\n")
	w, s := inWorktree(t, g, dir, "same")
	if _, err := w.Open(t.Context(), session.Opening{Session: s}); err != nil {
		t.Fatal(err)
	}
	long := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC) // ago, so that the index is newer
	trees := map[string]bool{}
	for _, text := range []string{"two\n", "six\n"} {
		name := filepath.Join(s.Workspace.Top, "a.txt")
		writeFile(t, name+".new", text)
		if err := os.Chtimes(name+".new", long, long); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(name+".new", name); err != nil {
			t.Fatal(err)
		}
		saved, err := w.Save(t.Context(), s, session.Unsaved{})
		if err != nil {
			t.Fatal(err)
		}
		trees[saved.Tree] = true
	}
	if len(trees) != 2 {
		t.Error("a file that was replaced is not saved")
	}
}

// TestSavedWithoutTheProject: what an agent did in a copy is saved though the folder that it was made from is gone.
func TestSavedWithoutTheProject(t *testing.T) {
	t.Parallel()
	g, dir := guardedFolder(t)
	dir = filepath.Join(filepath.Dir(dir), "tree")
	writeFile(t, filepath.Join(dir, "a.txt"), "one\n")
	w, s := inWorktree(t, g, dir, "alone")
	s.Workspace = troupe.Workspace{}
	work, err := w.Plan(s, session.Wish{ID: s.ID, Kind: troupe.WorkspaceCopy, Name: "alone"})
	if err != nil {
		t.Fatal(err)
	}
	s.Workspace = work
	if _, err := w.Open(t.Context(), session.Opening{Session: s}); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(work.Top, "new.txt"), "new\n")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if saved, err := w.Save(t.Context(), s, session.Unsaved{}); err != nil || saved.Files != 1 {
		t.Errorf("saved %+v, %v", saved, err)
	}
}

// startAnd starts a program and does something as soon as it opens a file.
func startAnd(t *testing.T, start git.Start, file string, do func()) git.Start {
	return func(bin string, argv []string, attr *os.ProcAttr) (*os.Process, func(), error) {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err == nil {
			_, err = unix.InotifyAddWatch(fd, file, unix.IN_OPEN)
		}
		if err != nil {
			t.Error(err)
		}
		exchanged := make(chan struct{})
		go func() {
			defer close(exchanged)
			if n, err := unix.Read(fd, make([]byte, 4096)); err != nil || n == 0 {
				t.Error(err)
			}
			do()
		}()
		process, done, err := start(bin, argv, attr)
		return process, func() {
			done()
			<-exchanged
			_ = unix.Close(fd)
		}, err
	}
}

// kept names the object below a folder that holds a text, "" if there is none.
func kept(t *testing.T, folder, text string) string {
	t.Helper()
	hash := exec.Command("git", "hash-object", "--stdin")
	hash.Stdin = strings.NewReader(text)
	out, err := hash.Output()
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(string(out))
	found, err := filepath.Glob(filepath.Join(folder, "*", "repo.git", "objects", id[:2], id[2:]))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(found, ", ")
}
