package hook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// maxNames bounds how many files of one command are looked after; more than any that is not generated has.
const maxNames = 200

// Names lists the files below the folder that the command names, whether they are there or not: those that it runs, and
// those that it reads in some other way than to look at them. A command can hide what it runs, in variables
// or in other files; this is for those that do not.
func (h *Hook) Names(folder string) []string {
	if h.Kind != Command || h.Broken != "" {
		return nil
	}
	base := h.Folder
	if base == "" {
		base = folder
	}
	r := reading{folder: folder, bases: []string{folder}, names: map[string]use{}}
	if base != folder {
		r.bases = append(r.bases, base)
	}
	plugin := "$CLAUDE_PLUGIN_ROOT" // of what is no plugin's it is not known
	if h.Plugin != "" {
		plugin, r.bases = h.Plugin, append(r.bases, h.Plugin)
	}
	replace := func(w string) string { return w }
	if strings.Contains(h.Run, "$") {
		replace = strings.NewReplacer("${CLAUDE_PROJECT_DIR}", base, "$CLAUDE_PROJECT_DIR", base,
			"${TROUPE_PROJECT_DIR}", base, "$TROUPE_PROJECT_DIR", base, "${PWD}", folder, "$PWD", folder,
			"${CLAUDE_PLUGIN_ROOT}", plugin, "$CLAUDE_PLUGIN_ROOT", plugin).Replace
	}
	words := split(h.Run)
	for i, w := range words {
		words[i] = replace(w)
		r.runs = r.runs || interprets(w) || slices.Contains([]string{"xargs", "eval"}, w)
	}
	for i, w := range words {
		if i+1 < len(words) && (w == "cd" || w == "pushd" || w == "-C") {
			r.bases = append(r.bases, r.paths(words[i+1])...)
		}
	}
	r.read(words)
	for _, w := range quotedWords(h.Run) { // names with blanks in them
		r.name(replace(w), useNamed)
	}
	return r.found()
}

// Scripts lists what below a folder a program that is started with these words runs, as Names does, but for other files
// that it is given: a server may be there to change them. The program is
// started in dir, below the folder if it is not absolute.
func Scripts(folder, dir string, argv []string) []string {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(folder, dir)
	}
	r := reading{folder: folder, bases: []string{dir}, names: map[string]use{}}
	here := strings.NewReplacer("${CLAUDE_PROJECT_DIR}", folder, "${workspaceFolder}", folder,
		"${workspaceRoot}", folder, "${PWD}", folder, "${cwd}", folder)
	var words []string
	for _, w := range argv {
		words = append(words, split(here.Replace(w))...)
	}
	r.read(words)
	for name, u := range r.names {
		if u&useRun == 0 && !scriptLike(name) {
			delete(r.names, name) // what it works with
		}
	}
	return r.found()
}

func (r *reading) found() (out []string) {
	for name, u := range r.names {
		if u&useRun != 0 || u == useNamed {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), maxNames)]
}

// use is what a command does with a file. One that it writes changes by itself, and is looked after only if it is
// run too.
type use int

const (
	useNamed use = 1 << iota
	useWritten
	useRun
)

type reading struct {
	folder string
	bases  []string // in which relative names may begin
	runs   bool     // the line has something that runs what it reads
	names  map[string]use
}

// split takes a command apart into words and operators, with its quotes as if they were not there: what is quoted
// may be a command itself.
func split(command string) []string {
	var spaced strings.Builder
	for i := range len(command) {
		switch c := command[i]; c {
		case '"', '\'', '\\':
		case '\n', ';', '&', '|', '(', ')', '`':
			spaced.WriteString(" ; ")
		case '<', '>':
			spaced.WriteString(" " + string(c) + " ")
		default:
			spaced.WriteByte(c)
		}
	}
	return strings.Fields(spaced.String())
}

// quotedWords are the quoted parts of a command that have blanks in them and are no commands.
func quotedWords(command string) (out []string) {
	for i, part := range strings.FieldsFunc(command, func(c rune) bool { return c == '"' || c == '\'' }) {
		if i > 0 && strings.Contains(part, " ") && strings.TrimSpace(part) == part && strings.Contains(part, "/") &&
			!strings.ContainsAny(part, ";|&<>(`\n") {
			out = append(out, part)
		}
	}
	return out
}

// interprets: the program runs a file that it is given.
func interprets(word string) bool {
	return slices.Contains(strings.Fields("sh bash zsh dash ksh fish python python2 python3 node ruby perl php lua "+
		"deno bun tsx ts-node source . awk gawk osascript pwsh"), filepath.Base(word)) || word == "."
}

