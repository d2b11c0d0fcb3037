package front

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// messy are files as they are found.
func messy() []string {
	return []string{
		"", "\n\n", "# A heading\n\nand a paragraph", "no front matter: at all", "name: a\ntools: Read\n\nBody",
		"---\nname: a\ndescription: b\n---\nBody", "---\nname: a\ndescription: c\n---\nBody",
		"\ufeff---\r\nname: a\r\ntools: [Read, Bash]\r\n---\r\nOne\r\nTwo", "---\nname: a\xff\n---\nBody",
		"---\nname: a", "---\n---\n", "---\nname:\ntools:\n---\nx", "---\ntools: []\nmodel: ~\n---\nx",
		"---\nname: a\nname: b\ntools: *\n---\nx", "---\ndescription: uses: colons\ntools:\n  - Read\n  - Bash\n---\nx",
		"---\nhooks:\n  Stop:\n    - hooks: [{command: a}]\n---\nx", "---\nhooks: {Stop: [1, {a: null}]}\n---\nx",
		"a\n---\nname: b\n---\nx", "---\nname: a\x00\n---\nx", "----\ntools = Read\n----\nx", "---\na: &a [*a]\n---\nx",
		"---\n? [a]\n: b\n<<: {tools: Read}\n---\nx " + PluginRoot + "/bin", strings.Repeat("long ", MaxFile/5) + "er",
	}
}

func keysOfTest(key string) bool {
	return slices.Contains([]string{"name", "description", "tools", "hooks", "model"}, key)
}

// indexed is a folder with sources and an index of them.
type indexed struct {
	testing.TB

	dir     string
	sources []Source
	known   int // files that were taken from the index
}

func newIndexed(t testing.TB) *indexed {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	x := &indexed{TB: t, dir: dir, sources: []Source{
		{Path: at("plug/agents"), Root: at("plug"), Scope: ScopePlugin, Plugin: "plug"},
		{Path: at("agents"), Scope: ScopeUser}, {Path: at("skills"), Scope: ScopeUser, Each: "SKILL.md"},
		{Path: at("agents"), Scope: ScopeUser, Only: "a.md"}, {Path: at("none"), Scope: ScopeManaged},
		{Path: at("proj/.claude/agents"), Root: at("proj"), Scope: ScopeProject},
	}}
	return x
}

func (x *indexed) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

func (x *indexed) write(name, text string) {
	x.Helper()
	path := filepath.Join(x.dir, name)
	x.must(os.MkdirAll(filepath.Dir(path), 0o755))
	x.must(os.WriteFile(path, []byte(text), 0o644))
}

// later waits until what is changed from now on has another time than what was changed before.
func (x *indexed) later() {
	x.Helper()
	probe := filepath.Join(x.dir, "probe")
	x.write("probe", "")
	changed := func() int64 {
		var st syscall.Stat_t
		x.must(os.Chmod(probe, 0o644))
		x.must(syscall.Stat(probe, &st))
		return st.Ctim.Nano()
	}
	for first := changed(); changed() <= first; {
		runtime.Gosched() // the clock goes on within some milliseconds
	}
}

// read is all that is made of the sources. With an index, what has changed before now counts as settled.
func (x *indexed) read(index bool, now time.Time) (out []string) {
	x.Helper()
	r := Reader{What: "agents", Among: []string{".claude/agents"}}
	if index {
		r.Use(Index{Folder: filepath.Join(x.dir, "index"), Kind: "test"}, x.sources)
		r.index.before = now.Add(-settled)
	}
	for _, s := range x.sources {
		files, found := r.Files(s)
		for _, f := range found {
			out = append(out, fmt.Sprintf("%+v", f))
		}
		for _, f := range files {
			if f.known {
				x.known++
			}
			if f.known && (s.Scope == ScopeProject || f.Data != nil) {
				x.Errorf("%s of a %s was taken from the index, with %d bytes", f.Path, s.Scope, len(f.Data))
			}
			if real, err := filepath.EvalSymlinks(f.Path); f.Plain != "" && (err != nil || f.Plain != real) {
				x.Errorf("%s is %s, not %s (%v)", f.Path, real, f.Plain, err)
			}
			if f.Err != nil {
				out = append(out, fmt.Sprintf("%s %s %s: %v", f.Path, f.Name, f.Real, f.Err))
				continue
			}
			doc, err := f.Parse(keysOfTest)
			out = append(out, fmt.Sprintf("%s %s %s: %#v, %#v", f.Path, f.Name, f.Real, doc, err))
		}
	}
	r.Save()
	return out
}

