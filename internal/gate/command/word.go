package command

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// piece is a stretch of a word whose characters are all of one kind.
type piece struct {
	kind   pieceKind
	text   string // the literal text, or the name of the variable
	quoted bool
	count  bool // a pieceOutput that is a number, maybe with blanks around it
}

type pieceKind int

const (
	pieceText   pieceKind = iota
	pieceVar              // a plain $name or ${name}
	pieceNumber           // digits, or a minus and digits
	pieceOutput           // a command substitution
	pieceFile             // a process substitution: the path of a pipe
	pieceTilde            // text that begins with a home folder
	pieceOther            // whatever else is only known when it runs
)

// value is the word on the right of an assignment, where braces and patterns are plain text.
func (w *walker) value(word *syntax.Word) Word {
	if word == nil {
		return Word{Known: true}
	}
	pieces := w.pieces(word)
	for i := range pieces {
		if pieces[i].kind == pieceText && !pieces[i].quoted && hasTilde(pieces, i) {
			pieces[i].kind = pieceTilde
			continue
		}
		pieces[i].quoted = true
	}
	return finish(pieces, w.source(word))
}

func finish(pieces []piece, written string) Word {
	word := Word{Text: written, Known: true, pieces: pieces}
	var text strings.Builder
	for i, p := range pieces {
		switch {
		case p.kind != pieceText:
			word.Known = false
			continue
		case !p.quoted && hasTilde(pieces, i):
			word.Known = false
		}
		text.WriteString(p.text)
	}
	if isPattern(pieces) {
		word.Pattern, word.Known = true, false
	}
	if word.Known {
		word.Text, word.source = text.String(), written
	}
	return word
}

func joined(pieces []piece) string {
	var text strings.Builder
	for _, p := range pieces {
		switch p.kind {
		case pieceText:
			text.WriteString(p.text)
		case pieceVar:
			text.WriteString("$" + p.text)
		default:
			text.WriteString("$(…)")
		}
	}
	return text.String()
}

// hasTilde: a ~ where bash may put a home folder: at the beginning, and after = and :, since
// it does so in arguments that look like assignments.
func hasTilde(pieces []piece, i int) bool {
	text := pieces[i].text
	if i == 0 && strings.HasPrefix(text, "~") {
		return true
	}
	return strings.Contains(text, "=~") || strings.Contains(text, ":~")
}

// isPattern: an unquoted *, ? or [...].
func isPattern(pieces []piece) bool {
	open := false
	for _, p := range pieces {
		if p.quoted || p.kind != pieceText {
			continue
		}
		for i := 0; i < len(p.text); i++ {
			switch p.text[i] {
			case '*', '?':
				return true
			case '[':
				open = true
			case ']':
				if open {
					return true
				}
			}
		}
	}
	return false
}

// pieces takes a word apart and walks what runs inside it.
func (w *walker) pieces(word *syntax.Word) []piece {
	var out []piece
	for _, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			out = append(out, unescapeLit(p.Value)...)
			if strings.Contains(p.Value, "<(") || strings.Contains(p.Value, ">(") {
				w.unclear("it has a substitution in a place where shells differ")
			}
		case *syntax.SglQuoted:
			text := p.Value
			if p.Dollar {
				text = w.ansi(p.Value)
			}
			w.inert(p)
			out = append(out, piece{text: text, quoted: true})
		case *syntax.DblQuoted:
			out = append(out, w.doubleQuoted(p)...)
		default:
			out = append(out, w.expansion(part, false))
		}
	}
	return out
}

func (w *walker) doubleQuoted(q *syntax.DblQuoted) []piece {
	if q.Dollar {
		w.unclear("$\"…\" is translated before it is used")
	}
	out := []piece{{quoted: true}}
	for _, part := range q.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			w.inertFiles(lit)
			out = append(out, piece{text: unescapeQuoted(lit.Value), quoted: true})
			continue
		}
		out = append(out, w.expansion(part, true))
	}
	return out
}

