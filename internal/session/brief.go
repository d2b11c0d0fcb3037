package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/gate"
)

// briefing is what a brief depends on besides the folder.
type briefing struct {
	id      troupe.SessionID
	replies int // that it has had; 0 at its birth
	profile troupe.Profile
	model   string       // as it is now
	line    []gate.Layer // down to the session itself
	asks    bool         // somebody may answer requests
	parents bool         // it may have agents of its own
	pad     string       // the folder that it is told to share with others of its tree; "" if it is not told of any
}

// brief is what a session is told of where it is.
func (h *Hub) brief(at Surroundings, b briefing, roles Roles) *troupe.Brief {
	out := &troupe.Brief{Tools: byName(b.profile, h.roomForAgents(b.model)), Place: at.Place, Holds: h.holds(b),
		Skills: h.skillsFor(at, b)}
	if !b.profile.OmitInstructions {
		out.Instructions = h.told(at.Instructions, b.line, at.Folder)
	}
	out.Agents = h.agentsFor(b, roles, func(string) bool { return true })
	out.Memory = remembered(h, at, b)
	return out
}

// agentsFor lists the types of agents that a session may start, those of them that are asked for; "" if there are none.
func (h *Hub) agentsFor(b briefing, roles Roles, asked func(kind string) bool) (list string) {
	for _, name := range b.profile.Tools {
		if t, ok := h.d.Tools.Find(name); ok && t.Schedule == troupe.Birth && b.parents && roles != nil {
			may := func(kind string) bool {
				access := troupe.Access{Class: t.Class, Agent: kind}
				return asked(kind) &&
					h.gate.Decide(gate.Query{Tool: name, Access: access, Chain: b.line}).Effect != troupe.Deny
			}
			if list = roles.Describe(b.profile.Vocabulary, may, h.roomForAgents(b.model)); list != "" &&
				b.profile.Coordinates {
				list += roles.Workers(may)
			}
		}
	}
	return list
}

// roomForAgents is how many bytes the list of agents may take of a model's window: one in fifty.
func (h *Hub) roomForAgents(model string) int {
	const usual, bytesPerToken = 200_000, 4
	window := h.d.Models.Window(model)
	if window <= 0 {
		window = usual
	}
	return int(window/50) * bytesPerToken
}

// holds says in a few sentences what holds for a session: only what it can come upon with the tools it
// has, and nothing that is so by itself.
func (h *Hub) holds(b briefing) string {
	var out strings.Builder
	fmt.Fprintf(&out, "- model: %s\n", b.model)
	edits, runs := false, false
	for _, name := range b.profile.Tools {
		t, _ := h.d.Tools.Find(name) // what only this tree has is no command
		edits, runs = edits || t.Class == troupe.ClassEdit, runs || t.Class == troupe.ClassExec
	}
	name, mode, bound := gate.Standing(b.line)
	refused := "is refused"
	if b.asks && mode.OnAsk == troupe.Ask {
		refused = "waits for a person's yes"
	}
	edit := refused
	if mode.Judged {
		edit = "is first judged by another model, which may allow it, and else " + refused
	}
	if file := gate.PlanOf(b.line); file != "" {
		out.WriteString(ofPlanning(b, file, func(name string) bool { return slices.Contains(b.profile.Tools, name) }))
	} else if edits {
		fmt.Fprintf(&out, "- permissions: mode %s. %s\n", name, ofEdits(mode, edit))
	}
	if text := gate.WrittenBy(b.line); text != "" {
		fmt.Fprintf(&out, "- files: %s\n", text)
	}
	if text := gate.Narrowed(b.line); text != "" {
		fmt.Fprintf(&out, "- tools: %s\n", text)
	}
	levels, _ := h.d.Guard.Machine()
	if text := ofCommands(mode, bound, slices.Contains(levels, troupe.LevelReadOnly), refused); runs && text != "" {
		fmt.Fprintf(&out, "- commands: %s\n", text)
	}
	if runs && b.pad != "" {
		out.WriteString("- scratchpad: $" + troupe.ScratchpadVariable)
		if edits { // tools need the name itself
			out.WriteString(" (" + b.pad + ")")
		}
		out.WriteString(", free to all agents of this run\n")
	} else if b.pad != "" && (edits || b.profile.Coordinates) {
		fmt.Fprintf(&out, "- scratchpad: %s, free to all agents of this run\n", b.pad)
	}
	return out.String()
}

// ofEdits says what becomes of a change of a file.
func ofEdits(mode gate.Mode, refused string) string {
	switch {
	case mode.Ceiling < troupe.ClassEdit:
		return "Nothing is to be changed: a call that would change something is refused, whatever rules say. Find " +
			"out what is to be done, and let your answer say it."
	case mode.Self >= troupe.ClassExec:
		return "Nothing is asked about; only what a rule denies is refused."
	case mode.Self >= troupe.ClassEdit:
		return "Files in the folder may be changed; a change elsewhere " + refused + " unless a rule allows it."
	default:
		return "A change of a file " + refused + " unless a rule allows it."
	}
}

