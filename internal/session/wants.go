package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

// mostListed is how many wishes one question lists, a line each: what a person can read. A yes is for those,
// and the rest is asked about next.
const mostListed = 20

// question is what a person is asked about a command that ran confined. All that a yes gives is in it.
func (cs *calls) question(c *turn.Call, d troupe.Decision, wants []troupe.Attempt, more bool) troupe.RequestBody {
	cwd, q := cs.a.st.Session.Dir(), cs.places()
	wants, ordinary := gate.Foremost(&q, cwd, wants, mostListed)
	asking := keepsAsking(d, wants, ordinary)
	beyond := max(len(wants)-mostListed, 0)
	// Where all of the rest lies in the folder, a yes to the folder spares the next question.
	level := opens(c, d, wants, more || beyond > 0 && ordinary >= beyond)
	wants = wants[:len(wants)-beyond]
	why := "it " + ranAs(d.Sandbox) + " and wanted "
	switch {
	case len(wants) <= troupe.MostTold:
		why += "to " + Wanted(wants)
	case beyond == 0:
		why += fmt.Sprintf("the %d things that are listed", len(wants))
	default:
		why += fmt.Sprintf("the %d things that are listed, and %d more", len(wants), beyond)
	}
	why += "; " + gives(d, level, cwd, wants, len(wants)+beyond > ordinary)
	if beyond > 0 {
		why += "; what else it wants then is asked about next"
	}
	if why += asking; mayChange(d.Sandbox) {
		why += "; what it changed so far stays, and it begins anew"
	}
	if _, lacks := cs.a.h.d.Guard.Machine(); len(lacks) > 0 {
		why += "; the sandbox here does without " + strings.Join(lacks, ", ")
	}
	return troupe.RequestBody{
		Kind: troupe.RequestPermission, Opens: level, Wants: wants,
		Decision: troupe.Decision{Effect: troupe.Ask, Step: d.Step, Why: why, Grant: d.Grant, Sandbox: d.Sandbox,
			Beyond: d.Beyond},
	}
}

// places is what tells which places of the session's folder are protected or hidden.
func (cs *calls) places() gate.Query {
	q := QueryIn(cs.a.h.d.Guard, cs.a.st.Session, nil, troupe.Access{})
	q.Home = cs.a.h.d.Home
	return q
}

// opens is the level in which a yes to what a command wanted runs it again. A first yes is to exactly
// that. If it wants yet more then, what it does cannot be told beforehand, and if there was more than
// could be kept, it was not told: then the question is whether it gets the workspace. So it is with a lock
// of git's: it comes before all that git is going to write.
func opens(c *turn.Call, d troupe.Decision, wants []troupe.Attempt, more bool) troupe.Level {
	told := !more && !slices.ContainsFunc(wants, func(w troupe.Attempt) bool {
		return w.Op == troupe.OpUnseen || strings.HasSuffix(w.Path, ".lock") && strings.Contains(w.Path, "/.git/")
	})
	if gate.IsReadOnlyRun(d) && c.Rounds == 0 && told {
		return troupe.LevelGranted
	}
	return troupe.LevelWorkspace
}

// gives says what a yes gives. elsewhere: not all that is wanted lies in the folder and is open there.
func gives(d troupe.Decision, level troupe.Level, folder string, wants []troupe.Attempt, elsewhere bool) string {
	switch {
	case level == troupe.LevelGranted:
		return "yes runs it again with exactly that"
	case d.Sandbox == troupe.LevelWorkspace:
		return "yes runs it again with that as well" // it had what its rule gives
	}
	return yesToFolder(folder, elsewhere, slices.ContainsFunc(wants, func(w troupe.Attempt) bool {
		return w.Network() || w.Op == troupe.OpUnseen
	}))
}

// yesToFolder says what a yes gives that is for the workspace; with that also for what is wanted elsewhere, and with
// hosts for the network.
func yesToFolder(folder string, that, hosts bool) string {
	text := "yes lets it "
	if that {
		text += "do that, and "
	}
	text += "write anywhere in " + folder + " but at protected places"
	if hosts {
		text += ", and reach any host that the settings allow"
	}
	return text
}

