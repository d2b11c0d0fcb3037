package command

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arithmetic walks what bash evaluates as expressions.
type arithmetic struct{ walk *walker }

// arithm walks an arithmetic expression. bash evaluates the text of the variables in it as
// expressions again, and a subscript in that text can run commands: x='a[$(rm y)]'; ((x)).
// So only those variables are clear of which each value in the command is a number.
func (a arithmetic) arithm(x syntax.ArithmExpr) {
	if x == nil || !a.walk.enter() {
		return
	}
	defer a.walk.leave()
	switch x := x.(type) {
	case *syntax.Word:
		a.arithmWord(x)
	case *syntax.BinaryArithm:
		if word, ok := x.X.(*syntax.Word); ok && strings.HasSuffix(x.Op.String(), "=") &&
			!slices.Contains([]string{"==", "!=", "<=", ">="}, x.Op.String()) {
			a.walk.out.counters = append(a.walk.out.counters, word.Lit())
		}
		a.arithm(x.X)
		a.arithm(x.Y)
	case *syntax.UnaryArithm:
		a.arithm(x.X)
	case *syntax.ParenArithm:
		a.arithm(x.X)
	default:
		a.walk.unclear("it has arithmetic of a kind that is not known")
	}
}

func (a arithmetic) arithmWord(word *syntax.Word) {
	for _, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			a.arithmText(p.Value)
		case *syntax.ArithmExp:
			a.walk.visit(p.Left)
			a.arithm(p.X)
		case *syntax.ParamExp:
			if piece := a.walk.param(p, false); piece.kind != pieceNumber {
				a.number(p.Param, p.Index != nil || piece.kind != pieceVar)
			}
		case *syntax.CmdSubst:
			a.walk.counted = true
			if a.walk.expansion(p, true); !counts(p) {
				a.walk.unclear("arithmetic evaluates a text that is only known when it runs")
			}
		default:
			// Quotes are taken off and the text is evaluated all the same.
			a.walk.expansion(part, true)
			a.walk.unclear("arithmetic evaluates a text that is only known when it runs")
		}
	}
}

// counts: what is substituted is a number that wc counts of its input, which it is alone to say.
func counts(p *syntax.CmdSubst) bool {
	if len(p.Stmts) != 1 {
		return false
	}
	last := p.Stmts[0]
	for {
		list, ok := last.Cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		if list.Op != syntax.Pipe || len(last.Redirs) > 0 {
			return false
		}
		last = list.Y
	}
	c, ok := last.Cmd.(*syntax.CallExpr)
	if !ok || last.Background || last.Coprocess || last.Negated || len(c.Assigns) > 0 || len(c.Args) != 2 ||
		c.Args[0].Lit() != "wc" {
		return false
	}
	for _, r := range last.Redirs {
		if r.Op != syntax.RdrIn || r.N != nil {
			return false
		}
	}
	switch c.Args[1].Lit() {
	case "-l", "-c", "-w", "-m":
		return true
	}
	return false
}

func (a arithmetic) arithmText(text string) {
	if isNumber(text) {
		return
	}
	if isName(text) {
		a.walk.used(text)
		a.walk.sets(text) // it may be on the left of a =
		a.number(&syntax.Lit{Value: text}, false)
		return
	}
	a.walk.unclear("arithmetic evaluates a text that is only known when it runs")
}

// number says that a variable in arithmetic is unclear, unless it is a number for sure.
func (a arithmetic) number(name *syntax.Lit, changed bool) {
	if name == nil {
		return
	}
	if changed {
		a.walk.unclear("arithmetic evaluates what " + name.Value + " holds")
	} else if !alwaysNumber(name.Value) {
		a.walk.calculates = append(a.walk.calculates, name.Value)
	}
}

func alwaysNumber(name string) bool {
	switch name {
	case "RANDOM", "SRANDOM", "SECONDS", "LINENO", "BASHPID", "PPID", "UID", "EUID", "SHLVL", "#", "?", "$", "!":
		return true
	}
	return false
}

