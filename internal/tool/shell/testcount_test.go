package shell

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
)

const goPlain = "# ex/b [ex/b.test]\nb/b_test.go:3:28: undefined: undefined\n--- FAIL: TestTwo (0.00s)\n    " +
	"a_test.go:4: bad\nFAIL\nFAIL\tex/a\t0.003s\n" +
	"FAIL\tex/b [build failed]\n?   \tex/e\t[no test files]\nok  \tex/f\t0.004s [no tests to run]\nok  " +
	"\tex/d\t(cached)\nFAIL\n"

const goVerbose = "=== RUN   TestOne\n=== RUN   TestOne/sub\n--- PASS: TestOne (0.00s)\n    --- PASS: TestOne/sub " +
	"(0.00s)\n=== RUN   TestTwo\n    a_test.go:4: bad\n" +
	"--- FAIL: TestTwo (0.00s)\n=== RUN   TestSkip\n    a_test.go:5: \n--- SKIP: TestSkip " +
	"(0.00s)\nFAIL\nFAIL\tex/a\t0.004s\nFAIL\tex/b [build failed]\n" +
	"=== RUN   TestP\n--- FAIL: TestP (0.00s)\npanic: x [recovered, repanicked]\n\ngoroutine 6 " +
	"[running]:\nFAIL\tex/c\t0.007s\n" +
	"=== RUN   TestSlow\npanic: test timed out after 1s\nFAIL\tex/g\t1.004s\n=== RUN   TestOK\n--- PASS: TestOK " +
	"(0.00s)\nPASS\nok  \tex/d\t0.003s\nFAIL\n"

const goJSON = `{"ImportPath":"ex/b [ex/b.test]","Action":"build-fail"}
{"Time":"2026-11-21T06:51:46.365745614Z","Action":"run","Package":"ex/a","Test":"TestOne"}
{"Time":"2026-11-21T06:51:46.366209189Z","Action":"output","Package":"ex/a","Test":"TestOne/sub","Output":"--- PASS: TestOne/sub (0.00s)\n"}
{"Time":"2026-11-21T06:51:46.36874149Z","Action":"pass","Package":"ex/a","Test":"TestOne/sub","Elapsed":0}
{"Time":"2026-11-21T06:51:46.36875756Z","Action":"pass","Package":"ex/a","Test":"TestOne","Elapsed":0}
{"Time":"2026-11-21T06:51:46.368769813Z","Action":"fail","Package":"ex/a","Test":"TestTwo","Elapsed":0}
{"Time":"2026-11-21T06:51:46.368849025Z","Action":"fail","Package":"ex/a","Elapsed":0.012}
{"Time":"2026-11-21T06:51:46.370110567Z","Action":"fail","Package":"ex/b","Elapsed":0,"FailedBuild":"ex/b [ex/b.test]"}
{"Time":"2026-11-21T06:51:46.569781346Z","Action":"pass","Package":"ex/d","Elapsed":0.008}
`

const nodeSpec = "✔ a (0.5ms)\n✖ b (1.2ms)\n﹣ c (0.1ms) # SKIP\nℹ tests 3\nℹ suites 0\nℹ pass 1\nℹ fail 1\nℹ " +
	"cancelled 0\nℹ skipped 1\nℹ todo 0\nℹ duration_ms 257.8\n"

const cargoOut = "running 2 tests\ntest tests::ok ... ok\ntest tests::bad ... FAILED\n\nfailures:\n    tests::bad\n\n" +
	"test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n" +
	"\n   Doc-tests ex\n\nrunning 3 tests\n\ntest result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered " +
	"out; finished in 0.31s\n"

const jestOut = "Test Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 2 skipped, 5 passed, 8 " +
	"total\nSnapshots:   0 total\nTime:        0.6 s\n"

const vitestOut = "\n \x1b[2mTest Files \x1b[22m \x1b[1m\x1b[31m1 failed\x1b[39m\x1b[22m (1)\n\x1b[2m      Tests " +
	"\x1b[22m \x1b[1m\x1b[31m1 failed\x1b[39m\x1b[22m | \x1b[32m5 passed\x1b[39m (6)\n   Start at  10:00:00\n   " +
	"Duration  300ms\n"

const pytestOut = "============================= test session starts ==============================\ncollected 4 " +
	"items\n\ntest_a.py .F.E [100%]\n\n" +
	"=========================== short test summary info ============================\nFAILED test_a.py::test_x - " +
	"assert 1 == 2\nERROR test_a.py::test_y\n" +
	"============== 1 failed, 2 passed, 1 skipped, 1 error in 0.12s =================\n"

