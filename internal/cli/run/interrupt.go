package run

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// interruption is what the user's interrupts do to a run. The first stops it: at once, or as soon as there is
// something to stop, so that no session is left at work by one that came while it began. The second leaves.
type interruption struct {
	c   *console.Console
	api api.API
	out Output

	mu   sync.Mutex
	seen bool
	at   time.Time        // when it was seen
	root troupe.SessionID // "" before it has begun
}

// sameSignal is how close together two interrupts are one: timeout(1) and shells send a signal to a process and
// to its group.
const sameSignal = 300 * time.Millisecond

// raise is called for each interrupt.
func (i *interruption) raise(ctx context.Context) {
	i.mu.Lock()
	again, root, now := i.seen, i.root, i.c.Now()
	if again && now.Sub(i.at) < sameSignal && !now.Before(i.at) {
		i.mu.Unlock()
		return
	}
	i.seen, i.at = true, now
	i.mu.Unlock()
	if again {
		i.c.Interrupts.Leave(troupe.ExitInterrupted)
		return
	}
	fmt.Fprintln(i.c.Err, "\ntroupe: stopping; once more leaves at once."+i.later(root))
	if root != "" {
		i.stop(ctx, root)
	}
}

// began says what is to be stopped from now on.
func (i *interruption) began(ctx context.Context, root troupe.SessionID) {
	i.mu.Lock()
	i.root = root
	seen := i.seen
	i.mu.Unlock()
	if seen {
		if text := i.later(root); text != "" {
			fmt.Fprintln(i.c.Err, "troupe:"+text)
		}
		i.stop(ctx, root)
	}
}

func (i *interruption) later(root troupe.SessionID) string {
	if root == "" || i.out.Gone {
		return ""
	}
	return fmt.Sprintf(" Go on later with: troupe -p --resume %s", root)
}

func (i *interruption) stop(ctx context.Context, root troupe.SessionID) {
	if err := i.api.Stop(ctx, root, wire.Stop{Now: true, Tree: true}); err != nil {
		i.c.Warn("stop: " + err.Error())
	}
}

func (i *interruption) happened() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.seen
}
