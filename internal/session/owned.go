package session

import (
	"context"
	"errors"

	"github.com/troupe-dev/troupe"
)

// keepPulse has the tree look again and again whether it is still this process's, and give itself up at once if it
// is not: a process that was frozen while another took the tree over has nothing to commit when it wakes, and its
// commands would run on. How long it stood still says nothing, for a take-over needs no certain time; so each pulse
// reads the lease, which costs one query. A second one finds mail: who took this process for dead, since it was cut off
// from the database, or cannot reach it, has left words there. It is called with mu held.
func (t *tree) keepPulse() {
	if t.h.d.PulseEvery == 0 || t.pulsing || !t.up {
		return
	}
	t.pulsing = true
	t.h.d.Sched.After(t.h.d.PulseEvery, func() {
		t.h.d.Sched.Go(func(ctx context.Context) {
			t.mu.Lock()
			main := t.actors[t.root]
			t.mu.Unlock()
			// One that cannot be read is no reason to give up: the next commit tells.
			err := t.look(ctx)
			t.mu.Lock()
			defer t.mu.Unlock()
			// With another actor the tree was lost and adopted again meanwhile.
			if errors.Is(err, troupe.ErrFenced) && t.up && t.adoption == nil && t.actors[t.root] == main {
				t.lose(err)
			}
			t.pulsing = false
			t.keepPulse()
		})
	})
}
