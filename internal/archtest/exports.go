package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
)

// calledFromOutside are methods that libraries call by themselves, so that nothing here names
// them. Methods of errors and texts (Error, String, Unwrap) are among them.
func calledFromOutside() []string {
	return []string{
		"Error", "Is", "As", "Unwrap", "String", "GoString", "Format", // errors and fmt
		"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText", "MarshalYAML", "UnmarshalYAML",
		"Less", "Swap", // sort
		"LocalAddr", "RemoteAddr", // net.Conn
		"GetStatus", "ContentType", // huma
	}
}

// exported lists what may be exported for another reason than its use. The last of them were there
// when the rule came, and are to be unexported or deleted.
func exported() map[string]string {
	const (
		reflected = "the framework reads the fields of what handlers embed, and only exported ones"
		before    = "was there before the rule"
	)
	out := map[string]string{
		"wire.BuiltInCommands": "tests of chat compare its commands with it",
		"config.Parse":         "tests of other packages read with it what was written for a run",
		"memstore.New":         "tests of other packages run on it",
		"run.Finish":           "tests of other commands hold it to printing nothing that a terminal obeys",
		"rule.ParseWildcard":   "tests of gate hold its matching to what a pattern says",
		"gate.Meaning":         "tests of other packages hold them to what a mode means",
		"httpd.Target":         reflected, "httpd.Where": reflected, "httpd.Asked": reflected,
		"httpd.Planned":    reflected,
		"httpd.Hooked":     reflected,
		"httpd.Noticed":    reflected,
		"httpd.StoredName": reflected, "httpd.Match": reflected,
	}
	for _, name := range []string{
		"sandbox.UnavailableError", "session.Wanted", "turn.Allowed",
	} {
		out[name] = before
	}
	return out
}

// export is a name that a package shows to others.
type export struct {
	name string
	kind string // func, method, type or value
	node ast.Node
}

// used is what is mentioned outside tests: names of packages by package, and whatever stands
// behind a dot or in an interface by its name alone.
type used struct {
	abroad     map[string]map[string]bool // by other packages
	home       map[string]map[string]bool // by the package itself
	signatures map[string]map[string]bool // of what the package exports
	selected   map[string]bool
}

// unusedExports finds functions, types and methods that are exported and that no other package
// uses, and values that nothing uses. Tests do not count: what only they use is dead. The floor
// of proof does, and so do signatures: what a caller gets must have a name that can be looked up.
// Methods go by their names alone, so one that shares its name with another is not found.
func unusedExports(excused map[string]string) func(*tree) []string {
	return func(t *tree) []string {
		u := mentions(t)
		unneeded := maps.Clone(excused)
		var out []string
		for _, p := range t.packages {
			if isTestHelper(p.path) || p.name == "main" {
				continue
			}
			for _, e := range p.exports() {
				if !u.unused(p.path, e) {
					continue
				}
				full := p.name + "." + e.name
				delete(unneeded, full)
				if excused[full] == "" {
					out = append(out, t.at(e.node, "%s %s is exported and no other package uses it, tests apart "+
						"(unexport or delete it, or give a reason in exported() in internal/archtest/exports.go)",
						e.kind, full))
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(unneeded)) {
			out = append(out, fmt.Sprintf("internal/archtest/exports.go: the export %s is used or gone; take it out "+
				"of exported()", name))
		}
		return out
	}
}

func (u *used) unused(pkg string, e export) bool {
	switch e.kind {
	case "method":
		return !u.selected[e.name] && !slices.Contains(calledFromOutside(), e.name)
	case "value":
		return !u.abroad[pkg][e.name] && !u.home[pkg][e.name]
	default:
		return !u.abroad[pkg][e.name] && !u.signatures[pkg][e.name]
	}
}

func (p *pkg) exports() []export {
	var out []export
	p.declares(func(id *ast.Ident, kind string, node ast.Node) {
		if id.IsExported() {
			out = append(out, export{id.Name, kind, node})
		}
	})
	return out
}

// declares calls fn for every name that the package declares outside its tests.
func (p *pkg) declares(fn func(id *ast.Ident, kind string, node ast.Node)) {
	for _, s := range p.files {
		if s.test {
			continue
		}
		for _, d := range s.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					fn(d.Name, "method", d)
				} else {
					fn(d.Name, "func", d)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						fn(spec.Name, "type", spec)
					case *ast.ValueSpec:
						for _, id := range spec.Names {
							fn(id, "value", spec)
						}
					}
				}
			}
		}
	}
}

func mentions(t *tree) *used {
	u := &used{map[string]map[string]bool{}, map[string]map[string]bool{}, map[string]map[string]bool{},
		map[string]bool{}}
	for _, p := range t.packages {
		declared := map[*ast.Ident]bool{}
		p.declares(func(id *ast.Ident, kind string, node ast.Node) {
			declared[id] = true
			if id.IsExported() {
				u.signature(p.path, node)
			}
		})
		for _, s := range p.files {
			if !s.test {
				u.file(t, p.path, s, declared)
			}
		}
	}
	return u
}

// file notes what one file mentions.
func (u *used) file(t *tree, pkg string, s *source, declared map[*ast.Ident]bool) {
	packages := map[string]string{}
	for imp, spec := range s.imports() {
		if rel, ours := t.local(imp); ours && spec.Name != nil {
			packages[spec.Name.Name] = rel
		} else if ours {
			packages[path.Base(imp)] = rel
		}
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			u.selected[n.Sel.Name] = true
			if x, ok := n.X.(*ast.Ident); ok {
				if rel, ok := packages[x.Name]; ok {
					mark(u.abroad, rel, n.Sel.Name)
				}
			}
		case *ast.InterfaceType:
			for _, m := range n.Methods.List {
				for _, id := range m.Names {
					u.selected[id.Name] = true
				}
			}
		case *ast.Ident:
			if !declared[n] {
				mark(u.home, pkg, n.Name)
			}
		}
		return true
	})
}

// signature notes the types in what others see of a declaration.
func (u *used) signature(pkg string, decl ast.Node) {
	var seen ast.Node
	switch d := decl.(type) {
	case *ast.FuncDecl:
		seen = d.Type
	case *ast.TypeSpec:
		seen = d.Type
	case *ast.ValueSpec:
		if d.Type == nil {
			return
		}
		seen = d.Type
	}
	ast.Inspect(seen, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && token.IsExported(id.Name) {
			mark(u.signatures, pkg, id.Name)
		}
		return true
	})
}

func mark(m map[string]map[string]bool, pkg, name string) {
	if m[pkg] == nil {
		m[pkg] = map[string]bool{}
	}
	m[pkg][name] = true
}
