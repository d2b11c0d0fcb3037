package profile

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
)

// Scope is whose a definition is, the weakest first: of two of one name the stronger counts.
type Scope = front.Scope

// Scopes. What is built in has troupe.BuiltIn.
const (
	ScopeStored  = front.ScopeStored
	ScopeUser    = front.ScopeUser
	ScopeProject = front.ScopeProject
	ScopeFlag    = front.ScopeFlag
	ScopeManaged = front.ScopeManaged
)

// Folder holds definitions, in folders of their own as well.
type Folder = front.Source

// Sources are where definitions come from.
type Sources struct {
	// Folders are in the order of their strength, the weakest first. Those of an administrator are
	// stronger than Flag, all others weaker. One that is not there holds nothing.
	Folders []Folder
	// Skip tells which definitions of projects do not count, by file and by what was read; nil: all do.
	Skip func(file string, data []byte) bool
	// Mask takes secrets out of a text; nil: there are none.
	Mask  func(string) string
	Style Styling
	// Files are what the folders hold, where that was read before; nil: it is read by an index below the folder Index,
	// or without one if that is "".
	Files *front.Reading
	Index string
	// Flag is the value of --agents: a JSON object of definitions by name.
	Flag string
	// Tools are all tools there are, for checking those in definitions.
	Tools []troupe.ToolFacts
}

// Styling finds the text of an output style, which may be none, or says that there is no such; nil leaves styles out.
type Styling func(name string) (text, problem string)

// FlagName is the Path of problems with the value of Sources.Flag.
const FlagName = "--agents"

// ProjectFolders are where a project's folder has definitions, the weakest first.
func ProjectFolders() []string {
	return []string{".agents/subagents", ".claude/agents", ".troupe/agents"}
}

const maxProblems = 20 // told of one file

// Read reads the files of folders, by an index below a folder; "": without one.
func Read(folders []Folder, index string) *front.Reading {
	return front.Read(reader(), front.Index{Folder: index, Kind: "agents"}, folders)
}

func reader() front.Reader { return front.Reader{What: "agent definitions", Among: ProjectFolders()} }

// Load reads every source. Built-in types alone cost no parsing.
func Load(src Sources) (Set, []Problem) {
	l := newLoader(src.Tools, builtInSet())
	read := src.Files
	if read == nil {
		read = Read(src.Folders, src.Index)
	}
	defer read.Save()
	l.mask, l.style = src.Mask, src.Style
	flag := func() {
		if strings.TrimSpace(src.Flag) != "" {
			l.scope = ScopeFlag
			l.flag(src.Flag)
		}
		src.Flag = ""
	}
	for i, f := range read.Of {
		if f.Scope == ScopeManaged {
			flag()
		}
		l.scope, l.skip = f.Scope, nil
		if f.Scope == ScopeProject {
			l.skip = src.Skip
		}
		files, found := read.Files(i)
		l.open(f, files, found)
	}
	flag()
	return l.set, l.problems
}

func newLoader(tools []troupe.ToolFacts, set Set) loader {
	return loader{tools: tools, set: set}
}

