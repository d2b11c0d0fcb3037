package session

import (
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// endLooks is how many of the last events of a session are looked at for the end of its last run: what follows it
// begins no other, and is little.
const endLooks = 20

// Unkept is why what a session did in its own folder could not be kept at the end of its last run; "" if it was, or if
// it has none. An end like that is come to again by the next process that takes the tree up.
func Unkept(r store.Reader, s troupe.Session) (string, error) {
	w := s.Workspace
	if !s.Status.Ended() || s.Depth == 0 || !w.Kind.Made() || w.Owner != s.ID {
		return "", nil
	}
	events, err := r.Events(s.ID, max(0, s.Seq-endLooks), 0)
	if err != nil {
		return "", fmt.Errorf("read the end of session %s: %w", s.ID, err)
	}
	why := ""
	for _, e := range events {
		if end, ok := e.Body.(troupe.Ended); ok && end.Outcome.Workspace != nil {
			why = end.Outcome.Workspace.Unkept
		}
	}
	return why, nil
}