// read goes through the simple commands of a line.
func (r *reading) read(words []string) {
	program, start, script := "", true, false
	before := ""
	for _, w := range words {
		last := before
		before = w
		if slices.Contains(strings.Fields("; { } ! if then else elif while until do"), w) {
			program, start, script = "", true, false
			continue
		}
		name, value, assigned := strings.Cut(w, "=")
		switch {
		case w == ">" || w == "<":
		case last == ">" || (last == "-o" || last == "--output") && !interprets(program):
			r.name(w, useWritten)
		case assigned && (start || strings.HasPrefix(name, "-")):
			r.name(value, useNamed)
		case strings.HasPrefix(w, "-"):
			// What stands behind a shell's -c is a command of its own.
			start = start || interprets(program) && strings.HasSuffix(w, "c") && !strings.HasPrefix(w, "--")
		case start:
			program, script = filepath.Base(w), false
			start = slices.Contains(strings.Fields("exec env command nohup time nice timeout sudo xargs eval"), program)
			if strings.Contains(w, "/") {
				r.name(w, useRun)
			}
		case last == "-m" && strings.HasPrefix(program, "python"):
			// The folder comes first where modules are looked for.
			at := strings.ReplaceAll(w, ".", "/")
			for _, file := range []string{at + ".py", at + "/__init__.py", at + "/__main__.py"} {
				r.name(file, useRun)
			}
			script = true
		case program == "go" && w == "run":
			script = true
		case program == "go" && script && strings.Contains(w, "/"):
			r.name(w, useRun)
		case interprets(program) && !script:
			r.module(program, w)
			script = strings.ContainsAny(w, "/.")
		case interprets(program): // what a script is given is its own matter
			if scriptLike(w) {
				r.name(w, useRun)
			}
		case r.looks(program):
		default:
			r.name(w, useNamed)
		}
	}
}

// module notes what an interpreter may take a word for: a file, one without its ending, or a folder.
func (r *reading) module(program, word string) {
	r.name(word, useRun)
	if strings.ContainsAny(word, "*?[{") || scriptLike(word) {
		return
	}
	switch {
	case strings.HasPrefix(program, "python"):
		r.name(word+"/__main__.py", useRun)
	case slices.Contains(strings.Fields("node deno bun tsx ts-node"), program):
		for _, ending := range strings.Fields(".js .mjs .cjs .json .node .ts .mts .cts .tsx .jsx") {
			if filepath.Ext(word) == "" {
				r.name(word+ending, useRun)
			}
			r.name(word+"/index"+ending, useRun)
		}
		r.name(word+"/package.json", useRun)
		for _, path := range r.paths(word + "/package.json") {
			var p struct {
				Main string `json:"main"`
			}
			if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &p) == nil && p.Main != "" {
				r.module("", filepath.Join(filepath.Dir(path), p.Main))
				r.module("", filepath.Join(filepath.Dir(path), p.Main)+".js")
			}
		}
	}
}

// looks: nothing that the program is given is run, neither by it nor by another one of the line.
func (r *reading) looks(program string) bool {
	return slices.Contains(strings.Fields("touch rm mkdir rmdir tee test [ [[ echo printf date sleep kill"),
		program) ||
		!r.runs && slices.Contains(strings.Fields("cat head tail wc grep egrep fgrep rg ls stat diff jq"), program)
}

// scriptLike: a file of this name is there to be run.
func scriptLike(word string) bool {
	return slices.Contains(strings.Fields(".sh .bash .zsh .fish .py .js .mjs .cjs .ts .mts .tsx .rb .pl .php .lua "+
		".awk .jq .mk .ps1"), strings.ToLower(filepath.Ext(word)))
}

// name notes a word that may be the name of a file.
func (r *reading) name(word string, u use) {
	if word == "" || len(word) > 1024 || strings.ContainsAny(word, "$~") || strings.Contains(word, "://") ||
		strings.Contains(word, "...") {
		return
	}
	if u != useRun && strings.ContainsAny(word, "*?[") {
		return // what is looked through, such as all sources
	}
	for _, path := range r.paths(word) {
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir() && u == useRun:
			r.names[path] |= u
		case err == nil && !info.Mode().IsRegular():
		case err == nil && u != useRun && info.Mode()&0o111 != 0:
			r.names[path] |= u | useNamed
		case err == nil, u == useRun, u == useWritten, strings.Contains(word, "/"), scriptLike(word):
			r.names[path] |= u
		}
	}
}

// paths are where a word leads below the folder, or below the project; those that a pattern covers, if it is one.
func (r *reading) paths(word string) (out []string) {
	bases := r.bases
	if filepath.IsAbs(word) {
		bases = []string{""}
	}
	for _, base := range bases {
		found := []string{filepath.Join(base, word)}
		if strings.ContainsAny(word, "*?[") {
			found, _ = filepath.Glob(filepath.Join(disk.Pattern(base), word))
		}
		for _, path := range found {
			if path != r.folder && (troupe.Within(path, r.folder) || troupe.WithinAny(path, r.bases)) &&
				!slices.Contains(out, path) && len(out) < maxNames {
				out = append(out, path)
			}
		}
	}
	return out
}
