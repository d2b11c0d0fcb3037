package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe/internal/front"
)

// Market is a folder with an index of plugins: a checkout of a marketplace.
type Market struct {
	Name    string
	Root    string // absolute, with no link in it
	Entries []Entry
}

// Entry is a plugin that a marketplace has.
type Entry struct {
	Name string
	// Dir is its folder, in the checkout; "" if it lies elsewhere: then Elsewhere says where, and what to do.
	Dir       string
	Elsewhere string
	Raw       json.RawMessage
}

func indexes() []string { return []string{".claude-plugin/marketplace.json", "marketplace.json"} }

// IsMarket reports whether a folder has an index of plugins.
func IsMarket(dir string) bool { return has(dir, indexes()) }

// maxEntries is more than any public marketplace has.
const maxEntries = 5000

// ReadMarket reads the index of a marketplace. One entry never affects another.
func ReadMarket(dir string) (m Market, found []front.Finding, err error) {
	m.Root = dir
	if m.Root, err = filepath.EvalSymlinks(dir); err != nil {
		return m, nil, err
	}
	root, err := os.OpenRoot(m.Root)
	if err != nil {
		return m, nil, err
	}
	defer root.Close() //nolint:errcheck // only read from
	r := reader{root: root, plugin: Plugin{Root: m.Root}}
	var data []byte
	file := ""
	for _, name := range indexes() {
		if data, err = r.data(name); err == nil {
			file = r.at(name)
			break
		}
	}
	if err != nil {
		return m, nil, err
	}
	var index struct {
		Name     string `json:"name"`
		Metadata struct {
			Root string `json:"pluginRoot"`
		} `json:"metadata"`
		Plugins []json.RawMessage `json:"plugins"`
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(string(data), "\xef\xbb\xbf")), &index); err != nil {
		return m, nil, fmt.Errorf("its index cannot be read: %w", err)
	}
	if m.Name = index.Name; m.Name == "" {
		m.Name = filepath.Base(m.Root)
	}
	if bad := BadName(m.Name); bad != "" {
		return m, nil, fmt.Errorf("the marketplace's name %q %s", m.Name, bad)
	}
	if len(index.Plugins) > maxEntries {
		return m, nil, errors.New("its index lists too many plugins")
	}
	names := map[string]bool{}
	for i, raw := range index.Plugins {
		e, why := r.entry(raw, index.Metadata.Root)
		switch {
		case why != "":
			r.problem(file, fmt.Sprintf("plugin %d (%s): %s; it is left out", i+1, e.Name, why))
		case names[front.Fold(e.Name)]:
			r.problem(file, fmt.Sprintf("plugin %d: there is a plugin %s before it, which counts", i+1, e.Name))
		default:
			names[front.Fold(e.Name)] = true
			m.Entries = append(m.Entries, e)
		}
	}
	return m, r.found, nil
}

// Entry finds a plugin by its name.
func (m *Market) Entry(name string) (Entry, bool) {
	for _, e := range m.Entries {
		if strings.EqualFold(e.Name, name) {
			return e, true
		}
	}
	return Entry{}, false
}

// entry reads one plugin of an index.
func (r *reader) entry(raw json.RawMessage, base string) (e Entry, why string) {
	var fields struct {
		Name   string          `json:"name"`
		Source json.RawMessage `json:"source"`
	}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return e, "it is not an object with a name and a source"
	}
	e = Entry{Name: fields.Name, Raw: raw}
	if bad := BadName(e.Name); bad != "" {
		return e, fmt.Sprintf("the name %q %s", e.Name, bad)
	}
	var name string
	if json.Unmarshal(fields.Source, &name) != nil {
		e.Elsewhere = elsewhere(fields.Source)
		return e, ""
	}
	if !strings.HasPrefix(name, "./") && base != "" {
		name = base + "/" + name // not cleaned: ".." must be seen
	}
	clean, why := inside(name)
	if why != "" {
		return e, fmt.Sprintf("the source %q %s", name, why)
	}
	info, err := r.root.Stat(filepath.FromSlash(clean))
	switch {
	case missing(err):
		e.Elsewhere = fmt.Sprintf("%s is not in the checkout; update it", name)
	case err != nil:
		return e, fmt.Sprintf("the source %q cannot be opened: %s", name, front.Reason(err))
	case !info.IsDir():
		return e, fmt.Sprintf("the source %q is no folder", name)
	default:
		e.Dir = r.at(clean)
	}
	return e, ""
}

// elsewhere says where a plugin is that is not in the checkout, and how to get it.
func elsewhere(raw json.RawMessage) string {
	var s struct{ Source, Repo, URL, Package, Path string }
	if json.Unmarshal(raw, &s) != nil {
		return "its source cannot be read"
	}
	from := s.URL
	if s.Repo != "" && s.Source == "github" {
		from = "https://github.com/" + s.Repo
	}
	switch {
	case s.Package != "":
		return "it is the package " + s.Package + " of " + s.Source +
			", which is not fetched here: unpack it and add " +
			"its folder with `troupe plugins add FOLDER`"
	case from == "":
		return fmt.Sprintf("its source is of the kind %q, which is not fetched here: get it and add its folder with "+
			"`troupe plugins add FOLDER`", s.Source)
	}
	below := "FOLDER"
	if s.Path != "" {
		below = "FOLDER/" + s.Path
	}
	return "it lies at " + HowToGet(from, below)
}

// HowToGet is an address, and the commands for what lies there. Addresses and paths are an index's words, so one that a
// shell or git would read as anything else is told and stands in no command.
func HowToGet(from, below string) string {
	plain := func(s string) bool {
		return !strings.HasPrefix(s, "-") && !strings.ContainsFunc(s, func(r rune) bool {
			letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
			return !letter && !strings.ContainsRune("-._/:@%+=", r)
		})
	}
	if !plain(from) || !plain(below) {
		return fmt.Sprintf("%q, which is not fetched here, and is no address or path to paste into a shell: get it by "+
			"hand if you mean it, then `troupe plugins add FOLDER`", from)
	}
	return from + ", which is not fetched here: `git clone " + from + " FOLDER`, then `troupe plugins add " + below +
		"`"
}
