// Package plugins knows which plugins there are on this machine, which of them the user enabled, and what of each
// counts.
//
// A plugin that the user enabled here counts whole, as it was then: with something that it runs, the hash of all that
// it holds is kept. When the folder changes, its agents, skills and commands go on as they are now, for the gate and
// the sandbox bound what they do. What it runs does not: its hooks stay due as they were enabled and fail, so that
// calls which a guard looked at are refused, until the user enables the plugin again. What something else enabled, such
// as another program's settings, counts without what it runs.
package plugins

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/front"
	"github.com/troupe-dev/troupe/internal/hook"
	"github.com/troupe-dev/troupe/internal/plugin"
)

// State is what of a plugin counts.
type State string

// States of plugins.
const (
	On    State = "on"    // all of it
	Texts State = "texts" // its agents, skills and commands; nothing of it runs by itself
	Off   State = "off"
)

// Found is a plugin that there is.
type Found struct {
	plugin.Plugin
	ID   string // its name; of a marketplace's NAME@MARKETPLACE
	From string // how it came here, for people
	// Usable: it can be read. Findings say what is wrong with it.
	Usable   bool
	Findings []front.Finding
	// Elsewhere says how to get it: it is listed, and not here.
	Elsewhere string
	State     State
	Why       string // it is not On
	// Asked: a project's settings enable it, so it counts only where the folder is trusted.
	Asked bool
	// Added and Gone are what it runs by now, and what it ran when it was enabled.
	Added, Gone []string

	market  string // the marketplace's folder
	project bool   // see candidate
	guards  []hook.Hook
	Changed bool // since it was enabled
}

// Texts are whether its agents, skills and commands count in a folder that is trusted, or is not.
func (f *Found) Texts(trusted bool) bool {
	return f.State != Off && f.Usable && (trusted || !f.Asked)
}

// Home is the plugins of one home. It is safe for concurrent use.
type Home struct {
	dirs config.Dirs

	mu     sync.Mutex
	hashes map[string]stamped // by folder
}

type stamped struct{ stamp, hash string }

// In is the plugins of a home.
func In(dirs config.Dirs) *Home { return &Home{dirs: dirs, hashes: map[string]stamped{}} }

// hash is the plugin's hash. What looks as it did when this process looked at it before is not read again.
func (h *Home) hash(p *plugin.Plugin) (string, error) {
	stamp, err := p.Stamp()
	if err != nil {
		return "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.hashes[p.Root]; s.stamp == stamp {
		return s.hash, nil
	}
	hash, err := p.Hash()
	if err == nil {
		h.hashes[p.Root] = stamped{stamp, hash}
	}
	return hash, err
}

// Active are the plugins of which something counts in a folder, by name. Problems are for people. The error means
// that what the user enabled cannot be known.
func (h *Home) Active(settings []config.PluginSource, cwd string) (out []Found, problems []string, err error) {
	kept, err := h.records()
	if err != nil {
		return nil, nil, err
	}
	wish := wishesOf(settings)
	if len(kept.Plugins) == 0 && len(wish.on) == 0 {
		return nil, kept.lost, nil
	}
	var here []candidate
	if len(wish.on) > 0 {
		here, _ = h.candidates(kept, cwd, settings)
	}
	for _, c := range withEnabled(here, kept) {
		if !kept.Plugins[c.id].Enabled && (!wish.on[c.id] || c.elsewhere != "" || c.project) || wish.never[c.id] {
			continue
		}
		f := h.look(c, kept, wish)
		out = append(out, f)
		if f.Why != "" && f.State != On && (f.Changed || !f.Usable) {
			problems = append(problems, fmt.Sprintf("plugin %s: %s", f.ID, f.Why))
		}
	}
	slices.SortFunc(out, byName)
	return unlike(out, &problems), slices.Concat(kept.lost, problems, absent(wish, here, kept)), nil
}

func byName(a, b Found) int {
	return cmp.Or(strings.Compare(front.Fold(a.Name), front.Fold(b.Name)), cmp.Compare(b.rank(), a.rank()),
		strings.Compare(a.ID, b.ID))
}

func (f *Found) rank() int { return slices.Index([]State{Off, Texts, On}, f.State) }

// unlike leaves of several plugins of one name the first.
func unlike(sorted []Found, problems *[]string) (out []Found) {
	for _, f := range sorted {
		if n := len(out); n > 0 && front.Fold(out[n-1].Name) == front.Fold(f.Name) {
			*problems = append(*problems, fmt.Sprintf("plugin %s: it is not used, for %s has the same name; disable "+
				"one "+
				"of them", f.ID, out[n-1].ID))
			continue
		}
		out = append(out, f)
	}
	return out
}

