// Package ipynb changes single cells of Jupyter notebooks (format 4) and leaves every other
// byte as it is: fields that nobody here knows, the order of keys, indentation, how numbers
// and strings are written. What is new is written the way its neighbours are.
//
// Functions are pure; a Notebook is not changed by them.
package ipynb

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe/internal/tool/internal/jsonspan"
)

// Types of cell.
const (
	Code     = "code"
	Markdown = "markdown"
	Raw      = "raw"
)

// Notebook is a notebook's text, and where its cells stand in it.
type Notebook struct {
	text   string
	head   string // a byte order mark before the text
	top    []jsonspan.Member
	array  jsonspan.Span // of the cells
	cells  []cell
	useIDs bool // format 4.5 and later: cells have ids
}

type cell struct {
	jsonspan.Span
	members []jsonspan.Member
	typ, id string // id is "" if it has none that could be named
}

func (c *cell) member(key string) (jsonspan.Member, bool) {
	i := slices.IndexFunc(c.members, func(m jsonspan.Member) bool { return m.Key == key })
	if i < 0 {
		return jsonspan.Member{}, false
	}
	return c.members[i], true
}

// Parse finds the cells. Errors are worded to follow the notebook's name.
func Parse(data []byte) (*Notebook, error) {
	n := &Notebook{text: string(data)}
	if rest, ok := strings.CutPrefix(n.text, "\uFEFF"); ok {
		n.head, n.text = "\uFEFF", rest
	}
	if !json.Valid([]byte(n.text)) {
		return nil, errors.New("is not valid JSON")
	}
	start := len(n.text) - len(strings.TrimLeft(n.text, jsonspan.Blanks))
	if n.text[start] != '{' {
		return nil, errors.New("is not a notebook: it is no JSON object")
	}
	n.top = jsonspan.Members(n.text, jsonspan.Span{From: start, To: len(n.text)})
	if key, twice := repeated(n.top); twice {
		return nil, fmt.Errorf("has %q twice at the top, which programs read differently", key)
	}
	major, minor := -1, 0
	for _, m := range n.top {
		value := m.Value.Of(n.text)
		switch m.Key {
		case "nbformat":
			major, _ = strconv.Atoi(value) // what is no number is no format we know
		case "nbformat_minor":
			minor, _ = strconv.Atoi(value)
		case "cells":
			n.array = m.Value
		}
	}
	switch {
	case major != 4:
		return nil, errors.New("is not a notebook of format 4 (nbformat); Jupyter can convert older ones")
	case n.array.To == 0 || n.text[n.array.From] != '[':
		return nil, errors.New("is not a notebook: it has no list of cells")
	}
	n.useIDs = minor >= 5
	for i, at := range jsonspan.Items(n.text, n.array) {
		c, err := n.cell(at)
		if err != nil {
			return nil, fmt.Errorf("has a broken cell, number %d: %w", i+1, err)
		}
		n.cells = append(n.cells, c)
	}
	return n, nil
}

func (n *Notebook) cell(at jsonspan.Span) (cell, error) {
	c := cell{Span: at}
	if n.text[at.From] != '{' {
		return c, errors.New("it is no JSON object")
	}
	c.members = jsonspan.Members(n.text, at)
	if key, twice := repeated(c.members); twice {
		return c, fmt.Errorf("it has %q twice", key)
	}
	if m, ok := c.member("cell_type"); ok {
		c.typ = decodeString(m.Value.Of(n.text))
	}
	if c.typ == "" {
		return c, errors.New("it has no cell_type")
	}
	if m, ok := c.member("id"); ok {
		if id := decodeString(m.Value.Of(n.text)); ValidID(id) {
			c.id = id
		}
	}
	return c, nil
}

func repeated(ms []jsonspan.Member) (key string, twice bool) {
	seen := make(map[string]bool, len(ms))
	for _, m := range ms {
		if seen[m.Key] {
			return m.Key, true
		}
		seen[m.Key] = true
	}
	return "", false
}

// ValidID reports whether a cell can be named by an id: the format allows no others.
func ValidID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	return strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// Len is the number of cells.
func (n *Notebook) Len() int { return len(n.cells) }

// Label names a cell for messages: "cell 3 (id abc)". The first cell is 0 here and 1 there.
func (n *Notebook) Label(i int) string {
	if id := n.cells[i].id; id != "" {
		return fmt.Sprintf("cell %d (id %s)", i+1, id)
	}
	return fmt.Sprintf("cell %d", i+1)
}

// Find looks a cell up by its id or, if it has none, by its number from 1.
func (n *Notebook) Find(id string) (int, error) {
	at := -1
	for i, c := range n.cells {
		if c.id == "" || c.id != id {
			continue
		}
		if at >= 0 {
			return 0, fmt.Errorf("has two cells with the id %s, %d and %d", id, at+1, i+1)
		}
		at = i
	}
	if at >= 0 {
		return at, nil
	}
	if k, err := strconv.Atoi(id); err == nil && k >= 1 && k <= len(n.cells) {
		if other := n.cells[k-1].id; other != "" {
			return 0, fmt.Errorf("has no cell with the id %s; cell %d has the id %s", id, k, other)
		}
		return k - 1, nil
	}
	if len(id) > 64 || !ValidID(id) {
		id = strconv.Quote(id[:min(len(id), 64)])
	}
	return 0, fmt.Errorf("has no cell %s; Read shows the ids of its %d cells, and those without one go by their number",
		id, len(n.cells))
}

// Type is a cell's type.
func (n *Notebook) Type(i int) string { return n.cells[i].typ }

// Source is a cell's text.
func (n *Notebook) Source(i int) string {
	m, ok := n.cells[i].member("source")
	if !ok {
		return ""
	}
	text, _ := n.sourceLines(m.Value)
	return text
}

// sourceLines decodes a source, and returns how each of its lines is written.
func (n *Notebook) sourceLines(at jsonspan.Span) (text string, raw map[string]string) {
	if n.text[at.From] != '[' {
		return decodeString(at.Of(n.text)), nil
	}
	var b strings.Builder
	raw = map[string]string{}
	for _, item := range jsonspan.Items(n.text, at) {
		line := decodeString(item.Of(n.text))
		b.WriteString(line)
		raw[line] = item.Of(n.text)
	}
	return b.String(), raw
}

// newID makes an id that no cell has. The same change of the same notebook gets the same.
func (n *Notebook) newID(at int, source string) string {
	for try := 0; ; try++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s %s", at, try, source, n.text))
		id := hex.EncodeToString(sum[:4])
		if !slices.ContainsFunc(n.cells, func(c cell) bool { return c.id == id }) {
			return id
		}
	}
}
