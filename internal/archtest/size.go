package archtest

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
)

// Budgets of size. They are those of trees that stayed readable for years.
const (
	fileLines     = 500 // 95 of 100 files, tests apart
	fileLinesMost = 900 // every file, tests apart
	funcLines     = 60  // 95 of 100 functions, tests apart
	structFields  = 20
	methodsMost   = 7
	typeMethods   = 40
)

// excused lists the structs and interfaces over budget, each with its reason. An entry that
// is not needed any more is a finding too.
func excused() map[string]string {
	return map[string]string{
		"api.API":      "all that a surface can ask for: the small interfaces that it embeds are what code takes",
		"wire.Session": "the one shape of a session outside of the engine, a field per fact of troupe.Session",
		"wire.Request": "the one shape of a request outside of the engine, a field per fact that a person decides by",
		"troupe.Session": "the projection of a whole log: one field per column of the sessions table, filled by one " +
			"fold",
		"tool.Env":     "all that a call may know of its session: a parameter list with names",
		"session.Deps": "what an engine is given, once, at one place: a parameter list with names",
		"chat.screen": "what is typed and what is shown share one terminal and one cursor, so they are one " +
			"value",
		"profile.Definition": "a field for each key that the front matter of an agent has a meaning for",
		"store.Reader":       "one consistent state is one value, and each method is one kind of row in it",
		"store.Tx": "one transaction is one value; its reading half is Reader, and the two must see the same " +
			"state",
	}
}

// sizeRules hold the tree to the budgets.
func sizeRules(a allowance) []rule {
	return []rule{
		{
			name: "size of files", check: fileSizes,
			why: "a file that does not fit into a head is changed by people who have not read it",
		},
		{
			name: "size of functions", check: funcSizes,
			why: "a long function has more states than anybody tests",
		},
		{
			name: "size of types", check: func(t *tree) []string { return typeSizes(t, a.types) },
			why: "a struct with many fields has many owners, and an interface with many methods has one implementation",
		},
		{
			name: "methods of a type", check: func(t *tree) []string { return methodSets(t, a.methods, a.promoted) },
			why: "a type with many methods is a package without walls: each of them may touch whatever the others keep",
		},
		{
			name: "width of lines", check: lineWidths(a.wideLines),
			why: "what does not fit side by side with a diff is reviewed by scrolling",
		},
		{
			name: "size of the product", check: productSize(a.productLines),
			why: "every line is read, kept and carried through each change of what is around it",
		},
	}
}

// sized is something with a length and a place.
type sized struct {
	what string
	n    int
}

func fileSizes(t *tree) []string {
	var all []sized
	var out []string
	t.sources(false, func(_ *pkg, s *source) {
		all = append(all, sized{s.path, s.lines})
		if s.lines > fileLinesMost {
			out = append(out, fmt.Sprintf("%s: %d lines; no file may have more than %d", s.path, s.lines,
				fileLinesMost))
		}
	})
	return append(out, overP95(all, fileLines, "files")...)
}

func funcSizes(t *tree) []string {
	var all []sized
	t.sources(false, func(_ *pkg, s *source) {
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				first, last := t.fset.Position(f.Pos()), t.fset.Position(f.End())
				all = append(all, sized{t.at(f, "func %s", f.Name.Name), last.Line - first.Line + 1})
			}
		}
	})
	return overP95(all, funcLines, "functions")
}

// overP95 is one finding, with the longest of them, if more than one in twenty is over budget.
func overP95(all []sized, budget int, what string) []string {
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b sized) int { return cmp.Or(a.n-b.n, strings.Compare(a.what, b.what)) })
	p95 := all[(len(all)*95+99)/100-1].n
	if p95 <= budget {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "95 of 100 %s should have at most %d lines, but the mark stands at %d; the longest:", what, budget,
		p95)
	for _, s := range slices.Backward(all[max(0, len(all)-10):]) {
		fmt.Fprintf(&b, "\n\t%4d %s", s.n, s.what)
	}
	return []string{b.String()}
}

