package schedule

import (
	"context"
	"fmt"
	"time"

	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Miss is a moment or a delivery for which no run began.
type Miss struct {
	N   int       `json:"n"` // counted from 1 for each plan
	At  time.Time `json:"at"`
	Why string    `json:"why"`
}

// MissedBy is a schedule or a webhook with the last of what it missed.
type MissedBy struct {
	Kind, Name, Folder, By string

	Hook   bool
	Misses []Miss
}

// mostMisses is how many a plan keeps: as many begin at once, and more are seldom within a look.
const mostMisses = 20

// miss notes that no run begins for a moment, and why. The list that others read is never changed in place.
func (p *plan) miss(r wire.ScheduleRun) {
	n := 1
	if len(p.Misses) > 0 {
		n += p.Misses[len(p.Misses)-1].N
	}
	p.Last = &r
	from := max(0, len(p.Misses)-mostMisses+1)
	p.Misses = append(append([]Miss(nil), p.Misses[from:]...), Miss{N: n, At: r.At, Why: wire.Cut(r.Why)})
}

// Missed are the schedules and webhooks for which no run began at some time.
func Missed(ctx context.Context, records store.Records) (out []MissedBy, err error) {
	for _, kind := range []string{kind, kindHook} {
		all, err := records.Records(ctx, kind, "", 0)
		if err != nil {
			return nil, fmt.Errorf("list the %ss: %w", kind, err)
		}
		for _, r := range all {
			if p, err := planOf(r); err == nil && len(p.Misses) > 0 {
				out = append(out, MissedBy{kind, p.Name, p.Begin.Cwd, p.By, p.Hook != nil, p.Misses})
			}
		}
	}
	return out, nil
}
