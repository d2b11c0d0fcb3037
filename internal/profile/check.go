package profile

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
)

// Checked is what one file was read as.
type Checked struct {
	Path string
	// Definition is nil if no agent can be made of the file.
	Definition *Definition
	// Startable: agents of it can be started.
	Startable bool
	// Document: the file is taken for a text about agents.
	Document bool
	Problems []Problem
}

// Check reads files by themselves, and all Markdown files below folders, whatever their names shadow. A name that
// is not there has a problem.
func Check(paths []string, tools []troupe.ToolFacts, style Styling) []Checked {
	var out []Checked
	l := newLoader(tools, Set{})
	l.style = style
	for _, name := range paths {
		info, err := os.Stat(name)
		if err != nil {
			out = append(out, Checked{Path: name, Problems: []Problem{{Path: name, Text: front.Reason(err)}}})
			continue
		}
		if !info.IsDir() {
			data, err := front.ReadFile(front.Plain(filepath.Dir(name)), filepath.Base(name))
			out = append(out, l.checkFile(name, name, data, err))
			continue
		}
		files, problems := Read([]Folder{{Path: name}}, "").Files(0)
		for _, p := range problems {
			out = append(out, Checked{Path: p.Path, Document: p.Note, Problems: []Problem{p}})
		}
		for _, f := range files {
			out = append(out, l.checkFile(f.Path, f.Name, f.Data, f.Err))
		}
	}
	return out
}

// CheckFolder reads each file of a source by itself.
func CheckFolder(f Folder, skip func(file string, data []byte) bool, tools []troupe.ToolFacts,
	style Styling) []Checked {
	var out []Checked
	l := newLoader(tools, Set{types: map[string]Definition{}, broken: map[string]Problem{}})
	l.scope, l.style = f.Scope, style
	if f.Scope == ScopeProject {
		l.skip = skip
	}
	seen := map[string]string{}
	l.each = func(shown, name string, data []byte, err error) {
		c := l.checkFile(shown, name, data, err)
		if d := c.Definition; d != nil {
			key := front.Fold(d.Name)
			if first := seen[key]; first != "" {
				c.Startable = false
				c.Problems = append(c.Problems, Problem{Path: shown,
					Text: fmt.Sprintf("the type %q is already defined in %s, "+
						"which counts; this one is not used", d.Name, first)})
			} else {
				seen[key] = shown
			}
		}
		if err == nil && l.skip != nil && l.skip(shown, data) {
			c.Startable = false
			c.Problems = append(c.Problems, Problem{Path: shown, Text: notTrusted})
		}
		out = append(out, c)
	}
	files, found := Read([]Folder{f}, "").Files(0)
	l.open(f, files, found)
	return out
}

// checkFile reads one file by itself.
func (l *loader) checkFile(shown, name string, data []byte, err error) Checked {
	return checkFile(loader{tools: l.tools, plugin: l.plugin, style: l.style}, shown, name, data, err)
}

func checkFile(l loader, shown, name string, data []byte, err error) Checked {
	l.fresh, l.set = map[string]string{}, Set{types: map[string]Definition{}, broken: map[string]Problem{}}
	l.file(front.File{Path: shown, Name: name, Data: data, Err: err})
	out := Checked{Path: shown, Problems: l.problems}
	for _, d := range l.set.types {
		none := d.noneOf(l.tools)
		if none != "" {
			out.Problems = append(out.Problems, Problem{Path: shown, Text: none})
		}
		out.Definition, out.Startable = &d, none == ""
	}
	base := path.Base(name)
	out.Document = out.Definition == nil && len(l.set.broken) == 0 &&
		document(strings.TrimSuffix(base, path.Ext(base)))
	return out
}

// noneOf says that agents of this type cannot be started, for want of all their tools.
func (d Definition) noneOf(offer []troupe.ToolFacts) string {
	unmet := d.unmet(offer)
	if d.All || len(d.Tools) > len(unmet) || len(d.Missing)+len(unmet) == 0 {
		return ""
	}
	return "agents of this type cannot be started: its tools line names only tools that are not here (" +
		strings.Join(slices.Concat(d.Missing, unmet), ", ") + ")"
}
