package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// Scope is whose a file of settings is, the weakest first: of a value that several set, the
// last counts. What a managed file forbids or bounds none of the others can lift.
type Scope int

// Scopes.
const (
	ScopeManaged Scope = iota // an administrator's, for everybody on this machine
	ScopeUser
	ScopeProject // of a folder, shared by all who work in it
	ScopeLocal   // of a folder, for this person alone
)

func (s Scope) String() string {
	return [...]string{"managed policy", "user", "project", "local"}[s]
}

// trusted: a file that whoever wrote the project cannot have written.
func (s Scope) trusted() bool { return s <= ScopeUser }

// Source is a file of settings that is there.
type Source struct {
	Path  string
	Scope Scope
	// Folder is what paths in it begin at if they do not say: the project's for a project's
	// files, "" for the others, which mean each session's own.
	Folder string
	// Tracked: a local file that came with the repository, or is reached by a link, which may have; so it is anybody's.
	Tracked bool
	// Hash is of its bytes, hex SHA-256.
	Hash string
	// Broken: it cannot be followed, and of what it says only what forbids counts, as far as
	// that could be read.
	Broken bool
}

// Warning is something about settings that a person should know.
type Warning struct {
	Path string
	Key  string // "" for the whole file
	Text string // names the file and the place
	// Note: nothing is lost; this only says what has no meaning here.
	Note bool
}

func (w Warning) String() string { return w.Text }

// ManagedFile is where an administrator's settings are, in one of the two dialects. Files in the folder of the same
// name with .d in the place of .json count too, in the order of their names.
type ManagedFile struct {
	Path   string
	Claude bool
}

// ManagedFiles are the places of an administrator's settings on a system (runtime.GOOS).
func ManagedFiles(goos string) []ManagedFile {
	switch goos {
	case "windows":
		return nil
	case "darwin":
		return []ManagedFile{
			{"/Library/Application Support/ClaudeCode/managed-settings.json", true},
			{"/Library/Application Support/Troupe/managed-settings.json", false},
		}
	default:
		return []ManagedFile{{"/etc/claude-code/managed-settings.json", true},
			{"/etc/troupe/managed-settings.json", false}}
	}
}

// Places are where settings are looked for.
type Places struct {
	Managed []ManagedFile
	Dirs    Dirs
	// Folder is the session's, absolute and resolved; "" for no project.
	Folder string
}

// layer is one file, read.
type layer struct {
	Source
	claude   bool // it is Claude Code's
	settings Settings
	seen     map[string]int // settings that stand in it
	others   []string       // keys of theirs that mean nothing here
}

func (l *layer) has(key string) bool {
	_, ok := l.seen[key]
	return ok
}

// Read reads all settings that hold for a session. An error (a *troupe.UserError) means that an
// administrator's or the user's file cannot be followed; nothing should run then. A project's
// file that cannot be followed is a warning: nothing counts of it but what it forbids, and no
// mode that is looser than the default one is chosen by settings.
func Read(p Places) (All, []Warning, error) {
	r := reader{places: p}
	for _, m := range p.Managed {
		r.managed(m)
	}
	if p.Dirs.Home != "" {
		r.own(filepath.Join(p.Dirs.Home, ".claude", "settings.json"), ScopeUser, true, true)
	}
	r.own(p.Dirs.Settings(), ScopeUser, false, false)
	if r.err != nil {
		return All{}, nil, r.err
	}
	all := All{places: p}
	if p.Folder != "" {
		all.Folders = Folders(p.Folder)
		r.project(all.Folders)
	}
	all.layers = r.layers
	for i := range all.layers {
		if l := &all.layers[i]; !l.Scope.trusted() {
			r.refuse(l)
		}
	}
	return all, r.warnings, nil
}

type reader struct {
	places   Places
	layers   []layer
	infos    []fs.FileInfo // of the user's own files, which are not read again as a project's
	warnings []Warning
	err      error
}

// managed reads an administrator's file and those that stand beside it.
func (r *reader) managed(m ManagedFile) {
	r.own(m.Path, ScopeManaged, m.Claude, true)
	dir := strings.TrimSuffix(m.Path, ".json") + ".d"
	entries, err := os.ReadDir(dir) // sorted
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) && r.err == nil {
		r.err = unreadable(dir, err)
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".") {
			r.own(filepath.Join(dir, name), ScopeManaged, m.Claude, true)
		}
	}
}

// own reads a file that must be followed. optional: what stands in the way of its folder is not
// ours to complain about.
func (r *reader) own(path string, scope Scope, claude, optional bool) {
	if r.err != nil {
		return
	}
	data, info, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) || optional && errors.Is(err, syscall.ENOTDIR) {
		return
	}
	if err != nil {
		r.err = unreadable(path, err)
		return
	}
	r.infos = append(r.infos, info)
	l, p := read(Source{Path: path, Scope: scope, Hash: hash(data)}, data, claude)
	if p.err != nil {
		r.err = p.err
		return
	}
	if claude {
		p.leftOut(func(string) bool { return false })
	}
	r.keep(l, p)
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (r *reader) keep(l layer, p *parser) {
	r.layers = append(r.layers, l)
	r.warnings = append(r.warnings, p.warnings...)
}

