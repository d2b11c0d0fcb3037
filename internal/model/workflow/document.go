package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A document is the prompt of a workflow's session: a line that says what it is, the values of its inputs, and the
// file as it was when the workflow began.
const (
	heading   = "Workflow "
	valueLine = "inputs: "
	fence     = "\n---\n"
)

// Document is the prompt that a workflow begins with. Title is its name, for people. The values are those that a
// person gave.
func Document(title string, text []byte, values map[string]string) (string, error) {
	f, err := Parse(title, text, nil)
	if err != nil {
		return "", err
	}
	if values, err = f.values(values); err != nil {
		return "", fmt.Errorf("%s: %w", title, err)
	}
	v, err := json.Marshal(values)
	if err != nil {
		return "", fmt.Errorf("write down the inputs: %w", err)
	}
	title = strings.Join(strings.Fields(title), " ")
	return heading + title + "\n" + valueLine + string(v) + fence + strings.TrimSpace(string(text)), nil
}

// document is a Document that has been read.
type document struct {
	File

	values map[string]string
}

var errNoDocument = errors.New("this session was not begun with a workflow: use `troupe workflow run FILE`")

func readDocument(blocks []troupe.Block) (document, error) {
	for i := len(blocks) - 1; i >= 0; i-- { // what the runtime tells every session stands before it
		head, text, ok := strings.Cut(blocks[i].Text, fence)
		title, values, two := strings.Cut(head, "\n"+valueLine)
		title, is := strings.CutPrefix(title, heading)
		if !ok || !two || !is {
			continue
		}
		var d document
		if err := json.Unmarshal([]byte(values), &d.values); err != nil {
			return d, fmt.Errorf("the inputs of workflow %s cannot be read: %w", title, err)
		}
		var err error
		d.File, err = Parse(title, []byte(text), nil)
		return d, err
	}
	return document{}, errNoDocument
}

// Asked reads the prompt of an agent that starts a workflow: its name, and below it the values of inputs. A line that
// does not begin one goes on with the one before it.
func Asked(prompt string) (name string, values map[string]string, err error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	if name = strings.TrimSpace(name); name == "" {
		return "", nil, errAsked
	}
	values = make(map[string]string)
	last := ""
	for line := range strings.Lines(rest) {
		key, value, ok := strings.Cut(line, ":")
		switch key = strings.TrimSpace(key); {
		case ok && key != "" && !strings.ContainsAny(key, " \t"):
			last = key
			values[last] = strings.TrimSpace(value)
		case strings.TrimSpace(line) == "" && last == "":
		case last == "":
			return "", nil, errAsked
		default:
			values[last] = strings.TrimSpace(values[last] + "\n" + strings.TrimRight(line, "\n"))
		}
	}
	return name, values, nil
}

var errAsked = errors.New("the prompt of a workflow is its name, and below it its inputs, a line `name: value` each")
