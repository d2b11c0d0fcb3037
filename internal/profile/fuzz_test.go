package profile

import (
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

func FuzzFrontMatter(f *testing.F) {
	for _, s := range []string{
		"---\nname: a\ndescription: b: c\ntools: [Read, Bash]\nmodel: opus\n---\nBody",
		"---\ntools: *\n---\nx", "---\ntools: &a [*a]\n---\nx", "---\n\ttools: Read\n---\nx", "---\n---\n",
		"\ufeff---\r\nname: x\r\n---\r\ny",
		"---\n? [a]\n: b\n---\nx", "---\ntools: |\n  Read\n---\nx", "---\na: &a [b, b]\nc: &c [*a, *a]\n---\nx",
		"---\n%YAML 1.1\n---\nx",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := loader{tools: allTools(), fresh: map[string]string{},
			set: Set{types: map[string]Definition{}, broken: map[string]Problem{}}}
		front, line, body, problem := split(data)
		if problem != nil {
			if problem.Text == "" || problem.Line < 1 {
				t.Errorf("%+v", problem)
			}
			return
		}
		fields, problems := readFields(front, line)
		l.define(origin{"f.md", line, "f"}, fields, body)
		lines := strings.Count(string(data), "\n") + 2
		for _, p := range append(problems, l.problems...) {
			if p.Text == "" || p.Line < 1 || p.Line > lines {
				t.Errorf("%d lines, problem %+v", lines, p)
			}
		}
		hasTools := false
		for _, f := range fields {
			hasTools = hasTools || canonicalKey(f.key) == keyTools
		}
		for _, d := range l.set.types {
			if badName(d.Name) != "" || d.Prompt == "" {
				t.Errorf("%+v", d)
			}
			if hasTools && d.All && !strings.Contains(string(front), "*") {
				t.Errorf("a tools line without a star gives all: %q", front)
			}
			for _, tool := range d.Tools {
				if !slices.ContainsFunc(allTools(), func(f troupe.ToolFacts) bool { return f.Name == tool }) {
					t.Errorf("unknown tool %q", tool)
				}
			}
		}
	})
}

func FuzzFlag(f *testing.F) {
	f.Add(`{"a": {"description": "d", "prompt": "p", "tools": ["Read"]}, "a": {}}`)
	f.Add("{\"a\":\n{\"tools\": {}}}")
	f.Fuzz(func(t *testing.T, text string) {
		_, problems := Load(Sources{Flag: text, Tools: allTools()})
		for _, p := range problems {
			if p.Text == "" || p.Line > strings.Count(text, "\n")+1 {
				t.Errorf("%+v", p)
			}
		}
	})
}

func BenchmarkLoadBuiltins(b *testing.B) {
	tools := allTools()
	for b.Loop() {
		Load(Sources{Tools: tools})
	}
}
