package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

// law is who was allowed what, and when, as the logs have it: a second account of the line of
// authority, kept from commits alone.
type law struct {
	w       *world
	gate    *gate.Tools
	parties map[troupe.SessionID]*party
	// said are the replies that forks may go on from, and asked what each was asked for with last.
	said  map[troupe.Fork]int
	asked map[askedFor]sentFor
}

// party is one session's part in the line of authority, over time.
type party struct {
	parent     troupe.SessionID
	path       string
	profile    troupe.Profile
	depth      int
	background bool
	fork       bool
	versions   []version
	work       troupe.Workspace
}

// version is what a session was granted from some event on. Between its commit and the moment
// at which its process takes it in, calls may still be judged by the one before.
type version struct {
	seq      int64
	from     time.Time
	takenIn  bool
	takenAt  time.Time
	auth     troupe.Authority
	gate     gate.Layer
	inherits bool // its mode is its parent's
}

func (l *law) born(id troupe.SessionID, seq int64, b troupe.Created) {
	p := &party{parent: b.Parent, profile: b.Profile, depth: b.Depth, background: b.Background, path: b.Name,
		work: b.Workspace}
	if p.path == "" {
		p.path = "main"
	}
	if up := l.parties[b.Parent]; up != nil {
		p.path = up.path + "/" + p.path
	}
	l.parties[id] = p
	if b.Fork != nil {
		l.forked(id, b)
	} else if role := l.w.climate.profile(b.Profile.Type); b.Parent != "" &&
		(b.Authority.Mode != role.Mode || len(b.Authority.Rules) > 0 || b.Profile.Mode != role.Mode ||
			b.Profile.Sandbox != role.Sandbox) {
		l.w.broken("session %s is born as a %s with %+v, in mode %q and sandbox %q", id, role.Type, b.Authority,
			b.Profile.Mode, b.Profile.Sandbox)
	}
	l.add(id, seq, b.Authority)
	p.versions[0].takenIn, p.versions[0].takenAt = true, l.w.now
}

// forked: a fork is its parent again, with no mode or rule of its own, and is never a fork's.
func (l *law) forked(id troupe.SessionID, b troupe.Created) {
	up := l.parties[b.Parent]
	switch {
	case up == nil || up.fork || b.Fork.Session != b.Parent:
		l.w.broken("session %s is a fork of %s, and born by %s", id, b.Fork.Session, b.Parent)
	case !b.Profile.Fork || b.Profile.Prompt != up.profile.Prompt || b.Profile.Offer != up.profile.Offer ||
		!slices.Equal(b.Profile.Tools, up.profile.Tools) || b.Profile.Sandbox != up.profile.Sandbox:
		l.w.broken("session %s is a fork with the profile %+v, of one with %+v", id, b.Profile, up.profile)
	case b.Authority.Mode != "" || b.Profile.Mode != "" || len(b.Authority.Rules) > 0:
		l.w.broken("session %s is a fork with %+v, in mode %q", id, b.Authority, b.Profile.Mode)
	}
	l.parties[id].fork = true
}

func (l *law) add(id troupe.SessionID, seq int64, auth troupe.Authority) {
	p := l.parties[id]
	leads := l.w.climate.caps.MaxDepth > p.depth
	at := l.gate.LayerOf(p.path, p.profile, auth, leads, p.background)
	at.Session = id
	if p.work.Kind != "" { // whatever its mode, commands write nothing but its folder
		at.Sandbox = troupe.LevelWorkspace.Meet(cmp.Or(at.Sandbox, troupe.LevelWorkspace))
	}
	if p.profile.Writes != nil {
		at.Writes, _ = l.gate.Writes(p.profile.Writes, p.dir())
		at.Sandbox = troupe.LevelWorkspace.Meet(cmp.Or(at.Sandbox, troupe.LevelWorkspace))
	}
	p.versions = append(p.versions, version{
		seq: seq, from: l.w.now, auth: auth, inherits: auth.Mode == "", gate: at,
	})
}

