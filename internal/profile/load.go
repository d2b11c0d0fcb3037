package profile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
)

// Scope is whose a definition is, the weakest first: of two of one name the stronger counts.
type Scope string

// Scopes. What is built in has troupe.BuiltIn.
const (
	ScopeUser    Scope = "user"
	ScopeProject Scope = "project"
	ScopeFlag    Scope = "flag"
	ScopeManaged Scope = "managed" // an administrator's, for all users of the machine
)

// Folder holds definitions, in folders of their own as well.
type Folder struct {
	Path string
	// Root is what links below Path must not lead out of; "": they may lead anywhere.
	Root  string
	Scope Scope
}

// Sources are where definitions come from.
type Sources struct {
	// Folders are in the order of their strength, the weakest first. Those of an administrator are
	// stronger than Flag, all others weaker. One that is not there holds nothing.
	Folders []Folder
	// Skip tells which definitions of projects do not count, by file and by what was read; nil: all do.
	Skip func(file string, data []byte) bool
	// Mask takes secrets out of a text; nil: there are none.
	Mask func(string) string
	// Flag is the value of --agents: a JSON object of definitions by name.
	Flag string
	// Tools are all tools there are, for checking those in definitions.
	Tools []troupe.ToolFacts
}

// FlagName is the Path of problems with the value of Sources.Flag.
const FlagName = "--agents"

// ProjectFolders are where a project's folder has definitions, the weakest first.
func ProjectFolders() []string {
	return []string{".agents/subagents", ".claude/agents", ".troupe/agents"}
}

const (
	maxFiles    = 2000
	maxFolders  = 4 // folders within folders that are searched
	maxName     = 100
	maxProblems = 20      // told of one file
	maxRead     = 8 << 20 // bytes of all files together
)

// Load reads every source. Built-in types alone cost no parsing.
func Load(src Sources) (Set, []Problem) {
	l := loader{tools: src.Tools, set: builtInSet(), mask: src.Mask}
	flag := func() {
		if strings.TrimSpace(src.Flag) != "" {
			l.scope = ScopeFlag
			l.flag(src.Flag)
		}
		src.Flag = ""
	}
	for _, f := range src.Folders {
		if f.Scope == ScopeManaged {
			flag()
		}
		l.scope, l.skip = f.Scope, nil
		if f.Scope == ScopeProject {
			l.skip = src.Skip
		}
		l.open(f)
	}
	flag()
	return l.set, l.problems
}

type loader struct {
	tools    []troupe.ToolFacts
	skip     func(file string, data []byte) bool // while a project's are read
	mask     func(string) string
	read     int   // bytes
	scope    Scope // of the source that is read
	set      Set
	problems []Problem
	fresh    map[string]string // names of the current source: where they were defined
	told     map[string]int    // problems by path
	// each is what becomes of a file, if it is not to be added to the set.
	each func(shown, name string, data []byte, err error)
}

// problem keeps what a person may want to read; nobody reads a thousand lines about one file.
func (l *loader) problem(p Problem) {
	if l.told == nil {
		l.told = map[string]int{}
	}
	l.told[p.Path]++
	if l.told[p.Path] == maxProblems {
		p.Line, p.Text, p.Note = 0, "there is more wrong here than is listed", false
	}
	if l.told[p.Path] <= maxProblems {
		l.problems = append(l.problems, p)
	}
}

// open reads one source. A project's is read through an os.Root: a repository's links may not lead out of it,
// or a prompt could be made of the user's private files.
func (l *loader) open(f Folder) {
	if f.Root == "" {
		l.folder(f.Path, f.Path, ".", front.Plain(f.Path))
		return
	}
	name, err := filepath.Rel(f.Root, f.Path)
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(f.Root)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		l.problem(Problem{Path: f.Root, Text: "the folder cannot be opened for its agent definitions: " + reason(err)})
		return
	}
	l.folder(f.Root, f.Path, filepath.ToSlash(name), root)
	if err := root.Close(); err != nil {
		l.problem(Problem{Path: f.Root, Text: "closing the folder: " + err.Error()})
	}
}

