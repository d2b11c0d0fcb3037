package gitconfig

import (
	"slices"
	"strings"
)

// HarmlessTodo reports whether the list of what a rebase has still to do may become another without a person looking at
// it, who goes on with it later: no line of it runs anything that did not stand there before. No list at all is
// harmless.
func HarmlessTodo(was, is []byte) bool {
	there := runs(was)
	for _, line := range runs(is) {
		i := slices.Index(there, line)
		if i < 0 {
			return false
		}
		there = slices.Delete(there, i, i+1)
	}
	return true
}

// runs are the lines of a list that run something, and all that git of today does not know.
func runs(todo []byte) (out []string) {
	for line := range strings.SplitSeq(string(todo), "\n") {
		line = strings.TrimLeft(line, " \t")
		end := strings.IndexAny(line, " \t\r")
		if end < 0 {
			end = len(line)
		}
		switch line[:end] {
		case "", "pick", "p", "revert", "edit", "e", "reword", "r", "fixup", "f", "squash", "s", "label", "l", "reset",
			"t", "merge", "m", "update-ref", "u", "noop", "drop", "d", "break", "b":
			if !strings.Contains(line, "\x00") {
				continue
			}
		default:
			if strings.HasPrefix(line, "#") {
				continue
			}
		}
		out = append(out, line)
	}
	return out
}