// absent tells which plugins settings enable that are not here, or here by the project alone.
func absent(wish wishes, here []candidate, kept records) []string {
	var names, projects, out []string
	for id := range wish.on {
		i := slices.IndexFunc(here, func(c candidate) bool { return c.id == id && c.elsewhere == "" })
		switch _, decided := kept.Plugins[id]; {
		case decided || wish.never[id]:
		case i < 0:
			names = append(names, id)
		case here[i].project:
			projects = append(projects, id)
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		out = append(out, "settings enable plugins that are not here: "+strings.Join(names, ", ")+
			" (troupe plugins list says how to get them)")
	}
	if len(projects) > 0 {
		slices.Sort(projects)
		out = append(out, "settings enable plugins that only the project brings, so they do not count: "+
			strings.Join(projects, ", ")+" (`troupe plugins show NAME` says what one is, `troupe plugins enable NAME` "+
			"has it count as it is now)")
	}
	return out
}

// wishes are what settings say about plugins, by ID.
type wishes struct {
	on      map[string]bool // some file enables it
	project map[string]bool // of these, those that only a project's files enable
	off     map[string]bool // the user's settings switch it off
	never   map[string]bool // an administrator forbids it
}

func wishesOf(settings []config.PluginSource) wishes {
	w := wishes{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, s := range settings { // the weakest first
		for id, on := range s.Enabled {
			switch own := s.Scope == config.ScopeUser || s.Scope == config.ScopeManaged; {
			case own && on:
				w.on[id], w.off[id] = true, false
			case s.Scope == config.ScopeManaged:
				w.never[id] = true
			case own:
				delete(w.on, id)
				w.off[id] = true
			case on && !w.on[id] && !w.off[id]:
				w.on[id], w.project[id] = true, true
			case !on && w.project[id]: // what a project enables it can take back; what the user enabled it cannot
				delete(w.on, id)
				delete(w.project, id)
			}
		}
	}
	return w
}

// look reads a plugin, and settles what of it counts.
func (h *Home) look(c candidate, kept records, wish wishes) Found {
	f := Found{ID: c.id, From: c.from, Elsewhere: c.elsewhere, State: Off, market: c.market, project: c.project}
	if c.elsewhere != "" {
		f.Name, f.Why = nameOf(c.id), c.elsewhere
		return f
	}
	index := c.index
	if index == nil && c.market != "" {
		index = indexOf(c.market, nameOf(c.id))
	}
	f.Plugin, f.Findings, f.Usable = plugin.Read(c.dir, index)
	r, decided := kept.Plugins[c.id]
	switch {
	case wish.never[c.id]:
		f.Why = "an administrator's settings forbid it"
	case decided && !r.Enabled:
		f.Why = "you disabled it"
	case decided:
		h.enabled(&f, r)
	case !wish.on[c.id]:
		f.Why = "it is not enabled"
	case c.project:
		f.Why = "only the project brings it, so settings alone do not enable it: `troupe plugins enable " + c.id +
			"` has it count as it is now"
	default:
		f.Asked = wish.project[c.id]
		h.wished(&f)
	}
	return f
}

// enabled settles what counts of a plugin that the user enabled here.
func (h *Home) enabled(f *Found, r record) {
	f.State, f.guards = On, r.Hooks
	hash := ""
	if f.Usable && (f.Runs() || r.Hash != "") {
		var err error
		if hash, err = h.hash(&f.Plugin); err != nil {
			f.Usable = false
			f.Findings = append(f.Findings, front.Finding{Path: f.Root, Text: err.Error(), Unusable: true})
		}
	}
	switch {
	case !f.Usable:
		f.State, f.Why, f.Changed = Texts, "it cannot be used: "+f.unusable(), true
	case hash != r.Hash:
		what := "what it runs does not count"
		f.Changed, f.State = true, Texts
		if r.Project {
			what, f.State = "nothing of it counts", Off
		}
		f.Why = "it has changed since you enabled it, so " + what + ": `troupe plugins show " + f.ID +
			"` says what that is, `troupe plugins enable " + f.ID + "` takes it as it is now"
		lines := f.Lines()
		f.Added, f.Gone = without(lines, r.Lines), without(r.Lines, lines)
	}
}

// wished settles what counts of a plugin that only settings enable.
func (h *Home) wished(f *Found) {
	switch {
	case !f.Usable:
		f.Why = "it cannot be used: " + f.unusable()
	case f.Runs():
		f.State = Texts
		f.Why = "only settings enable it, so what it runs does not count: `troupe plugins enable " + f.ID +
			"` changes that"
	default:
		f.State = On
	}
}

func (f *Found) unusable() string {
	for _, p := range f.Findings {
		if p.Unusable {
			return p.String()
		}
	}
	return "it cannot be read"
}

func without(lines, others []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(others, line) })
}

// nameOf is the name in an ID.
func nameOf(id string) string {
	name, _, _ := strings.Cut(id, "@")
	return name
}

// indexOf is what the marketplace in a folder says of a plugin; nil: nothing.
func indexOf(market, name string) []byte {
	m, _, err := plugin.ReadMarket(market)
	if err != nil {
		return nil
	}
	e, _ := m.Entry(name)
	return e.Raw
}

// folder is where plugins lie that need not be added.
func folder(d config.Dirs) string { return filepath.Join(d.Config, "plugins") }
