package troupe

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// markers are the tags that the runtime writes into conversations, by how their names begin. What
// it quotes must hold none of them. The tags without a hyphen, fields of a notification, are not
// here: they are words of HTML and of code, and mean nothing outside one.
func markers() []string {
	return []string{
		"agent-message", "agent-result", "agent-said", "approved-plan", "attached-", "auto-", "conversation-summary",
		"environment", "lead-answer", "handoff-", "monitor-",
		"output-file", "runtime-", "skill",
		"system-reminder", "task-id", "task-notification", "tool-use-id", "user-answer", "verify-",
		"web-", "webhook-",
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

// markerName is longer than the name of any marker.
const markerName = 32

// isMarker reports whether what follows an angle bracket opens or closes a marker, however
// it is spaced: what a person would not see does not make it another word, however much of it there is.
func isMarker(s string, names []string) bool {
	name := make([]byte, 0, markerName+utf8.UTFMax)
	for _, r := range s {
		space := unicode.IsSpace(r)
		if Unseen(r) && !space || len(name) == 0 && (space || r == '/') {
			continue
		}
		if r == '<' || len(name) >= markerName {
			break
		}
		name = utf8.AppendRune(name, unicode.ToLower(r))
	}
	return slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(string(name), n) })
}

// Unseen reports whether a person does not see a character, or not as what it is: controls, marks of
// direction, joiners, all spaces but the plain one, what Unicode lets programs leave out when they show
// a text (Default_Ignorable_Code_Point), and the few letters without ink.
func Unseen(r rune) bool {
	switch r {
	case 0x2800, 0x16fe4, 0x1d159: // a blank of Braille, one of Khitan, a note without a head
		return true
	}
	return !unicode.IsPrint(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
