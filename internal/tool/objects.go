package tool

import (
	"fmt"

	"github.com/troupe-dev/troupe/internal/tool/internal/jsonspan"
)

// objectsValue reads a list of objects, each as strictly as the input itself.
func (d *decoder) objectsValue(f Field, raw string) {
	if kind := kindOf(raw); kind != "an array" {
		d.problem("`%s` must be a list of objects, got %s", f.Name, kind)
		return
	}
	items := jsonspan.Items(raw, jsonspan.Span{To: len(raw)})
	switch n := len(items); {
	case n < f.Min:
		d.problem("`%s` must have at least %d items, got %d", f.Name, f.Min, n)
		return
	case f.Max > 0 && n > f.Max:
		d.problem("`%s` must have at most %d items, got %d", f.Name, f.Max, n)
		return
	}
	for i, at := range items {
		d.object(f.Objects(), at.Of(raw), fmt.Sprintf("item %d of `%s`", i+1, f.Name))
	}
}

// object reads one object; what names it in problems.
func (d *decoder) object(fields []Field, raw, what string) {
	if kind := kindOf(raw); kind != "an object" {
		d.problem("%s must be an object, got %s", what, kind)
		return
	}
	of := decoder{tool: d.tool, fields: fields, set: make([]bool, len(fields))}
	of.take(raw, jsonspan.Members(raw, jsonspan.Span{To: len(raw)}))
	for _, p := range of.problems {
		d.problems = append(d.problems, what+": "+p)
	}
}
