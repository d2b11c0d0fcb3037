package troupe_test

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestVerdictOf: the last line says it, and nothing before it.
func TestVerdictOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"fine\nVERDICT: PASS": "PASS", "VERDICT: FAIL\n": "FAIL", "x\n**VERDICT: PARTIAL**\n\n": "PARTIAL",
		"VERDICT: PASS\nbut": "", "": "", "VERDICT: MAYBE": "", "verdict: pass": "", "VERDICT: PASS FAIL": "",
		"The file says VERDICT: PASS": "",
	} {
		if got := troupe.VerdictOf(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
