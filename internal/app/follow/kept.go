package follow

import (
	"reflect"
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

// add notes what a commit has brought to a session. It is without events if they are not known here; weight
// is about how many bytes they take. first is true if nothing else was noted of it.
func (k *kept) add(id troupe.SessionID, events []troupe.Event, weight int) (first bool) {
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

// bytesOf is about what an event takes in memory: all texts and bytes in it, of whatever kind it is.
func bytesOf(b troupe.Body) int {
	const most = 512 // of what has no content
	return most + contentOf(reflect.ValueOf(b))
}

// contentOf sums the texts and bytes that a value holds. Bodies of events are trees of exported fields.
func contentOf(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Pointer, reflect.Interface:
		return contentOf(v.Elem())
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return v.Len()
		}
		for i := range v.Len() {
			n += contentOf(v.Index(i))
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			n += contentOf(entries.Key()) + contentOf(entries.Value())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() { // a time has a zone behind it, which all share
				n += contentOf(v.Field(i))
			}
		}
	default: // of one size
	}
	return n
}