// folder reads one source's Markdown files, in the order of their names.
func (l *loader) folder(base, shown, name string, in front.Folder) {
	l.fresh = map[string]string{}
	names, problems := markdown(in, name, 0)
	for _, p := range problems {
		p.Path = filepath.Join(base, p.Path)
		l.problem(p)
	}
	if len(names) > maxFiles {
		l.problem(Problem{Path: shown, Text: fmt.Sprintf("there are %d files; only the first %d are read", len(names),
			maxFiles)})
		names = names[:maxFiles]
	}
	for _, n := range names {
		file := filepath.Join(base, filepath.FromSlash(n))
		data, err := l.data(file, n, in)
		if l.each != nil {
			l.each(file, n, data, err)
			continue
		}
		if l.skip != nil && err == nil && l.skip(file, data) {
			l.untrusted(file, n, data)
			continue
		}
		l.file(file, n, data, err)
	}
}

// data reads a file. A project's has to lie in a folder of definitions, also if it is a link: what commands may
// write, or may not read, is no definition.
func (l *loader) data(file, name string, in front.Folder) ([]byte, error) {
	if l.scope == ScopeProject {
		real, err := filepath.EvalSymlinks(file)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(ProjectFolders(), func(dir string) bool {
			return strings.Contains(filepath.ToSlash(real), "/"+dir+"/")
		}) {
			return nil, fmt.Errorf("it is a link to %s, which lies in no folder of definitions; copy it", real)
		}
	}
	if l.read > maxRead {
		return nil, fmt.Errorf("the definitions before it have %d MB together, and no more is read", maxRead>>20)
	}
	data, err := front.ReadFile(in, name)
	l.read += len(data)
	return data, err
}

// notTrusted is why a definition does not count.
const notTrusted = "it does not count, because this folder is not trusted: it would replace an agent or give it more " +
	"than yours have"

// untrusted notes a definition that does not count, so that it is not said of its agents that there are none. What
// it would have replaced stays.
func (l *loader) untrusted(shown, name string, data []byte) {
	p := Problem{Path: shown, Text: notTrusted, Unusable: true}
	l.problem(p)
	if d := checkFile(shown, name, data, nil, l.tools).Definition; d != nil {
		if _, there := l.set.types[fold(d.Name)]; !there {
			l.set.broken[fold(d.Name)] = p
		}
	}
}

// markdown lists the .md files below dir.
func markdown(in front.Folder, dir string, depth int) (names []string, problems []Problem) {
	f, err := front.Open(in, dir)
	if errors.Is(err, fs.ErrNotExist) && depth == 0 {
		return nil, nil
	}
	var entries []fs.DirEntry
	if err == nil {
		entries, err = f.ReadDir(-1)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return nil, []Problem{{Path: dir, Text: "the folder cannot be read: " + reason(err)}}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	deep := 0
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir() && depth < maxFolders:
			more, p := markdown(in, name, depth+1)
			names, problems = append(names, more...), append(problems, p...)
		case e.IsDir():
			if deep++; deep == 1 { // one of many is enough to say
				problems = append(problems, Problem{Path: name,
					Text: "the folder lies too deep to be searched for agent " +
						"definitions"})
			}
		case strings.EqualFold(path.Ext(e.Name()), ".md"):
			names = append(names, name)
		case e.Type()&fs.ModeSymlink != 0:
			// Following links to folders could go round in circles.
			problems = append(problems, Problem{Path: name, Text: "this is a link; links to .md files are read, " +
				"links to folders are not searched", Note: true})
		}
	}
	return names, problems
}

func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// document: a file that is about a folder of agents, unless it says that it is one.
func document(name string) bool {
	return slices.Contains([]string{"readme", "claude", "agents", "gemini", "index", "contributing", "changelog",
		"license"}, strings.ToLower(name))
}

func (l *loader) file(shown, name string, data []byte, err error) {
	base := path.Base(name)
	at := origin{path: shown, line: 1, name: base[:len(base)-len(path.Ext(base))]}
	if err != nil {
		l.unusable(at.name, Problem{Path: shown, Text: "the file cannot be used: " + reason(err)})
		return
	}
	doc, err := front.Parse(data, KeyInUse)
	named := slices.ContainsFunc(doc.Fields, func(f front.Field) bool {
		return canonicalKey(f.Key) == keyName || canonicalKey(f.Key) == keyDescription
	})
	if document(at.name) && !named {
		l.problem(Problem{Path: shown, Text: "it has no name and no description, so it is taken for documentation",
			Note: true})
		return
	}
	if err != nil {
		p := Problem{Path: shown, Text: err.Error()}
		if e, ok := errors.AsType[*front.Problem](err); ok {
			p.Line = e.Line
		}
		l.unusable(at.name, p)
		return
	}
	for _, n := range doc.Notes {
		l.problem(Problem{Path: shown, Line: n.Line, Text: n.Text, Note: true})
	}
	at.line = doc.Line
	if !doc.Marked {
		l.problem(at.problem(at.line, "there is no front matter (lines between two of three dashes), so this agent "+
			"has "+
			"the name of its file and all the tools of its parent"))
	}
	l.define(at, doc.Fields, doc.Loose, doc.Body)
}

