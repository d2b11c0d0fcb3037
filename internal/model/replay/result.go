package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
)

// Kind is what sort of difference was found.
type Kind string

// Kinds of difference.
const (
	Request Kind = "request" // a call sent something else
	Extra   Kind = "extra"   // a call that the recording does not have
	Missing Kind = "missing" // a recorded call was never made
	Result  Kind = "result"  // a tool call would run that did not run then
)

// Mismatch is the first difference between a run and the recording.
type Mismatch struct {
	Agent string `json:"agent"` // path
	Reply int    `json:"reply"`
	Kind  Kind   `json:"kind"`
	What  string `json:"what"`
	Diff  string `json:"diff,omitempty"` // unified

	at int // its place in the recording
}

func (m *Mismatch) Error() string {
	if m.Diff == "" {
		return m.What
	}
	return m.What + ":\n" + strings.TrimRight(m.Diff, "\n")
}

// Verdict is what a replay came to.
type Verdict struct {
	Same     bool      `json:"same"`
	Calls    int       `json:"calls"` // that were made and were recorded
	Mismatch *Mismatch `json:"mismatch"`
}

// Verdict compares the whole run with the recording once it has ended. A call that was never
// made is a difference too, unless another one explains it.
func (p *Player) Verdict() Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := Verdict{Calls: p.made, Mismatch: p.mismatch}
	if v.Mismatch == nil && p.made < p.total {
		v.Mismatch = p.missing()
	}
	v.Same = v.Mismatch == nil
	return v
}

// missing finds the first recorded call that was not made. It is called with p.mu held.
func (p *Player) missing() *Mismatch {
	var first *cue
	var made int
	for _, a := range p.agents {
		for reply, cues := range a.byReply {
			if k := a.made[reply]; k < len(cues) && (first == nil || cues[k].at < first.at) {
				first, made = cues[k], 0
				for _, n := range a.made {
					made += n
				}
			}
		}
	}
	if first == nil {
		return nil
	}
	return &Mismatch{
		Agent: first.Agent, Reply: first.Reply, Kind: Missing, at: first.at,
		What: fmt.Sprintf("%s never made its %s call (for reply %d); it made %d, and the recording has %d",
			first.Agent, ordinal(first.n), first.Reply, made, len(p.agents[first.Agent].calls)),
	}
}

// differ notes a difference and returns it as the end of the agent that made it. Of several
// the one that comes first in the recording is kept: the others may follow from it.
func (p *Player) differ(m *Mismatch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mismatch == nil {
		close(p.broken)
	}
	if p.mismatch == nil || m.at < p.mismatch.at {
		p.mismatch = m
	}
	return &model.Error{Fault: troupe.FaultBad, Message: "replay: " + m.What, Err: m}
}

// Root is the id of the recorded root. A replay runs under it, so that the ids of all its
// agents, which follow from it, are the recorded ones.
func (p *Player) Root() troupe.SessionID { return p.header.Root }

// Info is what was known of a model when it was recorded.
func (p *Player) Info(full string) (model.Info, bool) {
	for _, m := range p.header.Models {
		if m.Name == full && m.Info != nil {
			return *m.Info, true
		}
	}
	return model.Info{}, false
}

// Knows reports whether a provider had a part in the recording.
func (p *Player) Knows(provider string) bool {
	return slices.ContainsFunc(p.header.Models, func(m Model) bool { return strings.HasPrefix(m.Name, provider+"/") })
}

// Path is the recorded path of an agent, or "".
func (p *Player) Path(id troupe.SessionID) string { return p.paths[id] }

// Broken is closed when a difference has been found. What the recording promises may not come
// any more then, and who waits for it waits for ever: after a while, in which others may come
// to a difference that stands further up, the run is to be stopped.
func (p *Player) Broken() <-chan struct{} { return p.broken }

// Over is closed when every recorded call has been made and the recorded run was broken off
// there, by a person or by the end of its process. Nobody will do that now but whoever
// replays: the run is to be stopped.
func (p *Player) Over() <-chan struct{} { return p.over }

// Order picks, of the mail that waits for a session, what it may read before it asks for a
// reply: what it had then, in that order, and what no reply depends on. Open says that calls
// of the reply before have no result yet. hold says that some of the mail has not come, so
// that the session has to wait.
func (p *Player) Order(s troupe.Session, reply int, open bool, unread []troupe.Mail) (now []troupe.Mail, hold bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	path := p.paths[s.ID]
	a := p.agents[path]
	if a == nil {
		return unread, false
	}
	if a.ended = s.Status.Ended(); a.ended {
		p.checkOver()
	}
	for _, m := range unread {
		a.seen[m.ID] = true
	}
	unread = slices.DeleteFunc(slices.Clone(unread), func(m troupe.Mail) bool { return p.early(m, s, a, reply, open) })
	cues, k, live := a.byReply[reply], a.made[reply], s.Status.Live()
	before := a.lastMade(reply)
	stops := live && before != nil && before.stops
	if k >= len(cues) {
		return unread, stops // it asked for nothing more; what came was only noted
	}
	due := cues[k].Mail
	// The call belongs to a later run: until this one has ended, its mail has not come.
	later := cues[k].Run > s.Run
	if later && live {
		due, hold = nil, stops
	}
	for _, m := range unread {
		if at, ok := p.results[resultKey{path, m.ID}]; m.Kind.Control() || (ok && at == reply-1) {
			now = append(now, m)
		}
	}
	for _, id := range due {
		i := slices.IndexFunc(unread, func(m troupe.Mail) bool { return m.ID == id })
		// While a call waits for a task, the end of that task would be its result.
		if i >= 0 && !(open && unread[i].Kind == troupe.MailTaskEnded) {
			now = append(now, unread[i])
		}
		hold = hold || (!later && !a.seen[id])
	}
	return now, hold
}

