package session

import (
	"context"
	"time"

	"github.com/troupe-dev/troupe"
)

// longWait is how long a conversation has waited for a person when hooks are told of it, as public configurations
// expect it.
const longWait = time.Minute

// awaitPerson has hooks told, once, if no agent of the tree is at work for long. Where no person can answer, none is
// waited for. It is called with mu held, when the last session that was at work has ended, and when a tree is taken up
// in which none is.
func awaitPerson(t *tree) {
	atWork(t)
	if t.run.AskFor > 0 {
		t.longWait = t.h.d.Sched.After(longWait, func() { tellLongWait(t) })
	}
}

// atWork ends the wait for a person. It is called with mu held.
func atWork(t *tree) {
	if t.longWait != nil {
		t.longWait()
		t.longWait = nil
	}
}

func tellLongWait(t *tree) {
	hooks := hooksOf(t)
	if hooks == nil {
		return
	}
	t.mu.Lock()
	waits := t.up && !t.parted && t.actors[t.root] != nil && t.over()
	s := t.top
	t.mu.Unlock()
	if !waits {
		return
	}
	const idle = "idle_prompt"
	m := moment(t, s, troupe.HookNotification, idle)
	m.Fields = map[string]any{"notification_type": idle, "title": "Waits for you",
		"message": "The conversation has waited for your words for a minute."}
	if !hooks.Due(m) {
		return
	}
	goBeside(t, func(ctx context.Context) {
		begun := runBeside(t, hooks, m)
		tellRan(t, s.ID, append(hooks.Run(ctx, m, false).Ran, begun...))
	})
}