func TestRecogniser(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		out  string
		want *troupe.TestCount
	}{
		"nothing": {"hello\n5 files changed, 3 insertions\n", nil},
		"prose": {"all 5 passed in time\n3 passed in the end\nTests: many\n# tests are fun\nOK " +
			"(fine)\n5 passing cars\n", nil},
		"go packages": {goPlain, &troupe.TestCount{Runner: "go test (packages)", Passed: 1, Failed: 2}},
		"go -v":       {goVerbose, &troupe.TestCount{Runner: "go test", Passed: 2, Failed: 4}},
		"go -json":    {goJSON, &troupe.TestCount{Runner: "go test", Passed: 1, Failed: 2}},
		"pytest":      {pytestOut, &troupe.TestCount{Runner: "pytest", Passed: 2, Failed: 2}},
		"pytest -q":   {"..\n2 passed in 0.01s\n", &troupe.TestCount{Runner: "pytest", Passed: 2}},
		"pytest, long": {"= 1200 passed, 3 warnings in 75.10s (0:01:15) =\n",
			&troupe.TestCount{Runner: "pytest", Passed: 1200}},
		"pytest, none": {"============ no tests ran in 0.00s ============\n",
			&troupe.TestCount{Runner: "pytest"}},
		"cargo":  {cargoOut, &troupe.TestCount{Runner: "cargo test", Passed: 4, Failed: 1}},
		"jest":   {jestOut, &troupe.TestCount{Runner: "jest", Passed: 5, Failed: 1}},
		"vitest": {vitestOut, &troupe.TestCount{Runner: "vitest", Passed: 5, Failed: 1}},
		"mocha": {"  a\n    ✔ works\n    1) fails\n\n  1 passing (6ms)\n  1 failing\n\n  1) " +
			"a\n       fails:\n", &troupe.TestCount{Runner: "mocha", Passed: 1, Failed: 1}},
		"rspec": {"Finished in 0.01 seconds (files took 0.1 seconds to load)\n5 examples, 1 failure, " +
			"1 pending\n", &troupe.TestCount{Runner: "rspec", Passed: 3, Failed: 1}},
		"rspec, outside": {"0 examples, 0 failures, 1 error occurred outside of examples\n",
			&troupe.TestCount{Runner: "rspec", Failed: 1}},
		"phpunit": {"OK (5 tests, 10 assertions)\n", &troupe.TestCount{Runner: "phpunit", Passed: 5}},
		"phpunit, failures": {"FAILURES!\nTests: 5, Assertions: 9, Failures: 1, Errors: 1, Skipped: 1.\n",
			&troupe.TestCount{Runner: "phpunit", Passed: 2, Failed: 2}},
		"node, spec": {nodeSpec, &troupe.TestCount{Runner: "node --test", Passed: 1, Failed: 1}},
		"node, tap": {strings.ReplaceAll(nodeSpec, "ℹ", "#"),
			&troupe.TestCount{Runner: "node --test", Passed: 1, Failed: 1}},
		"two runners": {"OK (5 tests, 10 assertions)\nok  \tex/d\t0.1s\n",
			&troupe.TestCount{Runner: "go test (packages) + phpunit", Passed: 6}},
		"no newline, CR": {"=== 3 passed in 0.10s ===\r", &troupe.TestCount{Runner: "pytest", Passed: 3}},
		"a line without an end": {strings.Repeat("x", 1<<20) + " 3 passed in 0.1s\n2 passed in 0.1s\n",
			&troupe.TestCount{Runner: "pytest", Passed: 2}},
	} {
		for _, size := range []int{1, 7, 1 << 20} { // however it arrives
			var r recogniser
			for rest := c.out; rest != ""; {
				n := min(size, len(rest))
				r.add([]byte(rest[:n]))
				rest = rest[n:]
			}
			r.end()
			if d := cmp.Diff(c.want, r.count()); d != "" {
				t.Errorf("%s, in pieces of %d:\n%s", name, size, d)
			}
		}
	}
}

func FuzzRecogniser(f *testing.F) {
	for _, s := range []string{goPlain, goVerbose, goJSON, nodeSpec, cargoOut, jestOut, vitestOut, pytestOut,
		"Tests: 5, Assertions: 9, Failures: 1.\nOK (1 test, 1 assertion)\n2 examples, 3 failures\n 1 failing\n"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, cut int) {
		cut = min(max(cut, 0), len(s))
		var whole, parts recogniser
		whole.add([]byte(s))
		whole.end()
		parts.add([]byte(s[:cut]))
		parts.add([]byte(s[cut:]))
		parts.end()
		if d := cmp.Diff(whole.count(), parts.count()); d != "" {
			t.Errorf("cut at %d it counts otherwise:\n%s", cut, d)
		}
		if c := whole.count(); c != nil && (c.Passed < 0 || c.Failed < 0 || c.Runner == "") {
			t.Errorf("%+v", c)
		}
		clean([]byte(s))
	})
}

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\n\ttext é":                   "plain\n\ttext é",
		"\x1b[1;31mred\x1b[0m":              "red",
		"\x1b]0;title\x07x\x1b]8;;u\x1b\\y": "xy",
		"a\r\nb\rc\r":                       "a\nb\nc\n",
		"\x1b(Bx\x1b=y\x1bcz":               "xyz",
		"bell\a back\b nul\x00 del\x7f":     "bell back nul del",
		"bad\xff utf\xc3":                   "bad\uFFFD utf\uFFFD",
		"c1\u009b31m":                       "c131m",
		"\x1b":                              "", "\x1b[12": "", "\x1b]open\nnext": "\nnext",
	} {
		if got := clean([]byte(in)); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
