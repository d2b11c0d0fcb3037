package plugins

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/front"
	"github.com/troupe-dev/troupe/internal/plugin"
)

// candidate is a plugin that lies somewhere.
type candidate struct {
	id, dir, from string
	market        string // the folder of the marketplace that has it
	index         json.RawMessage
	elsewhere     string
	// project: only a project says that it is there, or it lies in the project that enables it. What it holds comes
	// and changes with the project, so it counts only as the user enabled it here, by its content.
	project bool
}

type finder struct {
	list     []candidate
	problems []string
	markets  map[string]bool // by folder
	byName   map[string]string
	project  bool // what is taken up now is named by a project
}

// candidates are all plugins that there are, and those that marketplaces here list.
func (h *Home) candidates(kept records, cwd string, settings []config.PluginSource) ([]candidate, []string) {
	f := finder{markets: map[string]bool{}, byName: map[string]string{}}
	for _, dir := range kept.Folders {
		f.folder(dir, "added")
	}
	entries, _ := os.ReadDir(folder(h.dirs)) // most have none
	for _, e := range entries {
		if dir := filepath.Join(folder(h.dirs), e.Name()); plugin.Is(dir) || plugin.IsMarket(dir) {
			f.folder(dir, "in "+folder(h.dirs))
		}
	}
	if h.dirs.Home != "" {
		f.claude(filepath.Join(h.dirs.Home, ".claude", "plugins"), cwd)
	}
	for _, f.project = range []bool{false, true} { // a project takes no name of what the user has
		for _, s := range settings {
			if (s.Folder != "") == f.project {
				f.known(s)
			}
		}
	}
	wish := wishesOf(settings)
	for i := range f.list {
		c := &f.list[i]
		real, err := filepath.EvalSymlinks(c.dir)
		c.project = c.project || err == nil && wish.project[c.id] &&
			slices.ContainsFunc(settings, func(s config.PluginSource) bool {
				return s.Folder != "" && troupe.Within(real, s.Folder)
			})
	}
	return f.list, f.problems
}

// withEnabled has what the user enabled lie where it was enabled, whatever is found by its name now.
func withEnabled(here []candidate, kept records) []candidate {
	for id, r := range kept.Plugins {
		if !r.Enabled {
			continue
		}
		i := slices.IndexFunc(here, func(c candidate) bool { return c.id == id })
		if i < 0 {
			i = len(here)
			here = append(here, candidate{id: id, from: "enabled"})
		}
		c := &here[i]
		c.dir, c.market, c.index, c.elsewhere, c.project = r.Folder, r.Market, nil, "", r.Project
	}
	return here
}

// add takes up a plugin. One that is here goes before one that is only listed, but a project's before none.
func (f *finder) add(c candidate) {
	c.project = f.project
	i := slices.IndexFunc(f.list, func(o candidate) bool { return strings.EqualFold(o.id, c.id) })
	switch {
	case i < 0:
		f.list = append(f.list, c)
	case f.list[i].elsewhere != "" && c.elsewhere == "" && !c.project:
		f.list[i] = c
	case c.elsewhere == "" && c.market == "" && f.list[i].dir != c.dir:
		f.problems = append(f.problems, fmt.Sprintf("%s: there is a plugin %s already, in %s; give this one another "+
			"name",
			c.dir, c.id, f.list[i].dir))
	}
}

// folder takes up what lies in a folder: a plugin, a marketplace, or both.
func (f *finder) folder(dir, from string) {
	if plugin.IsMarket(dir) {
		f.market(dir, from)
		return
	}
	p, _, _ := plugin.Read(dir, nil)
	id := p.Name
	if plugin.BadName(id) != "" {
		id = filepath.Base(dir)
	}
	f.add(candidate{id: id, dir: dir, from: from})
}

// market takes up what a marketplace lists, each once.
func (f *finder) market(dir, from string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || f.markets[real] {
		return
	}
	f.markets[real] = true
	m, found, err := plugin.ReadMarket(dir)
	if err != nil {
		f.problems = append(f.problems, fmt.Sprintf("the marketplace in %s cannot be used: %s", dir, front.Reason(err)))
		return
	}
	for _, p := range found {
		f.problems = append(f.problems, p.String())
	}
	if f.byName[m.Name] == "" {
		f.byName[m.Name] = real
	}
	for _, e := range m.Entries {
		f.add(candidate{id: e.Name + "@" + m.Name, dir: e.Dir, from: "marketplace " + m.Name + ", " + from,
			market: real,
			index:  e.Raw, elsewhere: e.Elsewhere})
	}
}

