package skill

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
)

// Folder holds skills, or commands.
type Folder struct {
	front.Source

	Commands bool
	// Still: commands in its files are not run.
	Still bool
}

// Of is a folder of skills, or of commands.
func Of(dir, root string, scope front.Scope, commands bool) Folder {
	f := Folder{Source: front.Source{Path: dir, Root: root, Scope: scope}, Commands: commands}
	if !commands {
		f.Each = "SKILL.md"
	}
	return f
}

// Place is where a folder has skills or commands.
type Place struct {
	Dir      string // with slashes
	Commands bool
}

// ProjectPlaces are where a project's folder has them, the weakest first.
func ProjectPlaces() []Place {
	return []Place{{".claude/commands", true}, {".troupe/commands", true}, {".agents/skills", false},
		{".claude/skills", false}, {".troupe/skills", false}}
}

// Sources are where skills and commands come from.
type Sources struct {
	// Folders are in the order of their strength, the weakest first.
	Folders []Folder
	// Trusted tells whether commands in a project's file may be run, by the file and by what was read; nil: none may.
	Trusted func(file string, data []byte) bool
	// Hidden tells which files agents may not read; nil: none.
	Hidden func(path string) bool
	// Mask takes secrets out of a text; nil: there are none.
	Mask func(string) string
	// Index is the folder of an index of the files; "": all are read.
	Index string
	// Tools are all tools there are, for checking those in files.
	Tools []troupe.ToolFacts
}

const maxProblems = 20 // told of one file

// Files are what folders hold, read once for all that looks at it.
type Files struct {
	*front.Reading

	folders []Folder
}

// Read reads the files of all folders, by an index below a folder; "": without one.
func Read(folders []Folder, index string) *Files {
	by := front.Reader{What: "skills and commands"}
	for _, p := range ProjectPlaces() {
		by.Among = append(by.Among, p.Dir)
	}
	sources := make([]front.Source, len(folders))
	for i, f := range folders {
		sources[i] = f.Source
	}
	return &Files{front.Read(by, front.Index{Folder: index, Kind: "skills"}, sources), folders}
}

// Load reads every source.
func Load(src Sources) (Set, []front.Finding) { return Read(src.Folders, src.Index).Load(src) }

// Load makes skills of the files; the sources say all else.
func (r *Files) Load(src Sources) (Set, []front.Finding) {
	l := newLoader(src)
	defer r.Save()
	for i, f := range r.folders {
		l.fresh = map[string]string{}
		files, found := r.Files(i)
		l.open(f, files, found, func(k *Skill, name string, problems []front.Finding) {
			for _, p := range problems {
				l.problem(p)
			}
			l.add(f.Scope, k, name, problems)
		})
	}
	return l.set, l.problems
}

// Hooked are the skills and commands that have hooks, those in whose place a stronger one counts included: hooks hold
// for who has used that very file.
func (r *Files) Hooked(trusted func(file string, data []byte) bool) (out []Skill) {
	l := newLoader(Sources{Trusted: trusted})
	for i, f := range r.folders {
		files, _ := r.Files(i)
		for _, file := range files {
			if file.Err == nil && !mayHook(&file) {
				continue // most are not taken apart
			}
			if k, _, _ := l.file(f, file); k != nil && k.Hooks != nil {
				out = append(out, *k)
			}
		}
	}
	return out
}

// mayHook: a file has hooks, or is not known well enough to say that it has none.
func mayHook(file *front.File) bool {
	doc, known := file.Known()
	if !known {
		return bytes.Contains(bytes.ToLower(file.Data), []byte(keyHooks))
	}
	hooks := func(f front.Field) bool { return canonicalKey(f.Key) == keyHooks }
	return slices.ContainsFunc(doc.Fields, hooks) || slices.ContainsFunc(doc.Loose, hooks)
}

type loader struct {
	Sources

	set      Set
	problems []front.Finding
	fresh    map[string]string // names of the current source: where they were defined
	told     map[string]int    // problems by path
}

func newLoader(src Sources) *loader {
	return &loader{Sources: src, set: Set{map[string]Skill{}, map[string]front.Finding{}}, told: map[string]int{}}
}

