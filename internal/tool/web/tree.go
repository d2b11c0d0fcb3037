package web

import (
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// What a tree of a page may hold. Pages that people write stay far below.
const (
	maxHTML   = 2 << 20 // bytes read of a page
	maxNodes  = 300_000
	maxDepth  = 100    // elements around a text; deeper ones are left out, their text is not
	maxStack  = 200    // the same with what is not shown
	maxIndent = 8      // lists and quotes within each other
	maxColumn = 64     // of a table
	maxCells  = 20_000 // of a table
	maxHref   = 1_000  // bytes of a link
	maxTitle  = 300    // characters
)

// tree is built from the tokens of a page, in one pass and within caps. The parser of the
// library follows browsers, who close and reopen elements as pages want: a few bytes may then
// stand for many nodes. This builder only ever adds one node for one tag.
type tree struct {
	root  *html.Node
	title string
	cut   bool
	base  *url.URL

	stack  []level
	over   int // open elements that were too deep to be on the stack
	nodes  int
	text   strings.Builder // text of the innermost element that is not in the tree yet
	skip   bool            // the next text is a script or the like
	tables []*grid         // open tables, the innermost last
}

// level is an open element.
type level struct {
	node   *html.Node
	hidden bool // it is not part of the tree
	depth  int  // elements shown around it
	indent int
}

// grid is an open table.
type grid struct {
	parts        []*html.Node // its own rows and cells, and what groups them
	rows, column int
	widest       int
	layout       bool // it only arranges a page
	node         *html.Node
}

// grow builds the tree of a page.
func grow(text string, own *url.URL) *tree {
	t := &tree{root: &html.Node{Type: html.DocumentNode}, base: own}
	t.stack = []level{{node: t.root}}
	if len(text) > maxHTML {
		text, t.cut = strings.ToValidUTF8(text[:maxHTML], ""), true
	}
	z := html.NewTokenizer(strings.NewReader(text))
	for t.nodes < maxNodes {
		switch z.Next() {
		case html.ErrorToken:
			t.closeTo(0)
			return t
		case html.TextToken:
			t.addText(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			tok := z.Token()
			t.start(&tok)
		case html.EndTagToken:
			name, _ := z.TagName()
			t.end(string(name))
		case html.CommentToken, html.DoctypeToken:
		}
	}
	t.cut = true
	t.closeTo(0)
	return t
}

func (t *tree) top() *level { return &t.stack[len(t.stack)-1] }

func (t *tree) addText(s string) {
	switch {
	case t.top().node.DataAtom == atom.Title && t.title == "":
		t.title, _ = cutRunes(oneLine(s), maxTitle)
	case t.skip || t.top().hidden:
	default:
		t.text.WriteString(clean(s))
	}
	t.skip = false
}

// flush puts the waiting text into the tree, as one node.
func (t *tree) flush() {
	if t.text.Len() == 0 {
		return
	}
	t.nodes++
	t.top().node.AppendChild(&html.Node{Type: html.TextNode, Data: t.text.String()})
	t.text = strings.Builder{}
}

func (t *tree) start(tok *html.Token) {
	t.skip = false
	switch tok.DataAtom {
	case atom.Base:
		t.base = baseOf(t.base, attribute(tok, "href"))
		return
	case atom.Img:
		if alt := oneLine(attribute(tok, "alt")); alt != "" {
			// Its address is of no use to who cannot see it, and a way out for who can load it.
			t.addText("[image: " + alt + "]")
		}
		return
	case atom.Html, atom.Head, atom.Body:
		return
	default:
	}
	t.imply(tok.DataAtom)
	hide := dropped(tok)
	if isVoid(tok.DataAtom) {
		if !hide && !t.top().hidden && (tok.DataAtom == atom.Br || tok.DataAtom == atom.Hr) {
			t.flush()
			t.attach(element(tok.DataAtom, tok.Data))
		}
		return
	}
	up := t.top()
	hide = hide || up.hidden
	if len(t.stack) > maxStack || !hide && up.depth >= maxDepth {
		t.over++
		t.skip = dropped(tok)
		return
	}
	next := level{hidden: hide, depth: up.depth + 1, indent: up.indent, node: element(tok.DataAtom, tok.Data)}
	t.flush()
	if hide {
		t.stack = append(t.stack, next)
		return
	}
	t.shape(&next, tok)
	t.attach(next.node)
	t.stack = append(t.stack, next)
	if next.node.DataAtom == atom.Table {
		for _, g := range t.tables {
			g.layout = true
		}
		t.tables = append(t.tables, &grid{node: next.node})
	}
}

func (t *tree) attach(n *html.Node) {
	t.nodes++
	t.top().node.AppendChild(n)
}

func element(a atom.Atom, name string) *html.Node {
	return &html.Node{Type: html.ElementNode, DataAtom: a, Data: name}
}

// shape gives an element the few attributes that mean something in Markdown, and makes a
// plain one of what would cost more than it tells.
func (t *tree) shape(l *level, tok *html.Token) {
	n := l.node
	switch n.DataAtom {
	case atom.A:
		if href := t.link(attribute(tok, "href")); href != "" {
			n.Attr = []html.Attribute{{Key: "href", Val: href}}
		}
	case atom.Code, atom.Pre:
		if class := attribute(tok, "class"); class != "" && len(class) < 200 {
			n.Attr = []html.Attribute{{Key: "class", Val: oneLine(class)}}
		}
	case atom.Ul, atom.Ol, atom.Blockquote:
		if l.indent++; l.indent > maxIndent {
			plainElement(n)
		} else if start, err := strconv.Atoi(attribute(tok, "start")); err == nil && start >= 0 && start < 1e6 &&
			n.DataAtom == atom.Ol {
			n.Attr = []html.Attribute{{Key: "start", Val: strconv.Itoa(start)}}
		}
	case atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption:
		t.cell(n)
	default:
	}
}

// cell counts a part of the innermost table; without one it is no cell.
func (t *tree) cell(n *html.Node) {
	if len(t.tables) == 0 {
		plainElement(n)
		return
	}
	g := t.tables[len(t.tables)-1]
	g.parts = append(g.parts, n)
	switch n.DataAtom {
	case atom.Tr:
		g.rows, g.column = g.rows+1, 0
	case atom.Td, atom.Th:
		g.column++
		g.widest = max(g.widest, g.column)
	default:
	}
}

func plainElement(n *html.Node) { n.DataAtom, n.Data, n.Attr = atom.Div, "div", nil }

// link is where a link leads, or "" if nobody can follow it.
func (t *tree) link(href string) string {
	href = strings.TrimSpace(href)
	if href == "" || href[0] == '#' || len(href) > maxHref {
		return ""
	}
	ref, err := url.Parse(href)
	if err != nil {
		return ""
	}
	u := t.base.ResolveReference(ref)
	if u.User != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
		return ""
	}
	return u.String()
}

// end closes the innermost element of a name, and what was left open in it. It does not reach
// out of a table's cell, so that a slip in one does not break the table.
func (t *tree) end(name string) {
	t.skip = false
	a := atom.Lookup([]byte(name))
	if isVoid(a) {
		return
	}
	if last := len(t.stack) - 1; t.over > 0 && t.stack[last].hidden && t.stack[last].node.Data == name {
		t.closeTo(last)
		return
	}
	if t.over > 0 {
		t.over--
		return
	}
	inTable := tablePart(a)
	for i := len(t.stack) - 1; i > 0; i-- {
		n := t.stack[i].node
		if n.Data == name || n.Data == "div" && listPart(a) && a != 0 && t.stack[i].indent > maxIndent {
			t.closeTo(i)
			return
		}
		if !inTable && (n.DataAtom == atom.Td || n.DataAtom == atom.Th) {
			return
		}
	}
}

// closeTo closes elements until n are left on the stack; the root stays.
func (t *tree) closeTo(n int) {
	t.flush()
	for len(t.stack) > max(n, 1) {
		l := t.top()
		if i := len(t.tables) - 1; i >= 0 && t.tables[i].node == l.node {
			t.tables[i].close()
			t.tables = t.tables[:i]
		}
		t.stack = t.stack[:len(t.stack)-1]
	}
}

// close decides whether a table is one. The converter fills all rows up to the widest, and
// cannot put a table into another.
func (g *grid) close() {
	if !g.layout && g.widest <= maxColumn && g.widest*(g.rows+1) <= maxCells {
		return
	}
	plainElement(g.node)
	for _, n := range g.parts {
		plainElement(n)
	}
}

// imply closes what a start tag ends without saying so.
func (t *tree) imply(a atom.Atom) {
	if t.over > 0 {
		return
	}
	var ends, within func(atom.Atom) bool
	switch {
	case a == atom.Li:
		ends, within = is(atom.Li), is(atom.Ul, atom.Ol)
	case a == atom.Dt || a == atom.Dd:
		ends, within = is(atom.Dt, atom.Dd), is(atom.Dl)
	case a == atom.Td || a == atom.Th:
		ends, within = is(atom.Td, atom.Th), is(atom.Tr, atom.Table)
	case a == atom.Tr:
		ends, within = is(atom.Tr), is(atom.Table)
	case a == atom.Tbody || a == atom.Tfoot || a == atom.Thead:
		ends, within = is(atom.Tbody, atom.Thead, atom.Tfoot), is(atom.Table)
	case endsParagraph(a):
		ends, within = is(atom.P), func(a atom.Atom) bool { return !isInline(a) }
	default:
		return
	}
	for i := len(t.stack) - 1; i > 0; i-- {
		switch n := t.stack[i].node; {
		case ends(n.DataAtom):
			t.closeTo(i)
			return
		case within(n.DataAtom):
			return
		}
	}
}

// plain is all text of the tree.
func (t *tree) plain() string {
	var b strings.Builder
	for n := range t.root.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
			b.WriteByte('\n')
		}
	}
	return b.String()
}
