package front

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Scope is whose a file is.
type Scope string

// Scopes, the weakest first: of two of one name the stronger counts.
const (
	ScopePlugin  Scope = "plugin"
	ScopeStored  Scope = "stored" // kept in a database, for all who work there
	ScopeUser    Scope = "user"
	ScopeProject Scope = "project"
	ScopeFlag    Scope = "flag"
	ScopeManaged Scope = "managed" // an administrator's, for all users of the machine
)

// Source is a folder in which files are looked for, and in the folders below it.
type Source struct {
	Path string
	// Root is what links below Path must not lead out of; "": they may lead anywhere.
	Root  string
	Scope Scope
	// Each is the one file that counts in a folder, such as SKILL.md; what lies below that folder is its own. "": all
	// Markdown files count.
	Each string
	// Only is the one file below Path that counts; "": all do.
	Only string
	// Plugin is the name of the plugin that the folder is of. It stands, with a colon, before the names of what is in
	// the folder.
	Plugin string
	// Held are the files of a source that is no folder: its Path only names it.
	Held *[]File
}

// PluginRoot stands in what a plugin brings for the plugin's folder.
const PluginRoot = "${CLAUDE_PLUGIN_ROOT}"

// File is one file that was found.
type File struct {
	Path string // for people
	Name string // below the root, or else below the source; with slashes
	Real string // its name without links, of a project's
	Data []byte // nothing, if what was made of it is in an index
	Err  error  // it cannot be read, or must not be
	// Plain is its name without links, where that is known; "": nobody has looked.
	Plain string

	index *sourceIndex
	made  *made // in the index, or to be kept there
	known bool  // it is in the index
}

// Known is what was made of the file, if it is in an index; nothing, if nothing can be made of it.
func (f *File) Known() (doc Document, known bool) {
	if f.known {
		doc = f.made.doc
	}
	return doc, f.known
}

// Parse takes the file apart, see Parse, unless that was done before.
func (f *File) Parse(known func(key string) bool) (Document, error) {
	m := f.made
	if f.known {
		return m.doc, m.problem()
	}
	doc, err := Parse(f.Data, known)
	if p, ok := errors.AsType[*Problem](err); m != nil && (ok || err == nil) {
		m.code = string(encodeMade(doc, p)) // now: who has the document may change what it holds
		f.index.now.files[f.Path], f.index.changed = m, true
	}
	return doc, err
}

// Finding is something about a file that its author should know.
type Finding struct {
	Path string `json:"path"`           // file or flag
	Line int    `json:"line,omitempty"` // 0: the whole
	Text string `json:"text"`
	// Note: what was written is followed; this only says what is not used yet.
	Note bool `json:"note,omitempty"`
	// Unusable: nothing can be made of the file.
	Unusable bool `json:"unusable,omitempty"`
}

// String is one line, whatever stands in the names of files and in the files.
func (p Finding) String() string {
	text := p.Path + ": " + p.Text
	if p.Line > 0 {
		text = fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Text)
	}
	return strings.Map(func(r rune) rune {
		if troupe.Unseen(r) {
			return '�'
		}
		return r
	}, text)
}

const (
	maxFiles   = 2000
	maxFolders = 4       // folders within folders that are searched
	maxRead    = 8 << 20 // bytes of all files of one scope
)

// Reader reads sources, one after the other.
type Reader struct {
	// What the files are, for messages: "definitions of agents".
	What string
	// Among are folders of which one must hold each file of a project, links followed: what commands may write, or
	// may not read, is nothing that people defined.
	Among []string

	scope  Scope  // of what was read last
	plugin string // and its plugin
	read   int    // bytes of it

	index *indexing // nil: there is none
	next  int       // source of it
}

// Files are what a source holds, in the order of their names. A project's is read through an os.Root: a repository's
// links may not lead out of it, or a prompt could be made of the user's private files. A source that is not there
// holds nothing.
func (r *Reader) Files(s Source) ([]File, []Finding) {
	if s.Held != nil {
		r.next++
		return *s.Held, nil
	}
	index := r.index.of(r.next, s)
	if index != nil {
		defer index.in.close()
	}
	r.next++
	if s.Root == "" {
		return r.folder(s, s.Path, ".", Plain(s.Path), index)
	}
	name, err := filepath.Rel(s.Root, s.Path)
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(s.Root)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []Finding{{Path: s.Root, Text: "the folder cannot be opened for its " + r.What + ": " +
			Reason(err)}}
	}
	files, found := r.folder(s, s.Root, filepath.ToSlash(name), root, index)
	if err := root.Close(); err != nil {
		found = append(found, Finding{Path: s.Root, Text: "closing the folder: " + err.Error()})
	}
	return files, found
}

func (r *Reader) folder(s Source, base, name string, in Folder, x *sourceIndex) (files []File, found []Finding) {
	w := walk{in: in, base: base, what: r.What, each: s.Each, index: x}
	if s.Only != "" {
		w.names = []named{{name: path.Join(name, s.Only), link: true}} // for all that is known
	} else {
		w.folder(name, 0)
	}
	for _, f := range w.found {
		f.Path = filepath.Join(base, f.Path)
		found = append(found, f)
	}
	if len(w.names) > maxFiles {
		found = append(found, Finding{Path: s.Path, Text: fmt.Sprintf("there are %d files; only the first %d are read",
			len(w.names), maxFiles)})
		w.names = w.names[:maxFiles]
	}
	plain := ""
	if s.Scope != ScopeProject && len(w.names) > 0 {
		plain, _ = filepath.EvalSymlinks(base) // "": nothing is known
	}
	for _, n := range w.names {
		f := File{Path: filepath.Join(base, filepath.FromSlash(n.name)), Name: n.name, index: x}
		if plain != "" && !n.link && s.Root == "" && runtime.GOOS != "windows" { // where names have several spellings
			f.Plain = filepath.Join(plain, filepath.FromSlash(n.name))
		}
		r.data(s, &f, n.link, in)
		files = append(files, f)
	}
	return files, found
}

