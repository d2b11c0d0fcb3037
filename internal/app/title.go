package app

import "strings"

// maxTitle is how many characters a title has at the most.
const maxTitle = 72

// title is the first line of a prompt that says something, as plain text: no block of code, no tag of what is
// attached, no marks of Markdown. A prompt without such a line is taken as it is.
func title(prompt string) string {
	line, fenced := "", false
	for l := range strings.Lines(prompt) {
		l = strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(l, "```"):
			fenced = !fenced
			continue
		case strings.HasPrefix(l, "<attached-"):
			fenced = true // the rest is what stands in files
		}
		if l = plain(l); l != "" && !fenced {
			line = l
			break
		}
	}
	if line == "" {
		line = strings.Join(strings.Fields(prompt), " ")
	}
	t := []rune(line)
	if len(t) > maxTitle {
		return string(t[:maxTitle-1]) + "…"
	}
	return string(t)
}

// plain is a line without marks: of headings, lists and quotes at its beginning, of emphasis and code in it,
// and tags.
func plain(line string) string {
	if strings.HasPrefix(line, "/") {
		return strings.Join(strings.Fields(line), " ") // a command: its name may hold marks
	}
	line = strings.TrimLeft(line, "#>*-+ ")
	line = strings.NewReplacer("**", "", "__", "", "`", "").Replace(line)
	for {
		before, rest, ok := strings.Cut(line, "<")
		name, after, closed := strings.Cut(rest, ">")
		if !ok || !closed || name == "" || !isTag(name) {
			return strings.Join(strings.Fields(line), " ")
		}
		line = before + " " + after
	}
}

// isTag: "a <b" compares, and "List<int>" is a type; a tag ends with a slash, begins with one, or has attributes.
func isTag(name string) bool {
	return name[0] == '/' || name[len(name)-1] == '/' || strings.Contains(name, "=")
}