// moved: a main agent has gone into a folder of its own, or back.
func (l *law) moved(id troupe.SessionID, seq int64, b troupe.WorkspaceChanged) {
	p := l.parties[id]
	p.work = b.Workspace
	l.add(id, seq, p.versions[len(p.versions)-1].auth)
}

// placed: a process has taken in what it committed.
func (l *law) placed(p *process, id troupe.SessionID, seq int64) {
	if party := l.parties[id]; party != nil && p == l.w.live {
		party.takeIn(seq, l.w.now)
	}
}

func (p *party) takeIn(seq int64, now time.Time) {
	for i := len(p.versions) - 1; i >= 0 && !p.versions[i].takenIn; i-- {
		if v := &p.versions[i]; v.seq <= seq {
			v.takenIn, v.takenAt = true, now
		}
	}
}

// claimed: whoever takes a tree over takes in all of its logs.
func (l *law) claimed() {
	for _, p := range l.parties {
		p.takeIn(p.versions[len(p.versions)-1].seq, l.w.now)
	}
}

// between lists what may have counted for the session at some moment of a time.
func (p *party) between(from, to time.Time) []*version {
	var out []*version
	for i := range p.versions {
		if p.versions[i].from.After(to) {
			break
		}
		if i+1 < len(p.versions) && p.versions[i+1].takenIn && p.versions[i+1].takenAt.Before(from) {
			continue
		}
		out = append(out, &p.versions[i])
	}
	return out
}

// chains walks the lines of authority that may have counted for a session at some moment of a
// time, until visit wants no more.
func (l *law) chains(id troupe.SessionID, from, to time.Time, visit func([]gate.Layer) bool) {
	var line []*party
	for p := l.parties[id]; p != nil; p = l.parties[p.parent] {
		line = append(line, p)
	}
	slices.Reverse(line)
	chain := make([]gate.Layer, len(line))
	var walk func(i int) bool
	walk = func(i int) bool {
		if i == len(line) {
			return visit(chain)
		}
		for _, v := range line[i].between(from, to) {
			chain[i] = v.gate
			if v.inherits && i > 0 {
				chain[i].Mode = chain[i-1].Mode
			}
			if !walk(i + 1) {
				return false
			}
		}
		return true
	}
	walk(0)
}

// decide asks the gate about a call as its session would have.
func (l *law) decide(id troupe.SessionID, c *turn.Call, access troupe.Access, chain []gate.Layer) troupe.Decision {
	g, root, work := guard{l.w}, "/sim", l.parties[id].work
	var also []string
	if work.Kind.Made() {
		var of []string
		for p := l.parties[id]; p != nil; p = l.parties[p.parent] {
			if p.work.Kind.Made() {
				of = append(of, p.work.Of)
			}
		}
		root, also, chain = work.Folder, []string{work.Of}, gate.Mirror(chain, work, "", of...)
	}
	return l.gate.Decide(gate.Query{
		Tool: c.Name, Access: access, Chain: chain, Judged: l.w.verdict(id, c), Roots: []string{root, outputDir(id)},
		Readable: also,
		Levels:   g.w.climate.levels, Protected: []string{guarded}, Resolve: g.Resolve,
	})
}

// some reports whether one of the decisions that the gate may have made satisfies ok.
func (l *law) some(id troupe.SessionID, c *turn.Call, from, to time.Time, ok func(troupe.Decision) bool) bool {
	found := false
	access := accessOf(c.Name, c.Input)
	l.chains(id, from, to, func(chain []gate.Layer) bool {
		found = ok(l.decide(id, c, access, chain))
		return !found
	})
	return found
}

// bound is the most that the profiles along the line leave commands.
func (l *law) bound(id troupe.SessionID) troupe.Level {
	out := troupe.LevelNone
	for p := l.parties[id]; p != nil; p = l.parties[p.parent] {
		if p.work.Kind != "" || p.profile.Writes != nil {
			out = out.Meet(troupe.LevelWorkspace)
		}
		if p.profile.Sandbox != "" {
			out = out.Meet(p.profile.Sandbox)
		}
	}
	return out
}

