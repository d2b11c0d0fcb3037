package app

import (
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// secrets keeps credentials out of what agents see and of what is stored.
type secrets struct {
	environ []string            // without the credentials: what commands are started with
	mask    func(string) string // replaces credentials wherever they turn up
}

// maskMark begins what stands in the place of a credential. A model that hands it back would
// overwrite what was hidden from it; see masked.
const maskMark = "‹masked "

// masked reports whether text, or JSON, holds what a mask has put there.
func masked(text string) bool {
	return strings.Contains(text, maskMark) || strings.Contains(text, `\u2039masked `)
}

// findSecrets sorts the environment by the names people give to credentials.
func findSecrets(environ []string) secrets {
	s := secrets{environ: make([]string, 0, len(environ))}
	var pairs []pair
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		texts := []string{urlPassword(value)}
		if isSecretName(name) {
			texts = append(texts, value)
		} else {
			s.environ = append(s.environ, kv)
		}
		for _, text := range texts {
			if worthMasking(text) {
				pairs = append(pairs, pair{text, maskMark + name + "›"})
			}
		}
	}
	// The longest first, so that a value that holds another is replaced whole.
	slices.SortStableFunc(pairs, func(a, b pair) int { return len(b.value) - len(a.value) })
	// Most processes never meet a key, and need no expression.
	shapes := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(keyShapes) })
	s.mask = func(t string) string {
		for _, p := range pairs {
			t = strings.ReplaceAll(t, p.value, p.mark)
		}
		return maskShapes(t, shapes)
	}
	return s
}

// Mask takes credentials out of text that is kept.
func (a *App) Mask(text string) string { return a.masker()(text) }

// masker takes credentials out of text: those of the environment, and those that hidden files
// of the folders at work were found to hold, by then.
func (a *App) masker() func(string) string {
	environ := a.environMask()
	return func(t string) string { return a.learned.mask(environ(t)) }
}

// MaskLog takes credentials of an environment out of what is logged, as slog.HandlerOptions.ReplaceAttr.
func MaskLog(environ []string) func([]string, slog.Attr) slog.Attr {
	mask := sync.OnceValue(func() func(string) string { return findSecrets(environ).mask })
	return func(_ []string, a slog.Attr) slog.Attr {
		if k := a.Value.Kind(); k == slog.KindString || k == slog.KindAny {
			if text := a.Value.String(); mask()(text) != text {
				a.Value = slog.StringValue(mask()(text))
			}
		}
		return a
	}
}

// HistoryFile is where what a person entered is kept for them.
func (a *App) HistoryFile() string { return a.dirs.History() }

// isSecretName reports whether a variable of this name holds a credential. The words are
// those that providers, clouds and package managers use for theirs.
func isSecretName(name string) bool {
	if name == DatabaseVariable {
		return true // whoever has it can write any session
	}
	words := strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	if len(words) == 0 {
		return false
	}
	switch words[len(words)-1] {
	case "TOKEN", "KEY", "APIKEY", "SECRET", "PASSWORD", "PASSWD", "PAT", "CREDENTIAL", "CREDENTIALS":
		return true
	}
	return false
}

// worthMasking keeps ordinary words from being masked wherever they stand: a password of
// "postgres" is no secret, and hiding the word would hide half of a project.
func worthMasking(value string) bool {
	if len(value) < leastSecret {
		return false
	}
	var letter, digit, other bool
	for _, r := range value {
		switch {
		case unicode.IsLetter(r):
			letter = true
		case unicode.IsDigit(r):
			digit = true
		default:
			other = true
		}
	}
	return letter && (digit || other) || len(value) >= 16
}

// urlPassword is the password in scheme://user:password@host, or "".
func urlPassword(value string) string {
	_, rest, ok := strings.Cut(value, "://")
	if !ok {
		return ""
	}
	authority, _, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return ""
	}
	_, password, _ := strings.Cut(authority[:at], ":")
	return password
}

// keyShapes are credentials that can be told by their form, as their issuers document it:
// Anthropic and OpenAI, GitHub, GitLab, AWS, Google, Slack, Stripe, and private keys in PEM.
const keyShapes = `\bsk-ant-[A-Za-z0-9_-]{20,}|\bsk-(?:proj-)?[A-Za-z0-9_-]{40,}|\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_[A-Za-z0-9_]{50,}|` +
	`\bglpat-[A-Za-z0-9_-]{20,}|\bAKIA[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{35}|\bxox[abprs]-[0-9A-Za-z-]{20,}|\b[sr]k_live_[0-9A-Za-z]{24,}|` +
	`-----BEGIN [A-Z ]*PRIVATE KEY-----[A-Za-z0-9+/=\s:,-]*-----END [A-Z ]*PRIVATE KEY-----`

// keyMarks are what every shape begins with. Looking for them first keeps ordinary text from
// passing through the expression.
func keyMarks() []string {
	return []string{"sk-", "glpat-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "k_live_", "AKIA",
		"PRIVATE KEY", "AIza", "xox"}
}

// marked reports whether a text holds one of them. Each has a character that is rare in words, which is quickly found:
// all definitions of agents pass through here when a run begins.
func marked(text string) bool {
	marks := keyMarks()
	for _, rare := range []byte("-_Kzx") {
		for at := 0; ; at++ {
			next := strings.IndexByte(text[at:], rare)
			if next < 0 {
				break
			}
			at += next
			for _, mark := range marks {
				if i := strings.IndexByte(mark, rare); i >= 0 && at >= i && strings.HasPrefix(text[at-i:], mark) {
					return true
				}
			}
		}
	}
	return false
}

func maskShapes(t string, shapes func() *regexp.Regexp) string {
	if !marked(t) {
		return t
	}
	return shapes().ReplaceAllStringFunc(t, func(key string) string {
		switch {
		case strings.HasPrefix(key, "-----"):
			return maskMark + "private key›"
		case !strings.ContainsAny(key[4:], "0123456789") ||
			strings.ToLower(key) == key && strings.Count(key, "-") > 3:
			return key // words with hyphens, not a key
		}
		return maskMark + "key " + key[:4] + "…›"
	})
}
