package turn

import (
	"slices"

	"github.com/troupe-dev/troupe"
)

// hooked is what the hooks of a session's own moments have had to do with so far.
type hooked struct {
	started int     // the run whose SubagentStart was told
	stopped int     // the run whose end was told, and not refused
	at      int     // the reply after which an end was refused last
	refused int     // ends in a row that hooks refused
	begun   int64   // event of the last SessionStart
	summary int64   // event of the last summary
	warned  int64   // event of the last PreCompact
	words   []words // of people, that no model call has covered and no hook has looked at
	held    []int64 // events of which nothing is left but the brief: the next seal covers them
	last    words   // that a hook has looked at
	no      string  // why a hook refused the last words
}

// words are what a person said.
type words struct {
	mail  troupe.MailID
	seq   int64
	text  string
	alone bool // nothing else in that event is for the conversation
	brief bool // a brief stands before them
	read  []troupe.FileTouch
}

// Hook has the hooks of a moment run, and does nothing else meanwhile.
type Hook struct {
	Event troupe.HookEvent
	// Source is why a session begins or a summary is made, as matchers name it.
	Source string
	End    *End // that comes after it, unless it is refused
	Run    int  // whose end it is
}

func (Hook) action() {}

// mostRefused is how often in a row hooks may refuse a session's end. Then it ends all the same.
const mostRefused = 3

// HookRefusals is how often in a row hooks have refused the session's end. more says that they may again.
func (s *State) HookRefusals() (n int, more bool) {
	return s.hooks.refused, s.hooks.refused < mostRefused
}

// Unheard lists the words of people that no hook has looked at: their mail, and the text.
func (s *State) Unheard() (mail []troupe.MailID, texts []string) {
	for _, w := range s.hooks.words {
		mail, texts = append(mail, w.mail), append(texts, w.text)
	}
	return mail, texts
}

// said notes words of a person that were delivered.
func (f *fold) said(m troupe.Mail, alone bool) {
	f.s.hooks.refused, f.s.hooks.no = 0, ""
	if m.PersonsPrompt() {
		f.s.hooks.words = append(slices.Clip(f.s.hooks.words), words{mail: m.ID, seq: f.e.Seq,
			text: troupe.JoinText(m.Blocks), alone: alone, brief: m.Brief != nil, read: m.Read})
	}
}

// hookRan notes a run of a hook. What it asked of a model is in the bill.
func (f *fold) hookRan(b troupe.HookRan) {
	t := &f.s.Session.Tally
	t.Usage, t.Cost = t.Usage.Add(b.Usage), t.Cost+b.Cost
	h := &f.s.hooks
	if b.Async && b.Effect != troupe.HookBegun {
		return // its beginning was what counts
	}
	switch b.Event {
	case troupe.HookSubagentStart:
		h.started = max(h.started, b.Run)
	case troupe.HookSubagentStop, troupe.HookStop:
		switch {
		case !b.GoesOn:
			h.stopped = max(h.stopped, b.Run)
		case h.at != f.s.reply:
			h.at = f.s.reply
			h.refused++
			f.s.report = report{} // it goes on, and has to give it anew
		}
	case troupe.HookSessionStart:
		h.begun = f.e.Seq
	case troupe.HookPreCompact:
		h.warned = f.e.Seq
	case troupe.HookWorktreeCreate:
		f.s.Place.Gone = false
	case troupe.HookWorktreeRemove: // also if the run goes on, and finds it again
		f.s.Place.Gone = true
	case troupe.HookPrompt:
		f.heard(b)
	case troupe.HookPostToolUse, troupe.HookPostFailure:
		for i := range f.s.Calls {
			if c := &f.s.Calls[i]; b.Coord != nil && *b.Coord == c.coord() {
				c.looked = true
			}
		}
	case troupe.HookPreToolUse, troupe.HookPermissionRequest, troupe.HookTaskCreated, troupe.HookTaskCompleted,
		troupe.HookTeammateIdle, troupe.HookSessionEnd,
		troupe.HookNotification, troupe.HookPostCompact, troupe.HookStatus:
	}
}

// heard notes that a hook has looked at words. Those that it refuses are not part of the conversation.
func (f *fold) heard(b troupe.HookRan) {
	h := &f.s.hooks
	i := slices.IndexFunc(h.words, func(w words) bool { return w.mail == b.Mail })
	if i >= 0 {
		w := h.words[i]
		h.words = slices.Delete(slices.Clone(h.words), i, i+1)
		h.last = w
	}
	if b.Effect != troupe.HookDenied || b.Mail == "" || h.last.mail != b.Mail {
		return
	}
	h.no = b.Why
	for _, touch := range h.last.read {
		if f.s.Files[touch.Path] == touch.Hash {
			delete(f.s.Files, touch.Path) // no model sees what was brought along
		}
	}
	if !h.last.alone {
		return
	}
	gone := func(seq int64) bool { return seq == h.last.seq }
	if h.last.brief && slices.ContainsFunc(f.s.mail, gone) {
		h.held = append(slices.Clip(h.held), h.last.seq)
	}
	f.s.mail = slices.DeleteFunc(slices.Clone(f.s.mail), gone)
	f.s.asked = slices.DeleteFunc(slices.Clone(f.s.asked), gone)
}

