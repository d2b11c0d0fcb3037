package shell

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// recogniser reads a command's output and knows the closing lines of common test runners.
// It counts what they print and infers nothing. Several runs of one runner add up, and if
// more than one runner was used, all are named and their counts added.
//
// It sees only text, so a program that prints such lines without running tests is believed:
// whoever judges a count looks at the command beside it.
type recogniser struct {
	line    []byte
	tooLong bool
	tallies []tally
	golang  goTests
	node    bool // between node's first summary line and its last
}

type tally struct {
	runner         string
	passed, failed int
}

// maxTestLine is the longest line that is looked at. Summary lines are short.
const maxTestLine = 2 << 10

func (r *recogniser) add(p []byte) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		part := p
		if i >= 0 {
			part = p[:i]
		}
		switch {
		case len(r.line)+len(part) > maxTestLine:
			r.tooLong, r.line = true, r.line[:0]
		case i >= 0 && len(r.line) == 0 && !r.tooLong:
			r.look(part) // the whole line is here
		default:
			r.line = append(r.line, part...)
		}
		if i < 0 {
			return
		}
		if len(r.line) > 0 && !r.tooLong {
			r.look(r.line)
		}
		r.line, r.tooLong = r.line[:0], false
		p = p[i+1:]
	}
}

// end looks at a last line without a newline.
func (r *recogniser) end() {
	if len(r.line) > 0 && !r.tooLong {
		r.look(r.line)
	}
	r.line = r.line[:0]
}

// count is what was recognised; nil if nothing was.
func (r *recogniser) count() *troupe.TestCount {
	all := r.tallies
	if t, ok := r.golang.tally(); ok {
		all = append([]tally{t}, all...)
	}
	if len(all) == 0 {
		return nil
	}
	out := troupe.TestCount{Runner: all[0].runner}
	for i, t := range all {
		out.Passed += t.passed
		out.Failed += t.failed
		if i > 0 {
			out.Runner += " + " + t.runner
		}
	}
	return &out
}

func (r *recogniser) found(runner string, passed, failed int) {
	for i := range r.tallies {
		if r.tallies[i].runner == runner {
			r.tallies[i].passed += passed
			r.tallies[i].failed += failed
			return
		}
	}
	r.tallies = append(r.tallies, tally{runner, passed, failed})
}

func (r *recogniser) look(raw []byte) {
	if len(raw) == 0 {
		return
	}
	if raw[0] == '{' {
		r.golang.event(raw)
		return
	}
	if !bytes.ContainsAny(raw, "0123456789=") && !bytes.HasPrefix(raw, []byte("ok")) &&
		!bytes.HasPrefix(raw, []byte("FAIL")) {
		return // no line that counts looks like this
	}
	line := strings.TrimRight(clean(raw), " \r\n")
	trimmed := strings.TrimLeft(line, " \t")
	switch {
	case r.golang.line(line):
	case strings.HasPrefix(trimmed, "test result: "):
		r.cargo(trimmed)
	case strings.HasPrefix(trimmed, "Tests:"):
		r.jestOrPHPUnit(strings.TrimSpace(trimmed[len("Tests:"):]))
	case strings.HasPrefix(trimmed, "Tests  "):
		r.vitest(strings.TrimSpace(trimmed[len("Tests"):]))
	case strings.HasPrefix(trimmed, "OK ("):
		r.phpunitOK(trimmed)
	case strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "ℹ "):
		r.nodeTest(strings.Fields(line)[1:])
	case trimmed != line && r.mocha(strings.Fields(trimmed)):
	case r.rspec(line):
	default:
		r.pytest(line)
	}
}

// counts reads "3 failed, 10 passed" into a map; false unless all of it has that form.
func counts(s, sep string) (map[string]int, bool) {
	out := map[string]int{}
	for part := range strings.SplitSeq(s, sep) {
		number, word, ok := strings.Cut(strings.TrimSpace(part), " ")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n < 0 {
			return nil, false
		}
		out[word] += n
	}
	return out, true
}

// "===== 1 failed, 2 passed, 1 error in 0.12s =====", with -q without the bars.
func (r *recogniser) pytest(line string) {
	s := strings.Trim(line, "= ")
	i := strings.LastIndex(s, " in ")
	if i < 0 {
		return
	}
	took, _, _ := strings.Cut(s[i+len(" in "):], " (")
	if !strings.HasSuffix(took, "s") || strings.Trim(took, "0123456789.s") != "" {
		return
	}
	if s[:i] == "no tests ran" {
		r.found("pytest", 0, 0)
		return
	}
	c, ok := counts(s[:i], ", ")
	if !ok {
		return
	}
	for word := range c {
		switch word {
		case "passed", "failed", "error", "errors", "skipped", "deselected", "xfailed", "xpassed", "warning",
			"warnings", "rerun":
		default:
			return
		}
	}
	r.found("pytest", c["passed"]+c["xpassed"], c["failed"]+c["error"]+c["errors"])
}

// "test result: ok. 5 passed; 0 failed; 0 ignored; …", once per test program.
func (r *recogniser) cargo(line string) {
	s := strings.TrimPrefix(line, "test result: ")
	s, ok := strings.CutPrefix(s, "ok. ")
	if !ok {
		if s, ok = strings.CutPrefix(s, "FAILED. "); !ok {
			return
		}
	}
	s, _, _ = strings.Cut(s, "; finished in")
	if c, ok := counts(s, "; "); ok {
		r.found("cargo test", c["passed"], c["failed"])
	}
}

