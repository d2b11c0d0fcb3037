package turn

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// How often a session is told of its monitors, all of them together. Each time may cost a model reply, so what a
// monitor prints is no measure of it: the first lines are told at once, what follows within about the time of a reply
// is told together, and one that never falls silent costs no more than sixty replies in an hour.
const (
	// HeardEvery is how long after one telling the next comes at the earliest.
	HeardEvery = 10 * time.Second
	heardMost  = 60 // tellings within heardWithin
)

const heardWithin = time.Hour

// heard notes when the session was told of its monitors.
func heard(s *State, at time.Time) {
	if n := len(s.heard); n > 0 && s.heard[n-1].Equal(at) {
		return // of several at once
	}
	s.heard = append(slices.Clip(s.heard[max(0, len(s.heard)-heardMost+1):]), at)
}

// HearsFrom is when the session may be told of its monitors again.
func HearsFrom(s *State) time.Time { return hearsFrom(s.heard) }

// HearsNext is HearsFrom once it is told at a time. It is zero where that is not later than usual.
func HearsNext(s *State, at time.Time) time.Time {
	next := hearsFrom(append(slices.Clip(s.heard), at))
	if next.After(at.Add(HeardEvery)) {
		return next
	}
	return time.Time{}
}

func hearsFrom(heard []time.Time) time.Time {
	n := len(heard)
	if n == 0 {
		return time.Time{}
	}
	from := heard[n-1].Add(HeardEvery)
	if n >= heardMost {
		if full := heard[n-heardMost].Add(heardWithin); full.After(from) {
			return full
		}
	}
	return from
}

// renderHeard is how what a monitor has told appears to its owner. Its lines are a stranger's words: they stand between
// tags that they cannot close.
func renderHeard(h troupe.Heard) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<task-notification>\n<task-id>%s</task-id>\n", h.Task)
	if h.Output != "" {
		fmt.Fprintf(&b, "<output-file>%s</output-file>\n", value(h.Output, maxError))
	}
	fmt.Fprintf(&b, "<status>%s</status>\n<summary>Monitor \"%s\" tells:</summary>\n<monitor-lines>\n",
		troupe.TaskRunning, value(h.Name, maxValue))
	if h.Left > 0 {
		fmt.Fprintf(&b, "[%d earlier lines are in the output file]\n", h.Left)
	}
	for _, line := range h.Lines {
		b.WriteString(troupe.Escape(oneLine(line)))
		b.WriteByte('\n')
	}
	b.WriteString("</monitor-lines>\n")
	if !h.Until.IsZero() {
		fmt.Fprintf(&b, "<monitor-paused>You were told of monitors %d times within an hour. They go on, and you are "+
			"told "+
			"again from %s UTC. If this one tells too much, stop it (TaskStop) and begin another that tells less."+
			"</monitor-paused>\n", heardMost, h.Until.UTC().Format(time.TimeOnly))
	}
	b.WriteString("</task-notification>")
	return b.String()
}

// inVain reports whether a monitor's lines set the session to work no more, where nobody is there who would: it ends
// then.
func inVain(d *decision, t *troupe.Task) bool {
	s := &d.s.Session
	return t.Kind == troupe.TaskMonitor && s.Status.Ended() && !d.in.Settings.Attended &&
		(s.Status != troupe.Completed || d.s.spent())
}