// keepsAsking says what no rule for the command gives, where there is one to answer with: it opens the folder.
func keepsAsking(d troupe.Decision, wants []troupe.Attempt, ordinary int) string {
	changes := 0
	for _, w := range wants {
		if w.Changes() {
			changes++
		}
	}
	if d.Grant == "" || changes <= ordinary {
		return ""
	}
	return "; a rule opens the folder and the network only: what it writes elsewhere is asked about each time"
}

// wants lists what the command attempted beyond what was granted. Blocked: it had been
// granted some of it, and the kernel still did not let it. More: there was more than is listed.
func (cs *calls) wants(i int, out tool.Output, d troupe.Decision) (wants []troupe.Attempt, blocked, more bool) {
	granted, level := cs.a.st.Calls[i].Granted, d.Sandbox
	if d.Auto {
		granted = slices.Concat(granted, cs.a.st.Calls[i].Lent)
	}
	for _, cmd := range out.Evidence.Commands {
		if cmd.Watched == nil {
			continue
		}
		if unseen := (troupe.Attempt{Op: troupe.OpUnseen}); cmd.Watched.Blind && cmd.ExitCode != 0 &&
			len(granted) == 0 {
			wants = append(wants, unseen)
		}
		for _, w := range cmd.Watched.Attempts {
			w = gate.Whole(w)
			if slices.ContainsFunc(granted, func(g troupe.Attempt) bool {
				return g.Covers(w) || w.Network() &&
					(g.AnyHost() || g.Network() && level != troupe.LevelGranted)
			}) {
				blocked = true
				continue
			}
			wants = append(wants, w)
		}
		more = more || cmd.Watched.More > 0
	}
	return wants, blocked, more
}

// withoutDenied takes out what rules and settings keep from being written, for no answer opens that, and says so of
// the first.
func (cs *calls) withoutDenied(i int, wants []troupe.Attempt, out *tool.Output) []troupe.Attempt {
	c := cs.candidate(i)
	wants = withoutSetID(wants, cs.a.st.Calls[i].Name, out)
	keeps := gate.Kept(c.tree.chain.chain(c.self.ID), c.roots(), c.h.d.Home)
	closed := gate.Closed(c.pad, c.h.d.Guard.Protected(PlaceOf(c.self)).Closed)
	outside := gate.KeptTo(c.tree.chain.chain(c.self.ID), c.pad)
	if keeps == nil && closed == nil && outside == nil {
		return wants
	}
	why := ""
	wants = slices.DeleteFunc(slices.Clone(wants), func(w troupe.Attempt) bool {
		if !w.Changes() {
			return false
		}
		rule := ""
		if keeps != nil {
			rule = keeps(w.Path)
		}
		if rule == "" && closed != nil {
			rule = closed(w.Path)
		}
		if rule == "" && outside != nil {
			rule = outside(w.Path)
		}
		if rule != "" && why == "" {
			why = w.Path + ": " + rule
		}
		return rule != ""
	})
	if why != "" {
		out.Blocks = append(out.Blocks, troupe.Text("(Permission denied for "+why+".)"))
		out.Evidence.Denied = append(out.Evidence.Denied, troupe.Denial{Tool: cs.a.st.Calls[i].Name, Why: why})
	}
	return wants
}

// withoutSetID takes out what no answer allows: files that run as their owner for every user of the machine.
func withoutSetID(wants []troupe.Attempt, name string, out *tool.Output) []troupe.Attempt {
	var left, refused []troupe.Attempt
	for _, w := range wants {
		if w.Leave() {
			left = append(left, w)
		} else {
			refused = append(refused, w)
		}
	}
	if len(refused) == 0 {
		return wants
	}
	why := "it wanted to " + Wanted(refused) + ". Such a program runs as its owner for every user of this machine, " +
		"so no " +
		"command in the sandbox makes one, and no answer allows it: do it yourself, or run the command without the " +
		"sandbox"
	out.Blocks = append(out.Blocks, troupe.Text("(Not permitted: "+why+".)"))
	out.Evidence.Denied = append(out.Evidence.Denied, troupe.Denial{Tool: name, Why: why})
	return left
}