// problem keeps what a person may want to read; nobody reads a thousand lines about one file.
func (l *loader) problem(p front.Finding) {
	l.told[p.Path]++
	if l.told[p.Path] == maxProblems {
		p.Line, p.Text, p.Note = 0, "there is more wrong here than is listed", false
	}
	if l.told[p.Path] <= maxProblems {
		l.problems = append(l.problems, p)
	}
}

// open reads one folder. each is told of every file: what was made of it, nil if nothing, and the name it counts
// for; "" for a text about skills.
func (l *loader) open(f Folder, files []front.File, found []front.Finding,
	each func(k *Skill, name string, problems []front.Finding)) {
	for _, p := range found {
		l.problem(p)
	}
	for _, file := range files {
		each(l.file(f, file))
	}
}

// nameOf is the name that a file has by where it lies.
func nameOf(f Folder, file front.File) (name string, problem string) {
	rel, err := filepath.Rel(f.Path, file.Path)
	if err != nil {
		rel = file.Name
	}
	rel = filepath.ToSlash(rel)
	if !f.Commands {
		if path.Dir(rel) == "." {
			return path.Base(filepath.ToSlash(filepath.Dir(file.Path))), ""
		}
		name = path.Base(path.Dir(rel))
		return name, badName(name)
	}
	parts := strings.Split(strings.TrimSuffix(rel, path.Ext(rel)), "/")
	for _, p := range parts {
		if problem = badName(p); problem != "" {
			break
		}
	}
	return strings.Join(parts, ":"), problem
}

// full is a name behind its plugin's, if the folder is of one.
func full(f Folder, name string) string {
	if f.Plugin == "" {
		return name
	}
	return f.Plugin + ":" + name
}

// badName completes "the name …": it is typed behind a slash.
func badName(name string) string {
	if strings.ContainsAny(name, " /") {
		return "has a blank or a slash in it, so that /" + strings.Fields(name + " .")[0] + " would not be all of it"
	}
	return front.BadName(name)
}

// file makes a skill of a file.
func (l *loader) file(f Folder, file front.File) (k *Skill, name string, problems []front.Finding) {
	own, bad := nameOf(f, file)
	name = full(f, own)
	unusable := func(line int, format string, args ...any) (*Skill, string, []front.Finding) {
		return nil, name, append(problems, front.Finding{Path: file.Path, Line: line,
			Text:     fmt.Sprintf(format, args...),
			Unusable: true})
	}
	if file.Err != nil {
		return unusable(0, "the file cannot be used: %s", front.Reason(file.Err))
	}
	doc, err := file.Parse(KeyInUse)
	if f.Commands && document(path.Base(own)) && len(doc.Fields) == 0 {
		return nil, "", []front.Finding{{Path: file.Path, Note: true,
			Text: "it has no front matter, so it is taken for documentation"}}
	}
	if err != nil {
		return unusable(lineOf(err), "%v", err)
	}
	for _, n := range doc.Notes {
		problems = append(problems, front.Finding{Path: file.Path, Line: n.Line, Text: n.Text, Note: true})
	}
	b := builder{file: file.Path, name: own, nameProblem: bad, tools: l.Tools, seen: map[string]front.Field{},
		skill: &Skill{Origin: Origin{Source: file.Path, Scope: f.Scope}, Real: cmp.Or(file.Real, file.Path),
			Command: f.Commands, Body: doc.Body},
		line: doc.Line}
	b.build(doc)
	if f.Plugin != "" && b.skill.Hooks != nil {
		b.skill.Hooks = nil
		b.say(false, b.seen[keyHooks].Line, "hooks is not followed in a skill of a plugin; those of its manifest "+
			"are, once "+
			"it is enabled")
	}
	problems, k = append(problems, b.problems...), b.skill
	bad = badNames(k.Name)
	k.Name = full(f, k.Name)
	name = k.Name
	switch {
	case bad != "":
		return unusable(b.nameLine, "the name %q %s", k.Name, bad)
	case strings.TrimSpace(k.Body) == "":
		return unusable(doc.Line, "there is no text behind the front matter")
	}
	if text := l.place(f, k, file.Plain); text != "" {
		return unusable(0, "%s", text)
	}
	k.Runs = !f.Still && (f.Scope != front.ScopeProject || l.Trusted != nil && l.Trusted(file.Path, file.Data))
	if k.Mute = l.mute(f, k, doc.Body); k.Mute != "" {
		problems = append(problems, front.Finding{Path: file.Path, Text: "its commands do not run: " + k.Mute})
	}
	return k, name, problems
}

