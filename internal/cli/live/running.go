package live

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// stillAfter is how long a command runs before it is told of. From then on it is when it has run for twice as long.
const stillAfter = 30 * time.Second

// Running tells of commands that take long. See is called for what happens, and Look now and then; both by any
// goroutine.
type Running struct {
	tell func(string)

	mu    sync.Mutex
	names map[troupe.SessionID]string
	texts map[call]string // of commands that were asked for
	at    map[call]*running
}

type call struct {
	session troupe.SessionID
	troupe.Coord
}

type running struct {
	since time.Time
	next  time.Duration // when it is told of
}

// NewRunning makes a watch that tells by tell.
func NewRunning(tell func(string)) *Running {
	return &Running{tell: tell, names: make(map[troupe.SessionID]string), texts: make(map[call]string),
		at: make(map[call]*running)}
}

// Know tells the names of sessions whose beginning will not be seen.
func (r *Running) Know(sessions []wire.Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	know(r.names, sessions)
}

// See notes what has happened by now.
func (r *Running) See(b wire.Batch, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range b.Events {
		at := func(reply, n int) call { return call{e.Session, troupe.Coord{Reply: reply, Call: n}} }
		switch body := e.Body.(type) {
		case troupe.Created:
			r.names[e.Session] = body.Name
		case troupe.Replied:
			for _, block := range body.Blocks {
				if c := block.Call; block.Type == troupe.CallBlock && c != nil && c.Name == "Bash" {
					r.texts[at(c.Reply, c.Index)] = What(*c, "")
				}
			}
		case troupe.ToolStarted:
			if _, ok := r.texts[at(body.Reply, body.Call)]; ok {
				r.at[at(body.Reply, body.Call)] = &running{now, stillAfter}
			}
		case troupe.ToolFinished:
			delete(r.texts, at(body.Result.Reply, body.Result.Call))
			delete(r.at, at(body.Result.Reply, body.Result.Call))
		case troupe.Ended:
			gone := func(c call) bool { return c.session == e.Session }
			for c := range r.texts {
				if gone(c) {
					delete(r.texts, c)
					delete(r.at, c)
				}
			}
		}
	}
}

// Look tells of what has run long, the longest first.
func (r *Running) Look(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var long []call
	for c, run := range r.at {
		if now.Sub(run.since) >= run.next {
			long = append(long, c)
		}
	}
	slices.SortFunc(long, func(a, b call) int {
		return cmp.Or(r.at[a].since.Compare(r.at[b].since), cmp.Compare(a.session, b.session),
			cmp.Compare(a.Call, b.Call))
	})
	for _, c := range long {
		run := r.at[c]
		age := now.Sub(run.since)
		for run.next <= age {
			run.next *= 2
		}
		r.tell(fmt.Sprintf("%s: still running after %s: %s", cmp.Or(r.names[c.session], "main"),
			console.Duration(age.Milliseconds()), console.Line(r.texts[c], 80)))
	}
}
