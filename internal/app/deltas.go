package app

import (
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/wire"
)

// pieces hands the pieces of replies to whoever watches. A watcher that does not keep up
// misses some: the event that follows holds everything.
type pieces struct {
	mu  sync.Mutex
	all map[chan wire.Delta]bool
}

// maxPieces is how many a watcher may be behind.
const maxPieces = 512

func (p *pieces) send(_, id troupe.SessionID, d session.Delta) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.all {
		select {
		case c <- wire.Delta{Session: id, Text: d.Text, Thinking: d.Thinking, Tool: d.Tool, After: d.After, No: d.No}:
		default:
		}
	}
}

// Deltas are the pieces of replies of all sessions that this process runs, as they come.
// stop must be called; it closes the channel.
func (a *App) Deltas() (pieces <-chan wire.Delta, stop func()) {
	p := &a.deltas
	c := make(chan wire.Delta, maxPieces)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = make(map[chan wire.Delta]bool)
	}
	p.all[c] = true
	return c, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.all[c] {
			delete(p.all, c)
			close(c)
		}
	}
}
