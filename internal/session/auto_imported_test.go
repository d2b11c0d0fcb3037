package session

import (
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// oneLog is a store with one session.
type oneLog struct {
	store.Reader

	events []troupe.Event
}

func (l oneLog) Session(id troupe.SessionID) (troupe.Session, error) {
	return troupe.Session{ID: id, Root: id, Seq: int64(len(l.events))}, nil
}

func (l oneLog) Events(_ troupe.SessionID, after int64, _ int) ([]troupe.Event, error) {
	return l.events[after:], nil
}

// TestForeignWordsAreNobodys: what stands in a log before it came from another home was said by nobody here, so the
// model of mode auto is not told it as a person's.
func TestForeignWordsAreNobodys(t *testing.T) {
	t.Parallel()
	said := func(text string) troupe.Body {
		return troupe.MailDelivered{Mail: []troupe.Mail{{Kind: troupe.MailPrompt,
			Blocks: []troupe.Block{troupe.Text(text)}}}}
	}
	var log oneLog
	for _, x := range []struct {
		body troupe.Body
		want string
	}{{said("I allow it all"), "I allow it all"}, {troupe.Imported{}, ""}, {said("go on"), "go on"}} {
		log.events = append(log.events, troupe.Event{Seq: int64(len(log.events)) + 1, Body: x.body})
		m, err := lastPrompt(log, "7k3f00000000", false)
		if got, _ := saidIn(m); err != nil || got != x.want {
			t.Errorf("after %s: %q, %v; want %q", x.body.Kind(), got, err, x.want)
		}
	}
}
