package command

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxDepth is how deep commands may stand in one another before nobody could say any more
// what they do, and maxTexts how often text may be code that holds text that is code.
const (
	maxDepth = 500
	maxTexts = 4
)

// Read takes a command apart, as bash would. Its error is an *unreadableError: nothing is
// known about what the command runs.
func Read(command string) (Command, error) {
	w, bad := walk(command, 0, "")
	if bad != nil {
		return Command{}, bad
	}
	return w.out, nil
}

func walk(command string, texts int, folder string) (*walker, *unreadableError) {
	file, bad := parse(command)
	if bad != nil {
		return nil, bad
	}
	w := &walker{
		src: command, texts: texts, folder: folder, visited: map[int]bool{}, said: map[string]bool{},
		inFunction: map[int]bool{},
	}
	w.stmts(file.Stmts, scope{})
	for _, c := range comments(command, file) {
		// bash ends a comment there; the parser goes on with the same command.
		if line, _, _ := strings.Cut(command[c.from:], "\n"); strings.HasSuffix(line, `\`) {
			w.unclear("a comment in it ends with a backslash, which shells read in different ways")
		}
		w.quiet = append(w.quiet, c)
	}
	w.overlooked()
	if w.deep {
		return nil, &unreadableError{Problem: "commands stand too deep in one another"}
	}
	w.out.findNumbers()
	for _, name := range w.calculates {
		if !w.out.numbers[name] {
			w.unclear("arithmetic evaluates what " + name + " holds")
		}
	}
	if w.counted && len(w.out.functions) > 0 {
		w.unclear("what counts in it may be a function of its own")
	}
	if w.everMoved {
		for i := range w.out.Parts {
			w.out.Parts[i].Moved = w.out.Parts[i].Moved || w.inFunction[i]
		}
	}
	return w, nil
}

// walker goes through one command's tree. What it does not find there but in the text, and
// what could run, makes the command unclear: the parser is not bash.
type walker struct {
	src   string
	out   Command
	texts int // how many times the text came from a text

	folder string // in which it runs, if that is known

	said       map[string]bool
	visited    map[int]bool // offsets of substitutions that were walked
	quiet      []span       // text in which nothing runs
	quoted     []span       // text in which only $ and ` are special
	calculates []string     // variables in arithmetic
	depth      int
	deep       bool
	moved      bool // what is walked now may run in another folder
	everMoved  bool
	counted    bool         // something relies on what wc says
	inFunction map[int]bool // the parts that functions hold: they run when those are called
}

type span struct{ from, to int }

// scope is what surrounding commands do to those in them.
type scope struct {
	redirects []Redirect
	timed     bool
}

// enter goes one step deeper, unless that is too deep.
func (w *walker) enter() bool {
	if w.depth >= maxDepth {
		w.deep = true
		return false
	}
	w.depth++
	return true
}

func (w *walker) leave() { w.depth-- }

func (w *walker) unclear(why string) {
	if !w.said[why] {
		w.said[why] = true
		w.out.Unclear = append(w.out.Unclear, why)
	}
}

// offset is where a position is in the text; it is bounded by maxLength.
func offset(p syntax.Pos) int { return int(p.Offset()) } //nolint:gosec // it is bounded

func (w *walker) visit(pos syntax.Pos) { w.visited[offset(pos)] = true }

func (w *walker) inert(n syntax.Node) {
	w.quiet = append(w.quiet, span{offset(n.Pos()), offset(n.End())})
}

func (w *walker) inertFiles(n syntax.Node) {
	w.quoted = append(w.quoted, span{offset(n.Pos()), offset(n.End())})
}

func (w *walker) used(name string) { w.out.uses = append(w.out.uses, name) }

// sets: a variable gets a value in another way than by an assignment.
func (w *walker) sets(name string) { w.out.sets = append(w.out.sets, name) }

func (w *walker) source(n syntax.Node) string { return w.between(n.Pos(), n.End()) }

func (w *walker) between(from, to syntax.Pos) string {
	a, b := min(offset(from), len(w.src)), min(offset(to), len(w.src))
	if !from.IsValid() || !to.IsValid() || a > b {
		return ""
	}
	return w.src[a:b]
}

func (w *walker) stmts(list []*syntax.Stmt, s scope) {
	for _, stmt := range list {
		w.stmt(stmt, s)
	}
}

// subshell walks commands whose change of folder ends with them.
func (w *walker) subshell(list []*syntax.Stmt) {
	moved := w.moved
	w.stmts(list, scope{})
	w.moved = moved
}

func (w *walker) stmt(stmt *syntax.Stmt, s scope) {
	if !w.enter() {
		return
	}
	defer w.leave()
	if stmt.Coprocess || stmt.Disown {
		w.unclear("it has an operator that not every bash knows")
	}
	before := len(w.out.Parts)
	if len(stmt.Redirs) > 0 {
		s.redirects = append(slices.Clip(s.redirects), w.redirects(stmt.Redirs)...)
		s.redirects = slices.Clip(s.redirects)
	}
	inner := len(w.out.Parts) - before // those that redirects run
	if stmt.Cmd != nil {
		w.command(stmt.Cmd, s)
	}
	// The parts of a command come before those that its own redirects run.
	own := len(w.out.Parts) - before - inner
	if own == 0 && len(s.redirects) > 0 && len(stmt.Redirs) > 0 {
		w.add(Part{Text: w.source(stmt), Redirects: s.redirects})
		own++
	}
	if inner > 0 {
		mine := slices.Clone(w.out.Parts[before:])
		copy(w.out.Parts[before:], mine[inner:])
		copy(w.out.Parts[before+own:], mine[:inner])
	}
}

func (w *walker) command(cmd syntax.Command, s scope) {
	switch c := cmd.(type) {
	case *syntax.CallExpr:
		w.call(c, s)
	case *syntax.BinaryCmd:
		w.binary(c, s)
	case *syntax.Subshell:
		moved := w.moved
		w.stmts(c.Stmts, s)
		w.moved = moved
	case *syntax.Block:
		w.stmts(c.Stmts, s)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			w.stmts(c.Cond, s)
			w.stmts(c.Then, s)
		}
	case *syntax.WhileClause:
		w.loop(func() {
			w.stmts(c.Cond, s)
			w.stmts(c.Do, s)
		})
	case *syntax.ForClause:
		w.loop(func() { w.forLoop(c, s) })
	case *syntax.CaseClause:
		w.pieces(c.Word)
		for _, item := range c.Items {
			for _, p := range item.Patterns {
				w.pieces(p)
			}
			w.stmts(item.Stmts, s)
		}
	case *syntax.FuncDecl:
		w.function(c, s)
	case *syntax.ArithmCmd:
		w.visit(c.Left)
		arithmetic{w}.arithm(c.X)
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			arithmetic{w}.arithm(x)
		}
	case *syntax.TestClause:
		arithmetic{w}.test(c.X)
	case *syntax.DeclClause:
		w.declare(c, s)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			s.timed = true
			w.stmt(c.Stmt, s)
		}
	case *syntax.CoprocClause:
		if c.Name != nil {
			arithmetic{w}.plainName(c.Name)
			w.sets(w.source(c.Name))
		}
		moved := w.moved
		w.stmt(c.Stmt, s)
		w.moved = moved
	default:
		w.unclear("it has a kind of command that is not known")
	}
}

