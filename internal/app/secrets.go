package app

import (
	"sort"
	"strings"
)

// secrets keeps credentials of the environment out of what agents see and of what is
// stored.
type secrets struct {
	environ []string            // without the credentials: what commands are started with
	mask    func(string) string // replaces their values wherever they turn up
}

// minSecret is the shortest value that is worth masking; anything shorter would be found in
// ordinary text.
const minSecret = 8

// findSecrets sorts the environment by the names people give to credentials.
func findSecrets(environ []string) secrets {
	s := secrets{environ: make([]string, 0, len(environ))}
	var pairs []string
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if !isSecretName(name) {
			s.environ = append(s.environ, kv)
			continue
		}
		if len(value) >= minSecret {
			pairs = append(pairs, value, "["+name+"]")
		}
	}
	if len(pairs) == 0 {
		s.mask = func(t string) string { return t }
		return s
	}
	// The longest first, so that a value that holds another is replaced whole.
	sort.Stable(byValueLength(pairs))
	r := strings.NewReplacer(pairs...)
	s.mask = r.Replace
	return s
}

// isSecretName reports whether a variable of this name holds a credential. The words are
// those that providers, clouds and package managers use for theirs.
func isSecretName(name string) bool {
	upper := strings.ToUpper(name)
	for _, word := range [...]string{"API_KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PRIVATE_KEY", "ACCESS_KEY", "CREDENTIAL"} {
		if strings.Contains(upper, word) {
			return true
		}
	}
	return false
}

// byValueLength sorts old, new pairs by the length of old, longest first.
type byValueLength []string

func (p byValueLength) Len() int           { return len(p) / 2 }
func (p byValueLength) Less(i, j int) bool { return len(p[2*i]) > len(p[2*j]) }
func (p byValueLength) Swap(i, j int) {
	p[2*i], p[2*j] = p[2*j], p[2*i]
	p[2*i+1], p[2*j+1] = p[2*j+1], p[2*i+1]
}
