package session_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
)

// TestMonitorToldIsBounded: of what a monitor prints at once no more is told than fits, the last of it and with the
// count of the rest, whether its lines are many or long, and no secret stands in it.
func TestMonitorToldIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ lines, long int }{"many": {300, 8}, "long": {40, 1000},
		"one": {1, 20_000}} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			prints := monitoring(func(_ context.Context, line func(string)) {
				for i := range c.lines {
					line(strings.Repeat("x", c.long) + map[bool]string{true: " hunter2"}[i == c.lines-1])
				}
			})
			h.start(monitored, func(p *process) {
				prints(p)
				with := p.deps
				p.deps = func(d *session.Deps) {
					with(d)
					d.Mask = strings.NewReplacer("hunter2", "***").Replace
				}
			}).begin(troupe.Caps{}).end()
			all, size := 0, 0
			told := h.heard()
			for _, m := range told {
				all += len(m.Lines) + m.Left
				for _, l := range m.Lines {
					size += len(l)
				}
			}
			if len(told) != 1 || all != c.lines || len(told[0].Lines) > 50 || size > max(8<<10, c.long+8) {
				t.Fatalf("%s: told %d times, of %d lines, with %d bytes", name, len(told), all, size)
			}
			if last := told[0].Lines[len(told[0].Lines)-1]; !strings.HasSuffix(last, "x ***") {
				t.Errorf("%s: the last line ends in %q", name, last[max(0, len(last)-20):])
			}
		})
	}
}

// TestMonitorOfTheStopped: once a stop of its tree lies in a session's mail, also one that this process has not heard
// of yet, what a monitor tells sets it to work no more.
func TestMonitorOfTheStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(monitored, monitoring(every(time.Second, 100_000))).begin(troupe.Caps{})
		pass(15*time.Second + 500*time.Millisecond)
		before := h.get(h.root)
		h.leave(troupe.Mail{To: h.root, Kind: troupe.MailStop,
			Stop: &troupe.Stop{Run: before.Run, Now: true, Tree: true}})
		pass(time.Minute)
		if s := h.get(h.root); s.Run != before.Run || s.Tally.Turns != before.Tally.Turns {
			t.Errorf("it is in run %d with %d turns, and was in run %d with %d", s.Run, s.Tally.Turns, before.Run,
				before.Tally.Turns)
		}
		p.stop(h.root, troupe.Stop{Now: true, Tree: true, By: "you"})
		p.end()
	})
}
