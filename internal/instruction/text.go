package instruction

import (
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
)

// imports finds what a text imports: @path at the beginning of a word, outside of code.
func imports(text string) []string {
	var out []string
	fence := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if fence != "" {
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
			continue
		}
		if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			fence = trimmed[:3]
			continue
		}
		for word := range strings.FieldsSeq(withoutCode(line)) {
			name, ok := strings.CutPrefix(strings.TrimLeft(word, "([*_"), "@")
			if name = strings.TrimRight(name, ".,;:!?)]*_"); ok && name != "" && !strings.ContainsAny(name, "<>\"|") {
				out = append(out, name)
			}
		}
	}
	return out
}

// withoutCode takes what stands between backticks out of a line.
func withoutCode(line string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(line, "`")
		b.WriteString(before)
		_, after, closed := strings.Cut(rest, "`")
		if !ok || !closed {
			b.WriteString(rest) // a lone mark begins no code
			return b.String()
		}
		b.WriteByte(' ')
		line = after
	}
}

// Block is a file as a model reads it. No text in it can end its own part of what the model is told.
func (f File) Block() string {
	whose := string(f.Scope)
	if f.By != "" {
		whose += ", imported by " + f.By
	}
	return fmt.Sprintf("<runtime-instructions file=%s of=%s>\n%s\n</runtime-instructions>\n",
		troupe.Escape(fmt.Sprintf("%q", f.Path)), troupe.Escape(fmt.Sprintf("%q", whose)), troupe.Escape(f.Text))
}
