package profile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

// Sources are where definitions come from, the weakest first after what is built in.
type Sources struct {
	// User is the user's folder of definitions, such as ~/.claude/agents; "" for none.
	User string
	// Project is the workspace; its definitions are in .claude/agents. "" for none.
	Project string
	// Skip names definitions of the project, by file, that do not count; nil: all do.
	Skip func(file string) bool
	// Flag is the value of --agents: a JSON object of definitions by name.
	Flag string
	// Tools are all tools there are, for checking those in definitions.
	Tools []troupe.ToolFacts
}

// FlagName is the Path of problems with the value of Sources.Flag.
const FlagName = "--agents"

const (
	projectAgents = ".claude/agents"
	maxFiles      = 500
	maxFolders    = 4 // folders within folders that are searched
	maxName       = 64
	maxProblems   = 20 // told of one file
)

// Load reads every source. Built-in types alone cost no parsing.
func Load(src Sources) (Set, []Problem) {
	l := loader{tools: src.Tools, set: builtInSet()}
	if src.User != "" {
		// The user's own folder may hold links to wherever they keep such files.
		l.folder(src.User, src.User, ".", plainFiles{src.User})
	}
	if src.Project != "" {
		l.skip = src.Skip
		l.project(src.Project)
		l.skip = nil
	}
	if strings.TrimSpace(src.Flag) != "" {
		l.flag(src.Flag)
	}
	return l.set, l.problems
}

type loader struct {
	tools    []troupe.ToolFacts
	skip     func(file string) bool // while the project's are read
	set      Set
	problems []Problem
	fresh    map[string]string // names of the current source: where they were defined
	told     map[string]int    // problems by path
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

// files is a folder that a source is read from.
type files interface {
	OpenFile(name string, flag int, perm os.FileMode) (*os.File, error)
}

type plainFiles struct{ dir string }

func (p plainFiles) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(filepath.Join(p.dir, name), flag, perm)
}

// project reads through an os.Root: a repository's links may not lead out of it, or a
// prompt could be made of the user's private files.
func (l *loader) project(dir string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		l.problem(Problem{Path: dir, Text: "the folder cannot be opened for its agent definitions: " + err.Error()})
		return
	}
	l.folder(dir, filepath.Join(dir, filepath.FromSlash(projectAgents)), projectAgents, root)
	if err := root.Close(); err != nil {
		l.problem(Problem{Path: dir, Text: "closing the folder: " + err.Error()})
	}
}

// folder reads one source's Markdown files, in the order of their names.
func (l *loader) folder(base, shown, name string, in files) {
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
		if l.skip != nil && l.skip(file) {
			l.problem(Problem{Path: file, Text: "it does not count, because this folder is not trusted: it would " +
				"replace an agent or give it more than yours have"})
			continue
		}
		l.file(file, n, in)
	}
}

// markdown lists the .md files below dir.
func markdown(in files, dir string, depth int) (names []string, problems []Problem) {
	f, err := openQuietly(in, dir)
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
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir() && depth < maxFolders:
			more, p := markdown(in, name, depth+1)
			names, problems = append(names, more...), append(problems, p...)
		case e.IsDir():
			problems = append(problems, Problem{Path: name, Text: "the folder lies too deep to be searched for agent " +
				"definitions"})
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

// openQuietly opens without waiting, should the name be a pipe that nobody writes to.
func openQuietly(in files, name string) (*os.File, error) {
	return in.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

func (l *loader) file(shown, name string, in files) {
	base := path.Base(name)
	agent := base[:len(base)-len(path.Ext(base))]
	data, err := readFile(in, name)
	if err != nil {
		l.unusable(agent, Problem{Path: shown, Text: "the file cannot be used: " + reason(err)})
		return
	}
	front, line, body, problem := split(data)
	if problem != nil {
		problem.Path = shown
		if front == nil && strings.HasPrefix(problem.Text, "there is no front matter") {
			l.problem(*problem) // some other document that lies there
		} else {
			l.unusable(agent, *problem)
		}
		return
	}
	fields, problems := readFields(front, line)
	for _, p := range problems {
		p.Path = shown
		l.problem(p)
	}
	l.define(origin{shown, line, agent}, fields, body)
}

func readFile(in files, name string) (data []byte, err error) {
	f, err := openQuietly(in, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxFile:
		return nil, fmt.Errorf("it is larger than %d KB", maxFile>>10)
	case !utf8.Valid(data):
		return nil, errors.New("it is not UTF-8 text")
	case strings.ContainsRune(string(data), 0):
		return nil, errors.New("it contains a NUL byte")
	}
	return data, nil
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
func (l *loader) define(at origin, fields []field, prompt string) {
	d := Definition{Name: at.name, Source: at.path, All: true, Prompt: prompt}
	b := builder{loader: l, at: at, def: &d, seen: map[string]bool{}}
	for _, f := range fields {
		b.field(f)
	}
	b.finish()
	key := strings.ToLower(d.Name)
	switch {
	case badName(d.Name) != "":
		l.unusable(at.name, at.problem(b.nameLine, "the name %q %s", d.Name, badName(d.Name)))
	case key == Main:
		l.problem(at.problem(b.nameLine, "main is the root agent's own type, which a definition cannot replace; "+
			"--append-system-prompt adds to its prompt"))
	case l.fresh[key] != "":
		l.problem(at.problem(b.nameLine, "the type %q is already defined in %s, which counts; this one is not used",
			d.Name, l.fresh[key]))
	case strings.TrimSpace(d.Prompt) == "":
		l.unusable(d.Name, at.problem(at.line, "there is no prompt"))
	default:
		l.fresh[key] = at.path
		l.set.types[key] = d
		delete(l.set.broken, key)
	}
}

// unusable records a definition that cannot be used. It still counts for its name: an
// agent of a weaker source must not take the place of the one that was meant.
func (l *loader) unusable(name string, p Problem) {
	l.problem(p)
	key := strings.ToLower(name)
	if key == Main || l.fresh[key] != "" {
		return
	}
	delete(l.set.types, key)
	l.set.broken[key] = p
}

// badName completes "the name …". Names stand in rules, paths of agents and lists.
func badName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > maxName:
		return fmt.Sprintf("is longer than %d bytes", maxName)
	case strings.TrimSpace(name) != name:
		return "begins or ends with a blank"
	}
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_. :+", r) {
			return fmt.Sprintf("contains %q; use letters, digits, - and _", r)
		}
	}
	return ""
}

func printable(r rune) bool { return unicode.IsPrint(r) }
