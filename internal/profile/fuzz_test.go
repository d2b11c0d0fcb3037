package profile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
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
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "f.md"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		set, problems := Load(Sources{Folders: ofUser(dir), Tools: allTools()})
		lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + 2
		for _, p := range problems {
			if p.Text == "" || p.Line > lines {
				t.Errorf("%d lines, problem %+v", lines, p)
			}
		}
		doc, _ := front.Parse(data, keyInUse)
		hasTools, star := false, false
		for _, f := range doc.Fields {
			hasTools = hasTools || canonicalKey(f.Key) == keyTools
			star = star || strings.Contains(f.Value.Text+strings.Join(f.Value.List, " "), "*")
		}
		for _, d := range set.types {
			if d.Source == troupe.BuiltIn {
				continue
			}
			if front.BadName(d.Name) != "" || d.Prompt == "" {
				t.Errorf("%+v", d)
			}
			if hasTools && d.All && !star {
				t.Errorf("a tools line without a star gives all: %q", data)
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
