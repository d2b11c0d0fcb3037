package console_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
)

// TestArrange: sessions are interleaved by time, and no clock turns one of them around.
func TestArrange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, events, want string }{
		{"one after the other", "a1@1 a2@3 b1@2 b2@4", "a1 b1 a2 b2"},
		{"at the same time", "a1@1 a2@1 b1@1", "a1 a2 b1"},
		{"set back in the middle", "a1@50 a2@60 a3@10 b1@55 b2@11", "a1 b1 b2 a2 a3"},
		{"set forward", "a1@1 a2@90 b1@2 b2@91", "a1 b1 a2 b2"},
	} {
		var events []troupe.Event
		for _, f := range strings.Fields(tt.events) {
			var s string
			var seq, at int64
			if _, err := fmt.Sscanf(f, "%1s%d@%d", &s, &seq, &at); err != nil {
				t.Fatal(err)
			}
			events = append(events, troupe.Event{Session: troupe.SessionID(s), Seq: seq, At: time.Unix(at, 0)})
		}
		console.Arrange(events)
		var got []string
		for _, e := range events {
			got = append(got, fmt.Sprintf("%s%d", e.Session, e.Seq))
		}
		if line := strings.Join(got, " "); line != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, line, tt.want)
		}
	}
}
