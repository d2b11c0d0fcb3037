package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/hook"
)

// Kind is what something in a folder would do.
type Kind string

// Kinds.
const (
	KindRule      Kind = "allow rule"
	KindDirectory Kind = "additional directory"
	KindMode      Kind = "permission mode"
	KindModel     Kind = "model"
	KindHook      Kind = "hook"
	KindServer    Kind = "MCP server"
	KindAgent     Kind = "agent"
	KindSkill     Kind = "skill"
	KindPlugin    Kind = "plugin"
	KindStyle     Kind = "output style"
	// KindScript is a file of the folder that one of the others runs.
	KindScript Kind = "script"
)

// kinds are all of them in the order in which they are shown: what runs stands before rules and texts.
func kinds() []Kind {
	return []Kind{KindHook, KindServer, KindSkill, KindScript, KindPlugin, KindAgent, KindMode, KindDirectory, KindRule,
		KindModel, KindStyle}
}

// Item is one thing that would take effect.
type Item struct {
	Kind Kind
	File string // where it stands, below the folder, with slashes
	Text string // for people: one line, with what cannot be seen made visible
}

// Line is the item as a person reads it.
func (i Item) Line() string {
	return fmt.Sprintf("%s in %s: %s", i.Kind, troupe.VisibleLine(i.File), i.Text)
}

// StyleFolders are where a folder has output styles, with slashes, the weakest first.
func StyleFolders() []string { return []string{".claude/output-styles", ".troupe/output-styles"} }

// Fingerprint is what in a folder would take effect.
type Fingerprint struct {
	Folder string // absolute and resolved
	Items  []Item
	// Hash is of the exact bytes of every file that has an item; "" if there is nothing to trust.
	Hash string
	// Files are those files, with the hash of each (hex SHA-256): what was read elsewhere can be
	// compared with what was trusted.
	Files map[string]string
	// Problems are files that could not be read, which do not count then.
	Problems []string
	// TooMuch says why the folder cannot be trusted: there is more in it than can be shown. "" if it can.
	TooMuch string
	// Wide says why trusting this folder would trust more than a project; "" if it would not.
	Wide string

	seen map[string]string // every file that was read, with its hash
}

// Saw reports whether a file was looked at with these bytes (hex SHA-256). What was read at
// another time, with others, is not what was trusted.
func (f Fingerprint) Saw(path, hash string) bool {
	name, err := filepath.Rel(f.Folder, path)
	return err == nil && f.seen[filepath.ToSlash(name)] == hash && hash != ""
}

// Lines are the items as a person reads them.
func (f Fingerprint) Lines() []string {
	out := make([]string, 0, len(f.Items))
	for _, i := range f.Items {
		out = append(out, i.Line())
	}
	return out
}

// Subject is the folder to look at, and what has to be known to judge it.
type Subject struct {
	Folder string // absolute
	// Fixed: it is no link and lies behind none, and one that does by now is another folder.
	Fixed bool
	// Root is the outermost folder that links may lead to, such as the repository's; "" is Folder.
	Root string
	Home string // the user's, "" if there is none
	// Agents are names of agents that a definition in the folder would replace: built-in ones and the user's. They
	// are asked for only if there is a definition; nil: none.
	Agents func() []string
	// AgentKey is the one spelling of a key of definitions of agents; "" has no meaning in one.
	AgentKey func(key string) string
	// AgentFolders are where the folder has definitions of agents, with slashes.
	AgentFolders []string
	// Skills reports whether the user has a skill or command of this name, which a file in the folder would replace.
	Skills func(name string) bool
	// Servers finds a server of one's own whose tools have the names that those of an MCP server in the folder would
	// have, "" if there is none. stays: the folder's does not take its place. nil: there are none.
	Servers func(name string) (own string, stays bool)
}

const (
	maxFile   = 1 << 20
	maxScript = 16 << 20
	maxFiles  = 2000 // of agents, of skills, of scripts
	maxDeep   = 4
	// maxItems and maxShown are more than anybody reads, in things and in bytes. A folder that has more is not trusted.
	maxItems = 2000
	maxShown = 256 << 10
)

