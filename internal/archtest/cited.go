package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

// cited checks what docs/promises.md and the ADRs name: tests, end-to-end scripts and files must be there. Of the
// promises, which say what is so today, names of the code (`package.Name`) are checked as well.
func cited(t *tree) []string {
	var (
		test   = regexp.MustCompile(`\b((?:Test|Fuzz|Benchmark)[A-Z]\w*)(…?)`)
		script = regexp.MustCompile(`\be2e/(\w+)(\.go|…|\*)?`)
		file   = regexp.MustCompile("`([\\w./-]+\\.(?:go|md|txtar|yaml|yml|sql|sh))`")
		symbol = regexp.MustCompile("`(\\w+)\\.([a-zA-Z0-9]+)`") // a setting has _ in its name
	)
	tests, scopes := t.testNames(), t.scopes()
	var out []string
	for _, f := range t.texts {
		promises := f.path == "docs/promises.md"
		if !promises && (path.Dir(f.path) != "docs/adr" || path.Ext(f.path) != ".md") {
			continue
		}
		for i, l := range bytes.Split(f.data, []byte("\n")) {
			miss := func(what, name string) {
				out = append(out, fmt.Sprintf("%s:%d: there is no %s %s", f.path, i+1, what, name))
			}
			line := string(l)
			for _, m := range test.FindAllStringSubmatch(line, -1) {
				if !slices.ContainsFunc(tests, named(m[1], m[2] != "")) {
					miss("test", m[1])
				}
			}
			for _, m := range script.FindAllStringSubmatch(line, -1) {
				if m[1] != "NAME" && m[1] != "testdata" && m[2] != ".go" &&
					!t.hasFile("internal/e2e/testdata/script/", named(m[1], m[2] != "")) {
					miss("end-to-end script", m[1])
				}
			}
			for _, m := range file.FindAllStringSubmatch(line, -1) {
				if !strings.Contains(m[1], "NAME") && !t.endsWith(m[1]) {
					miss("file", m[1])
				}
			}
			for _, m := range symbol.FindAllStringSubmatch(line, -1) {
				if names, ok := scopes[m[1]]; ok && promises && !names[m[2]] && !t.endsWith(m[1]+"."+m[2]) {
					miss("name "+m[2]+" in", m[1])
				}
			}
		}
	}
	return out
}

// named matches a name, or all that begin so.
func named(want string, begin bool) func(string) bool {
	return func(name string) bool { return name == want || begin && strings.HasPrefix(name, want) }
}

// testNames lists the tests, fuzz targets and benchmarks there are, those of suites for others included.
func (t *tree) testNames() (out []string) {
	for _, p := range t.packages {
		for _, s := range p.files {
			for _, d := range s.ast.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
					out = append(out, f.Name.Name)
				}
			}
		}
	}
	return out
}

// scopes are the identifiers that stand in packages, by the names of the packages and of the types in them.
// Kinds of events, which are written as if they were such names, are there as well.
func (t *tree) scopes() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	add := func(scope, name string) {
		if out[scope] == nil {
			out[scope] = map[string]bool{}
		}
		out[scope][name] = true
	}
	for _, p := range t.packages {
		inside, types := map[string]bool{}, []string{p.name}
		for _, s := range p.files {
			ast.Inspect(s.ast, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Ident:
					inside[n.Name] = true
				case *ast.TypeSpec:
					types = append(types, n.Name.Name)
				case *ast.BasicLit:
					if before, after, ok := strings.Cut(strings.Trim(n.Value, `"`), "."); ok && p.path == "" {
						add(before, after)
					}
				}
				return true
			})
		}
		for _, scope := range types {
			for name := range inside {
				add(scope, name)
			}
		}
	}
	return out
}

// hasFile tells whether a file of a folder has a name, without its ending, that fits.
func (t *tree) hasFile(folder string, fits func(string) bool) bool {
	return slices.ContainsFunc(t.texts, func(f text) bool {
		name, ok := strings.CutPrefix(f.path, folder)
		return ok && fits(strings.TrimSuffix(name, path.Ext(name)))
	})
}

// endsWith tells whether there is a file of this path, or of one that ends so.
func (t *tree) endsWith(name string) bool {
	return slices.ContainsFunc(t.texts, func(f text) bool {
		return f.path == name || strings.HasSuffix(f.path, "/"+name)
	})
}