// read reads one file in its dialect. The parser has the error, if there is one.
func read(s Source, data []byte, claude bool) (layer, *parser) {
	p := &parser{path: s.Path, data: data, lenient: !s.Scope.trusted()}
	root, err := p.parse()
	l := layer{Source: s, claude: claude}
	switch {
	case err != nil:
		return l, p
	case claude:
		l.settings = p.theirs(root)
	default:
		l.settings = p.ours(root)
	}
	l.seen, l.others = p.seen, p.others
	if p.err != nil && !s.Scope.trusted() {
		l.settings, l.seen, l.others = salvage(s.Path, root), nil, nil
	}
	return l, p
}

// salvage reads what a file forbids that is JSON but cannot be followed as a whole.
func salvage(path string, root node) Settings {
	s := defaults()
	s.Path = path
	for _, m := range root.members {
		for _, part := range m.value.members {
			if m.key != "permissions" || part.key != "deny" && part.key != "ask" {
				continue
			}
			texts := &s.Permissions.Deny
			if part.key == "ask" {
				texts = &s.Permissions.Ask
			}
			for _, item := range append(part.value.items, part.value) {
				if item.kind == kindString {
					*texts = append(*texts, item.text)
				}
			}
		}
	}
	return s
}

// project reads the files of the folders, the outermost first.
func (r *reader) project(folders []string) {
	root, err := os.OpenRoot(folders[0])
	if err != nil {
		r.broken(Source{Path: folders[0], Scope: ScopeProject, Folder: folders[0]}, err)
		return
	}
	for _, folder := range folders {
		below, err := filepath.Rel(folders[0], folder)
		if err != nil {
			continue // they begin with each other
		}
		for _, f := range [...]struct {
			name   string
			scope  Scope
			claude bool
		}{
			{".claude/settings.json", ScopeProject, true},
			{".troupe/settings.json", ScopeProject, false},
			{".claude/settings.local.json", ScopeLocal, true},
			{".troupe/settings.local.json", ScopeLocal, false},
		} {
			name := filepath.FromSlash(f.name)
			r.file(root, filepath.Join(below, name), Source{Path: filepath.Join(folder, name), Scope: f.scope,
				Folder: folder}, f.claude)
		}
	}
	if err := root.Close(); err != nil {
		r.warnings = append(r.warnings, Warning{Path: folders[0],
			Text: folders[0] + ": closing the folder: " + err.Error()})
	}
}

// file reads one file of a project. It is opened through an os.Root: a link may not lead out
// of the project, to a file that somebody else made or that says what is private.
func (r *reader) file(root *os.Root, name string, s Source, claude bool) {
	f, err := root.OpenFile(name, disk.Flags, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return
	}
	var data []byte
	var info fs.FileInfo
	if err == nil {
		data, info, err = readOpen(f)
	}
	if err != nil {
		r.broken(s, err)
		return
	}
	if slices.ContainsFunc(r.infos, func(own fs.FileInfo) bool { return os.SameFile(own, info) }) {
		return // a session in the home folder: this is the user's own
	}
	s.Hash = hash(data)
	l, p := read(s, data, claude)
	if l.Scope == ScopeLocal && (linked(root, name) || tracked(root.Name(), filepath.ToSlash(name))) {
		l.Scope, l.Tracked = ScopeProject, true
	}
	if p.err != nil {
		l.Broken = true
		p.warnings = []Warning{{Path: s.Path, Text: problem(p.err) +
			"; nothing counts of this file but what it could be seen to forbid, and no mode is looser than default"}}
	} else if claude {
		p.leftOut(dangerous)
	}
	r.keep(l, p)
}

// linked: the name leads through a link. What git keeps stands then under another name. In doubt it does.
func linked(root *os.Root, name string) bool {
	for n := name; n != "."; n = filepath.Dir(n) {
		if info, err := root.Lstat(n); err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// problem is an error without what to do about it: that depends on whose file it is.
func problem(err error) string {
	if e, ok := errors.AsType[*troupe.UserError](err); ok {
		return e.Problem
	}
	return err.Error()
}

func (r *reader) broken(s Source, err error) {
	cause := err
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		cause = e.Err
	}
	s.Broken = true
	r.layers = append(r.layers, layer{Source: s, settings: defaults()})
	r.warnings = append(r.warnings, Warning{Path: s.Path, Text: s.Path + ": the settings cannot be read (" +
		cause.Error() + "), so none of them count, and no mode is looser than default"})
}
