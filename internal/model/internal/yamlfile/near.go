package yamlfile

import (
	"slices"
	"strings"
)

// Join lists words for a message, sorted.
func Join(words []string) string {
	slices.Sort(words)
	return strings.Join(words, ", ")
}
