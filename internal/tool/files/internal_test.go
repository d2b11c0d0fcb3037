package files

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

// A writer outside this process that slips in between the check and the rename is not
// overwritten; nor is a file that appears where a new one was to be.
func TestCommitSeesOtherWriters(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env := tool.Env{Cwd: dir}
	path := filepath.Join(dir, "f")
	for _, before := range []string{"", "old"} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if before != "" {
			if err := os.WriteFile(path, []byte(before), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		out, err := withFile(t.Context(), env, newLocks(), path, []string{path}, func(c *change) (tool.Output, error) {
			if err := os.WriteFile(path, []byte("theirs"), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := c.commit([]byte("mine"))
			return tool.Output{}, err
		})
		if err != nil || !out.IsError {
			t.Errorf("before %q: not refused: %+v %v", before, out, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != "theirs" {
			t.Errorf("before %q: the file holds %q, %v", before, got, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}

func TestLockEndsWithContext(t *testing.T) {
	t.Parallel()
	l := newLocks()
	unlock, err := l.lock(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error)
	go func() {
		_, err := l.lock(ctx, "p")
		got <- err
	}()
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	unlock()
	if len(l.m) != 0 {
		t.Errorf("%d locks are kept that nobody uses", len(l.m))
	}
}

func TestImageHeaders(t *testing.T) {
	t.Parallel()
	webp := func(kind string, rest ...byte) []byte {
		b := append([]byte("RIFF\x00\x00\x00\x00WEBP"+kind+"\x00\x00\x00\x00"), rest...)
		return append(b, make([]byte, 40)...)
	}
	for name, c := range map[string]struct {
		data []byte
		ok   bool
	}{
		"VP8X":     {webp("VP8X", 0, 0, 0, 0, 9, 0, 0, 9, 0, 0), true},
		"VP8X big": {webp("VP8X", 0, 0, 0, 0, 0, 0, 1, 9, 0, 0), false},
		"VP8L":     {webp("VP8L", 0x2f, 9, 0, 0, 0), true},
		"VP8":      {webp("VP8 ", 0, 0, 0, 0x9d, 1, 0x2a, 9, 0, 9, 0), true},
		"other":    {webp("ABCD"), false},
		"short":    {[]byte("RIFF\x00\x00\x00\x00WEBPVP8X"), false},
		"jpeg":     {[]byte("\xff\xd8\xff\xe0"), false},
		"gif":      {[]byte("GIF89a\x01\x00\x01\x00\x00\x00\x00"), true},
	} {
		if _, err := imageBlock(c.data); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzNotebook(f *testing.F) {
	f.Add(`{"cells":[{"cell_type":"code","source":["a"],"outputs":[{"text":"x"},{"data":{"image/png":"AAAA","text/plain":["y"]}},{"ename":"E"}]}]}`, 1, 2000)
	f.Add(`{"cells":[]}`, 3, 1)
	f.Fuzz(func(t *testing.T, in string, offset, limit int) {
		var nb notebook
		if json.Unmarshal([]byte(in), &nb) != nil || offset < 1 || limit < 1 {
			return
		}
		size := 0
		for _, b := range showNotebook(nb, readInput{offset: offset, limit: limit}) {
			if size += len(b.Text); b.Type == troupe.ImageBlock && imageType(b.Image.Data) == "" {
				t.Error("an image that is none")
			}
		}
		if size > 2*maxText {
			t.Errorf("%d bytes of text", size)
		}
	})
}

func FuzzInputs(f *testing.F) {
	for _, in := range []string{`{"file_path":"a"}`, `{"file_path":"/a/../b","content":"x"}`, `{"file_path":"~","old_string":"a","new_string":"b","replace_all":"true"}`} {
		f.Add(in)
	}
	runners := New(Options{})
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, in string) {
		for _, r := range runners {
			p, err := r.Prepare(tool.Env{Cwd: dir}, in)
			var ie *tool.InputError
			if err != nil {
				if !errors.As(err, &ie) {
					t.Fatalf("%T %v", err, err)
				}
				continue
			}
			a := p.Access()
			for _, path := range append(a.Reads, a.Writes...) {
				if path != filepath.Clean(path) || !filepath.IsAbs(path) {
					t.Fatalf("declares %q", path)
				}
			}
		}
	})
}