// "Tests:       1 failed, 5 passed, 6 total" or "Tests: 5, Assertions: 9, Failures: 1."
func (r *recogniser) jestOrPHPUnit(s string) {
	if c, ok := counts(s, ", "); ok {
		if _, ok := c["total"]; ok {
			r.found("jest", c["passed"], c["failed"])
		}
		return
	}
	if !strings.Contains(s, "Assertions:") {
		return
	}
	n := map[string]int{}
	for i, part := range strings.Split(strings.TrimSuffix(s, "."), ", ") {
		key, number, ok := strings.Cut(part, ": ")
		if i == 0 && !ok {
			key, number = "Tests", part
		}
		v, err := strconv.Atoi(number)
		if err != nil || v < 0 {
			return
		}
		n[key] = v
	}
	failed := n["Failures"] + n["Errors"]
	r.found("phpunit", max(0, n["Tests"]-failed-n["Skipped"]-n["Incomplete"]), failed)
}

// "OK (5 tests, 9 assertions)"
func (r *recogniser) phpunitOK(line string) {
	c, ok := counts(strings.TrimSuffix(strings.TrimPrefix(line, "OK ("), ")"), ", ")
	if n := c["tests"] + c["test"]; ok && c["assertions"]+c["assertion"] > 0 || n > 0 && len(c) == 2 {
		r.found("phpunit", n, 0)
	}
}

// "Tests  1 failed | 5 passed | 1 skipped (7)"
func (r *recogniser) vitest(s string) {
	s, total, ok := strings.Cut(s, " (")
	if _, err := strconv.Atoi(strings.TrimSuffix(total, ")")); !ok || err != nil {
		return
	}
	if c, ok := counts(s, " | "); ok {
		r.found("vitest", c["passed"], c["failed"])
	}
}

// "  5 passing (10ms)" and "  1 failing", each on its own line.
func (r *recogniser) mocha(f []string) bool {
	if len(f) < 2 {
		return false
	}
	n, err := strconv.Atoi(f[0])
	switch {
	case err != nil || n < 0:
		return false
	case len(f) == 3 && f[1] == "passing" && strings.HasPrefix(f[2], "("):
		r.found("mocha", n, 0)
	case len(f) == 2 && f[1] == "failing":
		r.found("mocha", 0, n)
	default:
		return false
	}
	return true
}

// "5 examples, 1 failure, 1 pending"
func (r *recogniser) rspec(line string) bool {
	if !strings.Contains(line, " example") || !strings.Contains(line, " failure") {
		return false
	}
	c, ok := counts(line, ", ")
	if !ok {
		return false
	}
	examples, failures := c["examples"]+c["example"], c["failures"]+c["failure"]
	outside := c["errors occurred outside of examples"] + c["error occurred outside of examples"]
	r.found("rspec", max(0, examples-failures-c["pending"]), failures+outside)
	return true
}

// "# tests 5", "# pass 4", "# fail 1", "# cancelled 0": in this order, one a line.
func (r *recogniser) nodeTest(f []string) {
	if len(f) != 2 {
		return
	}
	n, err := strconv.Atoi(f[1])
	if err != nil || n < 0 {
		return
	}
	switch {
	case f[0] == "tests":
		r.node = true
	case !r.node:
	case f[0] == "pass":
		r.found("node --test", n, 0)
	case f[0] == "fail" || f[0] == "cancelled":
		r.found("node --test", 0, n)
	case f[0] == "todo":
		r.node = false
	}
}

// goTests follows go test. With -v or -json it prints every test and these are counted,
// subtests as part of theirs; without, only packages can be.
type goTests struct {
	verbose            bool
	pass, fail         int
	pkgPass, pkgFail   int
	failedInPackage    int             // since the last package ended
	failedPackageTests map[string]bool // -json: packages with a failed test
}

func (g *goTests) tally() (tally, bool) {
	switch {
	case g.verbose:
		return tally{"go test", g.pass, g.fail}, true
	case g.pkgPass+g.pkgFail > 0:
		return tally{"go test (packages)", g.pkgPass, g.pkgFail}, true
	default:
		return tally{}, false
	}
}

func (g *goTests) line(s string) bool {
	switch {
	case strings.HasPrefix(s, "=== RUN   "):
		g.verbose = true
	case strings.HasPrefix(s, "--- PASS: "):
		g.pass++
	case strings.HasPrefix(s, "--- FAIL: "):
		g.fail++
		g.failedInPackage++
	case strings.HasPrefix(s, "ok  \t"):
		if !strings.HasSuffix(s, "[no tests to run]") {
			g.pkgPass++
		}
		g.failedInPackage = 0
	case strings.HasPrefix(s, "FAIL\t"):
		g.pkgFail++
		if g.failedInPackage == 0 {
			g.fail++ // it did not build, panicked or ran out of time: no test says so
		}
		g.failedInPackage = 0
	default:
		return false
	}
	return true
}

// event takes a line of go test -json.
func (g *goTests) event(line []byte) {
	pass, fail := bytes.Contains(line, []byte(`"Action":"pass"`)), bytes.Contains(line, []byte(`"Action":"fail"`))
	if !pass && !fail {
		return
	}
	var e struct{ Action, Package, Test string }
	if json.Unmarshal(line, &e) != nil || e.Package == "" || strings.Contains(e.Test, "/") {
		return
	}
	g.verbose = true
	switch {
	case e.Test != "" && e.Action == "pass":
		g.pass++
	case e.Test != "" && e.Action == "fail":
		g.fail++
		if g.failedPackageTests == nil {
			g.failedPackageTests = map[string]bool{}
		}
		g.failedPackageTests[e.Package] = true
	case e.Action == "fail" && !g.failedPackageTests[e.Package]:
		g.fail++
	}
}