// Ready reports whether a call that works with other agents may begin: what it found then
// has come to be now.
func (p *Player) Ready(id troupe.SessionID, at troupe.Coord) bool {
	path := p.paths[id]
	t := p.tools[toolKey{path, at.Reply, at.Call}]
	a := p.agents[path]
	if t == nil || a == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if mail := t.reads(); mail != "" && !a.seen[mail] {
		return false
	}
	// A message that woke an agent was sent when its run before had ended.
	end, woke := p.woken[troupe.CallMailID(id, at, 0)]
	return !woke || a.seen[end]
}

// reads is the mail that the call took its result from at once, without waiting for it.
func (t *Tool) reads() troupe.MailID {
	if t.Birth || t.Waited {
		return ""
	}
	return t.Mail
}

// Reads is the mail that a call took its result from at once, "" if it took none. It is not
// ok if the recording does not know the call.
func (p *Player) Reads(id troupe.SessionID, at troupe.Coord) (mail troupe.MailID, ok bool) {
	t := p.tools[toolKey{p.paths[id], at.Reply, at.Call}]
	if t == nil {
		return "", false
	}
	return t.reads(), true
}

// Cut reports whether a call that waits has to go on without what it waits for: its child
// was moved to the background, or the task was still at work when the time was over.
func (p *Player) Cut(id troupe.SessionID, at troupe.Coord) bool {
	t := p.tools[toolKey{p.paths[id], at.Reply, at.Call}]
	return t != nil && (t.Moved || (t.Waited && t.Mail == ""))
}

// Answer is what somebody said when they were asked about a call.
func (p *Player) Answer(id troupe.SessionID, at troupe.Coord) (troupe.Answer, bool) {
	t := p.tools[toolKey{p.paths[id], at.Reply, at.Call}]
	if t == nil || t.Answer == nil {
		return troupe.Answer{}, false
	}
	return *t.Answer, true
}

// Judged is what the model of mode auto said about a call.
func (p *Player) Judged(id troupe.SessionID, at troupe.Coord) (troupe.Verdict, bool) {
	t := p.tools[toolKey{p.paths[id], at.Reply, at.Call}]
	if t == nil || t.Verdict == nil {
		return troupe.Verdict{}, false
	}
	return *t.Verdict, true
}

// Result is the recorded result of a tool call.
func (p *Player) Result(path string, reply, call int) (Tool, bool) {
	t, ok := p.tools[toolKey{path, reply, call}]
	if !ok {
		return Tool{}, false
	}
	return *t, true
}

// Serve is what a call that would run now came to when it was recorded. A call that did not
// run then is a difference. A command that was killed then is waited for until it is now.
func (p *Player) Serve(ctx context.Context, path string, reply, call int) (Tool, error) {
	p.served(toolKey{path, reply, call})
	t, ok := p.Result(path, reply, call)
	if !ok || t.Denied {
		what := fmt.Sprintf("%s ran call %d.%d; the recording has no result for it", path, reply, call)
		if ok {
			what = fmt.Sprintf("%s was denied its call %d.%d of %s then (%s), and would be allowed now",
				path, reply, call, t.Name, troupe.JoinText(t.Blocks))
		}
		at := p.total
		if a := p.agents[path]; a != nil {
			at = a.placeOf(reply)
		}
		err := p.differ(&Mismatch{Agent: path, Reply: reply, Kind: Result, What: what, at: at})
		return Tool{}, fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	if !t.Background {
		return t, nil
	}
	if t.End == nil || t.End.Status == troupe.Cancelled {
		<-ctx.Done()
	}
	if t.End != nil {
		t.Blocks, t.IsError, t.Evidence = []troupe.Block{troupe.Text(t.End.Result)}, t.End.Status != troupe.Completed,
			t.End.Evidence
	}
	return t, nil
}

// placeOf is where the call stands that brought a reply.
func (a *part) placeOf(reply int) int {
	if cues := a.byReply[reply]; len(cues) > 0 {
		return cues[len(cues)-1].at
	}
	return a.last
}

// castStops finds out whether the recorded run was broken off. Who was at work then is
// stopped, now as then, by whoever replays.
func (p *Player) castStops(rec *Recording) {
	root := p.agents[p.paths[p.header.Root]]
	p.off = root != nil && !finished(root.agent.Status)
	for _, a := range p.agents {
		p.off = p.off || a.agent.Status.Live()
	}
	for _, l := range rec.Lines {
		p.off = p.off || (l.Mail != nil && l.Mail.Mail.Kind == troupe.MailStop)
	}
	if !p.off {
		return
	}
	for _, a := range p.agents {
		if n := len(a.calls); n > 0 && !finished(a.agent.Status) {
			a.calls[n-1].stops = true
		}
	}
	p.checkOver()
}

// checkOver ends a run that was broken off where it was: every call has been made, and who
// came to an end of its own has done so. It is called with p.mu held, or before anybody else
// has p.
func (p *Player) checkOver() {
	if !p.off || p.made < p.total {
		return
	}
	for _, a := range p.agents {
		if finished(a.agent.Status) && !a.ended {
			return
		}
	}
	p.off = false
	close(p.over)
}

// finished reports whether a run came to an end of its own.
func finished(s troupe.Status) bool { return s.Ended() && s != troupe.Cancelled }

func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