// beginning is a call that the log said would begin, as it was allowed the last time.
type beginning struct {
	session troupe.SessionID
	times   int
	level   troupe.Level     // of commands
	reach   bool             // the network is open to it if settings leave it open
	granted []troupe.Attempt // besides
	bound   troupe.Level
	why     troupe.Decision
}

// stepAnswer is the step of decisions that somebody's answer made.
const stepAnswer troupe.Step = "answer"

// began: a call that may have effects begins only if the line of authority allowed it at that
// moment, or somebody did who was asked about this very call; and who or what allowed it stands
// in the log.
func (h *watch) began(st *turn.State, e troupe.Event, b troupe.ToolStarted) {
	id := e.Session
	if b.Decision.Effect != troupe.Allow {
		h.w.broken("session %s: event %d starts a call that was not allowed: %+v", id, e.Seq, b.Decision)
	}
	if b.Call >= len(st.Calls) {
		return // the fold says so
	}
	h.mayBegin(st, e, b)
	c := &st.Calls[b.Call]
	if c.Answer != nil && c.Answer.Effect != troupe.Allow {
		h.w.broken("session %s: event %d starts call %d although %s said no", id, e.Seq, b.Call, c.Answer.By)
	}
	if b.Name != "Edit" && b.Name != "Bash" {
		return
	}
	if b.Decision.Step == gate.StepReadOnlyRun && b.Decision.Beyond == troupe.Ask &&
		h.states[h.w.root].Settings.AskFor > 0 {
		h.w.broken("session %s: event %d starts call %d, and nobody was asked what it may do beyond reading", id, e.Seq,
			b.Call)
	}
	if b.Decision.Sandbox == troupe.LevelReadOnly && !strings.HasPrefix(c.Input, "&") {
		h.w.broken("session %s: event %d announces call %d, which can change nothing: after a crash it would not run "+
			"again", id, e.Seq, b.Call)
	}
	h.founded(st, e, b, c)
	h.byLead(st, e, c)
	h.writesWhilePlanning(st, e, c)
	for _, file := range accessOf(c.Name, c.Input).Writes {
		if h.law.outside(id, file) {
			h.w.broken("session %s: event %d starts to change %s, which is none of its files", id, e.Seq, file)
		}
	}
	key := effectKey(outputDir(id), callID(b.Reply, b.Call))
	now := h.begun[key]
	if now == nil {
		now = &beginning{session: id, bound: h.law.bound(id)}
		h.begun[key] = now
	}
	now.times++
	now.level, now.granted, now.why = b.Decision.Sandbox, c.Granted, b.Decision
	if b.Decision.Auto {
		now.granted = slices.Concat(c.Granted, c.Lent)
	}
	now.reach = b.Decision.Sandbox != troupe.LevelGranted &&
		(b.Decision.Step != stepAnswer || c.Asked == nil || len(c.Asked.Wants) == 0 ||
			slices.ContainsFunc(now.granted, opens))
}

// opens: leave for this is leave for the network.
func opens(a troupe.Attempt) bool { return a.Network() || a.Op == troupe.OpUnseen }

// founded looks for what allowed a call, in the logs as they were when it was judged.
func (h *watch) founded(st *turn.State, e troupe.Event, b troupe.ToolStarted, c *turn.Call) {
	id, access := e.Session, accessOf(c.Name, c.Input)
	var last troupe.Decision
	var parents gate.Layer
	found := false
	h.law.chains(id, e.At, e.At, func(chain []gate.Layer) bool {
		last = h.law.decide(id, c, access, chain)
		if !h.allows(last, b.Decision, c) || c.Answer != nil && c.Answer.Auto && b.Decision.Step == stepAnswer &&
			!letByModel(last, chain, c) {
			return true
		}
		found = true
		if n := len(chain); n > 1 && !ownPlan(chain[n-1], access) {
			above := leftTo(chain)[:n-1]
			parents = above[n-2]
			above[n-2].Offered, above[n-2].UserDefined, above[n-2].Background = nil, false, false
			h.within(e, last, h.law.decide(id, c, access, above), parents.Agent)
		}
		return false
	})
	if !found {
		h.w.broken("session %s: event %d starts %s(%s) by %+v; by the logs of its line of authority it is %+v, "+
			"answered %+v", id, e.Seq, c.Name, c.Input, b.Decision, last, c.Answer)
	}
}

