package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// unplain are words by which sentences give themselves away that a hurried reader has to read twice, and riddles that
// readers stumbled over.
func unplain() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(\b(?:who` + `ever|no` + `body|some` + `body)\b|` +
		`trusted no further than|can do best itself|a closed lid|` +
		`see what there is|are summed up and go on|is the most that commands are left|are not looked past|` +
		`how long nobody ran it|leave allows it now|takes out what no |denied: refused by you|` +
		`that is no answer to the request of|asked for it: |there is no one agent|has said its last word)`)
}

// notRead are the documents and packages whose words no user reads: lists for those who work on the program, and what
// helps tests.
func notRead() []string {
	return []string{"docs/promises.md", "internal/archtest/", "internal/sim/", "internal/bench/"}
}

// plainWords looks at documents for users, and at the texts in code, which may be printed to them. A text that is
// one word is a name in a log.
func plainWords(t *tree) []string {
	re, out := unplain(), []string(nil)
	for _, f := range t.texts {
		if doc := f.path == "README.md" || f.path == "SECURITY.md" || path.Dir(f.path) == "docs"; !doc ||
			path.Ext(f.path) != ".md" || unread(f.path) {
			continue
		}
		for i, line := range bytes.Split(f.data, []byte("\n")) {
			if m := re.Find(line); m != nil {
				out = append(out, fmt.Sprintf("%s:%d: %q: say who or what it is", f.path, i+1, m))
			}
		}
	}
	t.sources(false, func(_ *pkg, s *source) {
		if unread(s.path) || strings.HasSuffix(path.Dir(s.path), "test") {
			return
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				said, err := strconv.Unquote(lit.Value)
				if m := re.FindString(said); err == nil && m != "" && strings.Contains(strings.TrimSpace(said), " ") {
					out = append(out, t.at(n, "%q: say who or what it is", m))
				}
			}
			return true
		})
	})
	return out
}

func unread(name string) bool {
	for _, p := range notRead() {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
