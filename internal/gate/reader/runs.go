package reader

import (
	"path"
	"slices"
	"strings"
)

// RunsText is the text of its own that a command runs, or may run, by its arguments: the program
// of a sed or awk that starts others; "" if it starts none. It is meant for rules that forbid: that
// it writes files does not matter here.
func RunsText(words []Word) string {
	if len(words) == 0 || !words[0].Known {
		return ""
	}
	var program string
	var runs bool
	switch path.Base(words[0].Text) {
	case "sed", "gsed":
		program = strings.Join(programsIn(words[1:], "efl"), "\n")
		runs = sedRuns(program)
	case "awk", "gawk", "mawk", "nawk", "original-awk":
		program = strings.Join(programsIn(words[1:], "eFvfilE"), "\n")
		runs = awkRuns(program)
	}
	if !runs {
		return ""
	}
	return program
}

// programsIn are the programs among the arguments of sed or awk; those in files are left out.
// values are the letters that take one.
func programsIn(args []Word, values string) []string {
	var out []string
	given := false // by an option
	for i := 0; i < len(args); i++ {
		text := filled(args[i])
		name, value, glued := strings.Cut(text, "=")
		switch {
		case len(text) < 2 || text[0] != '-':
			if text == "" || given {
				continue // -i '' of other systems
			}
			return append(out, text)
		case text == "--":
			if i+1 < len(args) && !given {
				out = append(out, filled(args[i+1]))
			}
			return out
		case strings.HasPrefix(text, "--"):
			program := strings.HasPrefix("--expression", name) || strings.HasPrefix("--source", name)
			file := strings.HasPrefix("--file", name)
			if !glued && (program || file) && i+1 < len(args) {
				i++
				value = filled(args[i])
			}
			given = given || program || file
			if program {
				out = append(out, value)
			}
		default:
			for k := 1; k < len(text); k++ {
				if strings.IndexByte(values, text[k]) < 0 {
					if text[k] == 'i' && !strings.Contains(values, "i") {
						break // what follows is the end of a name
					}
					continue
				}
				value = text[k+1:]
				if value == "" && i+1 < len(args) {
					i++
					value = filled(args[i])
				}
				given = given || strings.IndexByte("efE", text[k]) >= 0
				if text[k] == 'e' {
					out = append(out, value)
				}
				break
			}
		}
	}
	return out
}

// unknownProgram stands for a program of which nothing is known: neither sed nor awk can make sense of it.
const unknownProgram = "$"

// filled is a word with a number for what is only known when it runs.
func filled(word Word) string {
	if word.Known {
		return word.Text
	}
	var b strings.Builder
	if !slices.ContainsFunc(word.pieces, func(p piece) bool { return p.kind == pieceText && p.text != "" }) {
		return unknownProgram
	}
	for _, p := range word.pieces {
		if p.kind == pieceText {
			b.WriteString(p.text)
		} else {
			b.WriteByte('1')
		}
	}
	return b.String()
}

// sedRuns: the program has e, or s with e; or it is not a program that can be read.
func sedRuns(program string) bool {
	s := &sedParser{text: program, writes: true}
	for !s.done() {
		if s.command() != "" {
			return true
		}
	}
	return false
}

// awkRuns: the program calls system, or has a pipe. Where the scanner stumbles, the signs for
// these count wherever they stand.
func awkRuns(program string) bool {
	a := &awkScanner{text: program, writes: true}
	for a.at < len(a.text) {
		before := a.at
		problem := a.token()
		if a.runs {
			return true
		}
		switch problem {
		case "":
		case controlsTerminal:
			continue // it has passed the text
		default:
			rest := strings.ReplaceAll(program[before:], "||", "")
			return strings.Contains(rest, "|") || strings.Contains(rest, "system") || strings.Contains(rest, "@")
		}
	}
	return program == unknownProgram
}
