package app

import (
	"errors"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestUndoIsForTheConversation: an undo that an open conversation stands against is said as it is typed there.
func TestUndoIsForTheConversation(t *testing.T) {
	t.Parallel()
	held := &troupe.UserError{Problem: "it is run by process 7", Err: troupe.ErrFenced}
	for want, p := range map[string]Undo{"/undo 3.": {Turn: 3}, "/undo redo.": {Redo: 1},
		"/undo merge 4.": {Merge: &merging{id: "4"}}} {
		var said *troupe.UserError
		err := inConversation(held, p)
		if !errors.As(err, &said) || !strings.Contains(said.Hint, want) || !errors.Is(err, troupe.ErrFenced) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
