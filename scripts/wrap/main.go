// Command wrap breaks lines of Go files that are wider than 120 columns, where gofmt lets them be
// broken without another layout: behind commas and operators, at a space of a text, and comments
// between words. A line becomes as few lines as will do, which golines, a line for each argument,
// does not give. `make fmt` runs it on every file; what it cannot break is left for people.
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"go/scanner"
	"go/token"
	"os"
	"strings"
	"unicode/utf8"
)

const (
	widest = 120
	tab    = 4
)

func main() {
	for _, name := range os.Args[1:] {
		if err := wrapFile(name); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

func wrapFile(name string) error {
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	out := src
	for range 20 { // a line may have to be broken more than once
		next, err := format.Source(wrap(out))
		if err != nil {
			return err
		}
		if bytes.Equal(next, out) {
			break
		}
		out = next
	}
	if bytes.Equal(src, out) {
		return nil
	}
	return os.WriteFile(name, out, 0o644)
}

func width(s string) int { return utf8.RuneCountInString(s) + (tab-1)*strings.Count(s, "\t") }

// place is where a line may be broken: the bytes before at stay, and what follows goes to the next line.
type place struct {
	at, depth int
	text      string // what stands between the parts, besides the line's end
}

// wrap breaks each line that is too wide once.
func wrap(src []byte) []byte {
	places, comments, whole := breaks(src)
	var out bytes.Buffer
	for i, line := range strings.SplitAfter(string(src), "\n") {
		text := strings.TrimSuffix(line, "\n")
		if width(text) <= widest || whole[i+1] {
			out.WriteString(line)
			continue
		}
		indent := text[:len(text)-len(strings.TrimLeft(text, "\t"))]
		at, comment := comments[i+1]
		switch {
		case comment && at == len(indent):
			out.WriteString(wrapComment(indent, text[at:]))
		case comment:
			out.WriteString(indent + text[at:] + "\n" + strings.TrimRight(text[:at], " \t") + "\n")
		default:
			out.WriteString(wrapCode(indent, text, places[i+1]))
		}
	}
	return out.Bytes()
}

func wrapComment(indent, text string) string {
	if strings.HasPrefix(text, "//go:") || strings.HasPrefix(text, "//nolint") || !strings.HasPrefix(text, "// ") {
		return indent + text + "\n"
	}
	room := widest - width(indent)
	cut := -1
	for i, r := range text {
		if n := utf8.RuneCountInString(text[:i]); r == ' ' && i > 2 && n <= room {
			cut = i
		}
	}
	if cut < 0 {
		return indent + text + "\n"
	}
	return indent + text[:cut] + "\n" + indent + "//" + text[cut:] + "\n"
}

// wrapCode breaks at the least nested place in the second half of what fits, as far right as it
// can be, and if there is none at any place that fits.
func wrapCode(indent, text string, places []place) string {
	best, found := place{}, false
	for _, far := range []bool{true, false} {
		for _, p := range places {
			w := width(text[:p.at]) + len(p.text)
			if w > widest || far && w < widest/2 || p.at <= len(indent) {
				continue
			}
			if !found || p.depth < best.depth || p.depth == best.depth && p.at > best.at {
				best, found = p, true
			}
		}
		if found {
			rest := strings.TrimLeft(text[best.at:], " ")
			if best.text != "" {
				rest = `"` + text[best.at:]
			}
			return text[:best.at] + best.text + "\n" + indent + "\t" + rest + "\n"
		}
	}
	return text + "\n"
}

// breaks finds the places of every line, the comments at the end of lines, and the lines that are
// within texts or comments of several lines.
func breaks(src []byte) (places map[int][]place, comments map[int]int, whole map[int]bool) {
	places, comments, whole = map[int][]place{}, map[int]int{}, map[int]bool{}
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(src))
	var scan scanner.Scanner
	scan.Init(file, src, nil, scanner.ScanComments)
	depth, before := 0, token.ILLEGAL
	for {
		pos, tok, lit := scan.Scan()
		if tok == token.EOF {
			return places, comments, whole
		}
		at := fset.Position(pos)
		line, column := at.Line, at.Column-1
		add := func(at, depth int, text string) { places[line] = append(places[line], place{at, depth, text}) }
		switch tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth--
		case token.COMMA:
			add(column+1, 10*depth, "")
		case token.LOR:
			add(column+2, 10*depth+1, "")
		case token.LAND:
			add(column+2, 10*depth+2, "")
		case token.ADD:
			if before == token.STRING || before == token.IDENT || before == token.RPAREN {
				add(column+1, 10*depth+3, "")
			}
		case token.COMMENT:
			if n := strings.Count(lit, "\n"); n > 0 {
				for l := line; l <= line+n; l++ {
					whole[l] = true
				}
			} else if strings.HasPrefix(lit, "//") {
				comments[line] = column
			}
		case token.STRING:
			if n := strings.Count(lit, "\n"); n > 0 {
				for l := line; l <= line+n; l++ {
					whole[l] = true
				}
			}
			if lit[0] == '"' && before != token.IMPORT {
				for i := 2; i < len(lit)-1; i++ {
					if lit[i-1] == ' ' && lit[i] != ' ' && lit[i-2] != '\\' {
						add(column+i, 10*depth+40, `" +`)
					}
				}
			}
		default:
		}
		if tok == token.SEMICOLON && lit == "\n" {
			depth = 0
		}
		before = tok
	}
}