// Heard is a log without the words that hooks have refused.
func Heard(events []troupe.Event) []troupe.Event {
	refused := map[troupe.MailID]bool{}
	for _, e := range events {
		if b, ok := e.Body.(troupe.HookRan); ok && refuses(b) {
			refused[b.Mail] = true
		}
	}
	if len(refused) == 0 {
		return events
	}
	out := slices.Clone(events)
	for i := range out {
		if b, ok := out[i].Body.(troupe.MailDelivered); ok {
			out[i].Body = without(b, func(m troupe.MailID) bool { return refused[m] })
		}
	}
	return out
}

func refuses(b troupe.HookRan) bool {
	return b.Event == troupe.HookPrompt && b.Effect == troupe.HookDenied && b.Mail != ""
}

// without is a delivery with some of its words taken out.
func without(b troupe.MailDelivered, refused func(troupe.MailID) bool) troupe.MailDelivered {
	b.Mail = slices.Clone(b.Mail)
	for i := range b.Mail {
		if refused(b.Mail[i].ID) {
			b.Mail[i].Blocks = nil
		}
	}
	return b
}

// Ending is what has to be done before an end that was not Next's.
func Ending(s *State, in Inputs, end End) Action {
	d := decision{s: s, in: &in}
	return d.hook(end)
}

// hook puts what hooks are to be asked about before an action.
func (d *decision) hook(act Action) Action {
	if d.in.Hooks == nil {
		return act
	}
	if d.in.Hooking {
		return d.meanwhile(act)
	}
	switch a := act.(type) {
	case CallModel:
		if h, ok := d.beforeModel(); ok {
			return h
		}
	case Compact:
		if h, ok := d.beforeModel(); ok {
			return h
		}
		if source := Trigger(a.Why); d.s.hooks.warned <= d.s.seal.seq && d.in.Hooks(troupe.HookPreCompact, source) {
			return Hook{Event: troupe.HookPreCompact, Source: source}
		}
	case End:
		return d.beforeEnd(a)
	}
	return act
}

// Trigger is why a summary is made, as matchers name it.
func Trigger(why string) string {
	if why == requested {
		return "manual"
	}
	return "auto"
}

// meanwhile is what may be done while hooks of the session run: it hears what it is told, and nothing else.
func (d *decision) meanwhile(act Action) Action {
	switch a := act.(type) {
	case Deliver:
		if !slices.ContainsFunc(a.Mail, func(m troupe.Mail) bool { return !m.Kind.Control() }) {
			return act
		}
	case StopTasks, Park:
		return act
	}
	if d.late() || d.s.halted() && d.s.halt.now {
		return Interrupt{}
	}
	return Park{}
}

// beforeModel finds what is to be told before the model is asked.
func (d *decision) beforeModel() (Hook, bool) {
	if d.s.Session.Depth == 0 {
		if source := d.source(); source != "" && d.in.Hooks(troupe.HookSessionStart, source) {
			return Hook{Event: troupe.HookSessionStart, Source: source}, true
		}
	} else if h := &d.s.hooks; h.stopped < h.started && h.started < d.s.Session.Run &&
		d.in.Hooks(troupe.HookSubagentStop, d.s.Session.Type) {
		// Its run was ended where no hook could be told of it.
		return Hook{Event: troupe.HookSubagentStop, Run: h.started}, true
	} else if h.started != d.s.Session.Run && d.in.Hooks(troupe.HookSubagentStart, d.s.Session.Type) {
		return Hook{Event: troupe.HookSubagentStart}, true
	}
	if len(d.s.hooks.words) > 0 && d.in.Hooks(troupe.HookPrompt, "") {
		return Hook{Event: troupe.HookPrompt}, true
	}
	return Hook{Event: troupe.HookPostToolUse}, len(d.in.After) > 0
}

// source is why a conversation begins, or begins anew, that was not told of yet; "" if it does not.
func (d *decision) source() string {
	h := &d.s.hooks
	switch {
	case h.begun == 0 && d.in.Taken.Seq == 0 && d.s.reply == 0:
		return "startup"
	case h.summary > h.begun:
		return "compact"
	case d.in.Taken.Seq > 0 && h.begun <= d.in.Taken.Seq:
		return "resume"
	}
	return ""
}

// beforeEnd finds what is to be told of an end. The end of a sub-agent is told however it came, if its beginning was.
func (d *decision) beforeEnd(end End) Action {
	s := d.s
	if s.again != nil || s.Session.Status == troupe.Spawning || s.hooks.stopped == s.Session.Run {
		return end
	}
	kind := s.Session.Type
	switch {
	case s.Session.Depth == 0:
		if end.Status == troupe.Completed && !s.compactOnly && d.in.Hooks(troupe.HookStop, "") {
			return Hook{Event: troupe.HookStop, End: &end}
		}
	case s.hooks.started != s.Session.Run && d.in.Hooks(troupe.HookSubagentStart, kind):
	case d.in.Hooks(troupe.HookSubagentStop, kind):
		return Hook{Event: troupe.HookSubagentStop, End: &end, Run: s.Session.Run}
	}
	return end
}

// refusedWords ends a run that has nothing else to do than to answer words which a hook has refused.
func (d *decision) refusedWords() Action {
	return End{Status: troupe.Failed, Cause: troupe.CausePermission, Error: d.s.hooks.no}
}
