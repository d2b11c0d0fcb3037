package files_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	out := d.do("Write", map[string]any{"file_path": "deep/er/new.txt", "content": "a\nb"})
	wantText(t, out, "Created deep/er/new.txt (2 lines).")
	if got := out.Evidence.Files; len(got) != 1 || !got[0].Wrote || got[0].Added != 2 ||
		got[0].Path != d.path("deep/er/new.txt") {
		t.Errorf("evidence %+v", got)
	}
	// What the session wrote it has seen.
	wantText(t, d.do("Write", map[string]any{"file_path": "deep/er/new.txt", "content": "a\nc\n"}),
		"Replaced deep/er/new.txt (")
	if got := d.get("deep/er/new.txt"); got != "a\nc\n" {
		t.Errorf("content %q", got)
	}
	wantText(t, d.do("Write", map[string]any{"file_path": "empty", "content": ""}), "Created empty (0 lines).")
	d.noLitter("deep/er")
}

// noLitter fails if a temporary file was left behind.
func (d *desk) noLitter(dir string) {
	d.t.Helper()
	entries, err := os.ReadDir(d.path(dir))
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".troupe-") {
			d.t.Errorf("left %s behind", e.Name())
		}
	}
}

func TestChangeRefusals(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put("a.txt", "one\ntwo\n")
	d.put("dir/x", "x")
	write := func(name string) map[string]any { return map[string]any{"file_path": name, "content": "mine"} }
	edit := func(name string) map[string]any {
		return map[string]any{"file_path": name, "old_string": "one", "new_string": "1"}
	}
	wantError(t, d.do("Write", write("a.txt")), "has not been read")
	wantError(t, d.do("Edit", edit("a.txt")), "has not been read")
	wantError(t, d.do("Edit", edit("b.txt")), "Did you mean a.txt?")
	wantError(t, d.do("Write", write("dir")), "is a folder")
	wantError(t, d.do("Write", write("a.txt/b")), "not a directory")
	wantError(t, d.do("Write", write("/dev/null")), "device")
	wantError(t, d.do("Edit", map[string]any{"file_path": "a.txt", "old_string": "", "new_string": "x"}), "Write")
	wantError(t, d.do("Edit", map[string]any{"file_path": "a.txt", "old_string": "x", "new_string": "x"}), "the same")
	d.read("a.txt")
	d.put("a.txt", "one\nthree\n")
	wantError(t, d.do("Write", write("a.txt")), "not what was last read")
	wantError(t, d.do("Edit", edit("a.txt")), "not what was last read")
	if got := d.get("a.txt"); got != "one\nthree\n" {
		t.Errorf("a refused change wrote: %q", got)
	}
	d.read("a.txt")
	wantText(t, d.do("Edit", edit("a.txt")), "     1\t1\n     2\tthree\n")
	d.noLitter(".")
}

