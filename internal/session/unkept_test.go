package session_test

import (
	"slices"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
)

// logged is a log that was written by a test.
type logged struct {
	store.Reader
	events []troupe.Event
}

func (l logged) Events(_ troupe.SessionID, after int64, _ int) ([]troupe.Event, error) {
	return l.events[min(after, int64(len(l.events))):], nil
}

// TestUnkept: why work could not be kept is what the last end says, also where something was noted behind it.
func TestUnkept(t *testing.T) {
	t.Parallel()
	end := func(why string) troupe.Body {
		return troupe.Ended{Outcome: troupe.Outcome{Status: troupe.Completed,
			Workspace: &troupe.WorkspaceResult{Unkept: why}}}
	}
	var notes []troupe.Body
	for range 19 {
		notes = append(notes, troupe.HookRan{})
	}
	for name, tt := range map[string]struct {
		log    []troupe.Body
		change func(*troupe.Session)
		want   string
	}{
		"at the end":           {[]troupe.Body{troupe.Started{}, end("full")}, nil, "full"},
		"long ago":             {append(append(append([]troupe.Body{}, notes...), end("full")), notes...), nil, "full"},
		"ages ago":             {append([]troupe.Body{end("full")}, slices.Repeat(notes, 9)...), nil, "full"},
		"an end without work":  {append([]troupe.Body{end("full")}, append(notes, troupe.Ended{})...), nil, "full"},
		"kept by a later end":  {[]troupe.Body{end("full"), troupe.Started{}, end("")}, nil, ""},
		"kept first":           {[]troupe.Body{end(""), troupe.Started{}, end("full")}, nil, "full"},
		"it goes on":           {[]troupe.Body{end("full")}, func(s *troupe.Session) { s.Status = troupe.Running }, ""},
		"a main agent's":       {[]troupe.Body{end("full")}, func(s *troupe.Session) { s.Depth = 0 }, ""},
		"a folder of another":  {[]troupe.Body{end("full")}, func(s *troupe.Session) { s.Workspace.Owner = "x" }, ""},
		"no folder of its own": {[]troupe.Body{end("full")}, func(s *troupe.Session) { s.Workspace.Kind = "" }, ""},
	} {
		s := troupe.Session{ID: "s", Root: "r", Depth: 1, Status: troupe.Completed, Seq: int64(len(tt.log)),
			Workspace: troupe.Workspace{Kind: troupe.WorkspaceTree, Owner: "s"}}
		if tt.change != nil {
			tt.change(&s)
		}
		var l logged
		for i, b := range tt.log {
			l.events = append(l.events, troupe.Event{Seq: int64(i + 1), Body: b})
		}
		if got, err := session.Unkept(l, s); got != tt.want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
