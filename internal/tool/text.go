package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
	"unicode/utf8"
)

// Hash is the content hash that FileTouch records: hex SHA-256, cut to 32 digits.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:16])
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

// Nearest finds the candidate that word most likely was meant to be. It is false if none
// is close enough to be worth suggesting.
func Nearest(word string, candidates []string) (string, bool) {
	const maxLen = 80 // longer names are compared by their beginnings
	w, _ := Cut(strings.ToLower(word), maxLen)
	best, bestScore := "", 1<<30
	for _, c := range candidates {
		l, _ := Cut(strings.ToLower(c), maxLen)
		score := 4 * editDistance(w, l)
		short, long := w, l
		if len(w) > len(l) {
			short, long = l, w
		}
		switch {
		case len(short) >= 2 && strings.HasPrefix(long, short):
			score = min(score, 1)
		case len(short) >= 3 && strings.Contains(long, short):
			score = min(score, 2)
		}
		if score < bestScore && score <= 2*max(len(w), len(l)) {
			best, bestScore = c, score
		}
	}
	return best, best != ""
}

// editDistance counts the single bytes to insert, delete or replace.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diag, row[j+1] = row[j+1], min(diag+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
