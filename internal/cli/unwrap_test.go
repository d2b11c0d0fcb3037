package cli

import "testing"

// TestUnwrap: the lines of a paragraph become one, and nothing else does.
func TestUnwrap(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        "",
		"one\ntwo\n\nthree\nfour": "one two\n\nthree four",
		"so:\n  a\n  b\nand\non":  "so:\n  a\n  b\nand on",
		"so:\n- a\n- b":           "so:\n- a\n- b",
	} {
		if got := unwrap(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
