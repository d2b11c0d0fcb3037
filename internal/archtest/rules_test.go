package archtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// sound is a small tree that breaks no rule. Each case adds what breaks one.
func sound() map[string]string {
	return map[string]string{
		"go.mod": "module example.org/house\n\ngo 1.26\n",
		"doc.go": "// Package house is the vocabulary.\npackage house\n",
		"internal/store/store.go": "// Package store is a contract.\npackage store\n\nimport _ " +
			"\"example.org/house\"\n",
		"internal/store/sqlite/sqlite.go": "// Package sqlite keeps it.\npackage sqlite\n\nimport (\n\t_ " +
			"\"example.org/house/internal/store\"\n\t_ \"example.org/house/internal/store/sqlite/lock\"\n\t_ " +
			"\"modernc.org/sqlite\"\n)\n",
		"internal/store/sqlite/lock/lock.go": "// Package lock locks.\npackage lock\n",
		"internal/store/storetest/suite.go": "// Package storetest is the suite.\npackage storetest\n\nimport " +
			"(\n\t_ \"testing\"\n\n\t_ \"github.com/google/go-cmp/cmp\"\n)\n",
		"internal/model/model.go": "// Package model is a contract.\npackage model\n\nimport _ " +
			"\"example.org/house/internal/model/internal/scan\"\n",
		"internal/model/internal/scan/s.go": "// Package scan is the room's own.\npackage scan\n",
		"internal/model/some/some.go": "// Package some is a provider.\npackage some\n\nimport _ " +
			"\"example.org/house/internal/model/internal/scan\"\n",
		"internal/turn/turn.go": "// Package turn is pure.\npackage turn\n\nimport (\n\t\"time\"\n\n\t_ " +
			"\"example.org/house\"\n)\n\ntype step struct{ at time.Time }\n",
		"internal/fleet/fleet.go": "// Package fleet gives birth.\npackage fleet\n\nimport (\n\t_ " +
			"\"example.org/house/internal/store\"\n\t_ \"example.org/house/internal/turn\"\n)\n",
		"internal/session/session.go": "// Package session drives.\npackage session\n\nimport (\n\t_ " +
			"\"context\"\n\n\t_ \"example.org/house/internal/fleet\"\n\t_ \"example.org/house/internal/model\"\n)\n",
		"internal/session/session_test.go": "package session_test\n\nimport (\n\t_ " +
			"\"example.org/house/internal/store/sqlite\"\n\t_ \"go.uber.org/goleak\"\n)\n",
		"internal/app/app.go": "// Package app has the use cases.\npackage app\n\nimport (\n\t_ " +
			"\"example.org/house/internal/session\"\n\t_ \"example.org/house/internal/store/sqlite\"\n)\n",
		"internal/cli/cli.go": "// Package cli is the command line.\npackage cli\n\nimport " +
			"(\n\t\"context\"\n\n\t_ \"example.org/house/internal/wire\"\n\t_ \"github.com/spf13/cobra\"\n)\n\nfunc " +
			"Main() { _ = context.Background() }\n",
		"cmd/troupe/main.go": "// Command troupe runs it.\npackage main\n\nimport " +
			"\"example.org/house/internal/cli\"\n\nfunc main() { cli.Main() }\n",
		"internal/cli/testdata/x/bad.go": "not even Go",
		"other/go.mod":                   "module example.org/other\n",
		"other/init.go":                  "package other\n\nfunc init() {}\n",
	}
}