// leftTo is a chain in which what a person allowed to its sessions alone is allowed to all: that is the one thing
// in which a child may do more than its parent.
func leftTo(chain []gate.Layer) []gate.Layer {
	out := slices.Clone(chain)
	for i := range out {
		out[i].Rules = slices.Clone(out[i].Rules)
		for j := range out[i].Rules {
			r := &out[i].Rules[j].Written
			if slices.ContainsFunc(chain, func(l gate.Layer) bool { return l.Session == r.For }) {
				r.For = ""
			}
		}
	}
	return out
}

// within: a child is never allowed what its parent is not.
func (h *watch) within(e troupe.Event, child, parent troupe.Decision, who string) {
	strict := map[troupe.Effect]int{troupe.Allow: 0, troupe.Ask: 1, troupe.Deny: 2}
	wider := child.Sandbox != "" && child.Effect == parent.Effect && child.Sandbox.Meet(parent.Sandbox) != child.Sandbox
	if strict[parent.Effect] > strict[child.Effect] || wider {
		h.w.broken("session %s: event %d starts a call that was judged %+v, and its parent %s would have been told %+v",
			e.Session, e.Seq, child, who, parent)
	}
}

// allows reports whether what the gate says, and the answer there is, comes to the decision by
// which a call began.
func (h *watch) allows(law, made troupe.Decision, c *turn.Call) bool {
	if made.Step != stepAnswer {
		return law.Effect == troupe.Allow && law.Step == made.Step && law.Rule == made.Rule &&
			law.Source == made.Source &&
			law.Sandbox == made.Sandbox && law.Beyond == made.Beyond &&
			(law.Step != gate.StepAllowRule || law.Rule != "")
	}
	if c.Answer == nil || c.Answer.Effect != troupe.Allow || c.Answer.By == "" || c.Asked == nil {
		return false
	}
	level := law.Sandbox
	switch {
	case law.Effect == troupe.Ask:
	case law.Effect != troupe.Allow || law.Beyond == troupe.Deny:
		return false // nothing that anybody says allows it by now
	case law.Step == gate.StepReadOnlyRun:
		level = troupe.LevelNone
		if slices.Contains(h.w.climate.levels, troupe.LevelWorkspace) {
			level = troupe.LevelWorkspace
			if c.Asked.Opens == troupe.LevelGranted {
				level = troupe.LevelGranted
			}
		}
	}
	return made.Sandbox == level
}

// begins: what the log does not announce changes nothing, and is allowed all the same. What it
// announces runs in the sandbox that was decided, or a closer one.
func (h *watch) begins(r runner, env tool.Env) {
	id := troupe.SessionID(strings.TrimPrefix(env.OutputDir, outputDir("")))
	level := troupe.LevelNone
	if env.Confine != nil {
		level = env.Confine.Level
	}
	begun := h.begun[effectKey(env.OutputDir, env.CallID)]
	switch {
	case r.p.zombie || r.p.dead || r.name == "Edit":
		return // it cannot have an effect that was not announced before
	case r.name == "Read", begun == nil || level == troupe.LevelReadOnly && begun.level != level:
		if r.name == "Bash" && level != troupe.LevelReadOnly {
			h.w.broken("%s/%s runs in the level %s, and the log had not said that it begins", id, env.CallID, level)
		}
		c := turn.Call{Call: troupe.Call{Name: r.name, Input: r.input}}
		if _, err := fmt.Sscanf(env.CallID, "r%dc%d", &c.Reply, &c.Index); err != nil {
			h.w.broken("a call is named %q", env.CallID)
		}
		if said := h.w.verdict(id, &c); h.w.climate.judge && (said == nil || said.Effect == troupe.Deny) {
			h.w.broken("%s/%s runs %s(%s), and was judged %+v", id, env.CallID, r.name, r.input, said)
		}
		asked := h.often[effectKey(env.OutputDir, env.CallID)] > 0
		said := h.letByAuto(id, &c) // it is logged with what came of the call
		allowed := func(d troupe.Decision) bool {
			return (d.Effect == troupe.Allow || (asked || said && d.Auto) && d.Effect == troupe.Ask) &&
				(r.name == "Read" || d.Sandbox == level)
		}
		until := r.at
		if h.w.climate.judge {
			until = h.w.now // the gate is asked once more when the judge has spoken
		}
		if !h.law.some(id, &c, r.at, until, allowed) {
			h.w.broken("%s/%s runs %s(%s) unannounced, and may not by the logs of its line of authority", id,
				env.CallID, r.name, r.input)
		}
	case level.Meet(begun.level) != level:
		h.w.broken("%s/%s runs in the level %s, and was allowed in %s", id, env.CallID, level, begun.level)
	}
}

