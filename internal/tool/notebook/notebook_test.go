package notebook_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/files"
	"github.com/troupe-dev/troupe/internal/tool/notebook"
	"github.com/troupe-dev/troupe/internal/tool/tooltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const book = `{
 "cells": [
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "first",
   "metadata": {},
   "outputs": [{"output_type": "stream", "text": "1\n"}],
   "source": ["print(1)"]
  },
  {
   "cell_type": "markdown",
   "metadata": {},
   "source": ["words"]
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

type m = map[string]any

// desk is a folder with one agent at it, who remembers what it has seen.
type desk struct {
	t     *testing.T
	dir   string
	tools map[string]tool.Descriptor
	seen  map[string]string
	kept  []string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, dir: dir, tools: map[string]tool.Descriptor{}, seen: map[string]string{}}
	locks := tool.NewLocks()
	for _, r := range slices.Concat(files.New(files.Options{Locks: locks}),
		notebook.New(notebook.Options{Locks: locks})) {
		d.tools[r.Spec().Name] = r
	}
	d.put(book)
	return d
}

func (d *desk) put(content string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, "n.ipynb"), []byte(content), 0o640); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) get() string {
	d.t.Helper()
	b, err := os.ReadFile(filepath.Join(d.dir, "n.ipynb"))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}

func (d *desk) env() tool.Env {
	return tool.Env{
		Cwd:  d.dir,
		Seen: func(path string) (string, bool) { h, ok := d.seen[path]; return h, ok },
		Keep: func(content []byte) (string, error) {
			d.kept = append(d.kept, string(content))
			return tool.Hash(content), nil
		},
	}
}

func (d *desk) prepare(name string, args m) (tool.Prepared, error) {
	d.t.Helper()
	in, err := json.Marshal(args)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.tools[name].Prepare(d.env(), string(in))
}

func (d *desk) do(name string, args m) (text string, failed bool) {
	d.t.Helper()
	p, err := d.prepare(name, args)
	if err != nil {
		return err.Error(), true
	}
	out, err := p.Run(d.t.Context(), d.env())
	if err != nil {
		d.t.Fatal(err)
	}
	for _, f := range out.Evidence.Files {
		d.seen[f.Path] = f.Hash
	}
	return troupe.JoinText(out.Blocks), out.IsError
}

func (d *desk) edit(want string, args m) {
	d.t.Helper()
	args["notebook_path"] = "n.ipynb"
	if got, failed := d.do("NotebookEdit", args); failed || !strings.Contains(got, want) {
		d.t.Errorf("%v: error %v: %q, want %q", args, failed, got, want)
	}
}

