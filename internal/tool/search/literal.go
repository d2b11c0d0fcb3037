package search

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// literals are texts of which every match of a pattern has one in it. To look for them is many
// times faster than to try the pattern, which is left for the lines that have one.
type literals struct {
	texts []literal
	whole bool // a match is the one text, and nothing more
}

type literal struct {
	text []byte
	fold bool // ASCII letters of either case; then text has small ones, and nothing else that folds
}

const maxLiterals = 16

// required are the literals of a pattern; nil if it has none.
func required(pattern string) *literals {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	texts := literalsOf(re)
	if len(texts) == 0 {
		return nil
	}
	whole := re.Op == syntax.OpLiteral && !texts[0].fold && string(texts[0].text) == string(re.Rune)
	return &literals{texts: texts, whole: whole}
}

// literalsOf finds the best set for a part of a pattern: its shortest text is the longest.
func literalsOf(re *syntax.Regexp) []literal {
	switch re.Op { //nolint:exhaustive // nothing else is sure to have a text in it
	case syntax.OpLiteral:
		return literalOf(re)
	case syntax.OpCapture, syntax.OpPlus:
		return literalsOf(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return literalsOf(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []literal
		for _, sub := range re.Sub {
			if l := literalsOf(sub); shortest(l) > shortest(best) {
				best = l
			}
		}
		return best
	case syntax.OpAlternate:
		var all []literal
		for _, sub := range re.Sub {
			l := literalsOf(sub)
			if all = append(all, l...); len(l) == 0 || len(all) > maxLiterals {
				return nil
			}
		}
		return all
	}
	return nil
}

func shortest(set []literal) int {
	if len(set) == 0 {
		return 0
	}
	return len(slices.MinFunc(set, func(a, b literal) int { return len(a.text) - len(b.text) }).text)
}

// literalOf is the longest piece of a text that can be looked for byte by byte.
func literalOf(re *syntax.Regexp) []literal {
	fold := re.Flags&syntax.FoldCase != 0
	unfit := func(r rune) bool {
		switch {
		case r == utf8.RuneError || r == '\r' || r == '\n':
			return true // it also stands for bytes that are no text; a line is searched without its end
		case fold:
			return r >= utf8.RuneSelf || strings.ContainsRune("kKsS", r) // K and ſ fold to k and s
		}
		return false
	}
	var best string
	for piece := range strings.FieldsFuncSeq(string(re.Rune), unfit) {
		if len(piece) > len(best) {
			best = piece
		}
	}
	if best == "" {
		return nil
	}
	if fold {
		best = strings.ToLower(best)
		fold = best != strings.ToUpper(best)
	}
	return []literal{{text: []byte(best), fold: fold}}
}

// finder finds the literals in one text, from its beginning to its end.
type finder struct {
	content []byte
	spots   []spot
}

// spot is where a literal comes next.
type spot struct {
	literal
	at int // never before where was looked last; len(content): nowhere
	// For letters of either case: its rarest byte, where in the text it is, and where its two
	// forms come next.
	pivot        int
	lower, upper int
}

func newFinder(l *literals) *finder {
	f := &finder{}
	for _, t := range l.texts {
		f.spots = append(f.spots, spot{literal: t, pivot: rarest(t.text)})
	}
	return f
}

// rarest is the byte of a text that files have the fewest of.
func rarest(text []byte) int {
	const common = "\x00 etaoinrsldcufmphg_.(),bvwyk\"=-/;:'x0123456789qzj" // the first are the most common
	best, rank := 0, -1
	for i, c := range text {
		r := strings.IndexByte(common, c)
		if r < 0 {
			r = len(common)
		}
		if r > rank {
			best, rank = i, r
		}
	}
	return best
}

func (f *finder) reset(content []byte) {
	f.content = content
	for i := range f.spots {
		f.spots[i].at, f.spots[i].lower, f.spots[i].upper = -1, -1, -1
	}
}

// next is where the first literal at or after from begins; false if there is none.
func (f *finder) next(from int) (int, bool) {
	first := len(f.content)
	for i := range f.spots {
		s := &f.spots[i]
		if s.at < from {
			s.seek(f.content, from)
		}
		first = min(first, s.at)
	}
	return first, first < len(f.content)
}

func (s *spot) seek(content []byte, from int) {
	if !s.fold {
		s.at = indexFrom(content, s.text, from)
		return
	}
	low := s.text[s.pivot]
	up := low
	if low >= 'a' && low <= 'z' {
		up = low - 'a' + 'A'
	}
	for begin := from; ; {
		if at := begin + s.pivot; s.lower < at {
			s.lower = indexByteFrom(content, low, at)
		}
		if at := begin + s.pivot; s.upper < at {
			s.upper = indexByteFrom(content, up, at)
		}
		begin = min(s.lower, s.upper) - s.pivot
		if begin+len(s.text) > len(content) {
			s.at = len(content)
			return
		}
		if foldsTo(content[begin:begin+len(s.text)], s.text) {
			s.at = begin
			return
		}
		begin++
	}
}

func foldsTo(b, lower []byte) bool {
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

func indexFrom(content, text []byte, from int) int {
	if i := bytes.Index(content[from:], text); i >= 0 {
		return from + i
	}
	return len(content)
}

func indexByteFrom(content []byte, c byte, from int) int {
	if from >= len(content) {
		return len(content)
	}
	if i := bytes.IndexByte(content[from:], c); i >= 0 {
		return from + i
	}
	return len(content)
}
