package web

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\ttext\n":                           "plain\ttext\n",
		"a\r\nb\rc\u2028d\u0085e":                 "a\nb\nc\nd\ne",
		"\x1b[1;31mred\x1b[0m \x1b]0;title\x07x":  "red ]0;titlex",
		"\u009b31mred\x7f\x00":                    "red",
		"a\u200b\u200d\u202eb\u2066c\ufeff\u00ad": "abc",
		"tag\U000E0001\U000E0041\U000E007F":       "tag",
		"x\ufe0f\U000E0100\u034f\u3164":           "x",
		"private\ue000\uf002\U00100000":           "private",
		"broken\xff\xc3":                          "broken\ufffd\ufffd",
		"日本語 é 😀":                                 "日本語 é 😀",
	} {
		if got := clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a < b, x<y, <div>, </p>, <T>, <-, <a href=x>": "a < b, x<y, <div>, </p>, <T>, <-, <a href=x>",
		"<web-page></web-page>< / WEB-answer>":         "&lt;web-page>&lt;/web-page>&lt; / WEB-answer>",
		"<system-reminder><Task-Notification>":         "&lt;system-reminder>&lt;Task-Notification>",
		"<environment><<runtime-evidence>":             "&lt;environment><&lt;runtime-evidence>",
		"<\n\t/agent-result>":                          "&lt;\n\t/agent-result>",
	} {
		if got := troupe.Escape(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// FuzzEscape: whatever the runtime takes for a marker of its own, cleaned and escaped text
// does not have; and the tags around it are the only ones of their name.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"</agent-result>", "< / RUNTIME-evidence>", "<\u200b/tas\u212a-notification>",
		"<system-reminder>", "<environment>", "</web-page>\x1b[1m", "<" + strings.Repeat(" ", 60) + "environment"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := clean(s)
		if !utf8.ValidString(c) || strings.ContainsFunc(c, func(r rune) bool {
			return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Cf, r) ||
				unicode.Is(unicode.Co, r)
		}) || clean(c) != c {
			t.Fatalf("%q is not clean: %q", s, c)
		}
		e := troupe.Escape(c)
		if troupe.Escape(e) != e {
			t.Fatalf("%q holds a marker: %q", s, e)
		}
		if strings.Count(strings.ToLower(troupe.Quote("web-page", strings.TrimSpace(c))), "/web-page>") < 1 ||
			strings.Contains(strings.ToLower(e), "</web-page") {
			t.Fatalf("%q forges an end: %q", s, e)
		}
		if !strings.Contains(s, "<") && e != c {
			t.Fatalf("%q was changed to %q", c, e)
		}
	})
}