// origin is where a definition stands, and the name it has if it gives itself none.
type origin struct {
	path string
	line int
	name string
}

func (o origin) problem(line int, format string, args ...any) Problem {
	return Problem{Path: o.path, Line: line, Text: fmt.Sprintf(format, args...)}
}

// define adds one definition to the set, over one of the same name from a weaker source.
func (l *loader) define(at origin, fields, loose []front.Field, prompt string) {
	d := Definition{Name: at.name, Origin: Origin{Source: at.path, Scope: l.scope}, All: true, Prompt: prompt}
	b := builder{loader: l, at: at, def: &d, seen: map[string]front.Field{}, loose: loose}
	for _, f := range fields {
		b.field(f)
	}
	b.finish()
	key := fold(d.Name)
	switch {
	case badName(d.Name) != "":
		l.unusable(at.name, at.problem(b.nameLine, "the name %q %s", d.Name, badName(d.Name)))
	case key == fold(Main):
		l.problem(at.problem(b.nameLine, "main is the root agent's own type, which a definition cannot replace; "+
			"--append-system-prompt adds to its prompt"))
	case l.fresh[key] != "":
		l.problem(at.problem(b.nameLine, "the type %q is already defined in %s, which counts; this one is not used",
			d.Name, l.fresh[key]))
	case strings.TrimSpace(d.Prompt) == "":
		l.unusable(d.Name, at.problem(at.line, "there is no prompt"))
	default:
		l.fresh[key] = at.path
		if weaker, ok := l.set.types[key]; ok {
			d.Shadows = append([]string{weaker.Source}, weaker.Shadows...)
		}
		l.ceiling(&d)
		if l.mask != nil {
			for _, text := range []*string{&d.Description, &d.WhenToUse, &d.Prompt, &d.InitialPrompt} {
				*text = l.mask(*text)
			}
		}
		l.set.types[key] = d
		delete(l.set.broken, key)
	}
}

// ceiling keeps what a project puts in the place of a built-in type that only reads from doing more: a parent
// starts one by its name and relies on that.
func (l *loader) ceiling(d *Definition) {
	if l.scope != ScopeProject {
		return
	}
	for _, b := range builtins() {
		if strings.EqualFold(b.Name, d.Name) && b.Sandbox == troupe.LevelReadOnly {
			d.Reads, d.Sandbox = true, troupe.LevelReadOnly
		}
	}
}

// unusable records a definition that cannot be used. It still counts for its name: an
// agent of a weaker source must not take the place of the one that was meant.
func (l *loader) unusable(name string, p Problem) {
	p.Unusable = true
	l.problem(p)
	key := fold(name)
	if key == fold(Main) || l.fresh[key] != "" {
		return
	}
	if _, there := l.set.types[key]; there && l.scope == ScopeProject {
		return // a stranger's file takes no agent away
	}
	delete(l.set.types, key)
	l.set.broken[key] = p
}

// badName completes "the name …". Names stand in rules, such as Agent(NAME), in lists and in what models read.
// The colon is between a plugin's name and those of its agents.
func badName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > maxName:
		return fmt.Sprintf("is longer than %d bytes", maxName)
	case strings.TrimSpace(name) != name:
		return "begins or ends with a blank"
	case strings.HasPrefix(name, "-"):
		return "begins with a dash, as an option does"
	}
	for _, r := range name {
		if !unicode.IsPrint(r) || strings.ContainsRune(":,()<>*\"`\\", r) {
			return fmt.Sprintf("contains %q; use letters, digits, blanks, - and _", r)
		}
	}
	return ""
}

// fold is a name as it is looked up: two names are one if strings.EqualFold says so.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, strings.TrimSpace(name))
}
