package sim

import (
	"fmt"
	"strconv"

	"github.com/troupe-dev/troupe"
)

// commit is what a repository can hold: what was in a folder, on the commit that the folder began with. Content is how
// many effects it has; they only become more, so the later of two has all that the earlier one has.
type commit struct {
	of      troupe.SessionID
	content int
	parent  string // "" of a base
}

// repository has what it holds, and what it keeps of that: the rest may be collected at any moment, but for what is
// pinned because its ref is on the way.
type repository struct {
	objects map[string]commit
	refs    map[string]string
	pinned  map[string]bool
	borrows *repository // what it does not hold itself it finds there
}

func newRepository(borrows *repository) *repository {
	return &repository{objects: map[string]commit{}, refs: map[string]string{}, pinned: map[string]bool{},
		borrows: borrows}
}

func (r *repository) find(id string) (commit, bool) {
	c, ok := r.objects[id]
	if !ok && r.borrows != nil {
		return r.borrows.find(id)
	}
	return c, ok
}

// whole reports whether all is there that a commit leads to.
func (r *repository) whole(id string) bool {
	for id != "" {
		c, ok := r.find(id)
		if !ok {
			return false
		}
		id = c.parent
	}
	return true
}

// collect is git's gc --prune=now.
func (r *repository) collect() {
	reached := map[string]bool{}
	mark := func(id string) {
		for id != "" && !reached[id] {
			reached[id] = true
			id = r.objects[id].parent
		}
	}
	for _, id := range r.refs {
		mark(id)
	}
	for id := range r.pinned {
		mark(id)
	}
	for id := range r.objects {
		if !reached[id] {
			delete(r.objects, id)
		}
	}
}

// forward moves a ref to a content that has all that the one before it had.
func (r *repository) forward(ref, id string) {
	was, ok := r.find(r.refs[ref])
	is, _ := r.find(id)
	if !ok || was.content <= is.content {
		r.refs[ref] = id
	}
}

// ground is a session's own folder and the repository of the runtime that keeps what is in it. All outlives processes.
type ground struct {
	id      troupe.SessionID
	there   bool
	content int // how many effects the folder has seen
	keeper  *repository
	toldOf  string // the base that the log names
	told    int    // the content that it names last
	logged  int    // the most that it ever named
	ended   int    // the most that it called handed over
}

func (g *ground) baseRef() string { return "refs/troupe/" + string(g.id) + "/base" }
func (g *ground) tipRef() string  { return "refs/troupe/" + string(g.id) + "/tip" }

const savedRef = "refs/kept/saved"

// take makes a commit of what is in the folder.
func (g *ground) take(content int, base string) (id string) {
	if content == 0 {
		return base
	}
	id = string(g.id) + "." + strconv.Itoa(content)
	g.keeper.objects[id] = commit{g.id, content, base}
	return id
}

// kept is how many effects refs lead to, in the runtime's repository or the caller's.
func (w *world) kept(g *ground) (content int) {
	for _, at := range []struct {
		r   *repository
		ref string
	}{{g.keeper, savedRef}, {w.caller, g.tipRef()}} {
		if id := at.r.refs[at.ref]; id != "" && at.r.whole(id) {
			c, _ := at.r.find(id)
			content = max(content, c.content)
		}
	}
	return content
}

// holds says what must be so of a folder's content whatever was done last: it is asked at each point at which a process
// may die.
func (w *world) holds(g *ground) {
	for _, at := range []struct {
		r   *repository
		ref string
	}{{g.keeper, savedRef}, {w.caller, g.tipRef()}, {w.caller, g.baseRef()}} {
		if id := at.r.refs[at.ref]; id != "" && !at.r.whole(id) {
			w.broken("%s of %s leads to %s, and not all of that is there", at.ref, g.id, id)
		}
	}
	kept := w.kept(g)
	switch base := w.caller.refs[g.baseRef()]; {
	case kept < g.logged:
		w.broken("%s logged a content of %d effects, and refs lead to %d", g.id, g.logged, kept)
	case !g.there && g.content > kept:
		w.broken("the folder of %s is gone, and of its %d effects only %d are kept", g.id, g.content, kept)
	case g.toldOf != "" && base != g.toldOf:
		w.broken("the base of %s moved from %s to %q", g.id, g.toldOf, base)
	}
	if g.ended > 0 {
		if c, _ := w.caller.find(w.caller.refs[g.tipRef()]); c.content < g.ended {
			w.broken("%s said that %d effects are in the caller's repository, and %d are", g.id, g.ended, c.content)
		}
	}
}

// collect has the caller's repository collected, as any git there may do at any time.
func (w *world) collect() {
	w.caller.collect()
	for _, g := range w.grounds {
		w.holds(g)
	}
}

// errLost: what was to be kept is not there any more.
var errLost = fmt.Errorf("an object that was handed over is gone")