// mute says why the commands of a project's text do not run though it is trusted: they are not those that are shown
// when trust is asked for.
func (l *loader) mute(f Folder, k *Skill, written string) string {
	if f.Scope != front.ScopeProject {
		return ""
	}
	shown, why := Commands(written)
	if now, _ := Commands(k.Body); why == "" && !slices.Equal(now, shown) {
		why = "what is masked in its text would change them"
	}
	return why
}

// badNames is badName for the parts of a command's name.
func badNames(name string) string {
	for part := range strings.SplitSeq(name, ":") {
		if bad := badName(part); bad != "" {
			return bad
		}
	}
	return ""
}

func lineOf(err error) int {
	if e, ok := err.(*front.Problem); ok { //nolint:errorlint // Parse returns it bare
		return e.Line
	}
	return 0
}

// document: a file that is about a folder of commands.
func document(name string) bool {
	return slices.Contains([]string{"readme", "claude", "agents", "index", "changelog", "license"},
		strings.ToLower(name))
}

// place finds the folder of a skill, and takes out of its texts what agents may not see.
func (l *loader) place(f Folder, k *Skill, real string) (problem string) {
	if real == "" {
		var err error
		if real, err = filepath.EvalSymlinks(k.Source); err != nil {
			return "the file cannot be used: " + front.Reason(err)
		}
	}
	if l.Hidden != nil && (l.Hidden(k.Source) || real != k.Source && l.Hidden(real)) {
		return "it is hidden from agents, so they cannot use it"
	}
	k.Folder = filepath.Dir(real)
	k.Own = !f.Commands && (f.Scope != front.ScopeProject || slices.ContainsFunc(ProjectPlaces(), func(p Place) bool {
		_, below, ok := strings.Cut(filepath.ToSlash(k.Folder), "/"+p.Dir+"/")
		return ok && below != ""
	}))
	for _, text := range []*string{&k.Description, &k.Body, &k.Hint} {
		if *text = troupe.Escape(*text); l.Mask != nil { // it looks like no words of the runtime's own
			*text = l.Mask(*text)
		}
	}
	return ""
}

// add takes up what was made of a file, over one of the same name from a weaker source.
func (l *loader) add(scope front.Scope, k *Skill, name string, problems []front.Finding) {
	if name == "" {
		return
	}
	key := front.Fold(name)
	if k == nil {
		l.unusable(scope, key, problems)
		return
	}
	if first := l.fresh[key]; first != "" {
		l.problem(front.Finding{Path: k.Source, Text: fmt.Sprintf("%q is already defined in %s, which counts; this "+
			"one "+
			"is not used", k.Name, first)})
		return
	}
	weaker, ok := l.set.skills[key]
	if ok && scope == front.ScopeProject && !k.Runs && weaker.Scope != front.ScopeProject {
		l.problem(front.Finding{Path: k.Source, Text: NotTrusted, Unusable: true})
		return
	}
	l.fresh[key] = k.Source
	if ok {
		k.Shadows = append([]string{weaker.Source}, weaker.Shadows...)
	}
	l.set.skills[key] = *k
	delete(l.set.broken, key)
}

// unusable notes a file of which nothing can be made. It still counts for its name, unless a stranger's would take
// one away.
func (l *loader) unusable(scope front.Scope, key string, problems []front.Finding) {
	if l.fresh[key] != "" || len(problems) == 0 {
		return
	}
	if weaker, there := l.set.skills[key]; there && weaker.Scope != front.ScopeProject &&
		scope == front.ScopeProject {
		return
	}
	delete(l.set.skills, key)
	l.set.broken[key] = problems[len(problems)-1]
}

// NotTrusted is why a project's file does not count.
const NotTrusted = "it does not count, because this folder is not trusted: it would take the place of one of yours"
