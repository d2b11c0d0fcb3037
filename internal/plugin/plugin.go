// Package plugin reads plugins and marketplaces as they are found in the wild: folders with agents, commands, skills,
// hooks and MCP servers, and indexes of such folders. It starts nothing, and decides about nothing: whether a plugin
// counts, and what of it, is settled by who uses it.
//
// No path of a plugin leads out of its folder, by name or by link. What cannot be read of what a plugin would run makes
// the plugin unusable as a whole: it may be a guard. No plugin affects another one.
package plugin

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/front"
)

// Plugin is one plugin.
type Plugin struct {
	Name        string
	Version     string
	Description string
	Root        string // its folder, absolute, with no link in it
	// Index is the entry of a marketplace that adds to the manifest; nil: none does.
	Index json.RawMessage
	// Agents, Commands, Skills and Styles (output styles) are where these lie. Each names the plugin.
	Agents, Commands, Skills, Styles []front.Source
	// Hooks and Servers are what would run, as written.
	Hooks, Servers []Config
}

// Config is a part of a plugin that is JSON.
type Config struct {
	File string
	Raw  json.RawMessage
	// Inline: it stands in the manifest, or in the index.
	Inline bool
}

// Runs reports whether the plugin has something that would run by itself.
func (p *Plugin) Runs() bool { return len(p.Hooks)+len(p.Servers) > 0 }

// BadName completes "the name …". It stands before a colon in the names of what the plugin brings, behind a slash
// where people type those, and before an @ where a marketplace is named.
func BadName(name string) string {
	if strings.ContainsAny(name, " /@$") {
		return "has a blank, a slash, a dollar or an @ in it; use letters, digits, - and _"
	}
	return front.BadName(name)
}

// manifests are where a plugin's manifest may lie.
func manifests() []string { return []string{".claude-plugin/plugin.json", "plugin.json"} }

// maxConfig is far more than any manifest, or any file of hooks or servers, has.
const maxConfig = 1 << 20

// Is reports whether a folder has a manifest of a plugin.
func Is(dir string) bool { return has(dir, manifests()) }

func has(dir string, names []string) bool {
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// Read reads a plugin. index is what a marketplace says of it; nil: nothing does. With a finding that is unusable
// nothing of the plugin can be used, and ok is false.
func Read(dir string, index json.RawMessage) (p Plugin, found []front.Finding, ok bool) {
	r := reader{plugin: Plugin{Root: dir, Index: index}}
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		r.plugin.Root = real
		r.root, err = os.OpenRoot(real)
	}
	if err != nil {
		r.unusable(dir, "the folder cannot be opened: "+front.Reason(err))
		return r.plugin, r.found, false
	}
	defer r.root.Close() //nolint:errcheck // only read from
	if strings.Contains(real, "${") {
		r.unusable(dir, "the name of its folder has ${ in it, which variables begin with; give it another one")
		return r.plugin, r.found, false
	}
	r.read()
	return r.plugin, r.found, !r.bad
}

type reader struct {
	plugin Plugin
	root   *os.Root
	found  []front.Finding
	bad    bool
	// listed are kinds of parts that the index lists: then the folders that they would be looked for in do not count.
	listed map[string]bool
}

// maxFound is how much is told of one plugin.
const maxFound = 50

func (r *reader) say(f front.Finding) {
	if len(r.found) < maxFound || f.Unusable {
		r.found = append(r.found, f)
	}
	r.bad = r.bad || f.Unusable
}

func (r *reader) note(file, text string)    { r.say(front.Finding{Path: file, Text: text, Note: true}) }
func (r *reader) problem(file, text string) { r.say(front.Finding{Path: file, Text: text}) }
func (r *reader) unusable(file, text string) {
	r.say(front.Finding{Path: file, Text: text, Unusable: true})
}

// data reads a file of the plugin. The name is below its folder, with slashes.
func (r *reader) data(name string) (data []byte, err error) {
	f, err := r.root.OpenFile(filepath.FromSlash(name), disk.Flags, 0)
	if err != nil {
		return nil, err
	}
	data, _, err = disk.ReadFrom(f, maxConfig)
	return data, err
}

func (r *reader) at(name string) string {
	return filepath.Join(r.plugin.Root, filepath.FromSlash(name))
}

// missing reports whether there is nothing of a name.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
