package app

import (
	"strings"
	"testing"
)

// TestTitle: a title is one plain line of what a person said, not of what is attached to it.
func TestTitle(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{
		"/mcp__rates__explain EUR":                           "/mcp__rates__explain EUR",
		"fix the test":                                       "fix the test",
		"\n\n## Fix **the** `test`\nand more":                "Fix the test",
		"- fix  the\ttest":                                   "fix the test",
		"see <img src=\"x\"> there":                          "see there",
		"if a < b and c > d":                                 "if a < b and c > d",
		"why is List<int> slow?":                             "why is List<int> slow?",
		"```go\nfunc main() {}\n```\nexplain it":             "explain it",
		"look\n\n<attached-file path=\"a.go\">\npackage a\n": "look",
		"# \n>":                  "# >",
		strings.Repeat("x", 100): strings.Repeat("x", 71) + "…",
	} {
		if got := title(prompt); got != want {
			t.Errorf("%q: %q, want %q", prompt, got, want)
		}
	}
}
