package files_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/files"
)

// keeper remembers what it was given, as the store of contents does.
type keeper struct {
	contents [][]byte
	err      error
}

func (k *keeper) keep(content []byte) (string, error) {
	if k.err != nil {
		return "", k.err
	}
	k.contents = append(k.contents, slices.Clone(content))
	return tool.Hash(content), nil
}

// What a change replaces is kept before it is gone, and the record says what that was.
func TestKeep(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	k := &keeper{}
	d.keep = k.keep
	out := d.do("Write", map[string]any{"file_path": "a", "content": "one\n"})
	if f := out.Evidence.Files[0]; !f.New || f.Before != "" {
		t.Errorf("a new file: %+v", f)
	}
	out = d.do("Write", map[string]any{"file_path": "a", "content": "two\n"})
	if f := out.Evidence.Files[0]; f.New || f.Before != tool.Hash([]byte("one\n")) {
		t.Errorf("a write: %+v", f)
	}
	out = d.do("Edit", map[string]any{"file_path": "a", "old_string": "two", "new_string": "three"})
	if f := out.Evidence.Files[0]; f.New || f.Before != tool.Hash([]byte("two\n")) ||
		f.Hash != tool.Hash([]byte("three\n")) {
		t.Errorf("an edit: %+v", f)
	}
	if len(k.contents) != 2 || string(k.contents[0]) != "one\n" || string(k.contents[1]) != "two\n" {
		t.Errorf("kept %q", k.contents)
	}
	if f := d.do("Read", map[string]any{"file_path": "a"}).Evidence.Files[0]; f.Before != "" || f.New {
		t.Errorf("a read: %+v", f)
	}

	// What cannot be kept is not replaced. What is new has nothing to be kept.
	k.err = errors.New("no space left on device")
	wantError(t, d.do("Write", map[string]any{"file_path": "a", "content": "x"}),
		"could not be kept for undo first (no space left on device)")
	wantError(t, d.do("Edit", map[string]any{"file_path": "a", "old_string": "three", "new_string": "x"}),
		"could not be kept")
	if got := d.get("a"); got != "three\n" {
		t.Errorf("it was changed all the same: %q", got)
	}
	wantText(t, d.do("Write", map[string]any{"file_path": "b", "content": "x"}), "Created b")
	d.noLitter(".")

	d.keep = nil
	out = d.do("Write", map[string]any{"file_path": "a", "content": "nobody keeps\n"})
	if f := out.Evidence.Files[0]; f.New || f.Before != "" || !f.Wrote {
		t.Errorf("with nobody who keeps: %+v", f)
	}
}

