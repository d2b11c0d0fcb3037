package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

// sourceRules are the rules that look at one file or one package at a time.
func sourceRules() []rule {
	return []rule{
		{
			name: "one doc comment", check: docComments,
			why: "a reader of a package looks for what it is in one place, and two comments drift apart",
		},
		{
			name: "package names", check: packageNames,
			why: "a package named after nothing collects everything",
		},
		{
			name: "no init", check: noInit,
			why: "work done on import is paid by every command and cannot be tested, ordered or turned off",
		},
		{
			name: "no sleep in tests", check: noSleep,
			why: "a test that sleeps is slow on a good day and fails on a bad one; wait for what must happen, or use " +
				"testing/synctest",
		},
		{
			name: "contexts are handed down", check: noFreshContext,
			why: "work under a fresh context goes on when whoever asked for it has been stopped",
		},
		{
			name: "pure packages", check: pure,
			why: "the same log must lead to the same next action, in replay and in simulation too; time comes in as " +
				"a value and nothing runs beside",
		},
		{
			name: "nothing left undone", check: noLeftovers,
			why: "a note in the code is read by nobody; what is missing stands in docs/rough-edges.md or in an issue",
		},
	}
}

// docComments: every package has one doc comment, in the form godoc expects.
func docComments(t *tree) []string {
	var out []string
	for _, p := range t.packages {
		var docs []*source
		code := false
		for _, s := range p.files {
			code = code || !s.test
			if !s.test && s.ast.Doc != nil && strings.TrimSpace(s.ast.Doc.Text()) != "" {
				docs = append(docs, s)
			}
		}
		switch {
		case !code:
		case len(docs) == 0:
			out = append(out, fmt.Sprintf("%s: no doc comment; say what the package is for in its doc.go or its main "+
				"file", p.title()))
		case len(docs) > 1:
			out = append(out, t.at(docs[1].ast, "%s has a doc comment here and in %s", p.title(), docs[0].path))
		default:
			want := "Package " + p.name
			if p.name == "main" {
				want = "Command " + path.Base(p.path)
			}
			if text := docs[0].ast.Doc.Text(); !regexp.MustCompile(`^` + regexp.QuoteMeta(want) +
				`\b`).MatchString(text) {
				out = append(out, t.at(docs[0].ast, "the doc comment of %s should begin with %q", p.title(), want))
			}
		}
	}
	return out
}

// packageNames: no drawers for what had no place.
func packageNames(t *tree) []string {
	drawers := []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base", "lib", "types"}
	var out []string
	for _, p := range t.packages {
		if slices.Contains(drawers, p.name) {
			out = append(out, fmt.Sprintf("%s: the name %q says nothing; name it after what it holds", p.title(),
				p.name))
		}
	}
	return out
}

func noInit(t *tree) []string {
	var out []string
	for _, tests := range []bool{false, true} {
		t.sources(tests, func(_ *pkg, s *source) {
			for _, d := range s.ast.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
					out = append(out, t.at(f, "func init"))
				}
			}
		})
	}
	return out
}

func noSleep(t *tree) []string {
	var out []string
	t.sources(true, func(_ *pkg, s *source) {
		s.uses("time", func(n ast.Node, name string) {
			if name == "Sleep" {
				out = append(out, t.at(n, "time.Sleep in a test"))
			}
		})
	})
	return out
}

func noFreshContext(t *tree) []string {
	var out []string
	t.sources(false, func(p *pkg, s *source) {
		if within(p.path, "cmd") || within(p.path, "internal/cli") || isTestHelper(p.path) {
			return
		}
		s.uses("context", func(n ast.Node, name string) {
			if name == "Background" || name == "TODO" {
				out = append(out, t.at(n, "context.%s in %s: take the caller's context", name, p.title()))
			}
		})
	})
	return out
}

// pure looks into the packages that must be functions of their arguments.
func pure(t *tree) []string {
	clock := []string{"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer", "Sleep", "Local",
		"LoadLocation"}
	var out []string
	t.sources(false, func(p *pkg, s *source) {
		if p.path != "" && !within(p.path, "internal/turn") {
			return
		}
		s.uses("time", func(n ast.Node, name string) {
			if slices.Contains(clock, name) {
				out = append(out, t.at(n, "%s calls time.%s", p.title(), name))
			}
		})
		ast.Inspect(s.ast, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.GoStmt:
				out = append(out, t.at(n, "%s starts a goroutine", p.title()))
			case *ast.ChanType, *ast.SelectStmt:
				out = append(out, t.at(n, "%s uses a channel", p.title()))
			}
			return true
		})
	})
	return out
}

// noLeftovers looks for the marks people leave where work is not finished.
func noLeftovers(t *tree) []string {
	marks := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`)
	var out []string
	for _, tests := range []bool{false, true} {
		t.sources(tests, func(_ *pkg, s *source) {
			for _, g := range s.ast.Comments {
				for _, c := range g.List {
					if m := marks.FindString(c.Text); m != "" {
						out = append(out, t.at(c, "%s in a comment", m))
					}
				}
			}
		})
	}
	return out
}