func treeOf(t *testing.T, files map[string]string) *tree {
	t.Helper()
	fsys := fstest.MapFS{}
	for p, text := range files {
		fsys[p] = &fstest.MapFile{Data: []byte(text)}
	}
	tr, err := load(fsys, slices.Collect(maps.Keys(files)))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestRulesPassOnASoundTree(t *testing.T) {
	t.Parallel()
	tr := treeOf(t, sound())
	for _, r := range rules(house(), libraries(), allowance{productLines: 47}) {
		if found := r.check(tr); len(found) > 0 {
			t.Errorf("%s: %q", r.name, found)
		}
		if r.why == "" {
			t.Errorf("%s: no reason", r.name)
		}
	}
	for _, r := range house() {
		if r.why == "" {
			t.Errorf("room %q: no reason", r.path)
		}
	}
}

// broken is one way to break a rule: files added to the sound tree, and what is said.
type broken struct {
	rule  string
	files map[string]string
	want  string // within the one finding
}

func one(p, text string) map[string]string { return map[string]string{p: text} }

func breaches() []broken {
	imports := func(pkg string, paths ...string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "package %s\n\n", pkg)
		for _, p := range paths {
			fmt.Fprintf(&b, "import _ %q\n", p)
		}
		return b.String()
	}
	longFunc := "package app\n\nfunc long() {\n" + strings.Repeat("\n", 60) + "}\n"
	fields := "A, B, C, D, E, F, G, H, I, J, K int\n\tL, M, N, O, P, Q, R, S, T, U int\n"
	return []broken{
		{"every package has a room", one("internal/attic/a.go", "// Package attic is new.\npackage attic\n"),
			"internal/attic: not on the map; add a room for it to house()"},
		{"every package has a room", one("pkg/embed/a.go", "// Package embed is new.\npackage embed\n"),
			"pkg/embed: not on the map"},

		{"imports run downward", one("up.go", imports("house", "example.org/house/internal/store")),
			"up.go:3: the root package (floor 0) imports internal/store: it may import the standard library only"},
		{"imports run downward", one("internal/store/n.go", imports("store", "example.org/house/internal/model")),
			"internal/store (floor 1) imports internal/model"},
		{"imports run downward", one("internal/store/sqlite/n.go",
			imports("sqlite", "example.org/house/internal/model")),
			"internal/store/sqlite (floor 1) imports internal/model"},
		{"imports run downward", one("internal/store/n.go", imports("store",
			"example.org/house/internal/store/sqlite")), "internal/store (floor 1) imports internal/store/sqlite"},
		{"imports run downward", one("internal/store/pg/n.go",
			imports("pg", "example.org/house/internal/store/sqlite")),
			"internal/store/pg (floor 1) imports internal/store/sqlite"},
		{"imports run downward", one("internal/model/n.go", imports("model", "example.org/house/internal/turn")),
			"internal/model (floor 1) imports internal/turn"},
		{"imports run downward", one("internal/turn/n.go", imports("turn", "example.org/house/internal/store")),
			"internal/turn (floor 2) imports internal/store"},
		{"imports run downward", one("internal/fleet/n.go", imports("fleet", "example.org/house/internal/session")),
			"internal/fleet (floor 2) imports internal/session"},
		{"imports run downward", one("internal/session/n.go",
			imports("session", "example.org/house/internal/store/sqlite")),
			"internal/session (floor 2) imports internal/store/sqlite"},
		{"imports run downward", one("internal/session/n.go",
			imports("session", "example.org/house/internal/workspace")),
			"internal/session (floor 2) imports internal/workspace"},
		{"imports run downward", one("internal/app/n.go", imports("app", "example.org/house/internal/cli")),
			"internal/app (floor 3) imports internal/cli"},
		{"imports run downward", one("internal/cli/show/n.go", imports("show", "example.org/house/internal/store")),
			"internal/cli/show (floor 4) imports internal/store"},
		{"imports run downward", one("internal/cli/n.go", imports("cli", "example.org/house/internal/session")),
			"internal/cli (floor 4) imports internal/session"},
		{"imports run downward", one("internal/cli/cmd/n.go", imports("cmd", "example.org/house/internal/app")),
			"internal/cli/cmd (floor 4) imports internal/app"},
		{"imports run downward", one("internal/cli/chat/n.go", imports("chat", "example.org/house/internal/client")),
			"internal/cli/chat (floor 4) imports internal/client"},
		{"imports run downward", one("cmd/troupe/n.go", imports("main", "example.org/house/internal/app")),
			"cmd/troupe (floor 5) imports internal/app"},
		{"imports run downward", one("internal/app/n_windows.go",
			"//go:build windows\n\n"+imports("app", "example.org/house/internal/cli")), "internal/app/n_windows.go:5"},

		{"test helpers stay in tests", one("internal/app/n.go",
			imports("app", "example.org/house/internal/store/storetest")),
			"internal/app imports example.org/house/internal/store/storetest, which is for tests"},
		{"test helpers stay in tests", one("internal/app/n.go", imports("app", "example.org/house/internal/sim")),
			"internal/app imports example.org/house/internal/sim"},
		{"test helpers stay in tests", one("internal/app/n.go", imports("app", "testing")),
			"internal/app imports testing"},

		{"the standard library in its place", one("n.go", imports("house", "os/exec")),
			"the root package imports os/exec: the vocabulary is plain values"},
		{"the standard library in its place", one("n.go", imports("house", "net/http")), "imports net/http"},
		{"the standard library in its place", one("internal/turn/n.go", imports("turn", "context")),
			"internal/turn imports context, which is not in pureStd()"},
		{"the standard library in its place", one("internal/turn/n.go", imports("turn", "math/rand/v2")),
			"imports math/rand/v2"},
		{"the standard library in its place", one("internal/session/n.go", imports("session", "os")),
			"internal/session imports os: the engine touches the world only through"},
		{"the standard library in its place", one("internal/app/n.go", imports("app", "log")),
			"internal/app imports log: it writes to one global logger"},

		{"every library has a home", one("internal/app/n.go", imports("app", "modernc.org/sqlite")),
			"internal/app imports modernc.org/sqlite, whose home is [internal/store/sqlite/...]"},
		{"every library has a home", one("internal/app/n.go", imports("app", "go.uber.org/goleak")),
			"internal/app imports go.uber.org/goleak, which is for tests"},
		{"every library has a home", one("internal/app/n_test.go", imports("app", "example.net/assert")),
			"imports example.net/assert, which has no home"},

		{"one doc comment", one("internal/client/c.go", "package client\n"), "internal/client: no doc comment"},
		{"one doc comment", one("internal/app/n.go", "// Package app is also this.\npackage app\n"),
			"internal/app/n.go:2: internal/app has a doc comment here and in internal/app/app.go"},
		{"one doc comment", one("internal/client/c.go", "// Clients are clients.\npackage client\n"),
			`should begin with "Package client"`},
		{"one doc comment", one("internal/picture/cmd/draw/main.go", "// Package main draws.\npackage main\n"),
			`should begin with "Command draw"`},

		{"package names", one("internal/app/util/u.go", "// Package util has things.\npackage util\n"),
			`internal/app/util: the name "util" says nothing`},

		{"no init", one("internal/app/n.go", "package app\n\nfunc init() {}\n"), "internal/app/n.go:3: func init"},
		{"no init", one("internal/app/n_test.go", "package app\n\nfunc init() {}\n"),
			"internal/app/n_test.go:3: func init"},

		{"no sleep in tests", one("internal/app/n_test.go", "package app\n\nimport \"time\"\n\nfunc f() { "+
			"time.Sleep(1) }\n"), "internal/app/n_test.go:5: time.Sleep"},
		{"no sleep in tests", one("internal/app/n_test.go", "package app\n\nimport clock \"time\"\n\nvar f = "+
			"clock.Sleep\n"), "internal/app/n_test.go:5: time.Sleep"},

		{"contexts are handed down", one("internal/app/n.go",
			"package app\n\nimport \"context\"\n\nfunc f() { _ = context.Background() }\n"),
			"internal/app/n.go:5: context.Background in internal/app"},
		{"contexts are handed down", one("internal/app/n.go",
			"package app\n\nimport c \"context\"\n\nfunc f() { _ = c.TODO() }\n"), "context.TODO in internal/app"},

		{"pure packages", one("internal/turn/n.go", "package turn\n\nimport \"time\"\n\nfunc f() { _ = time.Now() }\n"),
			"internal/turn/n.go:5: internal/turn calls time.Now"},
		{"pure packages", one("internal/turn/n.go", "package turn\n\nfunc f() { go f() }\n"),
			"internal/turn starts a goroutine"},
		{"pure packages", one("n.go", "package house\n\nvar C chan int\n"), "the root package uses a channel"},

		{"nothing left undone", one("internal/app/n.go", "package app\n\n// TO"+"DO: more\n"),
			"internal/app/n.go:3: TO" + "DO in a comment"},
		{"nothing left undone", one("internal/app/n_test.go", "package app\n\nvar a = 1 /* FIX"+"ME */\n"),
			"FIX" + "ME in a comment"},

		{"size of files", one("internal/app/n.go", "package app\n"+strings.Repeat("\n", 900)),
			"internal/app/n.go: 901 lines; no file may have more than 900"},
		{"size of functions", one("internal/app/n.go", longFunc), "internal/app/n.go:3: func long"},
		{"size of types", one("internal/app/n.go", "package app\n\ntype Wide struct {\n\t"+fields+"}\n"),
			"struct app.Wide has 21 fields"},
		{"size of types", one("internal/app/n.go", "package app\n\ntype (\n\tHalf interface{ A(); B(); C(); D() "+
			"}\n\tBoth interface{ Half; E(); F(); G(); H() }\n)\n"), "interface app.Both has 8 methods"},

		{"methods of a type", one("internal/app/n.go", "package app\n\ntype many[T any] struct{}\n"+
			manyMethods(41)), "internal/app/n.go:4: app.many has 41 methods; the budget is 40"},
		{"methods of a type", one("internal/app/n.go", "package app\n\ntype part struct{ *many[int] }\n\nfunc (part) "+
			"own() {}\n\ntype many[T any] struct{}\n"+manyMethods(40)),
			"internal/app/n.go:5: app.part has 41 methods with " +
				"those of what it embeds; the budget is 40"},
		{"width of lines", one("internal/app/n.go", "package app\n\n\t// "+strings.Repeat("é", 114)+"\n"),
			"internal/app/n.go:3: 121 columns; a line has at most 120"},
		{"size of the product", one("internal/app/n.go", "package app\n"),
			"the product has 48 lines of code and the ceiling is 47"},

		{"no unused exports", one("internal/app/n.go", "package app\n\nfunc Idle() {}\n"),
			"internal/app/n.go:3: func app.Idle is exported and no other package uses it"},
		{"no unused exports", one("internal/app/n.go", "package app\n\ntype T struct{}\n\nfunc f(T) { f(T{}) }\n"),
			"type app.T is exported"},
		{"no unused exports", one("internal/app/n.go", "package app\n\ntype t struct{}\n\nfunc (t) Idle() {}\n"),
			"method app.Idle is exported"},
		{"no unused exports", one("internal/app/n.go", "package app\n\nconst Idle = 1\n"),
			"value app.Idle is exported"},
		{"no unused exports", map[string]string{"internal/app/n.go": "package app\n\nfunc Idle() {}\n",
			"internal/app/n_test.go": "package app_test\n\nimport \"example.org/house/internal/app\"\n\nfunc f() { " +
				"app.Idle() }\n"}, "func app.Idle is exported"},

		{"no machine's paths", one("docs/x.md", "See /wo"+"rk/main/x.\n"),
			`docs/x.md:1: "/wo` + `rk/" is a path of one machine`},
		{"no machine's paths", one("internal/app/n.go", "package app\n\nconst p = \"/Us"+"ers/ada/src\"\n"),
			`internal/app/n.go:3: "/Us` + `ers/ada/"`},
		{"what is cited is there", one("docs/promises.md", "| x | y | `TestGone` |\n"),
			"docs/promises.md:1: there is no test TestGone"},
		{"what is cited is there", one("docs/adr/0001-x.md", "As e2e/gone shows.\n"),
			"0001-x.md:1: there is no end-to-end script gone"},
		{"what is cited is there", one("docs/adr/0001-x.md", "\nIn `app/gone.go`.\n"),
			"0001-x.md:2: there is no file app/gone.go"},
		{"what is cited is there", one("docs/promises.md", "| x | `app.gone` |\n"), "there is no name gone in app"},
		{"what is cited is there", one("docs/promises.md", "| x | `step.gone` |\n"), "there is no name gone in step"},
		{"plain words", one("docs/x.md", "\nAsk who"+"ever wrote it.\n"), `docs/x.md:2: "who` + `ever"`},
		{"plain words", one("README.md", "It is a closed lid.\n"), `README.md:1: "a closed lid"`},
		{"plain words", one("internal/app/n.go", "package app\n\nconst p = `No`+\"body wrote it: no"+"body\"\n"),
			`internal/app/n.go:3: "no` + `body"`},
		{"no registry hosts", one("Makefile", "X = https://proxy.go"+"lang.org\n"),
			"Makefile:1: \"proxy.go" + "lang.org\" is the host of a package registry"},
	}
}

