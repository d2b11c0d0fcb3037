package session

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestHold: where the kernel confines nothing, what may change things runs as it is, and what may not does not start.
func TestHold(t *testing.T) {
	t.Parallel()
	for level, starts := range map[troupe.Level]bool{troupe.LevelReadOnly: false, troupe.LevelGranted: false,
		troupe.LevelWorkspace: true, troupe.LevelNone: true} {
		held, _, err := Hold(t.Context(), unguarded{}, Confine{Level: level})
		if held != nil || (err == nil) != starts {
			t.Errorf("%s: %v, %v", level, held, err)
		}
	}
}
