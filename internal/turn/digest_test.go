package turn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// TestDigestOfAFork: of a long log that goes on from its parent's the first words of both are there, the latest
// entries, and how many are left out between them.
func TestDigestOfAFork(t *testing.T) {
	t.Parallel()
	said := func(of troupe.SessionID, text string) troupe.Event {
		return troupe.Event{Session: of, Body: troupe.Replied{Blocks: []troupe.Block{troupe.Text(text)}}}
	}
	events := []troupe.Event{said("p", "first of the parent")}
	for i := range 50 {
		events = append(events, said("p", fmt.Sprintf("parent %d %s", i, strings.Repeat("x", 90))))
	}
	events = append(events, troupe.Event{Session: "f", Body: troupe.Created{}}, said("f", "what the fork is for"))
	for i := range 50 {
		events = append(events, said("f", fmt.Sprintf("fork %d %s", i, strings.Repeat("x", 90))))
	}
	text := turn.Digest(events, 2000)
	at := 0
	for _, want := range []string{"first of the parent", "[50 entries are left out here]", "what the fork is for",
		"entries are left out here]", "fork 49 "} {
		i := strings.Index(text[at:], want)
		if i < 0 {
			t.Fatalf("%q is not where it should be:\n%s", want, text)
		}
		at += i + len(want)
	}
	if len(text) > 2200 {
		t.Errorf("it has %d bytes", len(text))
	}
	if text := turn.Digest(events, 1<<20); strings.Contains(text, "left out") || !strings.Contains(text, "parent 0 ") {
		t.Error("something is left out although there is room")
	}
}
