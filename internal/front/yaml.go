package front

import (
	"encoding/json"
	"errors"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxDeep bounds lists in lists: enough for any configuration, and not for a file made to exhaust the stack.
const maxDeep = 24

// readFields reads front matter as YAML, or, if it is not, each line by itself.
func (d *Document) readFields(front string, known func(string) bool) {
	fields, err := readYAML(front, d.Line)
	if err == nil {
		d.Fields = fields
		return
	}
	at := d.Line
	if e, ok := errors.AsType[*Problem](err); ok {
		at = e.Line
	}
	d.Fields, d.Loose = readLines(front, d.Line, known)
	text := "this is not valid YAML (" + err.Error() + "), so each line was read by itself"
	if strings.Contains(err.Error(), "mapping values") {
		text += "; put texts with a colon in them between quotes"
	}
	d.Notes = append(d.Notes, Problem{Line: at, Text: text})
}

// quoteStars puts quotes around a bare star, which is the usual way to say all, and not YAML.
func quoteStars(front string) string {
	if !strings.Contains(front, "*") {
		return front
	}
	var b strings.Builder
	for line := range strings.Lines(front) {
		if key, value, ok := cutKey(strings.TrimRight(line, " \t\n")); ok && value == "*" {
			line = key + ": \"*\"\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

func readYAML(front string, line int) ([]Field, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(quoteStars(front)), &doc); err != nil {
		if e, ok := errors.AsType[*yaml.LoadError](err); ok {
			return nil, &Problem{line + max(e.Mark.Line-1, 0), e.Message}
		}
		return nil, &Problem{line, strings.ReplaceAll(err.Error(), "\n", " ")}
	}
	if doc.Kind == 0 || len(doc.Content) == 0 {
		return nil, nil // nothing, or comments only
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, &Problem{line + max(root.Line-1, 0), "there are no keys"}
	}
	var fields []Field
	for i := 0; i+1 < len(root.Content); i += 2 {
		k, v := root.Content[i], root.Content[i+1]
		f := Field{Key: k.Value, Line: line + max(k.Line-1, 0), Value: ofNode(v)}
		if k.Kind != yaml.ScalarNode {
			f.Key = "?"
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// ofNode reads a value. References to other values are not followed: a few lines have no need of them, and they
// can be made to grow without bounds.
func ofNode(n *yaml.Node) Value {
	text, ok := scalar(n)
	switch {
	case ok:
		return Value{Kind: Text, Text: text}
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return Value{Kind: Nothing}
	}
	if n.Kind == yaml.SequenceNode {
		v := Value{Kind: List, List: []string{}}
		for _, item := range n.Content {
			if text, ok = scalar(item); !ok {
				break
			}
			v.List = append(v.List, text)
		}
		if len(v.List) == len(n.Content) {
			return v
		}
	}
	tree, ok := plain(n, 0)
	if !ok {
		return Value{}
	}
	raw, err := json.Marshal(tree)
	if err != nil {
		return Value{}
	}
	return Value{Kind: Tree, JSON: raw}
}

// plain is a node as JSON has it.
func plain(n *yaml.Node, depth int) (any, bool) {
	if depth > maxDeep {
		return nil, false
	}
	switch n.Kind {
	case yaml.ScalarNode:
		var v any
		if n.Decode(&v) != nil {
			return nil, false
		}
		if _, err := json.Marshal(v); err != nil { // a time, an infinity
			v = n.Value
		}
		return v, true
	case yaml.SequenceNode:
		out := []any{}
		for _, item := range n.Content {
			v, ok := plain(item, depth+1)
			if !ok {
				return nil, false
			}
			out = append(out, v)
		}
		return out, true
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			v, ok := plain(n.Content[i+1], depth+1)
			if _, twice := out[key.Value]; !ok || twice || key.Kind != yaml.ScalarNode || key.Value == "<<" {
				return nil, false
			}
			out[key.Value] = v
		}
		return out, true
	default:
		return nil, false
	}
}

// scalar is a text, number or truth value as it is written.
func scalar(n *yaml.Node) (string, bool) {
	if n.Kind != yaml.ScalarNode {
		return "", false
	}
	switch n.ShortTag() {
	case "!!str", "!!int", "!!float", "!!bool", "!!timestamp":
		return n.Value, true
	default:
		return "", false
	}
}