// same compares what is read with and without the index, twice: what was kept now is taken from it.
func (x *indexed) same(what string) {
	x.Helper()
	for range 2 {
		with, without := x.read(true, time.Now().Add(time.Hour)), x.read(false, time.Time{})
		for i := range max(len(with), len(without)) {
			if i >= len(with) || i >= len(without) || with[i] != without[i] {
				x.Fatalf("after %s, with the index (%d):\n%.2000s\nwithout (%d):\n%.2000s", what, len(with),
					strings.Join(with[min(i, len(with)):], "\n"), len(without),
					strings.Join(without[min(i, len(without)):], "\n"))
			}
		}
	}
}

// TestIndexIsAsTheFiles: whatever is done to files and folders, an index of them gives what reading them gives. (Red
// without the time of the last change in a stamp, without the number of the file, and with files behind links taken
// from it below a root.)
func TestIndexIsAsTheFiles(t *testing.T) {
	t.Parallel()
	known := 0
	for seed := range uint64(10) {
		x := newIndexed(t)
		rnd := rand.New(rand.NewPCG(seed, 1))
		text := func() string { return messy()[rnd.IntN(len(messy()))] }
		one := func(of ...string) string { return of[rnd.IntN(len(of))] }
		file := func() string {
			return one("agents/a.md", "agents/b.md", "agents/sub/c.md", "agents/README.md", "skills/one/SKILL.md",
				"skills/two/skill.md", "skills/two/deep/x.md", "plug/agents/p.md", "plug/agents/sub/q.md",
				"proj/.claude/agents/z.md", "elsewhere/SKILL.md", "elsewhere/a.md", "plug/other/p.md", "agents/LINK.md")
		}
		for range 12 {
			x.write(file(), text())
		}
		x.write("elsewhere/a.md", text())
		x.same("the beginning")
		for range 25 {
			name := file()
			path := filepath.Join(x.dir, name)
			old, err := os.Stat(path)
			back := func() {
				if err == nil {
					x.must(os.Chtimes(path, old.ModTime(), old.ModTime()))
				}
			}
			x.later()
			what := ""
			switch rnd.IntN(11) {
			case 0, 1:
				what = "a change with the time set back in " + name
				x.write(name, text())
				back()
			case 2:
				what = "a change of no size in " + name
				data, _ := os.ReadFile(path)
				if i := bytes.IndexByte(data, 'a'); i >= 0 {
					data[i] = 'e'
				}
				x.write(name, string(data))
				back()
			case 3:
				what = "another file in the place of " + name
				x.write("new", text())
				x.must(os.MkdirAll(filepath.Dir(path), 0o755))
				x.must(os.Rename(filepath.Join(x.dir, "new"), path))
				back()
			case 4:
				what = "a link in the place of " + name
				_ = os.RemoveAll(path)
				x.must(os.MkdirAll(filepath.Dir(path), 0o755))
				x.must(os.Symlink(filepath.Join(x.dir, file()), path))
			case 5:
				what = "no rights to " + name
				_ = os.Chmod(path, 0)
				x.same(what)
				x.later()
				_ = os.Chmod(path, 0o644)
			case 6:
				what = "no " + name
				_ = os.Remove(path)
			case 7: // with all that is in it, whose own stamps stay as they are
				what = "a folder moved out, and a link to it"
				from := filepath.Join(x.dir, one("plug/agents/sub", "agents/sub", "plug/agents", "skills/one"))
				to := filepath.Join(x.dir, fmt.Sprint("out", rnd.Uint64()))
				if os.Rename(from, to) == nil {
					x.must(os.Symlink(to, from))
				}
			case 8:
				what = "a folder moved back"
				from := filepath.Join(x.dir, one("plug/agents/sub", "agents/sub", "plug/agents", "skills/one"))
				if to, err := os.Readlink(from); err == nil && os.Remove(from) == nil {
					_ = os.Rename(to, from)
				}
			case 9:
				what = "a link to a skill"
				link := filepath.Join(x.dir, "skills", one("linked", "two"))
				_ = os.RemoveAll(link)
				x.must(os.MkdirAll(filepath.Dir(link), 0o755))
				x.must(os.Symlink(filepath.Join(x.dir, one("elsewhere", "skills/one", "agents")), link))
			case 10:
				what = "two files that change their names"
				other := filepath.Join(x.dir, file())
				if os.Rename(path, filepath.Join(x.dir, "swap")) == nil {
					_ = os.Rename(other, path)
					_ = os.Rename(filepath.Join(x.dir, "swap"), other)
				}
			}
			x.same(what)
		}
		known += x.known
	}
	if known < 1000 {
		t.Errorf("the index was used for %d files", known)
	}
}

