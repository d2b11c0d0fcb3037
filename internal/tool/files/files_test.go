package files_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/files"
	"github.com/troupe-dev/troupe/internal/tool/tooltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a folder with one agent at it: it remembers what the agent has seen, as the
// session's log does.
type desk struct {
	t     *testing.T
	dir   string
	tools map[string]tool.Descriptor
	keep  func([]byte) (string, error)
	mu    sync.Mutex
	seen  map[string]string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, dir: dir, tools: map[string]tool.Descriptor{}, seen: map[string]string{}}
	for _, r := range files.New(files.Options{}) {
		d.tools[r.Spec().Name] = r
	}
	return d
}

// other is another agent in the same process and folder.
func (d *desk) other() *desk {
	return &desk{t: d.t, dir: d.dir, tools: d.tools, seen: map[string]string{}}
}

func (d *desk) env() tool.Env {
	return tool.Env{Cwd: d.dir, Environ: os.Environ(), Keep: d.keep, Seen: func(path string) (string, bool) {
		d.mu.Lock()
		defer d.mu.Unlock()
		h, ok := d.seen[path]
		return h, ok
	}}
}

func (d *desk) path(name string) string { return filepath.Join(d.dir, name) }

func (d *desk) put(name, content string) {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(d.path(name)), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(d.path(name), []byte(content), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) get(name string) string {
	d.t.Helper()
	b, err := os.ReadFile(d.path(name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}

// do makes a call and remembers its evidence.
func (d *desk) do(name string, args map[string]any) tool.Output {
	d.t.Helper()
	in, err := json.Marshal(args)
	if err != nil {
		d.t.Fatal(err)
	}
	p, err := d.tools[name].Prepare(d.env(), string(in))
	if err != nil {
		return tool.Errorf("%v", err)
	}
	out, err := p.Run(d.t.Context(), d.env())
	if err != nil {
		d.t.Fatalf("%s %s: %v", name, in, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range out.Evidence.Files {
		d.seen[f.Path] = f.Hash
	}
	return out
}

func (d *desk) read(name string) string {
	d.t.Helper()
	return troupe.JoinText(d.do("Read", map[string]any{"file_path": name}).Blocks)
}

func wantError(t *testing.T, out tool.Output, part string) {
	t.Helper()
	if text := troupe.JoinText(out.Blocks); !out.IsError || !strings.Contains(text, part) {
		t.Errorf("error %v, text %q; want an error with %q", out.IsError, text, part)
	}
	for _, f := range out.Evidence.Files {
		if f.Wrote {
			t.Errorf("a refused call claims to have written %s", f.Path)
		}
	}
}

func wantText(t *testing.T, out tool.Output, part string) {
	t.Helper()
	if text := troupe.JoinText(out.Blocks); out.IsError || !strings.Contains(text, part) {
		t.Errorf("error %v, text %.600q; want %q", out.IsError, text, part)
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put("a.txt", "one\n")
	d.read("a.txt")
	tooltest.Runner(t, d.tools["Read"], d.env(), `{"file_path":"a.txt","offset":1,"limit":5,"pages":"1-2"}`,
		troupe.ClassRead)
	tooltest.Runner(t, d.tools["Write"], d.env(), `{"file_path":"a.txt","content":"two"}`, troupe.ClassEdit)
	tooltest.Runner(t, d.tools["Edit"], d.env(),
		`{"file_path":"a.txt","old_string":"one","new_string":"two","replace_all":true}`, troupe.ClassEdit)
}

func TestReadText(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var many strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&many, "line %d\n", i+1)
	}
	d.put("many.txt", many.String())
	d.put("wide.txt", strings.Repeat(strings.Repeat("x", 900)+"\n", 500))
	d.put("long.txt", "a\n"+strings.Repeat("é", 3000)+"\nb")
	d.put("crlf.txt", "\uFEFFa\r\nb\r\n")
	d.put("latin.txt", "caf\xe9\n")
	d.put("late.txt", strings.Repeat("text\n", 20_000)+"a\x00b\n")
	d.put("huge.txt", strings.Repeat("0123456789\n", 40_000))
	for _, c := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"file_path": "crlf.txt"}, "     1\ta\n     2\tb\n"},
		{map[string]any{"file_path": "latin.txt"}, "     1\tcaf\uFFFD\n"},
		{map[string]any{"file_path": "many.txt"}, "  2000\tline 2000\n(Lines 1-2000 of 2500. Go on with offset 2001.)"},
		{map[string]any{"file_path": "many.txt", "offset": 2499},
			"  2499\tline 2499\n  2500\tline 2500\n(End of the file.)"},
		{map[string]any{"file_path": "many.txt", "offset": 10, "limit": 1},
			"    10\tline 10\n(Lines 10-10 of 2500. Go on with offset 11.)"},
		{map[string]any{"file_path": "many.txt", "offset": 0, "limit": 1},
			"     1\tline 1\n(Lines 1-1 of 2500. Go on with offset 2.)"},
		{map[string]any{"file_path": "many.txt", "offset": 3000}, "(The file has 2500 lines; there is no line 3000.)"},
		{map[string]any{"file_path": "wide.txt"}, "of 500: one result holds 100 KB. Go on with offset "},
		{map[string]any{"file_path": "long.txt"}, "é… [line cut; it has 6 KB]\n     3\tb\n"},
		{map[string]any{"file_path": "late.txt", "offset": 20_001}, " 20001\ta\uFFFDb\n"},
		{map[string]any{"file_path": "huge.txt", "offset": 39_999}, " 39999\t0123456789\n 40000\t0123456789\n"},
	} {
		wantText(t, d.do("Read", c.args), c.want)
	}
	if got := d.read("crlf.txt"); got != "     1\ta\n     2\tb\n" {
		t.Errorf("got %q", got)
	}
	if got := d.read("long.txt"); strings.Count(got, "é") != 2000 {
		t.Errorf("a long line shows %d characters", strings.Count(got, "é"))
	}
	if got := d.read("wide.txt"); len(got) > 101<<10 {
		t.Errorf("the result has %d bytes", len(got))
	}
	// The evidence is of the whole file, wherever the lines shown are.
	out := d.do("Read", map[string]any{"file_path": "huge.txt", "offset": 5, "limit": 1})
	if want := tool.Hash([]byte(d.get("huge.txt"))); len(out.Evidence.Files) != 1 ||
		out.Evidence.Files[0] != (troupe.FileTouch{Path: d.path("huge.txt"), Hash: want}) {
		t.Errorf("evidence %+v, want hash %s", out.Evidence, want)
	}
}

// However a text is cut into pieces by the buffer, the result is the same as splitting it.
func TestReadAgreesWithSplit(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var b strings.Builder
	for i := range 3000 {
		b.WriteString(strings.Repeat("y", (i*37)%90))
		b.WriteString("\n")
	}
	d.put("f", b.String())
	lines := strings.Split(b.String(), "\n")
	out := d.do("Read", map[string]any{"file_path": "f", "offset": 1400, "limit": 900})
	var want strings.Builder
	for i := 1400; i < 2300; i++ {
		fmt.Fprintf(&want, "%6d\t%s\n", i, lines[i-1])
	}
	want.WriteString("(Lines 1400-2299 of 3000. Go on with offset 2300.)")
	if got := troupe.JoinText(out.Blocks); got != want.String() {
		t.Error("the lines shown are not those of the file")
	}
}

func TestReadRefusals(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put("src/login.go", "package x\n")
	d.put("bin", "a\x00b")
	d.put("empty", "")
	d.put("broken.png", "\x89PNG\r\n\x1a\nnothing")
	if err := syscall.Mkfifo(d.path("pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"gone": "nowhere", "null": "/dev/zero"} {
		if err := os.Symlink(target, d.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"src": "is a folder", "bin": "binary file", "pipe": "named pipe", "null": "device",
		"src/logn.go": "Did you mean src/login.go?", "src/zzzzzzzzzz": "does not exist",
		"no/such/x": "there is no folder no",
		"gone":      "symbolic link to nowhere", "broken.png": "damaged", "src/login.go/x": "not a directory",
	} {
		out := d.do("Read", map[string]any{"file_path": name})
		wantError(t, out, want)
		if len(out.Evidence.Files) > 0 {
			t.Errorf("%s: a failed read leaves evidence", name)
		}
	}
	wantText(t, d.do("Read", map[string]any{"file_path": "empty"}), "empty")
}

func TestReadImage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	d.put("a.dat", b.String())
	out := d.do("Read", map[string]any{"file_path": "a.dat"})
	if len(out.Blocks) != 1 || out.Blocks[0].Type != troupe.ImageBlock ||
		out.Blocks[0].Image.MediaType != "image/png" || !bytes.Equal(out.Blocks[0].Image.Data, b.Bytes()) {
		t.Errorf("got %+v", out)
	}
	b.Reset()
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 9000, 1))); err != nil {
		t.Fatal(err)
	}
	d.put("wide.png", b.String())
	wantError(t, d.do("Read", map[string]any{"file_path": "wide.png"}), "8000 pixels")
	d.put("big.png", "\x89PNG\r\n\x1a\n"+strings.Repeat("x", 4<<20))
	wantError(t, d.do("Read", map[string]any{"file_path": "big.png"}), "Make it smaller")
}

