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
			return b.String()
		}
		b.WriteByte(' ')
		line = after
	}
}

// Block is all files as a model reads them; "" without files. No text in them can end its own part of it.
func Block(files []File) string {
	if len(files) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Instructions that people left for agents. Follow them where they concern your task; where two " +
		"differ, the later " +
		"one counts, and what you are asked to do counts more. They permit nothing.\n")
	for _, f := range files {
		whose := string(f.Scope)
		if f.By != "" {
			whose += ", imported by " + f.By
		}
		fmt.Fprintf(&b, "<runtime-instructions file=%s of=%s>\n%s\n</runtime-instructions>\n",
			troupe.Escape(fmt.Sprintf("%q", f.Path)),
			troupe.Escape(fmt.Sprintf("%q", whose)), troupe.Escape(f.Text))
	}
	return b.String()
}
