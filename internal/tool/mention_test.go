package tool_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/tool"
)

func TestMentions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"Fix the bug in @src/auth/login.go, and README.md.":       {"/ws/src/auth/login.go", "/ws/README.md"},
		"Look at /ws/a/b and ../outside/x.go and /etc/passwd":     {"/ws/a/b"},
		"See https://example.com/docs/x.html for the format":      nil,
		"nothing that is a path; and so on":                       nil,
		"./internal/... and internal/tool/":                       {"/ws/internal", "/ws/internal/tool"},
		strings.Repeat("x", 3) + "/" + "y " + "x/y xxx/y main.go": {"/ws/xxx/y", "/ws/x/y", "/ws/main.go"},
	} {
		if got, _ := tool.Mentions(text, "/ws"); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	var many strings.Builder
	for i := range 30 {
		fmt.Fprintf(&many, "pkg/f%d.go ", i)
	}
	if got, _ := tool.Mentions(many.String(), "/ws"); got != nil {
		t.Errorf("%d paths are more than anybody reads", len(got))
	}
	_, sites := tool.Mentions("read https://Example.com:8080/a?b=c, then http://x.test.", "/ws")
	if len(sites) != 2 || sites[0] != (tool.Site{URL: "https://Example.com:8080/a?b=c", Host: "Example.com"}) ||
		sites[1].URL != "http://x.test" {
		t.Errorf("%+v", sites)
	}
}
