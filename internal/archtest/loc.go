package archtest

import (
	"context"
	"fmt"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
	"unicode/utf8"
)

// lineWidth is how many columns a line may have, with tabs of four.
const (
	lineWidth = 120
	tabWidth  = 4
)

// Lines counts the product's lines of code below the top of a repository, by folder. The rules
// are those of productLines.
func Lines(ctx context.Context, top string) (map[string]int, error) {
	t, err := open(ctx, top)
	if err != nil {
		return nil, err
	}
	return productLines(t), nil
}

// productLines counts lines that hold code: blank lines and comments apart, and a line of more
// than lineWidth columns as the lines it would be if it were wrapped. Tests, and folders that are
// there for tests and developers, are no part of the product.
func productLines(t *tree) map[string]int {
	out := map[string]int{}
	t.sources(false, func(p *pkg, s *source) {
		if !isTestHelper(p.path) && !slices.ContainsFunc(strings.Split(p.path, "/"), forTests) {
			out[p.path] += codeLines(s.data)
		}
	})
	return out
}

// forTests: a folder below one of the product that only tests use.
func forTests(folder string) bool { return strings.HasSuffix(folder, "test") || folder == "picture" }

func codeLines(data []byte) int {
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(data))
	var scan scanner.Scanner
	scan.Init(file, data, nil, 0)
	holds := map[int]bool{}
	for {
		pos, tok, lit := scan.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue // the scanner's own
		}
		first := fset.Position(pos).Line
		for line := first; line <= first+strings.Count(lit, "\n"); line++ {
			holds[line] = true
		}
	}
	n := 0
	for i, line := range strings.Split(string(data), "\n") {
		if holds[i+1] && strings.TrimSpace(line) != "" {
			n += (width(line) + lineWidth - 1) / lineWidth
		}
	}
	return n
}

func width(line string) int {
	return utf8.RuneCountInString(line) + (tabWidth-1)*strings.Count(line, "\t")
}

// productSize: the product stays below its ceiling.
func productSize(most int) func(*tree) []string {
	return func(t *tree) []string {
		total := 0
		for _, n := range productLines(t) {
			total += n
		}
		if total <= most {
			return nil
		}
		return []string{fmt.Sprintf("the product has %d lines of code and the ceiling is %d; `make loc` shows where "+
			"they are", total, most)}
	}
}