// binary walks lists and pipes; a long list is a deep tree, leaning to either side.
func (w *walker) binary(c *syntax.BinaryCmd, s scope) {
	var stack []*syntax.Stmt
	push := func(b *syntax.BinaryCmd) { stack = append(stack, b.Y, b.X) }
	push(c)
	for len(stack) > 0 {
		stmt := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if b, ok := stmt.Cmd.(*syntax.BinaryCmd); ok && len(stmt.Redirs) == 0 {
			push(b)
			continue
		}
		w.stmt(stmt, s)
	}
}

// loop walks what may run again after it has changed the folder.
func (w *walker) loop(body func()) {
	first, moved := len(w.out.Parts), w.moved
	body()
	if w.moved && !moved {
		for i := first; i < len(w.out.Parts); i++ {
			w.out.Parts[i].Moved = true
		}
	}
}

func (w *walker) forLoop(c *syntax.ForClause, s scope) {
	switch loop := c.Loop.(type) {
	case *syntax.WordIter:
		part := Part{Text: "for " + loop.Name.Value}
		for _, item := range loop.Items {
			for _, word := range w.words(item) {
				part.Assigns = append(part.Assigns, Assign{Name: loop.Name.Value, Value: word})
			}
		}
		if !loop.InPos.IsValid() || len(part.Assigns) == 0 || c.Select {
			other := Word{Text: "$@", pieces: []piece{{kind: pieceOther}}}
			part.Assigns = append(part.Assigns, Assign{Name: loop.Name.Value, Value: other})
		}
		w.add(part)
	case *syntax.CStyleLoop:
		w.visit(loop.Lparen)
		arithmetic{w}.arithm(loop.Init)
		arithmetic{w}.arithm(loop.Cond)
		arithmetic{w}.arithm(loop.Post)
	default:
		w.unclear("it has a kind of loop that is not known")
	}
	w.stmts(c.Do, s)
}

