package session

import (
	"slices"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/turn"
)

// chain is the place of each session of a tree in the line of authority.
type chain struct {
	gate   *gate.Tools
	home   string // anchors ~/ in rules
	mu     sync.Mutex
	layers map[troupe.SessionID]layer
	placed int // how many were given a place
	claims claims
}

type layer struct {
	parent  troupe.SessionID
	gate    gate.Layer
	work    troupe.Workspace
	kind    string   // the type of agent
	skills  []string // files of those that it uses
	auto    string   // the model of mode auto
	version int      // how often it was placed
	order   int      // in which sessions were placed first
	place   Place    // where its tools act
	// it is a member of a team or a workflow, or below one, and stands a level higher for the cap on depth
	free bool
}

// set gives a session its place, as it is now. Those above it have theirs already.
func (l *chain) set(st *turn.State, caps troupe.Caps) {
	l.mu.Lock()
	defer l.mu.Unlock()
	path, free := st.Session.Name, st.Session.Team != "" || st.Profile.Workflow && st.Session.Depth > 0
	if path == "" {
		path = "main"
	}
	if up, ok := l.layers[st.Session.Parent]; ok {
		path = up.gate.Agent + "/" + path
		free = free || up.free
	}
	if l.layers == nil {
		l.layers = make(map[troupe.SessionID]layer)
	}
	at := l.gate.LayerOf(path, st.Profile, st.Authority,
		mayHaveAgents(caps, st.Session.Depth, free), st.Background)
	at.Session = st.Session.ID
	at = l.gate.Placed(at, &st.Profile, st.Session)
	at = l.gate.Following(at, st.Skills())
	was := l.layers[st.Session.ID]
	if was.order == 0 {
		l.placed++
		was.order = l.placed
	}
	l.layers[st.Session.ID] = layer{
		version: was.version + 1, order: was.order, place: PlaceOf(st.Session), free: free, parent: st.Session.Parent,
		gate: at,
		work: st.Session.Workspace, kind: st.Profile.Type,
		auto: st.Authority.AutoModel, skills: skillFiles(st.Skills()),
	}
}

// mayHaveAgents reports whether a session at this depth may have agents of its own.
func mayHaveAgents(caps troupe.Caps, depth int, free bool) bool {
	if free {
		depth--
	}
	return caps.MaxDepth > depth && caps.MaxDepth > 0
}

// free reports whether a session is a member of a team, a workflow that an agent began, or an agent below one.
func (l *chain) free(id troupe.SessionID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.layers[id].free
}

func (l *chain) has(id troupe.SessionID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.layers[id]
	return ok
}

func (l *chain) parent(id troupe.SessionID) troupe.SessionID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.layers[id].parent
}

func (l *chain) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.layers, l.claims = nil, claims{}
}

// chain is the line of authority down to a session, the root first. A session without a
// mode of its own works in its parent's, whatever that is by now. If any ancestor is not
// known the chain is empty, which the gate denies: half a line would be too much authority.
func (l *chain) chain(id troupe.SessionID) []gate.Layer { return l.in(id, "") }

// in is the same line as it would be with the root in another mode.
func (l *chain) in(id troupe.SessionID, mode troupe.Mode) []gate.Layer {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []gate.Layer
	var of []string // the trees that the session's folder is made from, one from the other
	work := l.layers[id].work
	for {
		at, ok := l.layers[id]
		if !ok {
			return nil
		}
		if at.work.Kind.Made() && !slices.Contains(of, at.work.Of) {
			of = append(of, at.work.Of)
		}
		out = append(out, at.gate)
		if id = at.parent; id == "" {
			break
		}
	}
	slices.Reverse(out)
	if mode != "" {
		out[0].Mode = mode
	}
	for i := 1; i < len(out); i++ {
		if out[i].Mode == "" {
			out[i].Mode = out[i-1].Mode
		}
	}
	return gate.Mirror(out, work, l.home, of...)
}

// named is the path by which rules name a place in the session's folder: they hold for the next run too, which has
// another folder.
func (l *chain) named(self troupe.Session) func(string) string {
	works := []troupe.Workspace{self.Workspace}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := self.ID; id != ""; id = l.layers[id].parent {
		if w := l.layers[id].work; w.Kind.Made() && w.Owner != works[len(works)-1].Owner {
			works = append(works, w)
		}
	}
	return func(name string) string { return gate.Named(name, works...) }
}

// version changes whenever the authority of a session does, or that of any above it.
func (l *chain) version(id troupe.SessionID) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ; id != ""; id = l.layers[id].parent {
		n += l.layers[id].version
	}
	return n
}

// path is a session's name with those of its ancestors: "main/Auth Explorer".
func (l *chain) path(id troupe.SessionID) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.layers[id].gate.Agent
}

// autoModel is the model of mode auto for a session: that of its root.
func (l *chain) autoModel(id troupe.SessionID) (model string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ; id != ""; id = l.layers[id].parent {
		model = l.layers[id].auto
	}
	return model
}

// skills are the files of the skills that a session uses, and of those that it or one above it does.
func (l *chain) skills(id troupe.SessionID) (own, all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own = l.layers[id].skills
	for ; id != ""; id = l.layers[id].parent {
		all = append(all, l.layers[id].skills...)
	}
	return own, all
}

// kinds are the types of the agents from the root down to a session.
func (l *chain) kinds(id troupe.SessionID) (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ; id != ""; id = l.layers[id].parent {
		out = append(out, l.layers[id].kind)
	}
	slices.Reverse(out)
	return out
}
