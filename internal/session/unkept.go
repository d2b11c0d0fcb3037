package session

import (
	"fmt"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// endLooks is how many of the last events of a session are looked at first for the end of its last run: what follows it
// begins no other, and is little.
const endLooks = 20

// Unkept is why what a session did in its own folder could not be kept at the end of its last run; "" if it was, or if
// it has none. An end like that is come to again by the next process that takes the tree up.
func Unkept(r store.Reader, s troupe.Session) (string, error) {
	w := s.Workspace
	if !s.Status.Ended() || s.Depth == 0 || !w.Kind.Made() || w.Owner != s.ID {
		return "", nil
	}
	for last := int64(endLooks); ; last *= 10 {
		events, err := r.Events(s.ID, max(0, s.Seq-last), 0)
		if err != nil {
			return "", fmt.Errorf("read the end of session %s: %w", s.ID, err)
		}
		for _, e := range slices.Backward(events) {
			// A run that did not come to the folder's end says nothing of it.
			if end, ok := e.Body.(troupe.Ended); ok && end.Outcome.Workspace != nil {
				return end.Outcome.Workspace.Unkept, nil
			}
		}
		if last >= s.Seq {
			return "", nil
		}
	}
}