func TestStage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	back := []byte("what it was\n")
	hash := func(s string) string { return tool.Hash([]byte(s)) }

	d.put("a", "now\n")
	if err := os.Chmod(d.path("a"), 0o751); err != nil {
		t.Fatal(err)
	}
	s, err := files.Stage(d.path("a"), hash("now\n"), &back, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if d.get("a") != "now\n" || s.Mode() != 0o751 {
		t.Errorf("staging changed it to %q; mode %v", d.get("a"), s.Mode())
	}
	if err := s.Publish(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(d.path("a")); err != nil || d.get("a") != "what it was\n" || info.Mode() != 0o751 {
		t.Errorf("%q, mode %v, %v", d.get("a"), info.Mode(), err)
	}

	// It may go, and come back with the mode it had, in a folder that has gone too.
	gone, err := files.Stage(d.path("a"), hash("what it was\n"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Publish(); err != nil {
		t.Fatal(err)
	}
	if _, exists, err := files.Now(d.path("a")); exists || err != nil {
		t.Errorf("it is there: %v %v", exists, err)
	}
	anew, err := files.Stage(d.path("x/y/a"), "", &back, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if err := anew.Publish(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(d.path("x/y/a")); err != nil || d.get("x/y/a") != "what it was\n" || info.Mode() != 0o700 {
		t.Errorf("%q, mode %v, %v", d.get("x/y/a"), info.Mode(), err)
	}
	d.noLitter(".")
	d.noLitter("x/y")
}

// Nothing is written over, or removed, but what was said to be there.
func TestStageRefuses(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	back := []byte("back")
	now := tool.Hash([]byte("now"))
	for name, c := range map[string]struct {
		was     string
		content *[]byte
		meanwhile,
		want string // what stands there in the end; "" nothing
	}{
		"written":      {now, &back, "theirs", "theirs"},
		"written, rm":  {now, nil, "theirs", "theirs"},
		"removed":      {now, &back, "", ""},
		"made":         {"", &back, "theirs", "theirs"},
		"made, rm":     {"", nil, "theirs", "theirs"},
		"as they want": {now, &back, "back", "back"},
	} {
		path := d.path(name)
		if c.was != "" {
			d.put(name, "now")
		}
		s, err := files.Stage(path, c.was, c.content, 0)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c.meanwhile != "" {
			d.put(name, c.meanwhile)
		} else if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := s.Publish(); !errors.Is(err, files.ErrChanged) {
			t.Errorf("%s: published: %v", name, err)
		}
		if got, err := os.ReadFile(path); string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: it holds %q, %v", name, got, err)
		}
		if c.was != "" && c.meanwhile != "" {
			if _, err := files.Stage(path, now, c.content, 0); !errors.Is(err, files.ErrChanged) {
				t.Errorf("%s: staged: %v", name, err)
			}
		}
	}
	d.noLitter(".")
}

func TestStageOnlyAtThePlaceItself(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	back := []byte("back")
	d.put("real/f", "now")
	if err := os.Symlink("real", d.path("folder")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real/f", d.path("file")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "folder/f", "real"} {
		if _, _, err := files.Now(d.path(name)); !errors.Is(err, files.ErrPlace) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := files.Stage(d.path(name), tool.Hash([]byte("now")), &back, 0); !errors.Is(err, files.ErrPlace) {
			t.Errorf("%s: staged: %v", name, err)
		}
	}
	// A link that takes the file's place between the two steps is not followed, nor replaced.
	s, err := files.Stage(d.path("real/f"), tool.Hash([]byte("now")), &back, 0)
	if err != nil {
		t.Fatal(err)
	}
	d.put("else", "now")
	if err := errors.Join(os.Remove(d.path("real/f")), os.Symlink("../else", d.path("real/f"))); err != nil {
		t.Fatal(err)
	}
	if err := s.Publish(); !errors.Is(err, files.ErrPlace) || d.get("else") != "now" {
		t.Errorf("%v; the other file holds %q", err, d.get("else"))
	}
	if info, err := os.Lstat(d.path("real/f")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link has gone: %v", err)
	}
	d.noLitter("real")
}

func TestStageNeedsPermission(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write everything")
	}
	d := newDesk(t)
	back := []byte("back")
	d.put("ro", "now")
	d.put("shut/f", "now")
	if err := errors.Join(os.Chmod(d.path("ro"), 0o444), os.Chmod(d.path("shut"), 0o555)); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(d.path("shut"), 0o755) //nolint:errcheck // or TempDir will say so
	for _, name := range []string{"ro", filepath.Join("shut", "f")} {
		if _, err := files.Stage(d.path(name), tool.Hash([]byte("now")), &back, 0); err == nil {
			t.Errorf("%s: staged", name)
		}
	}
}

// TestCountLines: what is not text has no lines.
func TestCountLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		before, after  string
		added, removed int
	}{{"a\nb\n", "a\nc\nd\n", 2, 1}, {"\x89PNG\x00\n", "\x89PNG\x00\x01\n", 0, 0}, {"", "\x00", 0, 0}} {
		added, removed := files.CountLines([]byte(tt.before), []byte(tt.after))
		if added != tt.added || removed != tt.removed {
			t.Errorf("%q: +%d -%d", tt.after, added, removed)
		}
	}
}

// A folder in the place of what is to come goes with the folders in it, and with nothing else.
func TestStageOverAFolder(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, content := range []string{"", "mine"} {
		d.put("f/deep/x", "x")
		d.put("f/y", "y")
		back := []byte("back")
		s, err := files.Stage(d.path("f"), "", &back, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"f/deep/x", "f/y"} {
			if err := os.Remove(d.path(name)); err != nil {
				t.Fatal(err)
			}
		}
		if content != "" {
			d.put("f/deep/mine", content)
		}
		err = s.Publish()
		if content == "" {
			if err != nil || d.get("f") != "back" {
				t.Errorf("%v, %q", err, d.get("f"))
			}
			if err := os.Remove(d.path("f")); err != nil {
				t.Fatal(err)
			}
		} else if !errors.Is(err, files.ErrFolder) || d.get("f/deep/mine") != content {
			t.Errorf("%v, %q", err, d.get("f/deep/mine"))
		}
		d.noLitter(".")
	}
}