// TestIndexAndRoots: a link that leads out of a plugin is refused, though the file behind it is the very one that lay
// within it before.
func TestIndexAndRoots(t *testing.T) {
	t.Parallel()
	for what, link := range map[string]string{"a file": "plug/deep/agents/l.md", "a folder": ""} {
		x := newIndexed(t)
		x.sources = []Source{{Path: filepath.Join(x.dir, "plug/deep/agents"), Root: filepath.Join(x.dir, "plug"),
			Scope: ScopePlugin, Plugin: "plug"}}
		x.write("plug/deep/agents/p.md", messy()[5])
		x.write("plug/inside/x.md", messy()[6])
		moved := "plug/deep"
		if link != "" {
			x.must(os.Symlink("../../inside/x.md", filepath.Join(x.dir, link)))
			moved = "plug/inside"
		}
		x.same("the beginning with " + what)
		x.later()
		x.must(os.Rename(filepath.Join(x.dir, moved), filepath.Join(x.dir, "out")))
		x.must(os.Symlink(filepath.Join(x.dir, "out"), filepath.Join(x.dir, moved)))
		x.same(what + " led out")
	}
}

// TestIndexOfTheYoung: what may change again without another stamp is not kept.
func TestIndexOfTheYoung(t *testing.T) {
	t.Parallel()
	x := newIndexed(t)
	x.write("agents/a.md", messy()[5])
	at, _ := stampAt(filepath.Join(x.dir, "agents/a.md"))
	changed := time.Unix(0, at[stampChanged])
	for _, now := range []time.Time{changed, changed.Add(settled)} {
		x.read(true, now)
		if x.read(true, now.Add(time.Hour)); x.known > 0 {
			t.Fatalf("a file is in the index that was changed %v before", now.Sub(changed))
		}
		x.must(os.RemoveAll(filepath.Join(x.dir, "index")))
	}
	x.read(true, changed.Add(settled+1))
	if x.read(true, changed); x.known == 0 {
		t.Error("a file that was not changed since is not in the index")
	}
}

