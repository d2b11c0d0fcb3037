package follow

import (
	"slices"

	"github.com/troupe-dev/troupe"
)

// maxKept is about how many bytes of events are kept for a reader that is behind, all sessions together.
const maxKept = 4 << 20

// news is what was announced of a session since its events were read last.
type news struct {
	// events are all of them, in order, unless lost: then the log has to be read.
	events []troupe.Event
	lost   bool
	bytes  int
}

// kept are the sessions that have changed, in the order in which they were announced.
type kept struct {
	changed []troupe.SessionID
	news    map[troupe.SessionID]*news
	bytes   int // of all events
}

// add notes what a commit has brought to a session. It is without events if they are not known here. first
// is true if nothing else was noted of it.
func (k *kept) add(id troupe.SessionID, events []troupe.Event) (first bool) {
	n := k.news[id]
	if first = n == nil; first {
		n = new(news)
		if k.news == nil {
			k.news = make(map[troupe.SessionID]*news)
		}
		k.news[id] = n
		k.changed = append(k.changed, id)
	}
	if n.lost {
		return first
	}
	weight := 0
	for _, e := range events {
		weight += bytesOf(e.Body)
	}
	last := len(n.events) - 1
	if len(events) == 0 || last >= 0 && events[0].Seq != n.events[last].Seq+1 || k.bytes+weight > maxKept {
		k.bytes -= n.bytes
		*n = news{lost: true}
		return first
	}
	for _, e := range events {
		e.At = e.At.Round(0).UTC() // as the log has it
		n.events = append(n.events, e)
	}
	n.bytes += weight
	k.bytes += weight
	return first
}

// behind returns what was announced of a session behind an event; ok is false if the log has to be read for it.
func (k *kept) behind(id troupe.SessionID, seq int64) (events []troupe.Event, ok bool) {
	n := k.news[id]
	if n == nil || n.lost {
		return nil, false
	}
	i := slices.IndexFunc(n.events, func(e troupe.Event) bool { return e.Seq > seq })
	if i < 0 {
		return nil, true // a look at the log has found them all
	}
	return n.events[i:], n.events[i].Seq == seq+1
}

// bytesOf is about what an event takes in memory.
func bytesOf(b troupe.Body) int {
	const most = 512 // of what has no content
	switch b := b.(type) {
	case troupe.Replied:
		return most + bytesOfBlocks(b.Blocks)
	case troupe.ToolFinished:
		return most + bytesOfBlocks(b.Result.Blocks)
	case troupe.Compacted:
		return most + bytesOfBlocks(b.Blocks)
	case troupe.MailDelivered:
		n := most
		for _, m := range b.Mail {
			n += bytesOfBlocks(m.Blocks)
		}
		return n
	case troupe.Ended:
		return most + len(b.Outcome.Result)
	}
	return most
}

func bytesOfBlocks(blocks []troupe.Block) int {
	n := 0
	for _, b := range blocks {
		n += len(b.Text) + len(b.Raw)
		if b.Image != nil {
			n += len(b.Image.Data)
		}
		if b.Call != nil {
			n += len(b.Call.Input)
		}
		if b.Result != nil {
			n += bytesOfBlocks(b.Result.Blocks)
		}
	}
	return n
}