// manyMethods are so many methods of the type many.
func manyMethods(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "func (*many[T]) m%d() {}\n", i)
	}
	return b.String()
}

func TestRulesCanFail(t *testing.T) {
	t.Parallel()
	all := map[string]rule{}
	for _, r := range rules(house(), libraries(), allowance{productLines: 47}) {
		all[r.name] = r
	}
	tried := map[string]bool{}
	for _, c := range breaches() {
		tried[c.rule] = true
		t.Run(c.rule+"/"+c.want, func(t *testing.T) {
			t.Parallel()
			files := sound()
			maps.Copy(files, c.files)
			var found []string
			for _, f := range all[c.rule].check(treeOf(t, files)) {
				if strings.Contains(f, c.want) {
					return
				}
				found = append(found, f)
			}
			t.Errorf("not found: %q\nbut: %q", c.want, found)
		})
	}
	for name := range all {
		if !tried[name] {
			t.Errorf("no case breaks the rule %q", name)
		}
	}
}

// What is embedded counts from wherever it is, and once. A named field does not count, and what a type
// embeds is no excuse for its own methods.
func TestPromotedMethods(t *testing.T) {
	t.Parallel()
	files := sound()
	files["internal/fleet/n.go"] = "package fleet\n\ntype many[T any] struct{}\n\n" + manyMethods(40) +
		"\ntype Other = many[int]\n\ntype Two struct {\n\t*Other\n\tmany[int]\n}\n\nfunc (Two) m0() {}\n"
	files["internal/session/n.go"] = `package session

import f "example.org/house/internal/fleet"

type abroad struct{ *f.Other }

func (*abroad) own() {}

type fields abroad

type named struct{ abroad abroad }

func (named) own() {}

type contract interface{ one(); two() }

type both struct {
	f.Two
	contract
}
`
	files["internal/app/n.go"] = "package app\n\ntype many[T any] struct{}\n\n" + manyMethods(41)
	got := methodSets(treeOf(t, files), nil, map[string]string{"app.many": "a reason", "session.both": "a reason",
		"session.fields": "a reason"})
	want := []string{"app.many has 41 methods;", "session.abroad has 41 methods with", "session.fields has no more"}
	for i, w := range want {
		if len(got) != len(want) || !strings.Contains(got[i], w) {
			t.Fatalf("%q, but found %q", want, got)
		}
	}
}