func isNumber(s string) bool {
	if s == "" {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' || (c == 'x' || c == 'X') && i == 1) {
			return false
		}
	}
	return s[0] >= '0' && s[0] <= '9'
}

func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}

// findNumbers finds the variables that hold nothing but numbers wherever the command sets them.
func (c *Command) findNumbers() {
	c.numbers = make(map[string]bool)
	set := func(name string, number bool) {
		before, known := c.numbers[name]
		c.numbers[name] = number && (before || !known)
	}
	for _, name := range c.counters {
		set(name, true)
	}
	for i := range c.Parts {
		p := &c.Parts[i]
		for _, a := range p.Assigns {
			set(a.Name, !a.Append && (a.Value.Known && isNumber(strings.TrimPrefix(a.Value.Text, "-")) ||
				a.Value.numeric(nil)))
		}
		if len(p.Words) == 0 || slices.Contains([]string{"echo", "cat", "ls", "grep", "head", "tail", "wc", "test",
			"[", "true", "false", "seq"}, p.Words[0].Text) {
			continue // the common ones that surely set nothing
		}
		// read, printf -v, mapfile, getopts and others put text into what they name.
		for _, w := range p.Words[1:] {
			name, value, sets := strings.Cut(w.Text, "=")
			if name = strings.TrimSuffix(strings.Trim(name, `"'\`), "+"); isName(name) && !(sets && isNumber(value)) {
				set(name, false)
			}
		}
	}
}

// test walks [[ … ]]. Its words are not split; but -v, -R and comparisons of numbers
// evaluate text, whether it is quoted or not.
func (a arithmetic) test(x syntax.TestExpr) {
	if x == nil || !a.walk.enter() {
		return
	}
	defer a.walk.leave()
	switch x := x.(type) {
	case *syntax.Word:
		a.walk.pieces(x)
	case *syntax.ParenTest:
		a.test(x.X)
	case *syntax.UnaryTest:
		if word, ok := x.X.(*syntax.Word); ok && (x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar) {
			a.plainName(word)
			return
		}
		a.test(x.X)
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			a.numberOperand(x.X)
			a.numberOperand(x.Y)
		case syntax.TsReMatch, syntax.TsMatch, syntax.TsNoMatch, syntax.TsMatchShort:
			a.test(x.X)
			a.matchOperand(x.Y)
		default:
			a.test(x.X)
			a.test(x.Y)
		}
	default:
		a.walk.unclear("it has a test that is not known")
	}
}

func (a arithmetic) numberOperand(x syntax.TestExpr) {
	word, ok := x.(*syntax.Word)
	if !ok {
		a.walk.unclear("it has a test that is not known")
		return
	}
	parts := word.Parts
	if len(parts) == 1 {
		if q, ok := parts[0].(*syntax.DblQuoted); ok {
			parts = q.Parts
		}
	}
	a.arithmWord(&syntax.Word{Parts: parts})
}

// matchOperand is a pattern: there are more kinds of them than elsewhere, and all are text.
func (a arithmetic) matchOperand(x syntax.TestExpr) {
	word, ok := x.(*syntax.Word)
	if !ok {
		a.test(x)
		return
	}
	for _, part := range word.Parts {
		if glob, ok := part.(*syntax.ExtGlob); ok {
			if strings.ContainsAny(glob.Pattern.Value, "$`<>") {
				a.walk.unclear("its pattern holds what bash expands")
			}
			continue
		}
		a.walk.pieces(&syntax.Word{Parts: []syntax.WordPart{part}})
	}
}

// plainName checks a word that bash takes for the name of a variable.
func (a arithmetic) plainName(word *syntax.Word) {
	if got := finish(a.walk.pieces(word), a.walk.source(word)); !got.Known || !isName(got.Text) {
		a.walk.unclear("the name of a variable in it is evaluated, and may run something")
	}
}