type loader struct {
	tools    []troupe.ToolFacts
	skip     func(file string, data []byte) bool // while a project's are read
	mask     func(string) string
	style    Styling
	scope    Scope  // of the source that is read
	plugin   string // and its plugin
	set      Set
	problems []Problem
	fresh    map[string]string // names of the current source: where they were defined
	told     map[string]int    // problems by path
	// each is what becomes of a file, if it is not to be added to the set.
	each func(shown, name string, data []byte, err error)
	// stored are the definitions that were read of stored agents, by folded name.
	stored map[string]Definition
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

// open reads one source.
func (l *loader) open(f Folder, files []front.File, found []Problem) {
	l.fresh, l.plugin = map[string]string{}, f.Plugin
	for _, p := range found {
		l.problem(p)
	}
	for _, f := range files {
		if l.each != nil {
			l.each(f.Path, f.Name, f.Data, f.Err)
			continue
		}
		if l.skip != nil && f.Err == nil && l.skip(f.Path, f.Data) {
			l.untrusted(f.Path, f.Name, f.Data)
			continue
		}
		l.file(f)
	}
}

// notTrusted is why a definition does not count.
const notTrusted = "it does not count, because this folder is not trusted: it would replace an agent or give it more " +
	"than yours have"

// untrusted notes a definition that does not count, so that it is not said of its agents that there are none. What
// it would have replaced stays.
func (l *loader) untrusted(shown, name string, data []byte) {
	p := Problem{Path: shown, Text: notTrusted, Unusable: true}
	l.problem(p)
	if d := l.checkFile(shown, name, data, nil).Definition; d != nil {
		d.Scope = l.scope
		l.noteHooks(*d)
		if weaker, there := l.set.types[front.Fold(d.Name)]; !there || weaker.Scope == ScopeStored {
			delete(l.set.types, front.Fold(d.Name)) // of a stored one it cannot be told which of the two has less
			l.set.broken[front.Fold(d.Name)] = p
		}
	}
}

// document: a file that is about a folder of agents, unless it says that it is one.
func document(name string) bool {
	return slices.Contains([]string{"readme", "claude", "agents", "gemini", "index", "contributing", "changelog",
		"license"}, strings.ToLower(name))
}

func (l *loader) file(file front.File) {
	base, shown := path.Base(file.Name), file.Path
	at := origin{path: shown, line: 1, name: base[:len(base)-len(path.Ext(base))]}
	if file.Err != nil {
		l.unusable(at.name, Problem{Path: shown, Text: "the file cannot be used: " + front.Reason(file.Err)})
		return
	}
	doc, err := file.Parse(keyInUse)
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
	bad := front.BadName(d.Name)
	own := d.Name
	d.Name = l.full(own)
	key := front.Fold(d.Name)
	switch {
	case bad != "":
		l.unusable(at.name, at.problem(b.nameLine, "the name %q %s", own, bad))
	case key == front.Fold(Main):
		l.problem(at.problem(b.nameLine, "main is the root agent's own type, which a definition cannot replace; "+
			"--append-system-prompt adds to its prompt"))
	case l.fresh[key] != "":
		l.problem(at.problem(b.nameLine, "the type %q is already defined in %s, which counts; this one is not used",
			d.Name, l.fresh[key]))
	case l.scope == ScopeStored && isBuiltIn(d.Name):
		p := at.problem(b.nameLine, "%s comes with Troupe, and no stored agent takes its place", d.Name)
		p.Unusable = true
		l.problem(p)
	case strings.TrimSpace(d.Prompt) == "":
		l.unusable(own, at.problem(at.line, "there is no prompt"))
	default:
		l.fresh[key] = at.path
		if weaker, ok := l.set.types[key]; ok {
			d.Shadows = append([]string{weaker.Source}, weaker.Shadows...)
		}
		l.noMoreThan(key, &d)
		l.ceiling(&d)
		if l.mask != nil {
			for _, text := range []*string{&d.Description, &d.WhenToUse, &d.Prompt, &d.InitialPrompt} {
				*text = l.mask(*text)
			}
		}
		if l.style != nil && d.Style != "" {
			text, problem := l.style(d.Style)
			if problem != "" {
				l.problem(at.problem(b.styleLine, "%s", problem))
			}
			d.Prompt = strings.TrimSpace(d.Prompt + "\n\n" + text)
		}
		l.set.types[key] = d
		l.noteHooks(d)
		delete(l.set.broken, key)
	}
}

func (l *loader) noteHooks(d Definition) {
	if len(d.Hooks) > 0 {
		l.set.hooked = append(l.set.hooked, d)
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
			d.Reads, d.Sandbox, d.Starts = true, troupe.LevelReadOnly, []string{} // what it starts could do more
		}
	}
}

// unusable records a definition that cannot be used. It still counts for its name: an
// agent of a weaker source must not take the place of the one that was meant.
func (l *loader) unusable(name string, p Problem) {
	p.Unusable = true
	l.problem(p)
	key := front.Fold(l.full(name))
	if key == front.Fold(Main) || l.fresh[key] != "" {
		return
	}
	if weaker, there := l.set.types[key]; there && l.scope == ScopeProject && weaker.Scope != ScopeStored {
		return // a stranger's file takes no agent away
	}
	delete(l.set.types, key)
	l.set.broken[key] = p
}
