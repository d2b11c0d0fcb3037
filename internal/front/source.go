package front

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Scope is whose a file is.
type Scope string

// Scopes, the weakest first: of two of one name the stronger counts.
const (
	ScopePlugin  Scope = "plugin"
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
}

// PluginRoot stands in what a plugin brings for the plugin's folder.
const PluginRoot = "${CLAUDE_PLUGIN_ROOT}"

// File is one file that was found.
type File struct {
	Path string // for people
	Name string // below the root, or else below the source; with slashes
	Real string // its name without links, of a project's
	Data []byte
	Err  error // it cannot be read, or must not be
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
}

// Files are what a source holds, in the order of their names. A project's is read through an os.Root: a repository's
// links may not lead out of it, or a prompt could be made of the user's private files. A source that is not there
// holds nothing.
func (r *Reader) Files(s Source) ([]File, []Finding) {
	if s.Root == "" {
		return r.folder(s, s.Path, ".", Plain(s.Path))
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
	files, found := r.folder(s, s.Root, filepath.ToSlash(name), root)
	if err := root.Close(); err != nil {
		found = append(found, Finding{Path: s.Root, Text: "closing the folder: " + err.Error()})
	}
	return files, found
}

func (r *Reader) folder(s Source, base, name string, in Folder) (files []File, found []Finding) {
	w := walk{in: in, what: r.What, each: s.Each}
	if s.Only != "" {
		w.names = []string{path.Join(name, s.Only)}
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
	for _, n := range w.names {
		f := File{Path: filepath.Join(base, filepath.FromSlash(n)), Name: n}
		f.Data, f.Real, f.Err = r.data(s, f, in)
		files = append(files, f)
	}
	return files, found
}

func (r *Reader) data(s Source, f File, in Folder) (data []byte, real string, err error) {
	if s.Scope != r.scope || s.Plugin != r.plugin {
		r.scope, r.plugin, r.read = s.Scope, s.Plugin, 0 // no scope and no plugin takes another one's room
	}
	if r.read > maxRead {
		return nil, "", fmt.Errorf("the %s before it have %d MB together, and no more is read", r.What, maxRead>>20)
	}
	if s.Scope == ScopeProject {
		data, real, err = ReadReal(in, f.Name, f.Path, r.among)
	} else {
		data, err = ReadFile(in, f.Name)
	}
	if s.Plugin != "" {
		data = bytes.ReplaceAll(data, []byte(PluginRoot), []byte(s.Root))
	}
	r.read += len(data)
	if err == nil && len(data) > MaxFile {
		return nil, "", fmt.Errorf("it is larger than %d KB", MaxFile>>10)
	}
	return data, real, err
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
	what  string
	each  string
	names []string
	found []Finding
}

func (w *walk) finding(name, text string, note bool) {
	w.found = append(w.found, Finding{Path: name, Text: text, Note: note})
}

func (w *walk) folder(dir string, depth int) {
	f, err := open(w.in, dir)
	if errors.Is(err, fs.ErrNotExist) && depth == 0 {
		return
	}
	var entries []fs.DirEntry
	if err == nil {
		entries, err = f.ReadDir(-1)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		w.finding(dir, "the folder cannot be read: "+Reason(err), false)
		return
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if w.each != "" {
		i := slices.IndexFunc(entries, func(e fs.DirEntry) bool {
			return !e.IsDir() && strings.EqualFold(e.Name(), w.each)
		})
		if i >= 0 {
			w.names = append(w.names, path.Join(dir, entries[i].Name()))
			return
		}
	}
	deep := 0
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir() && depth < maxFolders:
			w.folder(name, depth+1)
		case e.IsDir():
			if deep++; deep == 1 { // one of many is enough to say
				w.finding(name, "the folder lies too deep to be searched for "+w.what, false)
			}
		case w.each != "":
			w.link(e, name, depth)
		case strings.EqualFold(path.Ext(e.Name()), ".md"):
			w.names = append(w.names, name)
		case e.Type()&fs.ModeSymlink != 0:
			// Following links to folders could go round in circles.
			w.finding(name, "this is a link; links to .md files are read, links to folders are not searched", true)
		}
	}
}

// link takes up a folder with a file of its own that is there by a link: the folder itself, and none below it.
func (w *walk) link(e fs.DirEntry, dir string, depth int) {
	if depth > 0 || e.Type()&fs.ModeSymlink == 0 {
		return
	}
	for _, name := range []string{w.each, strings.ToLower(w.each)} {
		f, err := open(w.in, path.Join(dir, name))
		if err == nil {
			_ = f.Close() // it was only looked for
			w.names = append(w.names, path.Join(dir, name))
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