func TestWriteKeepsModeAndLink(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put("bin/run.sh", "#!/bin/sh\n")
	if err := os.Chmod(d.path("bin/run.sh"), 0o750); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"run": "bin/run.sh", "later": "bin/later.sh"} {
		if err := os.Symlink(target, d.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	d.read("run")
	out := d.do("Edit", map[string]any{"file_path": "run", "old_string": "sh\n", "new_string": "sh\ntrue\n"})
	wantText(t, out, "Edited run.")
	if got := out.Evidence.Files[0].Path; got != d.path("bin/run.sh") {
		t.Errorf("the evidence names %s", got)
	}
	info, err := os.Lstat(d.path("bin/run.sh"))
	if err != nil || info.Mode() != 0o750 || d.get("bin/run.sh") != "#!/bin/sh\ntrue\n" {
		t.Errorf("mode %v, content %q, %v", info.Mode(), d.get("bin/run.sh"), err)
	}
	wantText(t, d.do("Write", map[string]any{"file_path": "later", "content": "x"}), "Created")
	for _, link := range []string{"run", "later"} {
		if info, err := os.Lstat(d.path(link)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more (%v)", link, err)
		}
	}
	p, err := d.tools["Write"].Prepare(d.env(), `{"file_path":"run","content":"x"}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Access().Writes; len(got) != 2 || got[0] != d.path("run") || got[1] != d.path("bin/run.sh") {
		t.Errorf("declares writes to %q", got)
	}
	// A link that is turned elsewhere between the check and the run is not followed.
	if err := os.Remove(d.path("run")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", d.path("run")); err != nil {
		t.Fatal(err)
	}
	turned, err := p.Run(t.Context(), d.env())
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, turned, "another place")
}

func TestEdit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, content, old, new string
		all                     bool
		want                    string // the content after, or with err a part of the message
		err                     bool
	}{
		{"one", "a\nb\nc\n", "b", "B", false, "a\nB\nc\n", false},
		{"no newline at the end", "a\nb", "b", "b\nc", false, "a\nb\nc", false},
		{"all", "x y x\nx\n", "x", "z", true, "z y z\nz\n", false},
		{"delete", "a\nb\n", "b\n", "", false, "a\n", false},
		{"twice", "x\ny\nx\n", "x", "z", false, "occurs 2 times, in lines 1, 3", true},
		{"overlapping", "aaa", "aa", "b", false, "occurs 2 times", true},
		{"crlf", "a\r\nb\r\nc\r\n", "a\nb", "a\nx\ny", false, "a\r\nx\r\ny\r\nc\r\n", false},
		{"crlf, one line", "a\r\nb\r\n", "b", "b\nc", false, "a\r\nb\r\nc\r\n", false},
		{"crlf, leading newline", "a\r\nb\r\n", "\nb", "\nx", false, "a\r\nx\r\n", false},
		{"crlf, from the end of a line", "a\r\nb\r\n", "a\n", "", false, "b\r\n", false},
		{"crlf, written so", "a\r\nb\r\n", "a\r\nb", "c\r\nd", false, "c\r\nd\r\n", false},
		{"mixed, mostly lf", "a\r\nb\nc\nd\n", "a\nb", "x\ny", false, "x\ny\nc\nd\n", false},
		{"lf, written crlf", "a\nb\n", "a\r\nb", "c\r\nd", false, "c\nd\n", false},
		{"not utf-8", "caf\xe9 x\n", "x", "y", false, "caf\xe9 y\n", false},
		{"white space", "func f() {\n\tx := 1\n}\n", "func f() {\n    x := 1\n}", "z", false,
			"white space from:\n     1\tfunc f() {\n     2\t\tx := 1\n", true},
		{"numbers", "a\nb\n", "     1\ta\n     2\tb", "z", false, "line numbers", true},
		{"first line", "a\nb\n", "a\nc", "z", false, "Its first line is line 1", true},
		{"nothing like it", "a\nb\n", "q", "z", false, "was not found", true},
		{"only newlines", "a\n", "\n\n", "z", false, "was not found", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.put("f", c.content)
			d.read("f")
			out := d.do("Edit", map[string]any{"file_path": "f", "old_string": c.old, "new_string": c.new,
				"replace_all": c.all})
			if c.err {
				wantError(t, out, c.want)
				c.want = c.content
			}
			if got := d.get("f"); got != c.want {
				t.Errorf("content %q, want %q (%s)", got, c.want, troupe.JoinText(out.Blocks))
			}
		})
	}
}

func TestEditEvidence(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put("f", strings.Repeat("line\n", 50)+"end\n")
	d.read("f")
	out := d.do("Edit", map[string]any{"file_path": "f", "old_string": "end\n",
		"new_string": strings.Repeat("new\n", 60)})
	got := out.Evidence.Files[0]
	if got.Added != 60 || got.Removed != 1 || got.Hash == "" {
		t.Errorf("evidence %+v", got)
	}
	text := troupe.JoinText(out.Blocks)
	if !strings.Contains(text, "    51\tnew\n") || !strings.Contains(text, "…") || strings.Count(text, "\n") > 30 {
		t.Errorf("snippet:\n%s", text)
	}
}

// Many agents add a line each to one file, over and over until it is done. No line is
// lost, and everybody who lost a race was told.
func TestParallelEditsLoseNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put("list", "start\n")
	const agents = 8
	var wg sync.WaitGroup
	for i := range agents {
		me := d.other()
		wg.Go(func() {
			for range 10_000 {
				me.read("list")
				out := me.do("Edit", map[string]any{"file_path": "list", "old_string": "start\n",
					"new_string": fmt.Sprintf("start\nagent %d\n", i)})
				if !out.IsError {
					return
				}
			}
			t.Errorf("agent %d never got through", i)
		})
	}
	wg.Wait()
	for i := range agents {
		if n := strings.Count(d.get("list"), fmt.Sprintf("agent %d\n", i)); n != 1 {
			t.Errorf("the line of agent %d is there %d times", i, n)
		}
	}
	d.noLitter(".")
}

// Of many agents that create one file at once, one does.
func TestParallelCreate(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var winners []string
	for i := range 8 {
		me := d.other()
		wg.Go(func() {
			content := fmt.Sprintf("agent %d", i)
			if out := me.do("Write", map[string]any{"file_path": "new", "content": content}); !out.IsError {
				mu.Lock()
				defer mu.Unlock()
				winners = append(winners, content)
			}
		})
	}
	wg.Wait()
	if len(winners) != 1 || d.get("new") != winners[0] {
		t.Errorf("%d agents say that they created it; it holds %q", len(winners), d.get("new"))
	}
}

func TestWriteNeedsPermission(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write everything")
	}
	d := newDesk(t)
	d.put("ro", "x")
	d.read("ro")
	if err := os.Chmod(filepath.Join(d.dir, "ro"), 0o444); err != nil {
		t.Fatal(err)
	}
	wantError(t, d.do("Write", map[string]any{"file_path": "ro", "content": "y"}), "permission denied")
}