// claude takes up what Claude Code has installed, for all folders or for this one.
func (f *finder) claude(dir, cwd string) {
	installed, markets := plugin.InstalledIn(dir)
	own := slices.Clone(f.list)
	for _, m := range markets {
		f.market(m, "of Claude Code")
	}
	for _, p := range installed {
		if p.Project != "" && !troupe.Within(cwd, p.Project) || plugin.BadName(nameOf(p.ID)) != "" {
			continue
		}
		c := candidate{id: p.ID, dir: p.Dir, from: "installed by Claude Code"}
		if _, name, ok := strings.Cut(p.ID, "@"); ok && f.byName[name] != "" {
			c.market, c.index = f.byName[name], indexOf(f.byName[name], nameOf(p.ID))
		}
		// Its copy is what is used there; the checkout may be newer.
		same := func(o candidate) bool { return strings.EqualFold(o.id, c.id) }
		if !slices.ContainsFunc(own, same) {
			f.list = slices.DeleteFunc(f.list, same)
		}
		f.add(c)
	}
}

// known takes up the marketplaces that settings name. Those of a project are listed; nothing of them is enabled by
// that.
func (f *finder) known(s config.PluginSource) {
	for name, raw := range s.Markets {
		var m struct {
			Source struct{ Source, Path, Repo, URL string } `json:"source"`
		}
		if plugin.BadName(name) != "" || json.Unmarshal(raw, &m) != nil || f.byName[name] != "" {
			continue
		}
		from := m.Source.URL
		if m.Source.Source == "github" {
			from = "https://github.com/" + m.Source.Repo
		}
		switch dir := m.Source.Path; {
		case m.Source.Source != "directory" && from != "":
			f.problems = append(f.problems, fmt.Sprintf("%s: the marketplace %s lies at %s", s.Path, name,
				plugin.HowToGet(from, "FOLDER")))
		case m.Source.Source != "directory":
			f.problems = append(f.problems, fmt.Sprintf("%s: the marketplace %s has a source of the kind %q, which "+
				"is not "+
				"fetched here: get it, then `troupe plugins add FOLDER`", s.Path, name, m.Source.Source))
		case s.Folder != "":
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(s.Folder, dir)
			}
			if real, err := filepath.EvalSymlinks(dir); err != nil || !troupe.Within(real, s.Folder) {
				f.problems = append(f.problems, fmt.Sprintf("%s: the marketplace %s does not lie in the project; "+
					"`troupe "+
					"plugins add` takes it up, if you mean it", s.Path, name))
				break
			}
			f.market(dir, "named by "+s.Path)
		case filepath.IsAbs(dir):
			f.market(dir, "named by "+s.Path)
		}
	}
}

// All are all plugins that there are, whatever counts of them.
func (h *Home) All(settings []config.PluginSource, cwd string) (out []Found, problems []string, err error) {
	kept, err := h.records()
	if err != nil {
		return nil, nil, err
	}
	here, problems := h.candidates(kept, cwd, settings)
	here = withEnabled(here, kept)
	wish := wishesOf(settings)
	for _, c := range here {
		out = append(out, h.look(c, kept, wish))
	}
	slices.SortStableFunc(out, byName)
	return out, slices.Concat(kept.lost, problems, absent(wish, here, kept)), nil
}

// Under are the plugins in a folder: one, or those of a marketplace that are in its checkout. None of them counts.
func Under(dir string) (out []Found, problems []string, err error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, nil, err
	}
	f := finder{markets: map[string]bool{}, byName: map[string]string{}}
	f.folder(dir, "in "+dir)
	h := Home{}
	for _, c := range f.list {
		found := h.look(c, records{}, wishes{})
		found.Why = ""
		if c.elsewhere != "" {
			found.Why = c.elsewhere
		}
		out = append(out, found)
	}
	return out, f.problems, nil
}

// Has reports whether a plugin that lies in a folder is among those there are.
func Has(list []Found, dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && slices.ContainsFunc(list, func(f Found) bool { return f.Root == real })
}