// unescapeLit splits unquoted text where a backslash quotes a character.
func unescapeLit(s string) []piece {
	if !strings.Contains(s, `\`) {
		return []piece{{text: s}}
	}
	var out []piece
	start := 0
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			continue
		}
		if start < i {
			out = append(out, piece{text: s[start:i]})
		}
		n := 1
		for i+1+n < len(s) && s[i+1] >= 0x80 && s[i+1+n]&0xc0 == 0x80 {
			n++ // the rest of one character
		}
		if s[i+1] != '\n' {
			out = append(out, piece{text: s[i+1 : i+1+n], quoted: true})
		}
		i += n
		start = i + 1
	}
	if start < len(s) {
		out = append(out, piece{text: s[start:]})
	}
	return out
}

// unescapeQuoted: within double quotes a backslash quotes few characters and else is one.
func unescapeQuoted(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			switch s[i+1] {
			case '\n':
				i++
				continue
			case '$', '`', '"', '\\':
				i++
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// ansi is what $'…' stands for.
func (w *walker) ansi(s string) string {
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		if k := strings.IndexByte(`abeEfnrtv\'"?`, s[i]); k >= 0 {
			out = append(out, "\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[k])
			continue
		}
		base, from, most := 0, i+1, 0
		switch s[i] {
		case '0', '1', '2', '3', '4', '5', '6', '7':
			base, from, most = 8, i, 3
		case 'x':
			base, most = 16, 2
		case 'u':
			base, most = 16, 4
		case 'U':
			base, most = 16, 8
		case 'c':
			if i+1 < len(s) {
				w.unclear("it names a control character by \\c")
				i++
			}
			continue
		}
		end := from
		for end < len(s) && end-from < most && digit(s[end]) < base {
			end++
		}
		if base == 0 || end == from {
			out = append(out, '\\', s[i])
			continue
		}
		n, _ := strconv.ParseUint(s[from:end], base, 64) // at most eight checked digits
		i = end - 1
		switch {
		case n == 0:
			// bash drops the rest of the string, or of the word, by version.
			w.unclear("it has a NUL in $'…'")
		case s[from-1] == 'u' || s[from-1] == 'U':
			// not more than one over the last rune
			out = append(out, string(rune(min(n, 0x10ffff+1)))...) //nolint:gosec // it is bounded
		default:
			out = append(out, byte(n)) //nolint:gosec // bash cuts it too
		}
	}
	return string(out)
}

func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return 99
}

// expansion walks what runs inside an expansion and says what is known of it.
func (w *walker) expansion(part syntax.WordPart, quoted bool) piece {
	switch p := part.(type) {
	case *syntax.ParamExp:
		return w.param(p, quoted)
	case *syntax.CmdSubst:
		w.substitution(p)
		return piece{kind: pieceOutput, quoted: quoted, count: counts(p)}
	case *syntax.ArithmExp:
		w.visit(p.Left)
		arithmetic{w}.arithm(p.X)
		return piece{kind: pieceNumber, quoted: quoted}
	case *syntax.ProcSubst:
		w.visit(p.OpPos)
		w.subshell(p.Stmts)
		return piece{kind: pieceFile, quoted: true}
	case *syntax.ExtGlob:
		w.unclear("its pattern is one that bash knows only if told so")
	case *syntax.SglQuoted: // only within arithmetic
		w.inert(p)
	case *syntax.DblQuoted:
		w.doubleQuoted(p)
	case *syntax.Lit:
		return piece{text: p.Value, quoted: quoted}
	default:
		w.unclear("it has an expansion that is not known")
	}
	return piece{kind: pieceOther, quoted: quoted}
}

func (w *walker) substitution(p *syntax.CmdSubst) {
	w.visit(p.Left)
	if p.Backquotes {
		w.visit(p.Right)
		if strings.Contains(w.between(p.Left, p.Right), `\`) {
			w.unclear("it has backslashes within backquotes, which are read twice")
		}
	}
	if p.TempFile || p.ReplyVar {
		w.unclear("it has a substitution that not every bash knows")
	}
	w.subshell(p.Stmts)
}

// param walks a parameter expansion.
func (w *walker) param(p *syntax.ParamExp, quoted bool) piece {
	other := piece{kind: pieceOther, quoted: quoted}
	if !w.enter() {
		return other
	}
	defer w.leave()
	if p.Param == nil || p.Flags != nil || p.NestedParam != nil || p.Width || p.IsSet || len(p.Modifiers) > 0 ||
		p.Split != 0 || p.GlobSubst != 0 || p.RcExpand != 0 {
		w.unclear("it has an expansion that is not known")
		return other
	}
	name := p.Param.Value
	w.used(name)
	if p.Excl {
		w.unclear("${!" + name + "} names its variable only when it runs")
	}
	if p.Index != nil || name == "@" { // it may be a list
		other.text = name
	}
	if p.Index != nil && !wholeArray(p.Index) {
		arithmetic{w}.arithm(p.Index)
	}
	if p.Slice != nil {
		arithmetic{w}.arithm(p.Slice.Offset)
		arithmetic{w}.arithm(p.Slice.Length)
	}
	if p.Repl != nil {
		w.operand(p.Repl.Orig, quoted)
		w.operand(p.Repl.With, quoted)
	}
	if p.Exp != nil {
		if p.Exp.Op == syntax.OtherParamOps {
			w.unclear("${" + name + "@…} may run what the variable holds")
		}
		if p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull {
			w.sets(name)
			w.add(Part{Assigns: []Assign{{Name: name, Value: Word{pieces: []piece{{kind: pieceOther}}}}}})
		}
		w.operand(p.Exp.Word, quoted)
	}
	switch {
	case p.Length && !p.Excl, name == "#" && p.Exp == nil, name == "?" && p.Exp == nil, name == "$" && p.Exp == nil:
		return piece{kind: pieceNumber, quoted: quoted}
	case p.Excl || p.Length || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Exp != nil:
		return other
	}
	return piece{kind: pieceVar, text: name, quoted: quoted}
}

// operand walks the word of ${x:-word} and the like. Within double quotes the parser takes
// quotes in it for quotes where bash does not.
func (w *walker) operand(word *syntax.Word, quoted bool) {
	if word == nil {
		return
	}
	if quoted && strings.ContainsAny(w.source(word), `'"\`) {
		w.unclear("it has quotes within ${…} within quotes, which shells read in different ways")
	}
	w.pieces(word)
}

func wholeArray(index syntax.ArithmExpr) bool {
	word, ok := index.(*syntax.Word)
	return ok && (word.Lit() == "@" || word.Lit() == "*")
}
