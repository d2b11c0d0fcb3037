package plugin

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/disk"
)

// Installed is a plugin that Claude Code has installed.
type Installed struct {
	ID      string // NAME@MARKETPLACE
	Dir     string
	Project string // "" if it is installed for all folders
}

// InstalledIn reads what Claude Code keeps in its folder of plugins: what is installed, and the checkouts of
// marketplaces. What cannot be read there is that program's matter: then there is nothing.
func InstalledIn(dir string) (plugins []Installed, markets []string) {
	var installed struct {
		Plugins map[string]json.RawMessage `json:"plugins"`
	}
	readState(filepath.Join(dir, "installed_plugins.json"), &installed)
	type place struct {
		Path    string `json:"installPath"`
		Project string `json:"projectPath"`
	}
	for id, raw := range installed.Plugins {
		var list []place
		var one place // as older versions wrote it
		if json.Unmarshal(raw, &list) != nil && json.Unmarshal(raw, &one) == nil {
			list = []place{one}
		}
		for _, p := range list {
			if filepath.IsAbs(p.Path) {
				plugins = append(plugins, Installed{id, filepath.Clean(p.Path), p.Project})
			}
		}
	}
	slices.SortFunc(plugins, func(a, b Installed) int {
		return strings.Compare(a.ID+"\x00"+a.Project+"\x00"+a.Dir, b.ID+"\x00"+b.Project+"\x00"+b.Dir)
	})
	var known map[string]struct {
		Location string `json:"installLocation"`
	}
	readState(filepath.Join(dir, "known_marketplaces.json"), &known)
	for _, m := range known {
		if filepath.IsAbs(m.Location) {
			markets = append(markets, filepath.Clean(m.Location))
		}
	}
	slices.Sort(markets)
	return plugins, markets
}

func readState(file string, to any) {
	if data, err := disk.Read(file, maxConfig); err == nil {
		_ = json.Unmarshal(data, to) // what could be read of it counts
	}
}
