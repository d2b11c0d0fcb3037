package app

import (
	"regexp"
	"sort"
	"strings"
	"sync"
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
	// The longest first, so that a value that holds another is replaced whole.
	sort.Stable(byValueLength(pairs))
	// Most processes never meet a key, and need no expression.
	shapes := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(keyShapes) })
	s.mask = func(t string) string {
		for i := 0; i < len(pairs); i += 2 {
			t = strings.ReplaceAll(t, pairs[i], pairs[i+1])
		}
		return maskShapes(t, shapes)
	}
	return s
}

// keyShapes are credentials that can be told by their form, as their issuers document it:
// Anthropic and OpenAI, GitHub, GitLab, AWS, Google, Slack, Stripe, and private keys in PEM.
const keyShapes = `sk-ant-[A-Za-z0-9_-]{20,}|sk-(?:proj-)?[A-Za-z0-9_-]{40,}|gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,}|` +
	`glpat-[A-Za-z0-9_-]{20,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}|xox[abprs]-[0-9A-Za-z-]{20,}|[sr]k_live_[0-9A-Za-z]{24,}|` +
	`-----BEGIN [A-Z ]*PRIVATE KEY-----[A-Za-z0-9+/=\s:,-]*-----END [A-Z ]*PRIVATE KEY-----`

// keyMarks are what every shape begins with. Looking for them first keeps ordinary text from
// passing through the expression.
func keyMarks() []string {
	return []string{"sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "AKIA", "AIza", "xox", "k_live_", "PRIVATE KEY"}
}

func maskShapes(t string, shapes func() *regexp.Regexp) string {
	for _, mark := range keyMarks() {
		if strings.Contains(t, mark) {
			return shapes().ReplaceAllStringFunc(t, func(key string) string {
				if strings.HasPrefix(key, "-----") {
					return "[private key]"
				}
				return key[:4] + "…[masked key]"
			})
		}
	}
	return t
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
