package config

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDocumented: every setting, cache and exception stands in docs/settings.md.
func TestDocumented(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	want := []string{}
	for _, in := range []string{`{%s}`, `{"permissions": {%s}}`, `{"agents": {%s}}`, `{"sandbox": {%s}}`,
		`{"sandbox": {"limits": {%s}}}`, `{"sandbox": {"environment": {%s}}}`, `{"search": {%s}}`, `{"fetch": {%s}}`,
		`{"sessions": {%s}}`, `{"providers": {"p": {%s}}}`,
		`{"teams": {"t": {"members": [{"name": "a"}], %s}}}`, `{"teams": {"t": {"members": [{"name": "a", %s}]}}}`} {
		// A key that is like no other makes the reader list those it knows.
		_, warnings, err := Parse("f", fmt.Appendf(nil, in, `"0000000000": 1`))
		if err != nil || len(warnings) != 1 {
			t.Fatal(in, warnings, err)
		}
		_, list, ok := strings.Cut(warnings[0], "known here: ")
		if !ok {
			t.Fatal(warnings)
		}
		want = append(want, strings.Split(list, ", ")...)
	}
	for _, c := range cacheTable() {
		want = append(want, c.name)
		if c.env != "" {
			want = append(want, c.env)
		}
	}
	for _, key := range want {
		if !regexp.MustCompile("[`.]" + regexp.QuoteMeta(key) + "[`.]").MatchString(doc) {
			t.Errorf("docs/settings.md does not have %q", key)
		}
	}
}