// examine looks at one folder. Everything is opened through an os.Root: a link that leads out of
// the folder does not count, here as elsewhere. The error is only about the folder itself.
func examine(s Subject) (Fingerprint, error) {
	dir, err := filepath.EvalSymlinks(s.Folder)
	if err != nil {
		return Fingerprint{}, fmt.Errorf("look at what is in %s: %w", s.Folder, err)
	}
	if s.Fixed && dir != s.Folder {
		return Fingerprint{}, fmt.Errorf("look at what is in %s: it leads to %s by now", s.Folder, dir)
	}
	top, below := dir, "."
	if outer := resolve(s.Root); outer != "" && troupe.Within(dir, outer) {
		if below, err = filepath.Rel(outer, dir); err != nil {
			return Fingerprint{}, fmt.Errorf("look at what is in %s: %w", s.Folder, err)
		}
		top = outer
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return Fingerprint{}, fmt.Errorf("look at what is in %s: %w", s.Folder, err)
	}
	l := look{root: root, below: below, subject: s, fp: Fingerprint{Folder: dir, Files: map[string]string{},
		seen: map[string]string{}}}
	for _, name := range []string{".claude/settings.json", ".claude/settings.local.json", ".troupe/settings.json",
		".troupe/settings.local.json"} {
		l.file(name, l.settings)
	}
	l.file(".mcp.json", l.servers)
	for _, dir := range s.AgentFolders {
		l.folder(dir, 0, l.agent)
	}
	for _, base := range []string{".claude", ".troupe", ".agents"} {
		if base != ".agents" {
			l.folder(base+"/commands", 0, l.skill)
		}
		l.only = "SKILL.md"
		l.folder(base+"/skills", 0, l.skill)
		l.only = ""
	}
	for _, dir := range StyleFolders() {
		l.folder(dir, 0, func(name string, _ []byte) {
			l.add(KindStyle, name, "its text may stand in the system prompts of agents")
		})
	}
	l.scripts()
	if err := root.Close(); err != nil {
		return Fingerprint{}, fmt.Errorf("look at what is in %s: %w", s.Folder, err)
	}
	slices.SortStableFunc(l.fp.Items, func(a, b Item) int {
		return slices.Index(kinds(), a.Kind) - slices.Index(kinds(), b.Kind)
	})
	l.fp.Hash = l.hash()
	if l.fp.Hash != "" {
		l.fp.Wide = wide(dir, s.Home)
	}
	return l.fp, nil
}

// look is one reading of a folder.
type look struct {
	root    *os.Root
	below   string // the folder, below root
	subject Subject
	fp      Fingerprint
	count   map[string]int
	only    string // the one name of files that count; "": all Markdown files do
	// commands are what would be run, with the file that says so: words of them may be scripts.
	commands []command
	shown    int // bytes of items
}

// command is something that would be run.
type command struct {
	Item
	names []string // of files that its reader knows it to name
}