func TestExcusesAreUsedUp(t *testing.T) {
	t.Parallel()
	files := sound()
	files["internal/app/n.go"] = "package app\n\ntype Wide interface{ A(); B(); C(); D(); E(); F(); G(); H() }\n"
	reasons := map[string]string{"app.Wide": "a reason", "app.Gone": "a reason"}
	found := typeSizes(treeOf(t, files), reasons)
	if len(found) != 1 || !strings.Contains(found[0], "app.Gone is within the budget or gone") {
		t.Errorf("got %q", found)
	}
}

// What others use, and what they get from what they use, is no finding.
func TestExportsInUse(t *testing.T) {
	t.Parallel()
	files := sound()
	files["internal/fleet/n.go"] = `package fleet

const Most = 1

type Given struct{ Part Part }

type Part struct{}

func (Part) Named() {}

func (Part) String() string { return "" }

func Begin() (Given, int) { return Given{}, Most }
`
	files["internal/session/n.go"] = `package session

import f "example.org/house/internal/fleet"

var g, _ = f.Begin()

func use() { g.Part.Named(); use() }
`
	if found := unusedExports(nil)(treeOf(t, files)); len(found) > 0 {
		t.Errorf("%q", found)
	}
	found := unusedExports(map[string]string{"fleet.Begin": "a reason"})(treeOf(t, files))
	if len(found) != 1 || !strings.Contains(found[0], "the export fleet.Begin is used or gone") {
		t.Errorf("%q", found)
	}
}

