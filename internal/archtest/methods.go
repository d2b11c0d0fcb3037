package archtest

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
)

// methodSets counts the methods of every type, whatever file they are in: its own, and with those that
// are promoted from types of this module that it embeds, which are called as if they were its own. Who
// is excused for the latter is not for the former.
func methodSets(t *tree, own, promoted map[string]string) []string {
	var out []string
	unneeded := map[string]string{}
	maps.Copy(unneeded, own)
	maps.Copy(unneeded, promoted)
	types := declaredTypes(t)
	for _, name := range slices.SortedFunc(maps.Keys(types.byName), typeName.compare) {
		d := types.byName[name]
		if _, ok := d.spec.Type.(*ast.InterfaceType); ok || isTestHelper(name.pkg) {
			continue // "size of types" has a budget for interfaces
		}
		all := map[string]bool{}
		types.addMethods(all, d, map[*declaredType]bool{})
		n, with, excused := len(all), " with those of what it embeds", promoted
		if len(d.methods) > typeMethods {
			n, with, excused = len(d.methods), "", own
		}
		if n <= typeMethods {
			continue
		}
		full := d.pkg.name + "." + name.name
		delete(unneeded, full)
		if excused[full] == "" {
			out = append(out, t.at(d.at, "%s has %d methods%s; the budget is %d (split it, name the field that "+
				"it embeds, or give a reason in internal/archtest/rules.go)", full, n, with, typeMethods))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(unneeded)) {
		out = append(out, fmt.Sprintf("internal/archtest/rules.go: %s has no more methods than the budget, or is "+
			"gone; take it out there", name))
	}
	return out
}

// typeName names a type of the module: the path of its package, and its own name.
type typeName struct{ pkg, name string }

func (n typeName) compare(other typeName) int {
	return cmp.Or(cmp.Compare(n.pkg, other.pkg), cmp.Compare(n.name, other.name))
}

// declaredType is a type and its own methods. One that is written once for each system counts once.
type declaredType struct {
	pkg     *pkg
	source  *source
	spec    *ast.TypeSpec
	methods map[string]bool
	at      ast.Node // for findings: the first method, or the type if it has none
}

// typeIndex has the types that the packages of a tree declare, those of tests and in functions apart.
type typeIndex struct {
	tree   *tree
	byName map[typeName]*declaredType
}

func declaredTypes(t *tree) typeIndex {
	x := typeIndex{t, map[typeName]*declaredType{}}
	t.sources(false, func(p *pkg, s *source) {
		for _, d := range s.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			for i := 0; ok && i < len(g.Specs); i++ {
				if spec, ok := g.Specs[i].(*ast.TypeSpec); ok {
					x.byName[typeName{p.path, spec.Name.Name}] = &declaredType{p, s, spec, map[string]bool{}, spec}
				}
			}
		}
	})
	t.sources(false, func(p *pkg, s *source) {
		for _, decl := range s.ast.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			if d := x.byName[typeName{p.path, receiver(f)}]; d != nil {
				if len(d.methods) == 0 {
					d.at = f
				}
				d.methods[f.Name.Name] = true
			}
		}
	})
	return x
}

// addMethods adds the names of a type's methods, its own and the promoted ones. Names that are
// promoted from two places, and so cannot be called, are rare enough to count.
func (x typeIndex) addMethods(all map[string]bool, d *declaredType, seen map[*declaredType]bool) {
	if d == nil || seen[d] {
		return
	}
	seen[d] = true
	maps.Copy(all, d.methods)
	x.addPromoted(all, d, seen)
}

// addPromoted adds what a type has besides its own methods.
func (x typeIndex) addPromoted(all map[string]bool, d *declaredType, seen map[*declaredType]bool) {
	switch typ := d.spec.Type.(type) {
	case *ast.StructType:
		for _, f := range typ.Fields.List {
			if len(f.Names) == 0 {
				x.addMethods(all, x.find(d, f.Type), seen)
			}
		}
	case *ast.InterfaceType:
		for _, f := range typ.Methods.List {
			for _, name := range f.Names {
				all[name.Name] = true
			}
			if len(f.Names) == 0 {
				x.addMethods(all, x.find(d, f.Type), seen)
			}
		}
	default:
		of := x.find(d, typ)
		switch {
		case of == nil:
		case d.spec.Assign.IsValid(): // another name for the same type
			x.addMethods(all, of, seen)
		case !seen[of]: // the same fields, and none of the methods
			seen[of] = true
			x.addPromoted(all, of, seen)
		}
	}
}

// find is the type of the module that an expression in the declaration of d names; nil if it names none.
func (x typeIndex) find(d *declaredType, expr ast.Expr) *declaredType {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return x.find(d, e.X)
	case *ast.ParenExpr:
		return x.find(d, e.X)
	case *ast.IndexExpr: // of one type parameter
		return x.find(d, e.X)
	case *ast.IndexListExpr:
		return x.find(d, e.X)
	case *ast.Ident:
		return x.byName[typeName{d.pkg.path, e.Name}]
	case *ast.SelectorExpr:
		for imp, spec := range d.source.imports() {
			local := path.Base(imp)
			if spec.Name != nil {
				local = spec.Name.Name
			}
			of, ours := x.tree.local(imp)
			if id, ok := e.X.(*ast.Ident); ok && ours && id.Name == local {
				return x.byName[typeName{of, e.Sel.Name}]
			}
		}
	}
	return nil
}

// receiver is the name of the type that a method belongs to.
func receiver(f *ast.FuncDecl) string {
	name := ""
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name // before its type parameters
		}
		return name == ""
	})
	return name
}