// covered: a command changed only what its level leaves open, and what somebody allowed it
// besides; and nothing at all below a bound that says so.
func (h *watch) covered(key string, b *beginning, done []troupe.Attempt) {
	if b.why.Step == stepAnswer {
		h.w.res.Leaves++
	}
	for _, a := range done {
		inside := a.Op != troupe.OpConnect && a.Path != guarded && strings.HasPrefix(a.Path, "/sim/")
		network := a.Op == troupe.OpConnect && b.reach && h.w.climate.reach
		switch {
		case a.Changes() && h.law.outside(b.session, a.Path):
			h.w.broken("%s did %s %s, which is none of the files of its session", key, a.Op, a.Path)
		case b.bound == troupe.LevelReadOnly:
			h.w.broken("%s did %s %s, and commands there only read", key, a.Op, a.Path)
		case b.bound == troupe.LevelWorkspace && b.level == troupe.LevelNone:
			h.w.broken("%s did %s %s without a sandbox, below an agent whose commands stay in the workspace", key, a.Op,
				a.Path)
		case b.level == troupe.LevelNone:
		case b.level == troupe.LevelWorkspace && (inside || network):
		case slices.Contains(b.granted, a):
		default:
			h.w.broken("%s did %s %s in the level %s, allowed by %+v and besides %v", key, a.Op, a.Path, b.level, b.why,
				b.granted)
		}
	}
}

// maxAsked is how often one call is asked about at most: once before it runs, and each time it
// wanted something new.
const maxAsked = 5

// opened: nobody is asked about what was allowed already, nor about one call again and again.
func (h *watch) opened(st *turn.State, e troupe.Event, b troupe.RequestOpened) {
	h.w.res.Requests++
	h.w.people.asked = append(h.w.people.asked, question{e.Session, b, h.w.now})
	if len(b.Wants) > 0 {
		h.w.res.Wants++
	}
	if len(b.Rules) > 0 {
		h.w.res.Ahead++
	}
	key := effectKey(outputDir(e.Session), callID(b.Reply, b.Call))
	if h.often[key]++; h.often[key] > maxAsked {
		h.w.broken("session %s: event %d asks about call %d.%d for the %dth time", e.Session, e.Seq, b.Reply, b.Call,
			h.often[key])
	}
}

// needless looks at the requests that a commit has left open.
func (h *watch) needless(st *turn.State, events []troupe.Event) {
	for _, e := range events {
		b, ok := e.Body.(troupe.RequestOpened)
		if !ok || b.Reply != st.Reply() || (b.Tool != "Edit" && b.Tool != "Bash") {
			continue
		}
		c := &st.Calls[b.Call]
		if c.Request == nil {
			continue
		}
		asks := func(d troupe.Decision) bool {
			return !settles(d, &b.RequestBody)
		}
		if !h.law.some(e.Session, c, e.At, h.w.now, asks) {
			h.w.broken("session %s: event %d asks about %s(%s), which was allowed by then", e.Session, e.Seq, c.Name,
				c.Input)
		}
	}
}

// settles reports whether what the gate says by now leaves nothing to be asked about.
func settles(d troupe.Decision, b *troupe.RequestBody) bool {
	return d.Effect == troupe.Allow && d.Step != gate.StepReadOnlyRun &&
		(d.Sandbox == troupe.LevelNone || len(b.Wants) == 0)
}

