package troupe

import (
	"strings"
	"unicode"
)

// markers are the tags that the runtime writes into conversations, by how their names begin. What
// it quotes must hold none of them. The tags without a hyphen, fields of a notification, are not
// here: they are words of HTML and of code, and mean nothing outside one.
func markers() []string {
	return []string{
		"agent-result", "attached-", "conversation-summary", "environment", "output-file", "runtime-",
		"system-reminder", "task-id", "task-notification", "tool-use-id", "web-",
	}
}

// Quote puts text between tags of the runtime that the text cannot close.
func Quote(tag, text string) string { return "<" + tag + ">\n" + Escape(text) + "\n</" + tag + ">" }

// Escape keeps text from looking like the runtime's own markers: it takes the angle bracket
// from anything that begins like one.
func Escape(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	var b strings.Builder
	names := markers()
	for {
		i := strings.IndexByte(s, '<')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i+1:]
		if isMarker(s, names) {
			b.WriteString("&lt;")
		} else {
			b.WriteByte('<')
		}
	}
}

// A marker's name begins at most markerReach bytes behind its bracket, and has ended markerName later.
const (
	markerReach = 256
	markerName  = 64
)

// isMarker reports whether what follows an angle bracket opens or closes a marker, however
// it is spaced: what a person would not see does not make it another word.
func isMarker(s string, names []string) bool {
	s = strings.TrimLeftFunc(s[:min(len(s), markerReach)], func(r rune) bool {
		return r == '/' || unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
	s = strings.ToLower(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s[:min(len(s), markerName)]))
	for _, name := range names {
		if strings.HasPrefix(s, name) {
			return true
		}
	}
	return false
}
