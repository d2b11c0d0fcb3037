// Package yamlfile reads the YAML files that people write about models: strictly, and with
// errors that say file, line and what to write instead. Nothing is ignored in silence: a
// key nobody knows, a key given twice and a second document are errors.
//
// Files may come from strangers. Aliases are followed, but the nodes that one file may
// unfold to are counted, so that a small file cannot become a large one.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/troupe-dev/troupe"
)

const (
	maxBytes = 8 << 20
	maxNodes = 500_000
	maxDepth = 64
)

// Doc is one file being read. It collects nothing; the first error ends the reading.
type Doc struct {
	path  string
	nodes int
}

// Node is a place in a file.
type Node struct {
	doc *Doc
	n   *yaml.Node
}

// Parse reads a file's one document. Path is for messages only.
func Parse(path string, data []byte) (Node, error) {
	d := &Doc{path: path}
	if len(data) > maxBytes {
		return Node{}, fmt.Errorf("%s: the file has %d bytes; at most %d are read", path, len(data), maxBytes)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return Node{}, fmt.Errorf("%s: the file is empty", path)
	}
	var root yaml.Node
	if err := yaml.Load(data, &root); err != nil {
		var le *yaml.LoadError
		if errors.As(err, &le) && le.Mark.Line > 0 {
			return Node{}, fmt.Errorf("%s:%d: %s", path, le.Mark.Line, le.Message)
		}
		return Node{}, fmt.Errorf("%s: %w", path, err)
	}
	n := &root
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		n = n.Content[0]
	}
	if n.Kind == 0 || n.Kind == yaml.DocumentNode {
		return Node{}, fmt.Errorf("%s: the file is empty", path)
	}
	return d.node(n)
}

func (d *Doc) node(n *yaml.Node) (Node, error) {
	for range maxDepth {
		if d.nodes++; d.nodes > maxNodes {
			return Node{}, fmt.Errorf("%s:%d: the file unfolds to more than %d values", d.path, n.Line, maxNodes)
		}
		if n.Kind != yaml.AliasNode {
			return Node{d, n}, nil
		}
		if n.Alias == nil {
			break
		}
		n = n.Alias
	}
	return Node{}, fmt.Errorf("%s:%d: the alias leads nowhere", d.path, n.Line)
}

// Line is the line the node begins on.
func (n Node) Line() int { return n.n.Line }

// Errorf is an error at this place.
func (n Node) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", n.doc.path, n.n.Line, fmt.Errorf(format, args...))
}

// IsMap, IsList and IsNull say what stands here.
func (n Node) IsMap() bool  { return n.n.Kind == yaml.MappingNode }
func (n Node) IsList() bool { return n.n.Kind == yaml.SequenceNode }
func (n Node) IsNull() bool { return n.n.Kind == yaml.ScalarNode && n.n.ShortTag() == "!!null" }

// Members calls fn for each member of a mapping, in the file's order. what names the
// mapping in the error that something else stands here.
func (n Node) Members(what string, fn func(key string, val Node) error) error {
	if !n.IsMap() {
		return n.Errorf("%s must be a mapping (key: value), not %s", what, n.kind())
	}
	seen := make(map[string]bool, len(n.n.Content)/2)
	for i := 0; i+1 < len(n.n.Content); i += 2 {
		k, err := n.doc.node(n.n.Content[i])
		if err != nil {
			return err
		}
		if k.n.Kind != yaml.ScalarNode {
			return k.Errorf("a key of %s must be a plain word", what)
		}
		if seen[k.n.Value] {
			return k.Errorf("%q is given twice", k.n.Value)
		}
		if k.n.ShortTag() == "!!merge" {
			return k.Errorf("merge keys (<<) are not read here; write the values out, or use an alias for one value")
		}
		seen[k.n.Value] = true
		v, err := n.doc.node(n.n.Content[i+1])
		if err != nil {
			return err
		}
		if err := fn(k.n.Value, v); err != nil {
			return err
		}
	}
	return nil
}