// TestIndexOfOthers: an index that is damaged, or not this user's and program's, counts for nothing and is replaced;
// where none can be written, files are read as without.
func TestIndexOfOthers(t *testing.T) {
	t.Parallel()
	x := newIndexed(t)
	for i, text := range messy() {
		x.write(fmt.Sprintf("agents/%d.md", i), text)
	}
	later := time.Now().Add(time.Hour)
	without := x.read(false, later)
	used := func() bool {
		t.Helper()
		before := x.known
		if got := x.read(true, later); !slices.Equal(got, without) {
			t.Errorf("%.3000s\nwant\n%.3000s", strings.Join(got, "\n"), strings.Join(without, "\n"))
		}
		return x.known > before
	}
	used()
	names, err := filepath.Glob(filepath.Join(x.dir, "index", "test-*"))
	if err != nil || len(names) != 1 || !used() {
		t.Fatal(names, err)
	}
	whole, err := os.ReadFile(names[0])
	x.must(err)
	if info, err := os.Stat(names[0]); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	damage := map[string][]byte{"empty": {}, "longer": append(slices.Clone(whole), 0),
		"of a newer form": bytes.Replace(whole, []byte("index 1"), []byte("index 2"), 1)}
	for i := 0; i < len(whole); i += 1 + len(whole)/100 {
		damage[fmt.Sprint("cut at ", i)] = whole[:i]
		other := slices.Clone(whole)
		other[i] ^= 1
		damage[fmt.Sprint("another byte at ", i)] = other
	}
	for what, data := range damage {
		x.must(os.WriteFile(names[0], data, 0o600))
		if used() {
			t.Errorf("it is used though it is %s", what)
		}
		if now, err := os.ReadFile(names[0]); err != nil || len(now) != len(whole) {
			t.Errorf("%s: it was not written anew (%v)", what, err)
		}
	}
	if !used() {
		t.Error("it is not used though it is whole")
	}
	x.must(os.Chmod(names[0], 0o620))
	if used() {
		t.Error("it is used though others can write it")
	}
	r := Reader{}
	r.Use(Index{Folder: filepath.Join(x.dir, "index"), Kind: "test"}, x.sources)
	f, err := os.Open(names[0])
	x.must(err)
	defer f.Close()
	if _, ok := decodeIndex(f, len(whole), r.index.reader+"x", r.index.sources); ok {
		t.Error("it is used though another program wrote it")
	}
	x.must(os.RemoveAll(filepath.Join(x.dir, "index")))
	x.write("index", "no folder")
	if used() {
		t.Error("there is an index where none can be")
	}
}

// TestIndexesAreFew: there are never more than so many files of indexes.
func TestIndexesAreFew(t *testing.T) {
	t.Parallel()
	x := newIndexed(t)
	x.write("agents/a.md", messy()[5])
	for i := range maxIndexes + 5 {
		x.sources[4].Path = filepath.Join(x.dir, fmt.Sprint("none", i))
		x.read(true, time.Now().Add(time.Hour))
	}
	before := x.known
	if x.read(true, time.Now().Add(time.Hour)); x.known == before {
		t.Error("the last one is gone")
	}
	if entries, err := os.ReadDir(filepath.Join(x.dir, "index")); err != nil || len(entries) > maxIndexes {
		t.Errorf("%d files, %v", len(entries), err)
	}
}

// FuzzIndex: what is made of a file is the same once it was stored, and no file of an index is more than refused.
func FuzzIndex(f *testing.F) {
	for _, text := range messy() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := Parse(data, keysOfTest)
		problem, _ := err.(*Problem) //nolint:errorlint // Parse returns it bare
		m := made{code: string(encodeMade(doc, problem))}
		if !m.decode() || !reflect.DeepEqual(m.doc, doc) || m.problem() != nil && m.problem().Error() != err.Error() {
			t.Errorf("%#v, %v\nwant %#v, %v", m.doc, m.err, doc, err)
		}
		other := made{code: string(data)}
		other.decode()
		head := encodeIndex("r", "s", nil)
		sum := checksum()
		_, _ = sum.Write(data)
		whole := append(append(head[:len(indexMagic):len(indexMagic)],
			byte(sum.Sum32()), byte(sum.Sum32()>>8), byte(sum.Sum32()>>16), byte(sum.Sum32()>>24)), data...)
		decodeIndex(bytes.NewReader(whole), len(whole), "", "")
	})
}
