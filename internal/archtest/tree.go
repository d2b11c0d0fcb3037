package archtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
)

// tree is a repository as the rules see it. Paths use slashes and begin at its top.
type tree struct {
	module   string
	packages []*pkg // by path
	texts    []text // by path
	fset     *token.FileSet
}

// pkg is one folder of Go files. Its external tests count as part of it.
type pkg struct {
	path  string // below the module; "" is the root package
	name  string
	files []*source
}

// source is one Go file.
type source struct {
	path  string
	test  bool
	lines int
	data  []byte
	ast   *ast.File
}

// text is one file that people wrote, Go or not.
type text struct {
	path string
	data []byte
}

// rule is one thing that must hold. Each finding of check begins with its place.
type rule struct {
	name  string
	why   string
	check func(*tree) []string
}

// open reads the repository whose top is given.
func open(ctx context.Context, top string) (*tree, error) {
	paths, err := tracked(ctx, top)
	if err != nil {
		return nil, err
	}
	return load(os.DirFS(top), paths)
}

// tracked lists the files that are or would be in the repository. Without git (a source
// archive, say) that is everything but hidden folders and what the build makes.
func tracked(ctx context.Context, top string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = top
	if out, err := cmd.Output(); err == nil && len(out) > 0 {
		return strings.Split(strings.TrimRight(string(out), "\x00"), "\x00"), nil
	}
	return walked(os.DirFS(top))
}

func walked(fsys fs.FS) ([]string, error) {
	var paths []string
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (p == "bin" || p == "dist" || (p != "." && strings.HasPrefix(d.Name(), "."))):
			return fs.SkipDir
		case d.Type().IsRegular():
			paths = append(paths, p)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the tree: %w", err)
	}
	return paths, nil
}

// load reads the given files. Go files that the build of this module does not see (test
// data, and modules inside this one) are only texts.
func load(fsys fs.FS, paths []string) (*tree, error) {
	t := &tree{fset: token.NewFileSet()}
	nested := nestedModules(paths)
	byPath := map[string]*pkg{}
	for _, p := range slices.Sorted(slices.Values(paths)) {
		data, err := fs.ReadFile(fsys, p)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and git has not been told yet
		}
		if err != nil {
			return nil, fmt.Errorf("read the tree: %w", err)
		}
		if bytes.IndexByte(data, 0) < 0 {
			t.texts = append(t.texts, text{p, data})
		}
		if p == "go.mod" {
			t.module = moduleName(data)
		}
		if path.Ext(p) != ".go" || !built(p, nested) {
			continue
		}
		if err := t.addSource(byPath, p, data); err != nil {
			return nil, err
		}
	}
	if t.module == "" {
		return nil, errors.New("read the tree: no go.mod that names a module at its top")
	}
	for _, p := range byPath {
		t.packages = append(t.packages, p)
	}
	slices.SortFunc(t.packages, func(a, b *pkg) int { return strings.Compare(a.path, b.path) })
	return t, nil
}

func (t *tree) addSource(byPath map[string]*pkg, p string, data []byte) error {
	f, err := parser.ParseFile(t.fset, p, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("read the tree: %w", err)
	}
	dir := path.Dir(p)
	if dir == "." {
		dir = ""
	}
	in := byPath[dir]
	if in == nil {
		in = &pkg{path: dir}
		byPath[dir] = in
	}
	s := &source{path: p, test: strings.HasSuffix(p, "_test.go"), lines: bytes.Count(data, []byte("\n")), data: data,
		ast: f}
	if !s.test || in.name == "" {
		in.name = strings.TrimSuffix(f.Name.Name, "_test")
	}
	in.files = append(in.files, s)
	return nil
}

func nestedModules(paths []string) []string {
	var out []string
	for _, p := range paths {
		if path.Base(p) == "go.mod" && p != "go.mod" {
			out = append(out, path.Dir(p)+"/")
		}
	}
	return out
}

// built reports whether `./...` would include the file.
func built(p string, nested []string) bool {
	for _, n := range nested {
		if strings.HasPrefix(p, n) {
			return false
		}
	}
	for _, part := range strings.Split(p, "/") {
		if part == "testdata" || part == "vendor" || part[0] == '.' || part[0] == '_' {
			return false
		}
	}
	return true
}

func moduleName(gomod []byte) string {
	for line := range strings.Lines(string(gomod)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "module" {
			return f[1]
		}
	}
	return ""
}

// sources calls fn for every Go file, tests or the rest.
func (t *tree) sources(tests bool, fn func(*pkg, *source)) {
	for _, p := range t.packages {
		for _, s := range p.files {
			if s.test == tests {
				fn(p, s)
			}
		}
	}
}

// at is a finding: its place, and what is wrong there.
func (t *tree) at(n ast.Node, format string, args ...any) string {
	pos := t.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d: %s", pos.Filename, pos.Line, fmt.Sprintf(format, args...))
}

// local turns an import path into a path below the module. ok is false for other modules.
func (t *tree) local(imp string) (rel string, ok bool) {
	if imp == t.module {
		return "", true
	}
	return strings.CutPrefix(imp, t.module+"/")
}

// imports lists what a file imports, with the nodes to point at.
func (s *source) imports() map[string]*ast.ImportSpec {
	out := map[string]*ast.ImportSpec{}
	for _, spec := range s.ast.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			out[p] = spec
		}
	}
	return out
}

// uses calls fn for every mention of a name of the imported package, such as time.Sleep,
// under whatever name the file imports it.
func (s *source) uses(imp string, fn func(n ast.Node, name string)) {
	spec, ok := s.imports()[imp]
	if !ok {
		return
	}
	local := path.Base(imp)
	if spec.Name != nil {
		local = spec.Name.Name
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == local {
				fn(sel, sel.Sel.Name)
			}
		}
		return true
	})
}

// title is what people call the package.
func (p *pkg) title() string {
	if p.path == "" {
		return "the root package"
	}
	return p.path
}

// within reports whether the path is the folder or lies below it.
func within(p, folder string) bool {
	return p == folder || strings.HasPrefix(p, folder+"/")
}

// covers reports whether a pattern ("internal/cli", "internal/cli/...") names the path.
func covers(pattern, p string) bool {
	if folder, ok := strings.CutSuffix(pattern, "/..."); ok {
		return within(p, folder)
	}
	return p == pattern
}

func coversAny(patterns []string, p string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return covers(pattern, p) })
}

// standard reports whether an import path belongs to the standard library: its first part
// has no dot.
func standard(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".")
}
