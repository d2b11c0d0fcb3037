package schedule

import (
	"fmt"
	"time"

	"github.com/troupe-dev/troupe/internal/wire"
)

const (
	// missedAfter is how late a moment is at the least that passed while no process looked.
	missedAfter = time.Minute
	// mostMissed is how many moments are caught up with, and longAgo how far back these are looked for.
	mostMissed = 10
	longAgo    = 366 * 24 * time.Hour
)

// isDue reports whether there is anything to do.
func (p *plan) isDue(now time.Time) bool {
	return p.Claim != nil || len(p.Owed)+len(p.Arrived) > 0 || !p.Asked.IsZero() ||
		p.Paused == "" && !p.Next.IsZero() && !p.Next.After(now)
}

// collect puts what is due by now among what is owed, or says why not. goesOn: the last run does.
func (p *plan) collect(now time.Time, goesOn bool) (changed bool, err error) {
	if !p.Asked.IsZero() {
		p.owe([]time.Time{p.Asked}, goesOn)
		p.Asked, changed = time.Time{}, true
	}
	if p.Paused != "" || p.Next.IsZero() || p.Next.After(now) {
		return changed, nil
	}
	m, _, err := momentsOf(p.When, p.Since)
	if err != nil {
		return changed, err
	}
	passed, next := passed(m, p.Next, now)
	late := len(passed) > 0 && now.Sub(passed[len(passed)-1]) >= missedAfter
	switch p.CatchUp {
	case wire.CatchUpAll:
	case wire.CatchUpNone:
		if late {
			p.miss(wire.ScheduleRun{At: passed[len(passed)-1], Why: "it passed while no server looked"})
			passed = nil
			break
		}
		fallthrough
	default:
		passed = passed[max(0, len(passed)-1):]
	}
	p.Next = next
	p.owe(passed, goesOn)
	return true, nil
}

// passed are the last moments from first on until now, and the next one.
func passed(m moments, first, now time.Time) (out []time.Time, next time.Time) {
	if _, once := m.(at); !once {
		if from := now.Add(-longAgo); first.Before(from) {
			first = m.after(from)
		}
	}
	for next = first; !next.IsZero() && !next.After(now); next = m.after(next) {
		if out = append(out, next.UTC()); len(out) > mostMissed {
			out = out[1:]
		}
	}
	return out, next.UTC()
}

// owe adds moments whose runs are to begin. While the last one goes on, the policy says which.
func (p *plan) owe(due []time.Time, goesOn bool) {
	if len(due) == 0 {
		return
	}
	busy := goesOn || len(p.Owed) > 0
	owed := append([]time.Time(nil), p.Owed...)
	switch p.Overlap {
	case wire.OverlapAllow:
		owed = append(owed, due...)
	case wire.OverlapQueue, wire.OverlapCancel:
		if len(owed) == 0 {
			owed = due
		}
	default:
		if busy && len(due) == 1 {
			run := wire.ScheduleRun{At: due[0], Why: "one of before waits to begin"}
			if goesOn {
				run.Root, run.Why = p.Latest, fmt.Sprintf("the last run, %s, goes on", p.Latest)
			}
			p.miss(run)
			return
		}
		owed = append(owed, due...)
	}
	p.Owed = owed[max(0, len(owed)-mostMissed):]
}

// isWorth reports whether a run that could not begin is to be tried again: until the next moment, which is of its own
// where none is to be left out.
func (p *plan) isWorth(c claim, now time.Time) bool {
	if c.Tries < leastTries {
		return true
	}
	next := p.CatchUp != wire.CatchUpAll && !p.Next.IsZero() && !p.Next.After(now)
	return !next && now.Sub(c.At) < worthWithin
}

// pauses reports whether a run that could not begin is not tried yet. A try that is to come was by a clock that was
// ahead.
func (c claim) pauses(now time.Time) bool {
	since := now.Sub(c.Tried)
	return c.Tries > 0 && since >= 0 && since < min(time.Second<<min(c.Tries-1, 10), longestPause)
}

// told is a claim as callers are told of it.
func (c *claim) told() *wire.ScheduleClaim {
	if c == nil {
		return nil
	}
	return &wire.ScheduleClaim{At: c.At, Root: c.Root, By: c.Owner, Tries: c.Tries, Why: c.Why}
}

// fail notes that no run could begin for a moment. After some in a row the schedule is paused.
func (p *plan) fail(at time.Time, why string) {
	p.miss(wire.ScheduleRun{At: at, Why: why})
	if p.Failed++; p.Failed >= mostFailed && p.Paused == "" {
		p.Paused = fmt.Sprintf("Troupe: %d times in a row none could begin, the last time because %s", p.Failed, why)
		p.Owed, p.Arrived = nil, nil
	}
}

// waits reports whether a run is to begin, and take takes the first.
func (p *plan) waits() bool { return len(p.Owed)+len(p.Arrived) > 0 }

func (p *plan) take() (first arrival) {
	p.Stopped = false
	if len(p.Arrived) > 0 {
		first, p.Arrived = p.Arrived[0], p.Arrived[1:]
		return first
	}
	first.At, p.Owed = p.Owed[0], p.Owed[1:]
	return first
}

// moments are those of a plan. A webhook has none, and days in a zone.
func (p *plan) moments() (moments, *time.Location, error) {
	if p.Hook == nil {
		return momentsOf(p.When, p.Since)
	}
	zone, err := zoneOf(p.Zone)
	return never{}, zone, err
}

type never struct{}

func (never) after(time.Time) time.Time { return time.Time{} }
