package chat

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/troupe-dev/troupe"
)

// command is one of the words that begin with a slash.
type command struct {
	name, args, help string
	aliases          []string
}

func commands() []command {
	return []command{
		{"help", "", "what there is", []string{"h", "?"}},
		{"agents", "", "every agent of this conversation", []string{"agent"}},
		{"tasks", "", "what is at work", []string{"task", "ps", "jobs"}},
		{"cost", "", "the bill, and how much of the limits is used", []string{"usage", "bill"}},
		{"model", "[NAME]", "the main agent's model, or another one from here on", nil},
		{"mode", "[NAME]", "what is allowed without a question: default, acceptEdits, plan, …",
			[]string{"permissions"}},
		{"resume", "[ID|NAME]", "earlier conversations of this folder, or go on with one", []string{"continue"}},
		{"compact", "[HINT]", "shorten the conversation; the hint says what to keep", nil},
		{"undo", "[TURN|redo]", "take back what tools did to files, or take that back", nil},
		{"background", "NAME|#", "let an agent go on in the background", []string{"bg"}},
		{"stop", "[NAME|#]", "stop the turn, or one agent", []string{"kill"}},
		{"quit", "", "end; asks if something is at work", []string{"exit", "q", "bye"}},
	}
}

// escaped begins a message that is to begin with a slash.
const escaped = "//"

// parseCommand reports whether a line is a command: a slash and a word. A path is none.
func parseCommand(line string) (name, args string, ok bool) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "/") || strings.HasPrefix(line, escaped) {
		return "", "", false
	}
	name, args = line[1:], ""
	if i := strings.IndexFunc(name, unicode.IsSpace); i >= 0 {
		name, args = name[:i], strings.TrimSpace(name[i:])
	}
	if name == "" {
		return "help", "", true
	}
	for _, r := range name {
		if !unicode.IsLetter(r) && r != '-' && r != '_' && r != '?' {
			return "", "", false
		}
	}
	return strings.ToLower(name), args, true
}

// unescape takes the first of two slashes off that keep a message from being a command.
func unescape(line string) string {
	if rest := strings.TrimSpace(line); strings.HasPrefix(rest, escaped) {
		if name, _, ok := parseCommand(rest[1:]); ok && name != "" && len(rest) > 2 && rest[2] != ' ' {
			return rest[1:]
		}
	}
	return line
}

// findCommand finds a command by its name, another word for it, or a beginning that only
// one has. The problem says what might have been meant.
func findCommand(word string) (name, problem string) {
	var begin, words []string
	meant := make(map[string]string)
	for _, c := range commands() {
		for _, w := range append([]string{c.name}, c.aliases...) {
			if w == word {
				return c.name, ""
			}
			words, meant[w] = append(words, w), c.name
		}
		if strings.HasPrefix(c.name, word) {
			begin = append(begin, c.name)
		}
	}
	best := meant[troupe.Nearest(word, words)]
	switch {
	case len(begin) == 1:
		return begin[0], ""
	case len(begin) > 1:
		return "", fmt.Sprintf("/%s could be /%s.", word, strings.Join(begin, " or /"))
	case best != "":
		return "", fmt.Sprintf("There is no /%s. Did you mean /%s? Nothing was sent.", word, best)
	}
	return "", fmt.Sprintf("There is no /%s; /help lists what there is. "+
		"To send a message that begins with a slash, write two.", word)
}

// help is the text of /help.
func help() string {
	var b strings.Builder
	for _, c := range commands() {
		head := "/" + c.name
		if c.args != "" {
			head += " " + c.args
		}
		fmt.Fprintf(&b, "  %-20s %s\n", head, c.help)
	}
	b.WriteString(`  @path                the file, picture or folder goes with the message
  Enter sends; Alt-Enter, or a backslash at the end, begins another line.
  While agents work, what you send steers the main agent.
  Ctrl-C stops the turn; twice quits. Ctrl-D quits. Tab completes.
`)
	return b.String()
}