func typeSizes(t *tree, excused map[string]string) []string {
	var out []string
	unneeded := maps.Clone(excused)
	for _, p := range t.packages {
		interfaces := map[string]*ast.InterfaceType{}
		p.types(func(name string, x ast.Expr) {
			if i, ok := x.(*ast.InterfaceType); ok {
				interfaces[name] = i
			}
		})
		p.types(func(name string, x ast.Expr) {
			full := p.name + "." + name
			var problem string
			switch x := x.(type) {
			case *ast.StructType:
				if n := x.Fields.NumFields(); n > structFields {
					problem = fmt.Sprintf("struct %s has %d fields; the budget is %d", full, n, structFields)
				}
			case *ast.InterfaceType:
				if n := methods(x, interfaces, 0); n > methodsMost {
					problem = fmt.Sprintf("interface %s has %d methods; the budget is %d", full, n, methodsMost)
				}
			}
			if problem == "" {
				return
			}
			delete(unneeded, full)
			if excused[full] == "" {
				out = append(out, t.at(x, "%s (split it, or give a reason in excused() in internal/archtest/size.go)",
					problem))
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(unneeded)) {
		out = append(out, fmt.Sprintf("internal/archtest/size.go: %s is within the budget or gone; take it out of "+
			"excused()", name))
	}
	return out
}

// lineWidths allows so many lines that are too wide. What is wide because of a text between
// backquotes is as it is: where that would be broken is not for us to choose.
func lineWidths(most int) func(*tree) []string {
	return func(t *tree) []string {
		var out []string
		for _, p := range t.packages {
			for _, s := range p.files {
				quoted := t.backquoted(s)
				for i, line := range strings.Split(string(s.data), "\n") {
					if w := width(line); w > lineWidth && !quoted[i+1] && (!s.test || !strings.Contains(line, "`")) {
						out = append(out, fmt.Sprintf("%s:%d: %d columns; a line has at most %d, with tabs of %d "+
							"(`make fmt` wraps it)", s.path, i+1, w, lineWidth, tabWidth))
					}
				}
			}
		}
		if len(out) <= most {
			return nil
		}
		if most > 0 {
			return []string{fmt.Sprintf("%d lines are wider than %d columns, and there may be %d; the last of them: %s",
				len(out), lineWidth, most, out[len(out)-1])}
		}
		return out
	}
}

// backquoted are the lines that lie in texts between backquotes, of several lines or of more than
// half a line.
func (t *tree) backquoted(s *source) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			first, last := t.fset.Position(lit.Pos()).Line, t.fset.Position(lit.End()).Line
			for l := first; l <= last && (first != last || lit.Value[0] == '`' && len(lit.Value) > lineWidth/2); l++ {
				lines[l] = true
			}
		}
		return true
	})
	return lines
}

// types calls fn for every type the package declares outside its tests.
func (p *pkg) types(fn func(name string, x ast.Expr)) {
	for _, s := range p.files {
		if s.test {
			continue
		}
		for _, d := range s.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				if ts, ok := spec.(*ast.TypeSpec); ok {
					fn(ts.Name.Name, ts.Type)
				}
			}
		}
	}
}

// methods counts an interface's methods and those of the interfaces of its own package that
// it embeds. One that it embeds from elsewhere counts as one. Constraints have none.
func methods(x *ast.InterfaceType, same map[string]*ast.InterfaceType, depth int) int {
	n := 0
	for _, f := range x.Methods.List {
		switch typ := f.Type.(type) {
		case *ast.FuncType:
			n += len(f.Names)
		case *ast.SelectorExpr:
			n++
		case *ast.Ident:
			if in, ok := same[typ.Name]; ok && depth < 10 {
				n += methods(in, same, depth+1)
			}
		}
	}
	return n
}