// Wanted says in words what was attempted: "create a, b; reach 10.0.0.1:443".
func Wanted(list []troupe.Attempt) string {
	const most = 5
	verbs := []troupe.AttemptOp{troupe.OpWrite, troupe.OpCreate, troupe.OpRemove, troupe.OpConnect, troupe.OpUnseen,
		troupe.OpSetID}
	var parts, folders, last []string // last of all what has no place
	var rest []troupe.Attempt
	for _, w := range list {
		switch text := w.String(); {
		case w.Op != troupe.OpConnect && text != strings.TrimSpace(w.Op.Verb()+" "+w.Path):
			if !slices.Contains(folders, text) { // of listening on any port
				folders = append(folders, text)
			}
		case !w.Network() || text == w.Op.Verb()+" "+w.Path:
			rest = append(rest, w)
		case !slices.Contains(last, text):
			last = append(last, text)
		}
	}
	for _, op := range verbs {
		var names []string
		more := 0
		for _, w := range rest {
			if w.Op != op {
				continue
			}
			if len(names) == most {
				more++
				continue
			}
			names = append(names, w.Path)
		}
		if len(names) == 0 {
			continue
		}
		text := strings.TrimSpace(op.Verb() + " " + strings.Join(names, ", "))
		if more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		parts = append(parts, text)
	}
	if more := len(folders) - most; more > 0 {
		folders = append(folders[:most], fmt.Sprintf("and %d more of the kind", more))
	}
	return strings.Join(slices.Concat(parts, folders, last), "; ")
}

// maskOutput takes secrets out of what a tool did, before any of it becomes words or an event: what it prints, and
// the paths of what a command attempted.
func (h *Hub) maskOutput(out tool.Output) tool.Output {
	out.Blocks = slices.Clone(out.Blocks)
	for i := range out.Blocks {
		out.Blocks[i].Text = h.d.Mask(out.Blocks[i].Text)
	}
	if r := out.Reported; r != nil {
		masked := troupe.Reported{Wrong: h.d.Mask(r.Wrong), Object: json.RawMessage(h.d.Mask(string(r.Object)))}
		out.Reported = &masked
	}
	out.Evidence.Commands = slices.Clone(out.Evidence.Commands)
	for i := range out.Evidence.Commands {
		c := &out.Evidence.Commands[i]
		c.Command = h.d.Mask(c.Command)
		if c.Watched == nil {
			continue
		}
		w := *c.Watched
		w.Attempts, w.Restored = slices.Clone(w.Attempts), slices.Clone(w.Restored)
		for n := range w.Attempts {
			w.Attempts[n].Path, w.Attempts[n].To = h.d.Mask(w.Attempts[n].Path), h.d.Mask(w.Attempts[n].To)
		}
		for n := range w.Restored {
			w.Restored[n] = h.d.Mask(w.Restored[n])
		}
		w.Changed = slices.Clone(w.Changed)
		for n := range w.Changed {
			w.Changed[n].Path = h.d.Mask(w.Changed[n].Path)
		}
		c.Watched = &w
	}
	return out
}

// maskRequest takes them out of a question. A rule that held one would not be the rule that it shows.
func (h *Hub) maskRequest(b troupe.RequestBody) troupe.RequestBody {
	action := h.d.Mask(b.Action)
	if b.Decision = h.maskDecision(b.Decision); action != b.Action {
		b.Decision.Why += "; a part of it is taken for a secret and not shown (‹masked …›), so allow it only if you " +
			"know what stands there"
	}
	b.Action, b.Output = action, h.d.Mask(b.Output)
	if b.Input != nil {
		b.Input = maskedJSON(h.d.Mask, b.Input)
	}
	b.Questions = h.maskQuestions(b.Questions)
	return b
}

func (h *Hub) maskDecision(d troupe.Decision) troupe.Decision {
	d.Why = h.d.Mask(d.Why)
	if h.d.Mask(d.Grant) != d.Grant {
		d.Grant = ""
	}
	if h.d.Mask(d.Wider) != d.Wider {
		d.Wider = ""
	}
	d.Opens = slices.Clone(d.Opens)
	for i := range d.Opens {
		d.Opens[i] = h.d.Mask(d.Opens[i])
	}
	return d
}
