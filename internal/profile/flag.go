package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/troupe-dev/troupe/internal/front"
)

// flag reads --agents: an object of definitions, each an object with description, prompt,
// tools and model.
func (l *loader) flag(text string) {
	l.fresh = map[string]string{}
	if len(text) > front.MaxFile || !utf8.ValidString(text) {
		l.problem(Problem{Path: FlagName, Text: fmt.Sprintf("the value is not UTF-8 text of at most %d KB",
			front.MaxFile>>10)})
		return
	}
	agents, err := members(text, 1)
	if err != nil {
		l.problem(Problem{Path: FlagName, Line: errorLine(text, err),
			Text: "the value is not a JSON object of agents by name: " + err.Error()})
		return
	}
	for _, agent := range agents {
		at := origin{path: FlagName, line: agent.line, name: strings.TrimSpace(agent.key)}
		parts, err := members(agent.raw, agent.start)
		if err != nil {
			l.unusable(at.name, at.problem(agent.line, "agent %q is not an object with description, prompt, tools "+
				"and model: %s", agent.key, err))
			continue
		}
		var fields []front.Field
		for _, part := range parts {
			if canonicalKey(part.key) == keyName {
				l.problem(at.problem(part.line, "the name of an agent is its key, %q; name is not used", agent.key))
				continue
			}
			fields = append(fields, front.Field{Key: part.key, Line: part.line, Value: jsonValue(part.raw)})
		}
		l.define(at, fields, nil, "")
	}
}

// jsonMember is one member of an object.
type jsonMember struct {
	key   string
	line  int
	raw   string // its value
	start int    // the line where that begins
}

// members takes an object apart, keeping double keys. raw begins on the given line.
func members(raw string, line int) ([]jsonMember, error) {
	var check map[string]json.RawMessage
	err := json.Unmarshal([]byte(raw), &check)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = errors.New("it is of the type " + e.Value)
	}
	if err != nil {
		return nil, err
	}
	if check == nil {
		return nil, errors.New("it is null")
	}
	dec := json.NewDecoder(strings.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	var out []jsonMember
	counted := 0
	lineAt := func(offset int) int {
		line += strings.Count(raw[counted:offset], "\n")
		counted = offset
		return line
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := jsonMember{line: lineAt(int(dec.InputOffset()))}
		m.key, _ = key.(string)
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		end := int(dec.InputOffset())
		m.start, m.raw = lineAt(end-len(v)), string(v)
		out = append(out, m)
	}
	return out, nil
}

// errorLine is where JSON ends being JSON.
func errorLine(text string, err error) int {
	at := 0
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = int(e.Offset)
	}
	return 1 + strings.Count(text[:min(at, len(text))], "\n")
}