// ofCommands says what becomes of a command; "" where nothing confines it.
func ofCommands(mode gate.Mode, bound troupe.Level, confined bool, refused string) string {
	const (
		own  = "$TMPDIR, a folder of your own, and in build caches"
		keys = " Files and variables that hold keys are hidden from it."
	)
	onlyReads := mode.Ceiling < troupe.ClassExec || bound == troupe.LevelReadOnly
	switch {
	case !confined && onlyReads:
		return "there is no sandbox here. One that is known to only read runs; any other is refused."
	case mode.Self >= troupe.ClassExec && bound == troupe.LevelNone:
		return ""
	case !confined:
		return "there is no sandbox here. One that is known to only read runs; any other " + refused +
			" unless a rule allows it."
	case onlyReads:
		return "the system keeps each one from changing anything: it writes only in " + own + ", and has no network." +
			keys
	case mode.Self >= troupe.ClassExec:
		return "each one writes only in the folder, in " + own + "." + keys
	}
	beyond := "is refused, and the result says which rule would allow it."
	if refused != "is refused" {
		beyond = "is put to a person, and it runs again with what they allow."
	}
	if mode.Judged {
		beyond = "is first judged by another model, as far as it stays in the folder; what that does not allow " +
			beyond
	}
	return "one that no rule allows runs read-only first: it writes only in " + own +
		", and has no network. What it attempts beyond that " + beyond + keys
}

// rootBrief is the brief of a root that is about to be born.
func (h *Hub) rootBrief(at Surroundings, born fleet.Birth, roles Roles) *troupe.Brief {
	b := briefing{id: born.Root, profile: born.Profile, model: born.Profile.Model,
		parents: born.Caps != nil && born.Caps.MaxDepth > 0,
		asks:    born.Settings != nil && born.Settings.AskFor > 0}
	b.line = []gate.Layer{h.gate.LayerOf("main", born.Profile, born.Authority, b.parents, false)}
	b.line[0] = h.gate.Placed(b.line[0], &born.Profile, troupe.Session{Cwd: born.Cwd, Workspace: born.Workspace})
	b.pad = padTold(h, born.Root, 0, &b.profile)
	out := h.brief(at, b, roles)
	out.Workspace = whereItWorks(born.Workspace)
	return out
}

// briefing is what holds for a session as it is now.
func (a *actor) briefing() briefing {
	return briefing{
		id: a.id, replies: a.st.Reply(), profile: a.st.Profile, model: a.st.Session.Model,
		line:    a.tree.chain.chain(a.id),
		asks:    a.tree.settings().AskFor > 0,
		parents: mayHaveAgents(a.tree.limits(), a.st.Session.Depth, a.tree.chain.free(a.id)),
		pad:     padTold(a.h, a.root, a.st.Session.Depth, &a.st.Profile),
	}
}

// childBrief is the brief of a child that is about to be born.
func (bs *births) childBrief(at Surroundings, born fleet.Birth, background bool) *troupe.Brief {
	b := bs.a.briefing()
	depth := bs.a.st.Session.Depth + 1
	b.id, b.replies = troupe.ChildID(bs.a.id, born.Coord), 0
	b.profile, b.model, b.parents = born.Profile, born.Profile.Model,
		mayHaveAgents(bs.a.tree.limits(), depth, born.Free > 0)
	b.pad = padTold(bs.a.h, bs.a.root, depth, &b.profile)
	own := bs.a.h.gate.LayerOf("", born.Profile, born.Authority, b.parents, background)
	own = bs.a.h.gate.Placed(own, &born.Profile, troupe.Session{Cwd: born.Cwd, Workspace: born.Workspace})
	if own.Mode == "" && len(b.line) > 0 {
		own.Mode = b.line[len(b.line)-1].Mode
	}
	b.line = append(b.line, own)
	out := bs.a.h.brief(at, b, bs.a.tree.kinds())
	out.Workspace = whereItWorks(born.Workspace)
	return out
}

// tellChanges tells the session before its next reply what holds for it by now, if it was told something
// else. One whose log does not say what it was told is told nothing.
func (ex *exchange) tellChanges() error {
	told := ex.a.st.Told()
	if told == "" {
		return nil
	}
	now := ex.a.h.holds(ex.a.briefing())
	if now == told {
		return nil
	}
	return ex.a.stage(troupe.MailDelivered{Mail: []troupe.Mail{{
		ID: troupe.MailID(fmt.Sprintf("holds:%s:%d", ex.a.id, ex.a.st.Session.Seq)), Root: ex.a.root, To: ex.a.id,
		From: ex.a.id, Kind: troupe.MailNotice, SentAt: ex.a.h.d.Now(), Brief: &troupe.Brief{Holds: now},
	}}})
}
