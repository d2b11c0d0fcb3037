package troupe_test

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"main.go", "login.go", "model", "mode", "q"}
	for word, want := range map[string]string{
		"loging.go": "login.go", "LOGIN.GO": "login.go", "modell": "model", "mdoe": "mode",
		"zzzzzz": "", "x": "", "none.txt": "",
	} {
		if got := troupe.Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
