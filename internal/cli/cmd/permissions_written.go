package cmd

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/troupe-dev/troupe/internal/cli/console"
)

// writtenCalls are calls that a person wrote as rules are written, as lines of JSON. What is no tool with something in
// parentheses is a command.
func writtenCalls(args []string) (lines string, err error) {
	var b strings.Builder
	for _, arg := range args {
		name, of, narrow := strings.Cut(strings.TrimSpace(arg), "(")
		of, ends := strings.CutSuffix(of, ")")
		input := inputOf(name, of)
		switch {
		case input != nil && narrow == ends:
		case narrow && ends && isToolName(name):
			return "", console.Usage("%q cannot be written so: there are Bash, Read, Edit, Write, Glob, Grep, "+
				"WebFetch "+
				"and WebSearch. Of others a call is read as JSON from standard input", arg)
		default:
			name, input = "Bash", map[string]string{"command": arg}
		}
		line, err := json.Marshal(map[string]any{"tool": name, "input": input})
		if err != nil {
			return "", err
		}
		b.Write(append(line, '\n'))
	}
	return b.String(), nil
}

func isToolName(name string) bool {
	return name != "" && unicode.IsUpper(rune(name[0])) && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && r != '_'
	}) || strings.HasPrefix(name, "mcp__")
}

// inputOf is what a tool would be called with; nil: it is none of those that have one thing to name.
func inputOf(name, of string) map[string]string {
	switch name {
	case "Bash":
		return map[string]string{"command": of}
	case "Read":
		return map[string]string{"file_path": of}
	case "Write":
		return map[string]string{"file_path": of, "content": ""}
	case "Edit":
		return map[string]string{"file_path": of, "old_string": "a", "new_string": "b"}
	case "Glob", "Grep":
		input := map[string]string{"pattern": "x"}
		if of != "" {
			input["path"] = of
		}
		return input
	case "WebSearch":
		return map[string]string{"query": of + "x"}
	case "WebFetch":
		if host, ok := strings.CutPrefix(of, "domain:"); ok {
			of = "https://" + host + "/"
		}
		return map[string]string{"url": of, "prompt": "x"}
	}
	return nil
}