// data reads a file, unless it is in the index as it is.
func (r *Reader) data(s Source, f *File, link bool, in Folder) {
	if s.Scope != r.scope || s.Plugin != r.plugin {
		r.scope, r.plugin, r.read = s.Scope, s.Plugin, 0 // no scope and no plugin takes another one's room
	}
	if r.read > maxRead {
		f.Err = fmt.Errorf("the %s before it have %d MB together, and no more is read", r.What, maxRead>>20)
		return
	}
	if f.made = f.index.get(f.Path, link); f.made != nil {
		f.known, r.read = true, r.read+f.made.size
		return
	}
	var info fs.FileInfo
	if s.Scope == ScopeProject {
		f.Data, f.Real, f.Err = ReadReal(in, f.Name, f.Path, r.among)
	} else {
		f.Data, info, f.Err = readFile(in, f.Name)
	}
	if s.Plugin != "" {
		f.Data = bytes.ReplaceAll(f.Data, []byte(PluginRoot), []byte(s.Root))
	}
	r.read += len(f.Data)
	if f.Err == nil && len(f.Data) > MaxFile {
		f.Data, f.Real, f.Err = nil, "", fmt.Errorf("it is larger than %d KB", MaxFile>>10)
	}
	if f.Err == nil {
		f.made = f.index.put(f.Path, link, info, len(f.Data))
	}
}

// among is an error for a file that lies in none of the folders that people define things in.
func (r *Reader) among(real string) error {
	if slices.ContainsFunc(r.Among, func(dir string) bool {
		return strings.Contains(filepath.ToSlash(real), "/"+dir+"/")
	}) {
		return nil
	}
	return fmt.Errorf("it is a link to %s, which lies in no folder of %s; copy it", real, r.What)
}

// walk lists the files of a source.
type walk struct {
	in    Folder
	base  string // of the names
	what  string
	each  string
	index *sourceIndex
	names []named
	found []Finding
}

func (w *walk) finding(name, text string, note bool) {
	w.found = append(w.found, Finding{Path: name, Text: text, Note: note})
}

func (w *walk) folder(dir string, depth int) {
	entries, err := w.list(dir)
	if errors.Is(err, fs.ErrNotExist) && depth == 0 {
		return
	}
	if err != nil {
		w.finding(dir, "the folder cannot be read: "+Reason(err), false)
		return
	}
	if w.each != "" {
		i := slices.IndexFunc(entries, func(e named) bool { return !e.dir && e.name == w.each })
		if i < 0 {
			i = slices.IndexFunc(entries, func(e named) bool { return !e.dir && strings.EqualFold(e.name, w.each) })
		}
		if i >= 0 {
			w.names = append(w.names, named{name: path.Join(dir, entries[i].name), link: entries[i].link})
			return
		}
	}
	deep := 0
	for _, e := range entries {
		name := path.Join(dir, e.name)
		switch {
		case e.dir && w.each != "" && w.index.has(filepath.Join(w.base, filepath.FromSlash(name)), w.each):
			w.names = append(w.names, named{name: path.Join(name, w.each)}) // whatever else came or went beside it
		case e.dir && depth < maxFolders:
			w.folder(name, depth+1)
		case e.dir:
			if deep++; deep == 1 { // one of many is enough to say
				w.finding(name, "the folder lies too deep to be searched for "+w.what, false)
			}
		case w.each != "":
			w.link(e, name, depth)
		case strings.EqualFold(path.Ext(e.name), ".md"):
			w.names = append(w.names, named{name: name, link: e.link})
		case e.link:
			// Following links to folders could go round in circles.
			w.finding(name, "this is a link; links to .md files are read, links to folders are not searched", true)
		}
	}
}

// list is a folder, sorted.
func (w *walk) list(dir string) (names []named, err error) {
	whole := filepath.Join(w.base, filepath.FromSlash(dir))
	if names, ok := w.index.list(whole); ok {
		return names, nil
	}
	f, err := open(w.in, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		names = append(names, named{e.Name(), e.IsDir(), e.Type()&fs.ModeSymlink != 0})
	}
	slices.SortFunc(names, func(a, b named) int { return strings.Compare(a.name, b.name) })
	w.index.listed(whole, info, names)
	return names, nil
}

// link takes up a folder with a file of its own that is there by a link: the folder itself, and none below it.
func (w *walk) link(e named, dir string, depth int) {
	if depth > 0 || !e.link {
		return
	}
	for _, name := range []string{w.each, strings.ToLower(w.each)} {
		f, err := open(w.in, path.Join(dir, name))
		if err == nil {
			_ = f.Close() // it was only looked for
			w.names = append(w.names, named{name: path.Join(dir, name), link: true})
			return
		}
		if !errors.Is(err, fs.ErrNotExist) {
			w.finding(dir, "the link cannot be followed: "+Reason(err), false)
			return
		}
	}
}

// Reason is what was wrong with a file, without its name.
func Reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
