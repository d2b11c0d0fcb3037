package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/front"
)

// Keys of a manifest that name parts of the plugin.
const (
	keyAgents   = "agents"
	keyCommands = "commands"
	keySkills   = "skills"
	keyStyles   = "outputStyles"
	keyHooks    = "hooks"
	keyServers  = "mcpServers"
)

// usual is where a part lies if the manifest does not say it, or besides.
func usual(key string) string {
	switch key {
	case keyHooks:
		return "hooks/hooks.json"
	case keyServers:
		return ".mcp.json"
	case keyStyles:
		return "output-styles"
	}
	return key
}

type member struct {
	key   string
	value json.RawMessage
}

// members are the parts of an object in their order. A key that stands twice is there twice.
func members(raw []byte) ([]member, error) {
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if !json.Valid(raw) {
		var v any
		return nil, fmt.Errorf("this is not JSON: %w", json.Unmarshal(raw, &v))
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it is not an object in braces")
	}
	var out []member
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := member{}
		m.key, _ = t.(string)
		if err := dec.Decode(&m.value); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// read reads the manifest, what an index says besides, and what lies where parts usually do.
func (r *reader) read() {
	for _, name := range manifests() {
		data, err := r.data(name)
		if missing(err) {
			continue
		}
		if err != nil {
			r.unusable(r.at(name), "the manifest cannot be read: "+front.Reason(err))
			return
		}
		r.manifest(r.at(name), data, false)
		break
	}
	if r.plugin.Index != nil {
		r.manifest(r.plugin.Root, r.plugin.Index, true)
	}
	if r.plugin.Name == "" {
		r.plugin.Name = filepath.Base(r.plugin.Root)
	}
	if bad := BadName(r.plugin.Name); bad != "" {
		r.unusable(r.plugin.Root, fmt.Sprintf("the plugin's name %q %s", r.plugin.Name, bad))
	}
	for _, key := range []string{keyAgents, keyCommands, keySkills, keyStyles, keyHooks, keyServers} {
		if !r.listed[key] {
			r.part(r.plugin.Root, key, usual(key), true)
		}
	}
	if len(r.plugin.Skills) == 0 {
		if _, err := r.root.Stat("SKILL.md"); err == nil { // the plugin is one skill
			r.source(keySkills, ".", "")
		}
	}
	for _, list := range [][]front.Source{r.plugin.Agents, r.plugin.Commands, r.plugin.Skills,
		r.plugin.Styles} {
		for i := range list {
			list[i].Plugin = r.plugin.Name
		}
	}
}

// manifest reads one object of fields. index: it stands in the index of a marketplace, which lists parts instead of
// adding to the usual places.
func (r *reader) manifest(file string, data []byte, index bool) {
	fields, err := members(data)
	if err != nil {
		r.unusable(file, "the manifest cannot be read: "+err.Error())
		return
	}
	seen := map[string]bool{}
	var ignored []string
	for _, f := range fields {
		if seen[f.key] {
			r.unusable(file, f.key+" stands there twice; which one is meant is not known")
			return
		}
		seen[f.key] = true
		switch f.key {
		case "name":
			r.name(file, f.value)
		case "version":
			_ = json.Unmarshal(f.value, &r.plugin.Version) // for people alone
		case "description":
			_ = json.Unmarshal(f.value, &r.plugin.Description)
		case keyAgents, keyCommands, keySkills, keyStyles, keyHooks, keyServers:
			r.value(file, f.key, f.value)
			if index {
				if r.listed == nil {
					r.listed = map[string]bool{}
				}
				r.listed[f.key] = true
			}
		case "lspServers", "themes", "monitors", "userConfig", "channels", "dependencies", "settings",
			"workflows":
			ignored = append(ignored, f.key)
		}
	}
	if len(ignored) > 0 {
		r.note(file, "not followed here: "+strings.Join(ignored, ", "))
	}
}

// name takes the plugin's name. What a marketplace calls it counts: by that people know it.
func (r *reader) name(file string, raw json.RawMessage) {
	name := ""
	if json.Unmarshal(raw, &name) != nil || name == "" {
		r.unusable(file, "the name is not a text")
		return
	}
	r.plugin.Name = name
}

// value reads what a manifest says of a part: a path, an object, or a list of such.
func (r *reader) value(file, key string, raw json.RawMessage) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	for _, item := range list {
		var name string
		switch inline := bytes.HasPrefix(bytes.TrimSpace(item), []byte("{")); {
		case bytes.Equal(bytes.TrimSpace(item), []byte("null")):
		case json.Unmarshal(item, &name) == nil:
			r.part(file, key, name, false)
		case inline && (key == keyHooks || key == keyServers):
			r.config(key, Config{File: file, Raw: item, Inline: true})
		case key == keyHooks || key == keyServers:
			r.unusable(file, key+" is neither a path nor an object")
		default:
			r.problem(file, key+" is read as a path, or a list of paths; this is neither, and is left out")
		}
	}
}

