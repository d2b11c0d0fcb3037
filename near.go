package troupe

import "strings"

// nearestBytes is how much of a name is compared: what is mistyped was meant to be typed.
const nearestBytes = 64

// Nearest is the known word that a mistyped one was most likely meant to be, the first of those
// that are equally near; "" if none is near enough to be worth a suggestion.
func Nearest(word string, known []string) string {
	fold := func(s string) string {
		s = strings.ToLower(s)
		return s[:min(len(s), nearestBytes)]
	}
	w, best, least := fold(word), "", 0
	for _, k := range known {
		l := fold(k)
		most := max(len(w), len(l))
		if d := editDistance(w, l); d <= max(1, most/3) && d < most && (best == "" || d < least) {
			best, least = k, d
		}
	}
	return best
}

// editDistance counts the bytes to insert, delete, replace or swap with their neighbour.
func editDistance(a, b string) int {
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		cur[0] = i + 1
		for j := range len(b) {
			d := prev[j]
			if a[i] != b[j] {
				d++
			}
			d = min(d, prev[j+1]+1, cur[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d = min(d, before[j-1]+1)
			}
			cur[j+1] = d
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