// hash covers the name and the bytes of each file that has an item. Folders are not in it, so
// that two with the same contents have the same.
func (l *look) hash() string {
	if len(l.fp.Items) == 0 && l.fp.TooMuch == "" {
		return ""
	}
	h := sha256.New()
	names := make([]string, 0, len(l.fp.Files))
	for name := range l.fp.Files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(h, "%d %s %s\n", len(name), name, l.fp.Files[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// add notes one thing, all of it: what is not shown whole must not run.
func (l *look) add(kind Kind, file, text string) {
	i := Item{kind, file, troupe.VisibleLine(text)}
	if l.shown += len(i.Text); len(l.fp.Items) == maxItems || l.shown > maxShown {
		l.fp.TooMuch = fmt.Sprintf("it has more settings than can be shown: what would take effect ends at %d lines "+
			"and %d KB, and is passed in %s", maxItems, maxShown>>10, troupe.VisibleLine(file))
	}
	if l.fp.TooMuch == "" {
		l.fp.Items = append(l.fp.Items, i)
	}
}

// file reads one file and has its items found; if there are any, its bytes count. Once there is too much to show it
// looks no further, and no file counts as seen.
func (l *look) file(name string, find func(name string, data []byte)) {
	if l.fp.TooMuch != "" {
		return
	}
	data, err := l.read(name, maxFile)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return
	}
	if err != nil {
		l.problem(name, err)
		return
	}
	before := len(l.fp.Items)
	find(name, data)
	if l.fp.TooMuch != "" {
		clear(l.fp.seen)
		return
	}
	l.fp.seen[name] = digest(data)
	if len(l.fp.Items) > before {
		l.fp.Files[name] = l.fp.seen[name]
	}
}

func (l *look) problem(name string, err error) {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	l.fp.Problems = append(l.fp.Problems, troupe.VisibleLine(name)+": "+err.Error())
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// read does not wait, should the name be a pipe that nobody writes to.
func (l *look) read(name string, most int64) ([]byte, error) {
	f, err := l.root.OpenFile(filepath.Join(l.below, filepath.FromSlash(name)), disk.Flags, 0)
	if err != nil {
		return nil, err
	}
	data, _, err := disk.ReadFrom(f, most)
	return data, err
}

// folder finds the Markdown files below a folder. Links to folders are not followed: they could
// lead round in circles.
func (l *look) folder(dir string, depth int, find func(name string, data []byte)) {
	f, err := l.root.OpenFile(filepath.Join(l.below, filepath.FromSlash(dir)), disk.Flags, 0)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			l.problem(dir, err)
		}
		return
	}
	entries, err := f.ReadDir(-1)
	if err = errors.Join(err, f.Close()); err != nil {
		l.problem(dir, err)
		return
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir() && depth < maxDeep:
			l.folder(name, depth+1, find)
		case e.IsDir():
		case l.only != "" && !strings.EqualFold(e.Name(), l.only):
		case strings.EqualFold(path.Ext(e.Name()), ".md"):
			kind := strings.Join(strings.SplitN(name, "/", 3)[:2], "/")
			if l.count == nil {
				l.count = map[string]int{}
			}
			if l.count[kind]++; l.count[kind] <= maxFiles {
				l.file(name, find)
			} else if l.count[kind] == maxFiles+1 {
				l.problem(kind, errors.New("it has more files than are looked at"))
			}
		}
	}
}

// scripts finds files of the folder among the words of commands: a command stays the same when
// the script that it runs does not.
func (l *look) scripts() {
	if l.fp.TooMuch != "" {
		return
	}
	seen := 0
	for _, c := range l.commands {
		for _, word := range append(words(c.Text), c.names...) {
			name, ok := l.inside(word)
			if _, known := l.fp.Files[name]; !ok || known || seen == maxFiles {
				continue
			}
			// A folder counts only where it is known to be run: what is looked through is no script.
			if at := filepath.Join(l.fp.Folder, name); slices.Contains(c.names, at) && l.isFolder(name) {
				seen++
				sum, err := hook.Digest(at)
				if err != nil {
					l.problem(name, err)
				}
				l.fp.Files[name] = sum
				l.add(KindScript, name, "a folder that is run by a "+string(c.Kind)+" in "+c.File)
				continue
			}
			data, err := l.read(name, maxScript)
			switch {
			case errors.Is(err, disk.ErrTooLarge):
				l.problem(name, err)
			case err == nil:
				seen++
				l.fp.Files[name] = digest(data)
				l.add(KindScript, name, "run by a "+string(c.Kind)+" in "+c.File)
			}
		}
	}
}

// isFolder: it lies in the folder itself, wherever links lead.
func (l *look) isFolder(name string) bool {
	info, err := l.root.Stat(filepath.Join(l.below, filepath.FromSlash(name)))
	return err == nil && info.IsDir()
}

// words takes a command apart far enough to find names of files in it: with its quotes as if they
// were not there, and as if they were blanks. A command can hide what it runs; this is for those
// that do not.
func words(text string) []string {
	split := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" \t\n\r;|&()<>=,`", r) })
	}
	quotes := func(by string) string { return strings.NewReplacer(`"`, by, `'`, by).Replace(text) }
	return append(split(quotes("")), split(quotes(" "))...)
}

// inside is a word as the name of something in the folder.
func (l *look) inside(word string) (string, bool) {
	for _, variable := range [...]string{"$CLAUDE_PROJECT_DIR", "${CLAUDE_PROJECT_DIR}", "$PWD", "${PWD}"} {
		if rest, ok := strings.CutPrefix(word, variable+"/"); ok {
			word = rest
			break
		}
	}
	if path.IsAbs(word) {
		if !troupe.Within(word, l.fp.Folder) || word == l.fp.Folder {
			return "", false
		}
		word = strings.TrimPrefix(word, strings.TrimSuffix(l.fp.Folder, "/")+"/")
	}
	word = path.Clean(word)
	return word, word != "." && filepath.IsLocal(word) && len(word) < 1024
}
