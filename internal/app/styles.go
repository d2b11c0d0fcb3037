package app

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/front"
)

// style is an output style: how the main agent talks and answers.
type style struct{ name, text string }

// styleOf is the text of the output style that settings choose. What is wrong with it is for people; the session then
// begins without one.
func styleOf(a *App, name string) (text, problem string) {
	if name == "" || strings.EqualFold(name, "default") {
		return "", ""
	}
	found := stylesOf(a)
	if i := slices.IndexFunc(found, func(s style) bool { return front.Fold(s.name) == front.Fold(name) }); i >= 0 {
		return a.Mask("Output style: " + found[i].name + "\n\n" + troupe.Escape(found[i].text)), ""
	}
	var names []string
	for _, s := range found {
		names = append(names, s.name)
	}
	return "", fmt.Sprintf("there is no output style %q, so answers are as usual; there are: %s", name,
		strings.Join(append([]string{"default"}, names...), ", "))
}

// stylesOf are the user's output styles and an administrator's, the strongest first. Those of a project are not read: a
// style stands in the system prompt, above what a repository's words may be.
func stylesOf(a *App) (out []style) {
	var dirs []front.Source
	for _, m := range config.ManagedFiles(runtime.GOOS) {
		dirs = append(dirs, front.Source{Path: filepath.Join(filepath.Dir(m.Path), "output-styles"),
			Scope: front.ScopeManaged})
	}
	bases := []string{a.dirs.Config}
	if a.dirs.Home != "" {
		bases = append(bases, filepath.Join(a.dirs.Home, ".claude"))
	}
	for _, base := range bases {
		dirs = append(dirs, front.Source{Path: filepath.Join(base, "output-styles"), Scope: front.ScopeUser})
	}
	r := front.Reader{What: "output styles"}
	for _, dir := range dirs {
		files, problems := r.Files(dir)
		for _, p := range problems {
			a.env.Log.Info("output styles", "note", p.String())
		}
		for _, f := range files {
			doc, err := front.Parse(f.Data, styleKey)
			if f.Err != nil || err != nil || doc.Body == "" {
				a.env.Log.Warn("an output style is left out", "file", f.Path, "err", f.Err, "problem", err)
				continue
			}
			out = append(out, style{styleName(f, doc), doc.Body})
		}
	}
	return out
}

// styleKey: the keys that other programs know, so that their lines are recognised where the rest is not YAML.
func styleKey(key string) bool {
	return slices.Contains([]string{"name", "description", "keep-coding-instructions"}, strings.ToLower(key))
}

// styleName is the one in front matter, or that of the file.
func styleName(f front.File, doc front.Document) string {
	for _, field := range doc.Fields {
		if name := strings.TrimSpace(field.Value.Text); strings.EqualFold(field.Key, "name") && name != "" {
			return name
		}
	}
	base := filepath.Base(f.Path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
