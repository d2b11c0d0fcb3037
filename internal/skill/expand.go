package skill

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/troupe-dev/troupe"
)

// Piece is a part of a text with its arguments in place: words, or a command whose output is to stand there, or a
// file whose content is to.
type Piece struct {
	Text string // words; of a command or a file, as it is written
	Run  string
	File string
}

// marks are what stands in a text for what is to be put in: a command between backquotes behind a !, a block that
// begins with three backquotes and a !, and a file behind an @.
func marks() *regexp.Regexp {
	return regexp.MustCompile("(?s)(^|\\s)(?:!`([^`\n]+)`|```!\\s*\n(.*?)\n[ \t]*```|@([^\\s`'\"<>,;()\\[\\]]+))")
}

// maxCommands is more than the text of a skill has a use for.
const maxCommands = 100

// Commands are what a text has run when a person uses it, as it is written there: Pieces runs these and no others. why
// is why none of them runs where it is a project's text: they cannot be shown whole to the person who is asked to trust
// it.
func Commands(body string) (list []string, why string) {
	if !strings.Contains(body, "!`") && !strings.Contains(body, "```!") {
		return nil, ""
	}
	for _, m := range marks().FindAllStringSubmatch(body, -1) {
		if command := strings.TrimSpace(m[2] + m[3]); command != "" {
			list = append(list, command)
			why = cmp.Or(why, troupe.TooLong(command))
		}
	}
	if len(list) > maxCommands {
		why = fmt.Sprintf("a text may have %d commands, and this one has %d", maxCommands, len(list))
	}
	return list, why
}

// Pieces are the text of a skill with its arguments. What the arguments say is words alone: neither a command nor a
// file of its own.
func (k Skill) Pieces(args string) []Piece {
	f := k.filler(args)
	var out []Piece
	words := func(text string) {
		if n := len(out); text != "" && n > 0 && out[n-1].Run == "" && out[n-1].File == "" {
			out[n-1].Text += text
		} else if text != "" {
			out = append(out, Piece{Text: text})
		}
	}
	at := 0
	for _, m := range marks().FindAllStringSubmatchIndex(k.Body, -1) {
		words(f.fill(k.Body[at:m[3]]))
		at = m[1]
		group := func(n int) string {
			if m[2*n] < 0 {
				return ""
			}
			return k.Body[m[2*n]:m[2*n+1]]
		}
		shown := f.fill(k.Body[m[3]:m[1]])
		switch {
		case group(4) != "":
			file := strings.TrimRight(group(4), ".:!?*_")
			at -= len(group(4)) - len(file)
			if file = f.fill(file); file == "" {
				words("@")
				continue
			}
			out = append(out, Piece{Text: "@" + file, File: file})
		default:
			out = append(out, Piece{Text: shown, Run: strings.TrimSpace(f.fill(group(2) + group(3)))})
		}
	}
	words(f.fill(k.Body[at:]))
	if !f.used && strings.TrimSpace(args) != "" {
		words("\n\nARGUMENTS: " + strings.TrimSpace(args))
	}
	return out
}

// Text is the same for a model that uses the skill by itself: what would be run or put in stays as it is written.
func (k Skill) Text(args string) (text string, runs bool) {
	var b strings.Builder
	for _, p := range k.Pieces(args) {
		b.WriteString(p.Text)
		runs = runs || p.Run != ""
	}
	return b.String(), runs
}

// filler puts arguments into texts.
type filler struct {
	all    string
	fields []string
	named  map[string]string
	folder string
	places *regexp.Regexp
	used   bool
}

func (k Skill) filler(args string) *filler {
	f := &filler{all: strings.TrimSpace(args), fields: split(args), folder: k.Folder, places: places(),
		named: map[string]string{}}
	for i, name := range k.Arguments {
		f.named[name] = f.field(i)
	}
	return f
}

func (f *filler) field(i int) string {
	if i < 0 || i >= len(f.fields) {
		return ""
	}
	return f.fields[i]
}

// places are what arguments stand in for.
func places() *regexp.Regexp {
	return regexp.MustCompile(`\$\{CLAUDE_SKILL_DIR\}|\$\{TROUPE_SKILL_DIR\}|\$ARGUMENTS(?:\[(\d{1,3})\])?|` +
		`\$([1-9])(?:\b|$)|\$([A-Za-z_][A-Za-z0-9_-]*)`)
}

func (f *filler) fill(text string) string {
	if !strings.Contains(text, "$") {
		return text
	}
	return f.places.ReplaceAllStringFunc(text, func(m string) string {
		switch {
		case strings.HasSuffix(m, "_SKILL_DIR}"):
			return f.folder
		case m == "$ARGUMENTS":
			f.used = true
			return f.all
		case strings.HasPrefix(m, "$ARGUMENTS["):
			f.used = true
			n, _ := strconv.Atoi(strings.Trim(m[len("$ARGUMENTS"):], "[]"))
			return f.field(n)
		case m[1] >= '1' && m[1] <= '9':
			f.used = true
			return f.field(int(m[1] - '1'))
		}
		if v, ok := f.named[m[1:]]; ok {
			f.used = true
			return v
		}
		return m
	})
}

// split takes arguments apart at blanks; quotes keep them together.
func split(args string) []string {
	var out []string
	var b strings.Builder
	var quote rune
	word := false
	for _, r := range args {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(r)
		case (r == '"' || r == '\'') && !word:
			quote, word = r, true
		case unicode.IsSpace(r):
			if word {
				out = append(out, b.String())
			}
			b.Reset()
			word = false
		default:
			b.WriteRune(r)
			word = true
		}
	}
	if word {
		out = append(out, b.String())
	}
	return out
}
