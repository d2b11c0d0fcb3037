package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

// Hash is the content hash that FileTouch records: hex SHA-256, cut to 32 digits.
func Hash(content []byte) string {
	return troupe.ContentHash(content)
}

// Hasher computes the same over content that comes in pieces.
type Hasher struct{ h hash.Hash }

// NewHasher returns a Hasher that has seen nothing.
func NewHasher() Hasher { return Hasher{sha256.New()} }

// Write adds a piece; it never fails.
func (h Hasher) Write(p []byte) (int, error) { return h.h.Write(p) }

// Sum returns the hash of all pieces so far.
func (h Hasher) Sum() string { return hex.EncodeToString(h.h.Sum(nil)[:16]) }

// Cut shortens s to at most n bytes without splitting a character, and says how many bytes
// it left out.
func Cut(s string, n int) (string, int) {
	if len(s) <= n {
		return s, 0
	}
	end := n
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end], len(s) - end
}

// FormatBytes writes a size for people and models: 950 bytes, 31 KB, 1.2 MB.
func FormatBytes(n int64) string {
	switch {
	case n < 1024:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KB", (n+512)>>10)
	default:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
}

// quoteShort makes a name that a model invented fit into one line of an error.
func quoteShort(s string) string {
	s, cut := Cut(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '`' {
			return '?'
		}
		return r
	}, s), 40)
	if cut > 0 {
		s += "…"
	}
	return s
}

// Nearest is troupe.Nearest, but one that word is a part of, or that is a part of word, comes first:
// models shorten names, and lengthen them.
func Nearest(word string, known []string) string {
	w := strings.ToLower(word)
	for _, k := range known {
		short, long := w, strings.ToLower(k)
		if len(short) > len(long) {
			short, long = long, short
		}
		if len(short) >= 2 && strings.HasPrefix(long, short) || len(short) >= 3 && strings.Contains(long, short) {
			return k
		}
	}
	return troupe.Nearest(word, known)
}
