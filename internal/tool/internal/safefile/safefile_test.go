package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree makes files (content), folders ("/") and links ("-> target") in a new folder.
func tree(t *testing.T, entries map[string]string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, what := range entries {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		target, isLink := strings.CutPrefix(what, "-> ")
		switch {
		case isLink:
			err = os.Symlink(target, path)
		case what == "/":
			err = os.MkdirAll(path, 0o755)
		default:
			err = os.WriteFile(path, []byte(what), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return top
}

// Every way to open a folder follows no link, wherever in the path it is, and says what is
// wrong in the same words.
func TestOpenFollowsNothing(t *testing.T) {
	t.Parallel()
	top := tree(t, map[string]string{
		"real/deep/f": "content", "link": "-> real", "real/up": "-> deep", "real/deep/lf": "-> f", "abs": "-> /etc",
		"loop": "-> loop", "real/deep/dangling": "-> nothing",
	})
	for name, open := range ways() {
		for path, want := range map[string]error{
			"real/deep/f": nil, "link/deep/f": ErrMoved, "real/up/f": ErrMoved, "real/deep/lf": ErrMoved,
			"abs/hostname": ErrMoved,
			"loop/x":       ErrMoved, "loop": ErrMoved, "real/deep/dangling": ErrMoved, "real/none": fs.ErrNotExist,
			"none/none": fs.ErrNotExist,
			"real/deep": ErrFolder, "../" + filepath.Base(top) + "/real/deep/f": nil,
		} {
			dir, base := Split(filepath.Join(top, path))
			d, err := open(dir)
			if err == nil {
				f := &Folder{dir: d, path: dir}
				var content []byte
				if content, _, err = f.ReadAll(base); err == nil && string(content) != "content" {
					t.Errorf("%s, %s: read %q", name, path, content)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
			if !errors.Is(err, want) {
				t.Errorf("%s, %s: %v, want %v", name, path, err, want)
			}
		}
		if _, err := open(filepath.Join(top, "real/deep/f/x")); err == nil ||
			!strings.Contains(err.Error(), "not a directory") {
			t.Errorf("%s: below a file: %v", name, err)
		}
		d, err := open(string(filepath.Separator))
		if err != nil {
			t.Fatalf("%s: the root: %v", name, err)
		}
		if _, _, err := (&Folder{dir: d}).Open("."); !errors.Is(err, ErrFolder) {
			t.Errorf("%s: the root: %v", name, err)
		}
		_ = d.Close()
	}
}

func TestReplaceAndAdd(t *testing.T) {
	t.Parallel()
	for name, open := range ways() {
		top := tree(t, map[string]string{"old": "old", "link": "-> old", "out/target": "theirs"})
		if err := os.Link(filepath.Join(top, "old"), filepath.Join(top, "out/second")); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(top, "old"), 0o4751); err != nil { // with setuid
			t.Fatal(err)
		}
		d, err := open(top)
		if err != nil {
			t.Fatal(err)
		}
		f := &Folder{dir: d, path: top}
		info, err := f.Stat("old")
		if err != nil {
			t.Fatal(err)
		}
		temp, err := f.Temp([]byte("new"), info)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Add(temp, "old"); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: a file was added in the place of another: %v", name, err)
		}
		if err := f.Add(temp, "link"); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: a file was added in the place of a link: %v", name, err)
		}
		if err := f.Replace(temp, "old"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// The new file has the mode but not what runs it as its owner, and the second name of the
		// old one has the old content.
		if now, err := os.Lstat(filepath.Join(top, "old")); err != nil || now.Mode() != 0o751 {
			t.Errorf("%s: mode %v, %v", name, now.Mode(), err)
		}
		if second, err := os.ReadFile(filepath.Join(top, "out/second")); err != nil || string(second) != "old" {
			t.Errorf("%s: the hard link holds %q, %v", name, second, err)
		}
		if temp, err = f.Temp([]byte("added"), nil); err != nil {
			t.Fatal(err)
		}
		if err := f.Add(temp, "fresh"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		fresh, err := os.Lstat(filepath.Join(top, "fresh"))
		if list, lerr := f.List(-1); lerr != nil || err != nil || len(list) != 4 || !fresh.Mode().IsRegular() {
			t.Errorf("%s: %v %v %v", name, list, err, lerr)
		}
		if err := errors.Join(f.Drop("fresh"), f.Drop("fresh"), f.Check(), f.Close()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A folder that is renamed while it is open is noticed, and so is one that another takes the
// place of.
func TestCheck(t *testing.T) {
	t.Parallel()
	top := tree(t, map[string]string{"a/f": "1", "b/f": "2"})
	f, err := OpenFolder(filepath.Join(top, "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Check(); err != nil {
		t.Error(err)
	}
	if err := os.Rename(filepath.Join(top, "a"), filepath.Join(top, "c")); err != nil {
		t.Fatal(err)
	}
	for _, next := range []func() error{
		func() error { return nil },
		func() error { return os.Rename(filepath.Join(top, "b"), filepath.Join(top, "a")) },
		func() error {
			return errors.Join(os.RemoveAll(filepath.Join(top, "a")), os.Symlink("c", filepath.Join(top, "a")))
		},
	} {
		if err := next(); err != nil {
			t.Fatal(err)
		}
		if err := f.Check(); !errors.Is(err, ErrMoved) {
			t.Errorf("got %v", err)
		}
	}
}

func TestMakeFolder(t *testing.T) {
	t.Parallel()
	top := tree(t, map[string]string{"a/f": "x", "out": "/", "a/link": "-> ../out"})
	f, err := MakeFolder(filepath.Join(top, "a/b/c/d"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(top, "a/b/c/d")); err != nil || !info.IsDir() {
		t.Errorf("%v %v", info, err)
	}
	if _, err := MakeFolder(filepath.Join(top, "a/link/new")); !errors.Is(err, ErrMoved) {
		t.Errorf("through a link: %v", err)
	}
	if _, err := MakeFolder(filepath.Join(top, "a/f/new")); err == nil {
		t.Error("below a file")
	}
	if list, err := os.ReadDir(filepath.Join(top, "out")); err != nil || len(list) > 0 {
		t.Errorf("made outside: %v %v", list, err)
	}
}
