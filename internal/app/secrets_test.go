package app

import (
	"slices"
	"strings"
	"testing"
)

func TestSecrets(t *testing.T) {
	t.Parallel()
	s := findSecrets([]string{
		"PATH=/bin", "ANTHROPIC_API_KEY=long-secret-value", "MY_TOKEN=long-secret", "GITHUB_TOKEN=abc", "db_password=hunter2hunter2",
		"KEYBOARD=qwertyuiop", "EMPTY_SECRET=",
	})
	if want := []string{"PATH=/bin", "KEYBOARD=qwertyuiop"}; !slices.Equal(s.environ, want) {
		t.Errorf("commands get %q, want %q", s.environ, want)
	}
	ghp := "ghp_" + strings.Repeat("a1B2", 9)
	ant := "sk-ant-api03-" + strings.Repeat("x", 40)
	pem := "-----BEGIN RSA PRIVATE KEY-----\nMIIabc+/=\n-----END RSA PRIVATE KEY-----"
	for in, want := range map[string]string{
		"key: long-secret-value.":     "key: [ANTHROPIC_API_KEY].",
		"token long-secret and abc":   "token [MY_TOKEN] and abc",
		"hunter2hunter2":              "[db_password]",
		"a " + ghp + " b":             "a ghp_…[masked key] b",
		ant:                           "sk-a…[masked key]",
		"x\n" + pem + "\ny":           "x\n[private key]\ny",
		"AKIAIOSFODNN7EXAMPLE is one": "AKIA…[masked key] is one",
		"task-force sk-short ghost":   "task-force sk-short ghost",
	} {
		if got := s.mask(in); got != want {
			t.Errorf("mask(%q) = %q, want %q", in, got, want)
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