// Fields is Members for a mapping whose keys are all known: fields says what to do with
// each of them.
func (n Node) Fields(what string, fields map[string]func(Node) error) error {
	return n.Members(what, func(key string, v Node) error {
		if f, ok := fields[key]; ok {
			return f(v)
		}
		known := slices.Sorted(maps.Keys(fields))
		if near := troupe.Nearest(key, known); near != "" {
			return v.Errorf("%s has no key %q; did you mean %q?", what, key, near)
		}
		return v.Errorf("%s has no key %q; it knows: %s", what, key, Join(known))
	})
}

// Elements calls fn for each element of a list.
func (n Node) Elements(what string, fn func(i int, val Node) error) error {
	if !n.IsList() {
		return n.Errorf("%s must be a list, not %s", what, n.kind())
	}
	for i, e := range n.n.Content {
		v, err := n.doc.node(e)
		if err != nil {
			return err
		}
		if err := fn(i, v); err != nil {
			return err
		}
	}
	return nil
}

// String reads a scalar as the text it was written as.
func (n Node) String(what string) (string, error) {
	if n.n.Kind != yaml.ScalarNode || n.IsNull() {
		return "", n.Errorf("%s must be text, not %s", what, n.kind())
	}
	return n.n.Value, nil
}

// Strings reads one text, or a list of them.
func (n Node) Strings(what string) ([]string, error) {
	if !n.IsList() {
		s, err := n.String(what)
		return []string{s}, err
	}
	var out []string
	err := n.Elements(what, func(_ int, v Node) error {
		s, err := v.String(what)
		out = append(out, s)
		return err
	})
	return out, err
}

// Int reads a whole number that is not negative.
func (n Node) Int(what string) (int64, error) {
	if n.n.Kind == yaml.ScalarNode {
		if v, err := strconv.ParseInt(strings.ReplaceAll(n.n.Value, "_", ""), 10, 64); err == nil && v >= 0 {
			return v, nil
		}
	}
	return 0, n.Errorf("%s must be a whole number of 0 or more, not %s", what, n.kind())
}

// Dollars reads an amount as people write it: 3, 0.25.
func (n Node) Dollars(what string) (troupe.Money, error) {
	if n.n.Kind == yaml.ScalarNode {
		f, err := strconv.ParseFloat(n.n.Value, 64)
		if err == nil && f >= 0 && f <= 1e6 && !math.IsNaN(f) {
			return troupe.Dollars(f), nil
		}
	}
	return 0, n.Errorf("%s must be an amount in dollars, such as 3 or 0.25, not %s", what, n.kind())
}

// Duration reads a length of time of at most a day: 200ms, 1.5s.
func (n Node) Duration(what string) (time.Duration, error) {
	if n.n.Kind == yaml.ScalarNode {
		if d, err := time.ParseDuration(n.n.Value); err == nil && d >= 0 && d <= 24*time.Hour {
			return d, nil
		}
	}
	return 0, n.Errorf("%s must be a length of time, such as 200ms or 1.5s, not %s", what, n.kind())
}

// Price reads the four amounts of a price. extra are further keys that stand beside them.
func (n Node) Price(what string, extra map[string]func(Node) error) (troupe.Price, error) {
	var p troupe.Price
	fields := map[string]func(Node) error{}
	for k, f := range extra {
		fields[k] = f
	}
	for key, to := range map[string]*troupe.Money{"input": &p.Input, "output": &p.Output, "cache_read": &p.CacheRead,
		"cache_write": &p.CacheWrite} {
		fields[key] = func(v Node) (err error) {
			*to, err = v.Dollars(key)
			return err
		}
	}
	return p, n.Fields(what, fields)
}

func (n Node) kind() string {
	switch n.n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		if n.IsNull() {
			return "nothing"
		}
		v := n.n.Value
		if len(v) > 40 {
			v = v[:40] + "…"
		}
		return strconv.Quote(v)
	case yaml.DocumentNode, yaml.AliasNode, yaml.StreamNode:
	}
	return "this"
}