func (d *desk) refuses(want string, args m) {
	d.t.Helper()
	if args["notebook_path"] == nil {
		args["notebook_path"] = "n.ipynb"
	}
	before := d.get()
	if got, failed := d.do("NotebookEdit", args); !failed || !strings.Contains(got, want) {
		d.t.Errorf("%v: error %v: %q, want %q", args, failed, got, want)
	}
	if d.get() != before {
		d.t.Errorf("%v: refused, and yet the file changed", args)
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.do("Read", m{"file_path": "n.ipynb"})
	tooltest.Runner(t, d.tools["NotebookEdit"], d.env(),
		`{"notebook_path":"n.ipynb","cell_id":"first","new_source":"x","cell_type":"code","edit_mode":"replace"}`,
		troupe.ClassEdit)
}

func TestEdit(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	read, _ := d.do("Read", m{"file_path": "n.ipynb"})
	if want := "[cell 1, code, id first]\nprint(1)\n[output]\n1\n[cell 2, markdown]\nwords\n"; read != want {
		t.Errorf("Read shows %q, want %q", read, want)
	}
	d.edit("Replaced the source of cell 1 (id first) of n.ipynb; what it had put out is cleared. (It has 2 cells now.)",
		m{"cell_id": "first", "new_source": "print(2)"})
	want := strings.NewReplacer("print(1)", "print(2)", `"execution_count": 3`, `"execution_count": null`,
		`[{"output_type": "stream", "text": "1\n"}]`, "[]").Replace(book)
	if got := d.get(); got != want {
		t.Errorf("it holds\n%s", got)
	}
	d.edit("Inserted cell 2 into n.ipynb; its id is ", m{"cell_id": "first", "new_source": "a\nb", "cell_type": "code",
		"edit_mode": "insert"})
	d.edit("Inserted cell 1 into", m{"new_source": "# t", "cell_type": "markdown", "edit_mode": "insert"})
	d.edit("Replaced the source of cell 4 of", m{"cell_id": "4", "new_source": "other words", "cell_type": "raw"})
	d.edit("Deleted cell 2 (id first) of n.ipynb. (It has 3 cells now.)", m{"cell_id": "first", "edit_mode": "delete"})
	if len(d.kept) != 5 || d.kept[0] != book {
		t.Errorf("kept %d contents for undo", len(d.kept))
	}
	if info, err := os.Stat(filepath.Join(d.dir, "n.ipynb")); err != nil || info.Mode() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(d.dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first := func() m { return m{"cell_id": "first", "new_source": "x"} }
	d.refuses("has not been read", first())
	d.do("Read", m{"file_path": "n.ipynb"})
	d.put(book + "\n")
	d.refuses("not what was last read", first())
	d.do("Read", m{"file_path": "n.ipynb"})
	d.refuses("`cell_id` is required", m{"new_source": "x"})
	d.refuses("`new_source` is required", m{"cell_id": "first"})
	d.refuses("`cell_type` is required", m{"new_source": "x", "edit_mode": "insert"})
	d.refuses("must end in .ipynb", m{"notebook_path": "n.py", "cell_id": "1", "new_source": "x"})
	d.refuses("does not exist. Did you mean n.ipynb?", m{"notebook_path": "no.ipynb", "cell_id": "1",
		"new_source": "x"})
	d.refuses("has no cell 3", m{"cell_id": "3", "new_source": "x"})
	d.refuses("cell 1 has the id first", m{"cell_id": "1", "new_source": "x"})
	d.refuses("has that source already", m{"cell_id": "2", "new_source": "words"})
	d.put(`{"cells":[`)
	d.do("Read", m{"file_path": "n.ipynb"})
	d.seen[filepath.Join(d.dir, "n.ipynb")] = tool.Hash([]byte(`{"cells":[`))
	d.refuses("it is not valid JSON", m{"cell_id": "2", "new_source": "words"})
}

// A notebook that is reached by a link is changed where it is; a link that is turned
// meanwhile is not followed; another name of the same file keeps the old content.
func TestLinks(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	link, second := filepath.Join(d.dir, "link.ipynb"), filepath.Join(d.dir, "second.ipynb")
	if err := os.Symlink("n.ipynb", link); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(d.dir, "n.ipynb"), second); err != nil {
		t.Fatal(err)
	}
	d.do("Read", m{"file_path": "link.ipynb"})
	p, err := d.prepare("NotebookEdit", m{"notebook_path": "link.ipynb", "cell_id": "first", "new_source": "x"})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Access().Writes; !slices.Equal(got, []string{link, filepath.Join(d.dir, "n.ipynb")}) {
		t.Errorf("declares %q", got)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("second.ipynb", link); err != nil {
		t.Fatal(err)
	}
	if out, err := p.Run(t.Context(), d.env()); err != nil || !out.IsError ||
		!strings.Contains(troupe.JoinText(out.Blocks), "another place") {
		t.Errorf("%+v %v", out, err)
	}
	d.edit("Replaced", m{"cell_id": "first", "new_source": "x"})
	if b, err := os.ReadFile(second); err != nil || string(b) != book {
		t.Errorf("the other name's content changed too: %v", err)
	}
}

// What a person is shown is the change of the text, and what is then written.
func TestPreview(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.do("Read", m{"file_path": "n.ipynb"})
	args := m{"notebook_path": "n.ipynb", "new_source": "new", "cell_type": "code", "edit_mode": "insert",
		"cell_id": "2"}
	p, err := d.prepare("NotebookEdit", args)
	if err != nil {
		t.Fatal(err)
	}
	v, ok := p.(tool.Previewer)
	if !ok {
		t.Fatal("it shows nothing")
	}
	shown, _ := v.Preview(d.env())
	d.edit("its id is", args)
	added := 0
	for line := range strings.Lines(shown) {
		if text, ok := strings.CutPrefix(line, "+"); ok && !strings.HasPrefix(line, "+++") {
			added++
			if !strings.Contains(d.get(), text) {
				t.Errorf("shown and not written: %s", text)
			}
		}
	}
	if added < 8 {
		t.Errorf("shown:\n%s", shown)
	}
}
