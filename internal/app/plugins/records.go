package plugins

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/front"
	"github.com/troupe-dev/troupe/internal/hook"
	"github.com/troupe-dev/troupe/internal/plugin"
)

// records are what the user decided about plugins.
type records struct {
	Folders []string          `json:"folders,omitempty"` // added ones, with a plugin or a marketplace in each
	Plugins map[string]record `json:"plugins,omitempty"` // by ID
	lost    []string          // what to say, as nothing stands in the file
}

// record is what was enabled, once.
type record struct {
	Enabled bool   `json:"enabled"`
	Folder  string `json:"folder,omitempty"`
	Market  string `json:"marketplace,omitempty"` // the marketplace's folder
	// Project: a project brings it, so not even its texts count once they are not as they were.
	Project bool `json:"project,omitempty"`
	// Hash is of all that the plugin held; "" if it ran nothing and is no project's. Lines are what it ran, and Hooks
	// those of it.
	Hash  string      `json:"hash,omitempty"`
	Lines []string    `json:"runs,omitempty"`
	Hooks []hook.Hook `json:"hooks,omitempty"`
}

// File is where that is kept.
func (h *Home) File() string { return filepath.Join(h.dirs.Config, "plugins.json") }

// records reads them. What cannot be read stops a run, as settings of the user's do: guards would be lost.
func (h *Home) records() (records, error) {
	out := records{Plugins: map[string]record{}}
	data, err := disk.Read(h.File(), disk.Most)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err == nil && len(bytes.Trim(data, "\x00 \t\r\n")) == 0 { // a loss of power leaves such files
		out.lost = []string{h.File() + " is empty, so no plugin counts that you enabled, nor what it guarded: " +
			"`troupe plugins enable NAME` has one count again, `troupe plugins list` shows those there are"}
		return out, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		return out, &troupe.UserError{Problem: fmt.Sprintf("%s cannot be read: %s", h.File(), front.Reason(err)),
			Hint: "Mend it, or take it away and enable your plugins again.", Code: troupe.ExitUsage, Err: err}
	}
	if out.Plugins == nil {
		out.Plugins = map[string]record{}
	}
	return out, nil
}

func (h *Home) keep(r records) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.MkdirAll(h.dirs.Config, 0o700)
	}
	if err == nil {
		err = disk.Replace(h.File(), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep what plugins are enabled: %w", err)
	}
	return nil
}

func refused(problem, hint string, args ...any) error {
	return &troupe.UserError{Problem: fmt.Sprintf(problem, args...), Hint: hint, Code: troupe.ExitUsage}
}

// Pick finds a plugin by its name, its ID, or its folder.
func Pick(list []Found, name string) (Found, error) {
	var fit []Found
	if real, err := filepath.EvalSymlinks(name); err == nil && filepath.IsAbs(name) {
		name = real
	}
	for _, f := range list {
		if strings.EqualFold(f.ID, name) || filepath.IsAbs(name) && f.Root == name {
			return f, nil
		}
		if strings.EqualFold(f.Name, name) {
			fit = append(fit, f)
		}
	}
	switch len(fit) {
	case 0:
		names := make([]string, len(list))
		for i, f := range list {
			names[i] = f.ID
		}
		hint := "`troupe plugins list` shows those there are; `troupe plugins add FOLDER` takes one up."
		if near := troupe.Nearest(name, names); near != "" {
			hint = "Did you mean " + near + "? " + hint
		}
		return Found{}, &troupe.UserError{Problem: fmt.Sprintf("there is no plugin %q here", name), Hint: hint,
			Code: troupe.ExitUsage, Err: troupe.ErrNotFound}
	case 1:
		return fit[0], nil
	}
	var ids []string
	for _, f := range fit {
		ids = append(ids, f.ID)
	}
	return Found{}, refused("there are several plugins %q", "Name one of "+strings.Join(ids, ", ")+".", name)
}

// Enable has a plugin count as it is now. others are all that there are.
func (h *Home) Enable(f Found, others []Found) error {
	for _, o := range others {
		if o.ID != f.ID && front.Fold(o.Name) == front.Fold(f.Name) && o.State != Off && !o.Asked {
			return refused("the plugin %s is enabled and has the same name", "`troupe plugins disable %s` first.", o.ID)
		}
	}
	switch {
	case f.Elsewhere != "":
		return refused("the plugin %s is not here: %s", "", f.ID, f.Elsewhere)
	case !f.Usable:
		return refused("the plugin %s cannot be used: %s", "", f.ID, f.unusable())
	}
	r := record{Enabled: true, Folder: f.Root, Market: f.market, Project: f.project}
	if f.Runs() || f.project {
		var err error
		if r.Hash, err = f.Hash(); err != nil {
			return refused("the plugin %s cannot be enabled: %v", "What it runs must not change unseen.", f.ID, err)
		}
		r.Lines, r.Hooks = f.Lines(), f.read()
	}
	return h.change(func(all *records) { all.Plugins[f.ID] = r })
}

// Disable has nothing of a plugin count.
func (h *Home) Disable(f Found) error {
	return h.change(func(all *records) { all.Plugins[f.ID] = record{} })
}

func (h *Home) change(do func(*records)) error {
	all, err := h.records()
	if err != nil {
		return err
	}
	do(&all)
	return h.keep(all)
}

// Add takes up a folder with a plugin or a marketplace, as it lies there.
func (h *Home) Add(dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return refused("%s cannot be added: %s", "", dir, front.Reason(err))
	}
	if !plugin.Is(real) && !plugin.IsMarket(real) {
		return refused("%s is neither a plugin nor a marketplace: it has no plugin.json and no marketplace.json, nor "+
			"has "+
			"its .claude-plugin folder", "Name the folder that has one.", dir)
	}
	return h.change(func(all *records) {
		if !slices.Contains(all.Folders, real) {
			all.Folders = append(all.Folders, real)
		}
	})
}

// Remove forgets a folder that was added, and what was enabled of it. The folder stays.
func (h *Home) Remove(dir string) error {
	all, err := h.records()
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if !slices.Contains(all.Folders, dir) {
		return refused("%s was not added", "`troupe plugins disable` switches a plugin off wherever it lies.", dir)
	}
	all.Folders = slices.DeleteFunc(all.Folders, func(f string) bool { return f == dir })
	for id, r := range all.Plugins {
		if r.Folder == dir || r.Market == dir {
			delete(all.Plugins, id)
		}
	}
	return h.keep(all)
}
