package command

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// maxBraces is how many words a brace expansion may become and still be known.
const maxBraces = 64

// words are the words that one word becomes: several if it has braces. What becomes of braces that
// are nested, cut by quotes or not plain is not known: shells differ there.
func (w *walker) words(word *syntax.Word) []Word {
	pieces, written := w.pieces(word), w.source(word)
	unknown := []Word{{Text: written, pieces: []piece{{kind: pieceOther}}}}
	switch braces, plain := mayBrace(pieces); {
	case !braces:
		return []Word{finish(pieces, written)}
	case !plain:
		return unknown
	}
	split := &syntax.Word{Parts: slices.Clone(word.Parts)}
	if !syntax.SplitBraces(split) || slices.ContainsFunc(split.Parts, notPlain) {
		return unknown
	}
	// What runs inside was walked above, once.
	again := &walker{src: w.src, visited: map[int]bool{}, said: map[string]bool{}, inFunction: map[int]bool{}}
	var out []Word
	for one, err := range expand.BracesSeq(nil, split) {
		if err != nil || len(out) == maxBraces {
			return unknown
		}
		set := again.pieces(one)
		if joined(set) != "" || slices.ContainsFunc(set, func(p piece) bool { return p.quoted }) {
			out = append(out, finish(set, joined(set))) // an empty word that is not quoted is none
		}
	}
	if len(out) == 0 {
		return unknown
	}
	return out
}

// mayBrace: there are unquoted braces with a comma or dots between them. plain: each ends before
// the next begins.
func mayBrace(pieces []piece) (braces, plain bool) {
	open, choices := false, false
	plain = true
	for _, p := range pieces {
		if p.kind != pieceText || p.quoted {
			continue
		}
		for i, c := range p.text {
			switch {
			case c == '{':
				plain = plain && !open
				open, choices = true, false
			case open && (c == ',' || strings.HasPrefix(p.text[i:], "..")):
				choices = true
			case open && c == '}':
				braces = braces || choices
				open = false
			}
		}
	}
	return braces || !plain && strings.Contains(joined(pieces), "}"), plain && !open
}

// notPlain: braces within braces, and sequences but those of plain numbers.
func notPlain(part syntax.WordPart) bool {
	b, ok := part.(*syntax.BraceExp)
	if !ok {
		return false
	}
	if b.Sequence {
		return len(b.Elems) != 2 || slices.ContainsFunc(b.Elems, func(e *syntax.Word) bool {
			n, err := strconv.Atoi(e.Lit())
			return err != nil || n < 0 || strconv.Itoa(n) != e.Lit()
		})
	}
	return slices.ContainsFunc(b.Elems, func(e *syntax.Word) bool {
		return slices.ContainsFunc(e.Parts, func(p syntax.WordPart) bool {
			_,
				nested := p.(*syntax.BraceExp)
			return nested
		})
	})
}
