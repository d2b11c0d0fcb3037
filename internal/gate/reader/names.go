package reader

import (
	"strings"
)

// fileName is what a word may become.
type fileName struct {
	text string
	// pattern: it matches names, or begins with a folder that is known by another name.
	pattern bool
}

// maxFollowed is how often the value of a variable may hold another variable.
const maxFollowed = 4

// names are all that a word can become, with patterns as they are; false if some of it is
// only known when it runs.
func (j *judge) names(word Word, followed int) ([]fileName, bool) {
	if word.Known {
		return []fileName{{text: word.Text}}, true
	}
	if pieces := fullPieces(word); len(pieces) == 1 && pieces[0].kind == pieceFile {
		return nil, true // a pipe; the names that find hands on are noted there
	}
	out := []fileName{{pattern: word.Pattern}}
	literal := false // it holds signs of patterns that are none
	for i, p := range word.pieces {
		var choices []fileName
		switch {
		case isHome(p, i):
			choices = []fileName{{p.text, true}}
		case p.kind == pieceText && (p.quoted || !hasTilde(word.pieces, i)):
			choices = []fileName{{text: p.text}}
			literal = literal || p.quoted && strings.ContainsAny(p.text, `*?[\`)
		case p.kind == pieceVar && (p.text == "HOME" || p.text == "PWD"):
			choices = []fileName{{"$" + p.text, true}}
		case p.kind == pieceVar:
			held, ok := j.held(p, followed)
			if !ok {
				return nil, false
			}
			choices = held
			if len(fullPieces(word)) > 1 {
				choices = append(choices, fileName{}) // where it was not assigned
			}
		default:
			return nil, false
		}
		if len(out)*len(choices) > maxBraces {
			return nil, false
		}
		var next []fileName
		for _, head := range out {
			for _, c := range choices {
				next = append(next, fileName{head.text + c.text, head.pattern || c.pattern})
			}
		}
		out = next
	}
	return out, !literal || !word.Pattern
}

// held are the names in a variable. Without quotes, signs of patterns in it become patterns.
func (j *judge) held(p piece, followed int) ([]fileName, bool) {
	v, ok := j.values[p.text]
	if !ok || v.other || followed >= maxFollowed {
		return nil, false
	}
	var out []fileName
	for _, word := range v.words {
		names, ok := j.names(word, followed+1)
		if !ok {
			return nil, false
		}
		for _, n := range names {
			if !p.quoted && strings.ContainsAny(n.text, " \t\n") {
				return nil, false
			}
			n.pattern = n.pattern || !p.quoted && strings.ContainsAny(n.text, `*?[\`)
			out = append(out, n)
		}
	}
	return out, true
}

// isHome: a ~ at the beginning that stands for the home folder of whoever runs this.
func isHome(p piece, i int) bool {
	plain := p.kind == pieceOther || p.kind == pieceText && !p.quoted
	return i == 0 && plain && (p.text == "~" || strings.HasPrefix(p.text, "~/"))
}
