package yamlfile

import (
	"slices"
	"strings"
)

// Nearest is the one of the known words that s was probably meant to be, or "".
func Nearest(s string, known []string) string {
	best, least := "", 1+max(1, len(s)/3)
	if len(s) > 64 {
		return ""
	}
	slices.Sort(known)
	for _, k := range known {
		if d := distance(strings.ToLower(s), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// Join lists words for a message, sorted.
func Join(words []string) string {
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// distance counts the letters to insert, delete, replace or swap with their neighbour.
func distance(a, b string) int {
	if len(b) > 64 {
		return len(b)
	}
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			d := prev[j-1]
			if a[i-1] != b[j-1] {
				d++
			}
			d = min(d, prev[j]+1, cur[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			cur[j] = d
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
