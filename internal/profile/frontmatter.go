package profile

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// field is one key of a definition, wherever it came from.
type field struct {
	key   string
	line  int
	value value
}

type valueKind int

const (
	valueOther   valueKind = iota // something that no field here can be
	valueNothing                  // the key alone
	valueText
	valueList
)

type value struct {
	kind valueKind
	text string
	list []string
}

// maxFile is far more than a prompt should be.
const maxFile = 256 << 10

// split takes a Markdown file apart. line is that of the front matter's first line. A
// problem means that it is not, or not whole, a definition.
func split(data []byte) (front []byte, line int, body string, problem *Problem) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	n, open, start := 0, 0, 0
	for at := 0; at < len(data); {
		end := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		n++
		text := bytes.TrimRight(data[at:end], " \t\r\n")
		switch {
		case open == 0 && len(text) == 0:
		case open == 0 && string(text) != "---":
			return nil, 0, "", &Problem{Line: n, Text: "there is no front matter (a first line of three dashes), so " +
				"this is not an agent definition"}
		case open == 0:
			open, start = n, end
		case string(text) == "---":
			return data[start:at], open + 1, strings.TrimSpace(string(data[end:])), nil
		}
		at = end
	}
	if open == 0 {
		return nil, 0, "", &Problem{Line: 1, Text: "the file is empty"}
	}
	return nil, 0, "", &Problem{Line: open, Text: "the front matter that begins here does not end; close it with a " +
		"line of three dashes"}
}

// readFields reads front matter. Much of what is in use is not quite YAML (a colon in an
// unquoted description is enough), so there is a simpler second reading; that it was
// needed is a note.
func readFields(front []byte, line int) (fields []field, problems []Problem) {
	fields, err := readYAML(front, line)
	if err != nil {
		fields = readLines(string(front), line)
		at := line
		if e, ok := errors.AsType[*yamlError](err); ok {
			at = e.line
		}
		problems = append(problems, Problem{Line: at, Note: true,
			Text: "this is not valid YAML (" + err.Error() +
				"), so each line was read by itself; quote texts that have a colon in them"})
	}
	return fields, problems
}

// yamlError says where YAML ends being YAML.
type yamlError struct {
	line int
	text string
}

func (e *yamlError) Error() string { return e.text }

func readYAML(front []byte, line int) ([]field, error) {
	// A bare star is everybody's way to say all, and not YAML.
	front = regexp.MustCompile(`(?m)^([A-Za-z][A-Za-z_-]*:[ \t]*)\*[ \t]*$`).ReplaceAll(front, []byte(`${1}"*"`))
	var doc yaml.Node
	if err := yaml.Unmarshal(front, &doc); err != nil {
		if e, ok := errors.AsType[*yaml.LoadError](err); ok {
			return nil, &yamlError{line + max(e.Mark.Line-1, 0), e.Message}
		}
		return nil, &yamlError{line, strings.ReplaceAll(err.Error(), "\n", " ")}
	}
	if doc.Kind == 0 || len(doc.Content) == 0 {
		return nil, nil // nothing, or comments only
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, &yamlError{line + max(root.Line-1, 0), "there are no keys"}
	}
	var fields []field
	for i := 0; i+1 < len(root.Content); i += 2 {
		k, v := root.Content[i], root.Content[i+1]
		f := field{key: k.Value, line: line + max(k.Line-1, 0), value: yamlValue(v)}
		if k.Kind != yaml.ScalarNode {
			f.key = "?"
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// yamlValue reads what fields here can be. References to other values are not followed:
// nobody needs them in a few lines, and they can be made to grow without bounds.
func yamlValue(n *yaml.Node) value {
	text, ok := yamlText(n)
	switch {
	case ok:
		return value{kind: valueText, text: text}
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return value{kind: valueNothing}
	case n.Kind == yaml.SequenceNode:
		v := value{kind: valueList, list: []string{}}
		for _, item := range n.Content {
			text, ok := yamlText(item)
			if !ok {
				return value{}
			}
			v.list = append(v.list, text)
		}
		return v
	default:
		return value{}
	}
}

func yamlText(n *yaml.Node) (string, bool) {
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

// readLines is the second reading: a line that begins with a key in use begins a field,
// every other line goes on with the one before.
func readLines(front string, line int) []field {
	key := regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_-]*):(?:[ \t]+(.*))?$`)
	var fields []field
	var rest []string // further lines of the last field
	done := func() {
		if len(fields) > 0 {
			f := &fields[len(fields)-1]
			f.value = lineValue(f.value.text, rest)
		}
		rest = nil
	}
	n := line - 1
	for text := range strings.Lines(front) {
		n++
		text = strings.TrimRight(text, " \t\r\n")
		if m := key.FindStringSubmatch(text); m != nil && keyInUse(m[1]) {
			done()
			fields = append(fields, field{key: m[1], line: n, value: value{text: strings.TrimSpace(m[2])}})
		} else if strings.TrimSpace(text) != "" && !strings.HasPrefix(text, "#") {
			rest = append(rest, strings.TrimSpace(text))
		}
	}
	done()
	return fields
}

func lineValue(first string, rest []string) value {
	if len(rest) == 0 {
		switch {
		case first == "":
			return value{kind: valueNothing}
		case strings.HasPrefix(first, "[") && strings.HasSuffix(first, "]"):
			v := value{kind: valueList, list: []string{}}
			for item := range strings.SplitSeq(first[1:len(first)-1], ",") {
				if item = unquote(strings.TrimSpace(item)); item != "" {
					v.list = append(v.list, item)
				}
			}
			return v
		}
		return value{kind: valueText, text: unquote(first)}
	}
	if first == "" && strings.HasPrefix(rest[0], "- ") {
		v := value{kind: valueList, list: []string{}}
		for _, item := range rest {
			if !strings.HasPrefix(item, "- ") {
				return value{}
			}
			v.list = append(v.list, unquote(strings.TrimSpace(item[2:])))
		}
		return v
	}
	if strings.HasPrefix(first, "|") || strings.HasPrefix(first, ">") {
		first = ""
	}
	return value{kind: valueText, text: unquote(strings.TrimSpace(first + "\n" + strings.Join(rest, "\n")))}
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// text is the value of a field that has to be a text.
func (f field) text() (string, error) {
	switch f.value.kind {
	case valueText:
		return strings.TrimSpace(f.value.text), nil
	case valueNothing:
		return "", nil
	default:
		return "", fmt.Errorf("%s is not a text", f.key)
	}
}
