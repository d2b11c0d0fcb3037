package app

import (
	"slices"
	"strings"
	"testing"
)

func TestSecrets(t *testing.T) {
	t.Parallel()
	s := findSecrets([]string{
		"PATH=/bin", "ANTHROPIC_API_KEY=long-secret-value", "MY_TOKEN=long-secret", "GITHUB_TOKEN=abc",
		"db_password=hunter2hunter2",
		"KEYBOARD=qwertyuiop", "EMPTY_SECRET=", "TEST_DB_PASSWORD=postgres", "MAX_TOKENS=12345678",
		"TOKENIZERS_PARALLELISM=false",
		"DATABASE_URL=postgres://ada:pw4ada!x@db/main", "GH_PAT=0123456789abcdef",
		"TROUPE_DATABASE=postgres://troupe:kept4us!@db/x",
	})
	want := []string{"PATH=/bin", "KEYBOARD=qwertyuiop", "MAX_TOKENS=12345678", "TOKENIZERS_PARALLELISM=false",
		"DATABASE_URL=postgres://ada:pw4ada!x@db/main"}
	if !slices.Equal(s.environ, want) {
		t.Errorf("commands get %q, want %q", s.environ, want)
	}
	ghp := "ghp_" + strings.Repeat("a1B2", 9)
	ant := "sk-ant-api03-" + strings.Repeat("x", 40)
	pem := "-----BEGIN RSA PRIVATE KEY-----\nMIIabc+/=\n-----END RSA PRIVATE KEY-----"
	for in, want := range map[string]string{
		"key: long-secret-value.":              "key: ‹masked ANTHROPIC_API_KEY›.",
		"token long-secret and abc":            "token ‹masked MY_TOKEN› and abc",
		"hunter2hunter2":                       "‹masked db_password›",
		"docker run postgres 12345678":         "docker run postgres 12345678",
		"psql postgres://ada:pw4ada!x@db/main": "psql postgres://ada:‹masked DATABASE_URL›@db/main",
		"0123456789abcdef":                     "‹masked GH_PAT›",
		"password kept4us!":                    "password ‹masked TROUPE_DATABASE›",
		"a " + ghp + " b":                      "a ‹masked key ghp_…› b",
		ant:                                    "‹masked key sk-a…›",
		"x\n" + pem + "\ny":                    "x\n‹masked private key›\ny",
		"AKIAIOSFODNN7EXAMPLE is one":          "‹masked key AKIA…› is one",
		"task-force sk-short ghost":            "task-force sk-short ghost",
		"risk-assessment-and-mitigation-strategies-for-teams": "risk-assessment-and-mitigation-strategies-for-teams",
		".sk-card__title--large-with-a-very-long-modifier-name-2 " +
			"{": ".sk-card__title--large-with-a-very-long-modifier-name-2 {",
	} {
		if got := s.mask(in); got != want {
			t.Errorf("mask(%q) = %q, want %q", in, got, want)
		}
		if s.mask(in) != in && !masked(s.mask(in)) {
			t.Errorf("mask(%q) leaves no mark", in)
		}
	}
}

func BenchmarkMask(b *testing.B) {
	s := findSecrets([]string{"ANTHROPIC_API_KEY=long-secret-value", "GITHUB_TOKEN=another-secret-value"})
	text := strings.Repeat("func (s *State) Apply(e troupe.Event) error {\n\treturn nil\n}\n", 200)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s.mask(text)
	}
}

// TestMaskedIsSeen: the mark that stands for a secret is known again, in plain text and in the JSON of a call.
func TestMaskedIsSeen(t *testing.T) {
	t.Parallel()
	s := findSecrets([]string{"HOUSE_TOKEN=tok-31415926535897932384"})
	shown := s.mask("x tok-31415926535897932384 y")
	escaped := strings.NewReplacer("‹", `\u2039`, "›", `\u203a`).Replace(shown)
	for text, want := range map[string]bool{
		shown: true, `{"content":"` + shown + `"}`: true, `{"content":"` + escaped + `"}`: true,
		"": false, "x tok-31415926535897932384 y": false, "masked HOUSE_TOKEN": false, "‹other›": false,
	} {
		if got := masked(text); got != want {
			t.Errorf("masked(%q) = %v", text, got)
		}
	}
}

// FuzzMarked: looking for the rare characters finds what looking for the whole marks finds.
func FuzzMarked(f *testing.F) {
	for _, text := range []string{"", "-", "a sk-1", "sk_live", "github_pat_x", "AIz", "AIza", "xxox", "K", "AKI",
		"RIVATE KEY", "PRIVATE KEY", "AK_live_", "gh-p_ ghp-", "_ghp_"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := slices.ContainsFunc(keyMarks(), func(mark string) bool { return strings.Contains(text, mark) })
		if got := marked(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	})
}
