package command

import (
	"strconv"
	"strings"
)

// cell is one unquoted character, or a piece that braces leave alone.
type cell struct {
	c byte // 0: see piece
	p piece
}

// expandBraces does what bash does with {a,b} and {1..3} where that is plain: not nested,
// not cut by quotes, not too many. Not ok: what becomes of the word is not known.
func expandBraces(pieces []piece) (sets [][]piece, ok bool) {
	if !mayBrace(pieces) {
		return [][]piece{pieces}, true
	}
	cells := cellsOf(pieces)
	open := -1
	for i, c := range cells {
		switch c.c {
		case '{':
			if open >= 0 {
				return nil, false // nested, or odd
			}
			open = i
		case '}':
			if open < 0 {
				continue
			}
			choices, known := choicesOf(cells[open+1 : i])
			if !known {
				return nil, false
			}
			if choices == nil { // {} or {x}: plain text
				open = -1
				continue
			}
			rest, known := expandBraces(piecesOf(cells[i+1:]))
			if !known || len(rest)*len(choices) > maxBraces {
				return nil, false
			}
			head := piecesOf(cells[:open])
			for _, choice := range choices {
				for _, tail := range rest {
					set := append(append(append([]piece{}, head...), choice...), tail...)
					if len(set) == 0 {
						continue // an empty word that is not quoted is none
					}
					sets = append(sets, set)
				}
			}
			if len(sets) == 0 {
				return nil, false
			}
			return sets, true
		}
	}
	if open >= 0 {
		return nil, false
	}
	return [][]piece{pieces}, true
}

func mayBrace(pieces []piece) bool {
	open := false
	for _, p := range pieces {
		if p.kind == pieceText && !p.quoted && strings.Contains(p.text, "{") {
			open = true
		}
		if open && p.kind == pieceText && !p.quoted && strings.Contains(p.text, "}") {
			return true
		}
	}
	return false
}

// choicesOf are the alternatives between two braces; nil if the braces are plain text.
func choicesOf(cells []cell) (choices [][]piece, known bool) {
	var text strings.Builder
	plain, commas := true, 0
	for _, c := range cells {
		if c.c == 0 {
			plain = false
		}
		if c.c == ',' {
			commas++
		}
		text.WriteByte(c.c)
	}
	if commas == 0 {
		if !strings.Contains(text.String(), "..") {
			return nil, true
		}
		if !plain {
			return nil, false
		}
		return sequence(text.String())
	}
	start := 0
	for i := 0; i <= len(cells); i++ {
		if i == len(cells) || cells[i].c == ',' {
			choices = append(choices, piecesOf(cells[start:i]))
			start = i + 1
		}
	}
	return choices, true
}

// sequence is {1..5}, without a step and without leading zeros.
func sequence(s string) (choices [][]piece, known bool) {
	from, to, _ := strings.Cut(s, "..")
	a, err := strconv.Atoi(from)
	b, err2 := strconv.Atoi(to)
	if err != nil || err2 != nil || strconv.Itoa(a) != from || strconv.Itoa(b) != to ||
		a < 0 || b < 0 || max(a, b)-min(a, b) >= maxBraces {
		return nil, false
	}
	step := 1
	if a > b {
		step = -1
	}
	for n := a; ; n += step {
		choices = append(choices, []piece{{text: strconv.Itoa(n)}})
		if n == b {
			return choices, true
		}
	}
}

func cellsOf(pieces []piece) []cell {
	var cells []cell
	for _, p := range pieces {
		if p.kind != pieceText || p.quoted {
			cells = append(cells, cell{p: p})
			continue
		}
		for i := 0; i < len(p.text); i++ {
			cells = append(cells, cell{c: p.text[i]})
		}
	}
	return cells
}

func piecesOf(cells []cell) []piece {
	var out []piece
	var text []byte
	flush := func() {
		if len(text) > 0 {
			out = append(out, piece{text: string(text)})
			text = nil
		}
	}
	for _, c := range cells {
		if c.c != 0 {
			text = append(text, c.c)
			continue
		}
		flush()
		out = append(out, c.p)
	}
	flush()
	return out
}
