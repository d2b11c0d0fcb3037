package replay

import "github.com/troupe-dev/troupe"

// early reports whether a stop that another agent sent comes before the session is where it was when that
// stopped it: it has calls of this run to make yet, waits for a reply that came then, or has not run what ran
// then. A person's stop is never early: whoever replays sends it when all of that is over. It is called with
// the player's mutex held.
func (p *Player) early(m troupe.Mail, s troupe.Session, a *part, reply int, open bool) bool {
	if m.Kind != troupe.MailStop || m.From == "" || !s.Status.Live() {
		return false
	}
	for r, cues := range a.byReply {
		if k := a.made[r]; k < len(cues) && cues[k].Run <= s.Run {
			return true
		}
	}
	if k := a.made[reply]; k > 0 && k <= len(a.byReply[reply]) && a.byReply[reply][k-1].Failed == nil {
		return true
	}
	return open && a.unserved[reply-1] > 0
}

// ran reports whether a call did something by itself, instead of having others do it.
func (t *Tool) ran() bool {
	return !t.Denied && !t.Birth && !t.Waited && t.Mail == "" && len(t.Evidence.Files)+len(t.Evidence.Commands) > 0
}

// served notes that a call has been given its result, the first time that it asks.
func (p *Player) served(key toolKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, a := p.tools[key], p.agents[key.agent]
	if t == nil || a == nil || !t.ran() || p.done[key] {
		return
	}
	p.done[key] = true
	a.unserved[key.reply]--
}
