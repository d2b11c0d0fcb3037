package profile

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
)

// Checked is what one file was read as.
type Checked struct {
	Path string
	// Definition is nil if no agent can be made of the file.
	Definition *Definition
	// Document: the file is taken for a text about agents.
	Document bool
	Problems []Problem
}

// Check reads files by themselves, and all Markdown files below folders, whatever their names shadow. A name that
// is not there has a problem.
func Check(paths []string, tools []troupe.ToolFacts) []Checked {
	var out []Checked
	for _, name := range paths {
		info, err := os.Stat(name)
		if err != nil {
			out = append(out, Checked{Path: name, Problems: []Problem{{Path: name, Text: reason(err)}}})
			continue
		}
		dir, names := filepath.Dir(name), []string{filepath.Base(name)}
		if info.IsDir() {
			var problems []Problem
			dir = name
			names, problems = markdown(front.Plain(dir), ".", 0)
			for _, p := range problems {
				p.Path = filepath.Join(dir, p.Path)
				out = append(out, Checked{Path: p.Path, Document: p.Note, Problems: []Problem{p}})
			}
		}
		for _, n := range names {
			out = append(out, checkFile(filepath.Join(dir, filepath.FromSlash(n)), n, front.Plain(dir), tools))
		}
	}
	return out
}

// CheckFolder reads each file of a source by itself.
func CheckFolder(f Folder, tools []troupe.ToolFacts) []Checked {
	var out []Checked
	l := loader{tools: tools, set: Set{types: map[string]Definition{}, broken: map[string]Problem{}}, scope: f.Scope}
	l.each = func(shown, name string, in front.Folder) {
		out = append(out, checkFile(shown, name, in, tools))
	}
	l.open(f)
	return out
}

func checkFile(shown, name string, in front.Folder, tools []troupe.ToolFacts) Checked {
	l := loader{tools: tools, fresh: map[string]string{},
		set: Set{types: map[string]Definition{}, broken: map[string]Problem{}}}
	l.file(shown, name, in)
	out := Checked{Path: shown, Problems: l.problems}
	for _, d := range l.set.types {
		if none := d.noneOf(); none != "" {
			out.Problems = append(out.Problems, Problem{Path: shown, Text: none})
		}
		out.Definition = &d
	}
	base := path.Base(name)
	out.Document = out.Definition == nil && len(l.set.broken) == 0 &&
		document(strings.TrimSuffix(base, path.Ext(base)))
	return out
}

// noneOf says that agents of this type cannot be started, for want of all their tools.
func (d Definition) noneOf() string {
	if d.All || len(d.Tools) > 0 || len(d.Missing) == 0 {
		return ""
	}
	return "agents of this type cannot be started: its tools line names only tools that are not here (" +
		strings.Join(d.Missing, ", ") + ")"
}
