package files

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

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
		if _, err := ImageBlock(c.data); (err == nil) != c.ok {
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
	for _, in := range []string{`{"file_path":"a"}`, `{"file_path":"/a/../b","content":"x"}`,
		`{"file_path":"~","old_string":"a","new_string":"b","replace_all":"true"}`} {
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