// judgedAnew is within which time a call with an open request is judged again once something was granted.
const judgedAnew = 100 * time.Millisecond

// answered: an answer counts for the call that was asked about, as it was given.
func (h *watch) answered(st *turn.State, e troupe.Event, b troupe.RequestAnswered) {
	if b.Call >= len(st.Calls) || st.Calls[b.Call].Request == nil {
		return // the fold says so
	}
	c := &st.Calls[b.Call]
	since := h.w.people.said[b.Mail].at
	if b.By == "there was no answer in time" {
		since = e.At.Add(-time.Minute) // it may have been busy
	}
	// Who takes a tree over with another mode looks at what is open beside what it hears: an answer may come first.
	if t := h.taken.At; !since.IsZero() && !since.Before(t) && since.Sub(t) < time.Second {
		since = t.Add(-time.Millisecond)
	}
	// A yes that comes while the call is judged anew says the same as what was granted, and is kept for who said it.
	if b.Effect == troupe.Allow && !since.IsZero() {
		if since = since.Add(-judgedAnew); since.Before(h.w.stalled) && since.After(h.w.stopped) {
			since = h.w.stopped.Add(-judgedAnew) // the machine did not keep up
		}
	}
	needed := func(d troupe.Decision) bool { return !settles(d, &c.Request.RequestBody) }
	if c.Request.Kind.OfAgent() {
		h.answeredInPerson(e, c.Request, b)
		return
	}
	if c.Name != "Agent" && !since.IsZero() && !h.law.some(e.Session, c, since, h.w.now, needed) {
		h.w.broken("session %s: event %d answers for %s(%s), and a grant had settled that before", e.Session, e.Seq,
			c.Name, c.Input)
	}
	switch said := h.w.people.said[b.Mail].answer; {
	case b.Mail != "" && (said == nil || said.Request != c.Request.ID || said.Effect != b.Effect):
		h.w.broken("session %s: event %d has %s say %s to call %d.%d; what was said is %+v", e.Session, e.Seq, b.By,
			b.Effect, b.Reply, b.Call, said)
	case b.Auto:
		h.answeredByModel(st, e, b)
	case b.Mail != "" || b.Effect == troupe.Deny:
	case b.By == "a rule that was granted since":
		i := slices.IndexFunc(h.w.people.asked, func(q question) bool {
			return q.ID == b.ID
		})
		if !h.law.some(e.Session, c, h.w.people.asked[i].at, h.w.now,
			func(d troupe.Decision) bool { return settles(d, &c.Request.RequestBody) }) ||
			c.Request.Kind == troupe.RequestBackground {
			h.w.broken("session %s: event %d has call %d.%d, %s(%s), allowed by a rule, and none does", e.Session,
				e.Seq, b.Reply, b.Call, c.Name, c.Input)
		}
	case !slices.ContainsFunc(st.Calls, func(x turn.Call) bool {
		return x.Request != nil &&
			slices.Contains(x.Request.With, b.Call)
	}):
		h.w.broken("session %s: event %d has %s allow call %d.%d, about which nobody said anything", e.Session, e.Seq,
			b.By, b.Reply, b.Call)
	}
}

// granted: authority changes as somebody said, and in nothing else.
func (h *watch) granted(st *turn.State, e troupe.Event, b troupe.AuthorityChanged) {
	h.law.add(e.Session, e.Seq, b.Authority)
	h.w.res.Grants++
	if b.Mail == "" {
		h.planned(st, e, b)
		return
	}
	want := st.Authority
	switch said := h.w.people.said[b.Mail]; {
	case said.rule.Text != "":
		want.Rules = append(slices.Clone(want.Rules), said.rule)
	default:
		want = want.InMode(said.mode, plans{}.File(st.Session))
	}
	if want.Mode != b.Authority.Mode || !samePlanning(want.Planning, b.Authority.Planning) ||
		!slices.Equal(want.Rules, b.Authority.Rules) {
		h.w.broken("session %s: event %d changes its authority to %+v; what was said comes to %+v", e.Session, e.Seq,
			b.Authority, want)
	}
}