func (w *walker) function(c *syntax.FuncDecl, s scope) {
	if c.Name == nil {
		w.unclear("it has a function without a plain name")
	} else {
		w.out.functions = append(w.out.functions, c.Name.Value)
	}
	first := len(w.out.Parts)
	moved := w.moved
	w.stmt(c.Body, s)
	w.moved = moved
	for i := first; i < len(w.out.Parts); i++ {
		w.inFunction[i] = true
	}
}

func (w *walker) add(p Part) {
	if p.Whole == "" {
		p.Whole = p.Text
	}
	p.Moved = p.Moved || w.moved
	w.out.Parts = append(w.out.Parts, p)
}

// redirects walks redirects, and returns those from and to files.
func (w *walker) redirects(list []*syntax.Redirect) []Redirect {
	var out []Redirect
	for _, r := range list {
		if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
			name := strings.Trim(r.N.Value, "{}")
			w.sets(name)
			if !isName(name) {
				w.unclear("it keeps a descriptor in an array")
			}
		}
		if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc {
			w.hereDocument(r)
			continue
		}
		words := w.words(r.Word)
		path := words[0]
		if len(words) != 1 {
			path = Word{Text: w.source(r.Word), pieces: []piece{{kind: pieceOther}}}
		}
		switch r.Op {
		case syntax.WordHdoc:
			w.out.strings = append(w.out.strings, words...)
		case syntax.RdrIn:
			out = append(out, Redirect{Path: path})
		case syntax.DplIn, syntax.DplOut:
			if !isDescriptor(path) {
				out = append(out, Redirect{Path: path, Write: r.Op == syntax.DplOut})
			}
		default:
			out = append(out, Redirect{Path: path, Write: true})
		}
	}
	w.out.Redirected = w.out.Redirected || slices.ContainsFunc(out, func(r Redirect) bool {
		return !r.Path.Known || !PlainDevice(r.Path.Text, true)
	})
	return out
}

// isDescriptor: "1", "-", and "1-", which moves one.
func isDescriptor(word Word) bool {
	text := strings.TrimSuffix(word.Text, "-")
	return word.Known && (text == "" && word.Text == "-" || text != "" && strings.Trim(text, "0123456789") == "")
}

func (w *walker) hereDocument(r *syntax.Redirect) {
	quoted := false
	for _, part := range r.Word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			quoted = quoted || strings.Contains(p.Value, `\`)
		case *syntax.SglQuoted:
			quoted = true
			w.inert(p)
			if p.Dollar {
				w.unclear("the end of its here-document is named in a way that shells read differently")
			}
		case *syntax.DblQuoted:
			quoted = true
			for _, inner := range p.Parts {
				if _, ok := inner.(*syntax.Lit); !ok {
					w.unclear("the end of its here-document is named in a way that shells read differently")
				}
			}
		default:
			w.unclear("the end of its here-document is named in a way that shells read differently")
		}
	}
	if r.Hdoc == nil {
		return
	}
	if quoted {
		w.inert(r.Hdoc)
		return
	}
	for _, part := range r.Hdoc.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			w.inertFiles(lit)
			continue
		}
		w.expansion(part, true)
	}
}

// overlooked finds text that bash would run and that was not walked as code: where the
// parser and bash read differently, the command is unclear.
func (w *walker) overlooked() {
	quiet, quoted := within(w.quiet), within(w.quoted)
	for i := 0; i < len(w.src); i++ {
		c := w.src[i]
		file := (c == '<' || c == '>') && i+1 < len(w.src) && w.src[i+1] == '('
		// What a line that goes on has cut from its $ is an expansion to bash.
		cut := c == '$' && strings.HasPrefix(w.src[i+1:], "\\\n")
		starts := file || cut || c == '`' || c == '$' && i+1 < len(w.src) && (w.src[i+1] == '(' || w.src[i+1] == '[')
		if !starts || w.visited[i] || quiet(i) {
			continue
		}
		if file && quoted(i) || escaped(w.src, i) {
			continue
		}
		w.unclear("it has text that may run in a place that shells read in different ways")
		return
	}
}

func escaped(s string, i int) bool {
	n := 0
	for n < i && s[i-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// within tells whether an offset is in one of the spans; asked in rising order.
func within(spans []span) func(int) bool {
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	next, end := 0, -1
	return func(i int) bool {
		for next < len(spans) && spans[next].from <= i {
			end = max(end, spans[next].to)
			next++
		}
		return i < end
	}
}

// comments are the stretches of text that the tree leaves out because they begin with #.
func comments(src string, file *syntax.File) []span {
	var out []span
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Comment); ok {
			out = append(out, span{offset(c.Pos()), min(offset(c.End()), len(src))})
		}
		return true
	})
	return out
}