const smallPDF = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count " +
	"1>>endobj\n" +
	"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj\n" +
	"4 0 obj<</Length 41>>stream\nBT /F1 12 Tf 20 100 Td (Hello paper) Tj ET\nendstream endobj\n" +
	"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\ntrailer<</Root 1 0 R>>\n"

func TestReadPDF(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put("a.pdf", smallPDF)
	without := files.New(files.Options{LookPath: func(string) (string, error) { return "", exec.ErrNotFound }})
	p, err := without[0].Prepare(d.env(), `{"file_path":"a.pdf"}`)
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Run(t.Context(), d.env())
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, out, "pdftotext")
	if _, err := exec.LookPath("pdftotext"); err != nil {
		t.Skip("pdftotext is not installed")
	}
	wantText(t, d.do("Read", map[string]any{"file_path": "a.pdf", "pages": "1"}), "Hello paper")
	wantError(t, d.do("Read", map[string]any{"file_path": "a.pdf", "pages": "7"}), "pdftotext failed")
	wantError(t, d.do("Read", map[string]any{"file_path": "a.pdf", "pages": "x"}), "`pages`")
}

func TestReadNotebook(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put("n.ipynb", `{"cells":[
	 {"cell_type":"markdown","source":["# Title\n","text"]},
	 {"cell_type":"code","source":"print(1)","outputs":[
	  {"output_type":"stream","text":["1\n"]},
	  {"output_type":"display_data","data":{"image/png":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==\n","text/plain":"<fig>"}},
	  {"output_type":"execute_result","data":{"text/plain":["42"],"application/json":{"a":1}}},
	  {"output_type":"error","ename":"ValueError","evalue":"bad","traceback":["x"]}]}],"metadata":{}}`)
	out := d.do("Read", map[string]any{"file_path": "n.ipynb"})
	if len(out.Blocks) != 3 || out.Blocks[1].Type != troupe.ImageBlock {
		t.Fatalf("got %d blocks: %+v", len(out.Blocks), out.Blocks)
	}
	for _, want := range []string{"[cell 1, markdown]\n# Title\ntext\n", "[cell 2, code]\nprint(1)\n[output]\n1\n",
		"[output]\n42\n", "[error]\nValueError: bad\n"} {
		wantText(t, out, want)
	}
	wantText(t, d.do("Read", map[string]any{"file_path": "n.ipynb", "limit": 1}),
		"(Cells 1-1 of 2. Go on with offset 2.)")
	wantText(t, d.do("Read", map[string]any{"file_path": "n.ipynb", "offset": 9}), "there is no cell 9")
	d.put("bad.ipynb", `{"cells":`)
	wantError(t, d.do("Read", map[string]any{"file_path": "bad.ipynb"}), "not a notebook")
}

func TestReadCancelled(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put("a", strings.Repeat("x\n", 1<<20))
	ctx, cancel := context.WithCancel(t.Context())
	p, err := d.tools["Read"].Prepare(d.env(), `{"file_path":"a"}`)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := p.Run(ctx, d.env()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkReadSmall(b *testing.B) {
	dir := b.TempDir()
	content := strings.Repeat("	if err != nil { return fmt.Errorf(\"read: %w\", err) }\n", 120)
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(content), 0o644); err != nil {
		b.Fatal(err)
	}
	read := files.New(files.Options{})[0]
	env := tool.Env{Cwd: dir}
	b.ReportAllocs()
	for b.Loop() {
		p, err := read.Prepare(env, `{"file_path":"a.go"}`)
		if err != nil {
			b.Fatal(err)
		}
		if out, err := p.Run(b.Context(), env); err != nil || out.IsError {
			b.Fatal(out, err)
		}
	}
}
