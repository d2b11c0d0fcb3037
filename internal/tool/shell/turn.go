package shell

import (
	"context"
	"slices"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

// turn is the leave of a command to be at work.
type turn struct {
	entered []*turns
	once    sync.Once
}

func (t *turn) leave() {
	t.once.Do(func() {
		for _, q := range slices.Backward(t.entered) { // who is let in by the first entered finds room in the others
			q.leave()
		}
	})
}

// TakeTurn implements tool.Queuer.
func (c *call) TakeTurn(ctx context.Context, env tool.Env, wait bool) bool {
	if c.turn.Load() != nil {
		return true
	}
	mine := new(turn)
	if c.background { // a server may be at work for days, and the commands that ask it wait for it
		c.turn.Store(mine)
		return true
	}
	waited := false
	stage := func(s troupe.Stage) {
		if waited = true; env.Stage != nil {
			env.Stage(s)
		}
	}
	for _, q := range []struct {
		*turns
		stage troupe.Stage
	}{
		{c.shell.repositories.of(c.command, env.Cwd), troupe.StageRepository}, {&c.shell.turns, troupe.StageProcessor},
	} {
		if q.turns == nil {
			continue
		}
		if !q.tryEnter() && !(wait && q.enter(ctx, func() { stage(q.stage) })) {
			mine.leave()
			return false
		}
		mine.entered = append(mine.entered, q.turns)
	}
	if waited {
		stage(troupe.StageRuns)
	}
	c.turn.Store(mine)
	return true
}

// LeaveTurn implements tool.Queuer.
func (c *call) LeaveTurn() {
	if t := c.turn.Load(); t != nil {
		t.leave()
	}
}
