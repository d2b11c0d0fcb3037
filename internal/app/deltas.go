package app

import (
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/wire"
)

// pieces hands the pieces of replies to whoever watches. A watcher that does not keep up
// misses some: the event that follows holds everything.
type pieces struct {
	mu  sync.Mutex
	all map[chan wire.Delta]bool
	// at says of each session what was committed last and how many pieces there were.
	at map[troupe.SessionID]progress
}

type progress struct{ seq, no int64 }

// maxPieces is how many a watcher may be behind.
const maxPieces = 512

func (p *pieces) send(id troupe.SessionID, d model.Delta) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.at[id]
	at.no++
	p.set(id, at)
	for c := range p.all {
		select {
		case c <- wire.Delta{Session: id, Text: d.Text, Thinking: d.Thinking, Tool: d.Tool, After: at.seq, No: at.no}:
		default:
		}
	}
}

// committed notes how far a session's log goes: a reply begins after an event is committed,
// and its own event is committed after its last piece.
func (p *pieces) committed(id troupe.SessionID, seq int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.at[id]
	at.seq = max(at.seq, seq)
	p.set(id, at)
}

// set is called with the mutex held.
func (p *pieces) set(id troupe.SessionID, at progress) {
	if p.at == nil {
		p.at = make(map[troupe.SessionID]progress)
	}
	p.at[id] = at
}

// notify hears of every commit of this process.
func (a *App) notify(id troupe.SessionID, seq int64) {
	a.deltas.committed(id, seq)
	a.watch.notify(id, seq)
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