func TestCodeLines(t *testing.T) {
	t.Parallel()
	long := "var a = \"" + strings.Repeat("x", 240) + "\""
	for text, want := range map[string]int{
		"package a\n": 1,
		"package a\n\n// note\n\n/* and\n\nmore */\n":  1,
		"package a // note\n\nvar b = `1\n\n3`\n":      3,
		"package a\n\n" + long + "\n":                  4,
		"package a\n\nfunc f() {\n\tf() // often\n}\n": 4,
	} {
		if got := codeLines([]byte(text)); got != want {
			t.Errorf("%d lines in %q, not %d", got, text, want)
		}
	}
	files := sound()
	before := productLines(treeOf(t, files))
	files["internal/sim/a.go"], files["scripts/x/main.go"], files["internal/app/a_test.go"] = "package sim\n",
		"package main\n", "package app\n"
	if after := productLines(treeOf(t, files)); !maps.Equal(before, after) {
		t.Errorf("%v, and with what is no product %v", before, after)
	}
}

// Texts that stand between backquotes over several lines are as wide as they are.
func TestWidthOfTexts(t *testing.T) {
	t.Parallel()
	files := sound()
	files["internal/app/n.go"] = "package app\n\nvar a = `\n" + strings.Repeat("x", 200) + "\n`\n"
	if found := lineWidths(0)(treeOf(t, files)); len(found) > 0 {
		t.Errorf("%q", found)
	}
	files["internal/app/n.go"] += "\nvar b = `" + strings.Repeat("x", 200) + "`\n\nvar c = \"" +
		strings.Repeat("x", 200) + "\"\n"
	if found := lineWidths(1)(treeOf(t, files)); len(found) > 0 {
		t.Errorf("one is allowed: %q", found)
	}
	if found := lineWidths(0)(treeOf(t, files)); len(found) != 1 {
		t.Errorf("%q", found)
	}
}

// A mean or a maximum would not do: a few long files are allowed, many are not.
func TestP95(t *testing.T) {
	t.Parallel()
	lengths := func(long int) []sized {
		var all []sized
		for i := range 100 {
			n := 10
			if i < long {
				n = 700
			}
			all = append(all, sized{"f.go", n})
		}
		return all
	}
	if got := overP95(lengths(5), fileLines, "files"); got != nil {
		t.Errorf("five of a hundred over budget: %q", got)
	}
	if got := overP95(lengths(6), fileLines, "files"); len(got) != 1 {
		t.Errorf("six of a hundred over budget: %q", got)
	}
}
