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
		item := at.Of(raw)
		if kind := kindOf(item); kind != "an object" {
			d.problem("item %d of `%s` must be an object, got %s", i+1, f.Name, kind)
			continue
		}
		fields := f.Objects()
		of := decoder{tool: d.tool, fields: fields, set: make([]bool, len(fields))}
		of.take(item, jsonspan.Members(item, jsonspan.Span{To: len(item)}))
		for _, p := range of.problems {
			d.problems = append(d.problems, fmt.Sprintf("item %d of `%s`: %s", i+1, f.Name, p))
		}
	}
}