// inside makes a path of a manifest one below the plugin's folder; "" and why, if it is none.
func inside(name string) (clean, why string) {
	switch {
	case name == "":
		return "", "is empty"
	case strings.ContainsAny(name, "\\\x00"):
		return "", "has a backslash or a zero byte in it; write it with slashes"
	case path.IsAbs(name) || strings.HasPrefix(name, "~"):
		return "", "does not begin in the plugin's folder"
	case slices.Contains(strings.Split(name, "/"), ".."):
		return "", "may lead out of the plugin's folder"
	}
	return path.Clean(name), ""
}

// part takes up a path. Of usual ones it is no matter if they are not there.
func (r *reader) part(file, key, name string, usual bool) {
	runs := key == keyHooks || key == keyServers
	refuse := func(text string) {
		text = fmt.Sprintf("%s: the path %q %s", key, name, text)
		if runs {
			r.unusable(file, text)
		} else {
			r.problem(file, text+", so it is left out")
		}
	}
	clean, why := inside(name)
	if why != "" {
		refuse(why)
		return
	}
	info, err := r.root.Stat(filepath.FromSlash(clean))
	switch {
	case usual && missing(err):
	case err != nil:
		refuse("cannot be read: " + front.Reason(err))
	case runs:
		if strings.HasSuffix(clean, ".mcpb") || strings.HasSuffix(clean, ".dxt") {
			r.problem(file, fmt.Sprintf("%s: bundles such as %q are not read; write the server down as .mcp.json does",
				key, name))
			return
		}
		data, err := r.data(clean)
		if err != nil {
			refuse("cannot be read: " + front.Reason(err))
			return
		}
		r.config(key, Config{File: r.at(clean), Raw: data})
	case info.IsDir():
		r.source(key, clean, "")
	case !strings.EqualFold(path.Ext(clean), ".md"):
		refuse("is neither a folder nor a Markdown file")
	default:
		r.source(key, path.Dir(clean), path.Base(clean))
	}
}

// source takes up a folder of Markdown files, or one of them; once.
func (r *reader) source(key, dir, only string) {
	s := front.Source{Path: r.at(dir), Root: r.plugin.Root, Scope: front.ScopePlugin, Only: only}
	to := map[string]*[]front.Source{keyAgents: &r.plugin.Agents, keyCommands: &r.plugin.Commands,
		keySkills: &r.plugin.Skills, keyStyles: &r.plugin.Styles}[key]
	if !slices.Contains(*to, s) {
		*to = append(*to, s)
	}
}

// config takes up hooks or servers; a file once.
func (r *reader) config(key string, c Config) {
	to := &r.plugin.Hooks
	if key == keyServers {
		to = &r.plugin.Servers
	}
	if !c.Inline && slices.ContainsFunc(*to, func(o Config) bool { return !o.Inline && o.File == c.File }) {
		return
	}
	if key == keyHooks {
		fields, err := members(c.Raw)
		if err != nil {
			r.unusable(c.File, "its hooks cannot be read: "+err.Error())
			return
		}
		var below []json.RawMessage
		for _, f := range fields {
			if f.key == keyHooks {
				below = append(below, f.value)
			}
		}
		if len(below) > 0 { // of two guards neither is lost
			for _, raw := range below {
				*to = append(*to, Config{c.File, raw, c.Inline})
			}
			return
		}
	}
	*to = append(*to, c)
}
