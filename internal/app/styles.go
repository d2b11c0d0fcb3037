package app

import (
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/plugins"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/front"
	"github.com/troupe-dev/troupe/internal/trust"
	"github.com/troupe-dev/troupe/internal/wire"
)

// style is an output style: how an agent talks and answers.
type style struct {
	wire.Style

	text string
}

// styles are those that hold at a place, by folded name.
type styles struct {
	known    map[string]style
	problems []front.Finding
}

// styleText is a style for a prompt.
type styleText struct {
	name, text string
	// alone: what of the main agent's prompt is about writing software goes.
	alone bool
}

// styleFolder is where a plugin, a user and a project have their styles.
const styleFolder = "output-styles"

// stylesOf reads the output styles that hold in a folder. A style stands in a system prompt, above what a repository's
// words are: a project's counts as it was when its folder was trusted.
func stylesOf(a *App, p *policy, cwd string) styles {
	src := p.texts(func(f *plugins.Found) []front.Source { return f.Styles })
	add := func(base string, s front.Source) {
		s.Path = filepath.Join(base, styleFolder)
		src = append(src, s)
	}
	if a.dirs.Home != "" {
		add(filepath.Join(a.dirs.Home, ".claude"), front.Source{Scope: front.ScopeUser})
	}
	add(a.dirs.Config, front.Source{Scope: front.ScopeUser})
	folders := config.Folders(cwd)
	for _, dir := range folders {
		for _, name := range trust.StyleFolders() {
			add(filepath.Join(dir, filepath.FromSlash(path.Dir(name))), front.Source{Scope: front.ScopeProject,
				Root: folders[0]})
		}
	}
	for _, m := range config.ManagedFiles(runtime.GOOS) {
		add(filepath.Dir(m.Path), front.Source{Scope: front.ScopeManaged})
	}
	return readStyles(src, p.untrusted(trust.KindStyle), a.Mask)
}

// readStyles reads the sources of styles, the weakest first.
func readStyles(src []front.Source, untrusted func(file string, data []byte) bool, mask func(string) string) styles {
	out := styles{known: map[string]style{}}
	r := front.Reader{What: "output styles", Among: trust.StyleFolders()}
	for _, s := range src {
		files, found := r.Files(s)
		out.problems = append(out.problems, found...)
		fresh := map[string]bool{}
		for _, f := range files {
			if s.Scope == front.ScopeProject && f.Err == nil && untrusted(f.Path, f.Data) {
				out.problem(f.Path, 0, false, "it does not count, because this folder is not trusted")
				continue
			}
			out.file(s, f, fresh, mask)
		}
	}
	return out
}

func (s *styles) problem(file string, line int, note bool, text string) {
	s.problems = append(s.problems, front.Finding{Path: file, Line: line, Text: text, Note: note})
}

// file takes up one style over one of the same name from a weaker source.
func (s *styles) file(from front.Source, f front.File, fresh map[string]bool, mask func(string) string) {
	doc, err := front.Parse(f.Data, styleKey)
	if f.Err != nil {
		err = f.Err
	}
	switch {
	case err != nil:
		s.problem(f.Path, 0, false, "the output style cannot be used: "+front.Reason(err))
		return
	case strings.TrimSpace(doc.Body) == "":
		s.problem(f.Path, doc.Line, false, "there is no text behind the front matter, so it is no output style")
		return
	}
	base := filepath.Base(f.Path)
	st := style{wire.Style{Name: strings.TrimSuffix(base, filepath.Ext(base)), Source: f.Path,
		Scope: string(from.Scope)}, doc.Body}
	for _, field := range doc.Fields {
		s.field(&st, f.Path, field)
	}
	if from.Plugin != "" {
		st.Name = from.Plugin + ":" + st.Name
	}
	key := front.Fold(st.Name)
	switch bad := front.BadName(strings.TrimPrefix(st.Name, from.Plugin+":")); {
	case bad != "":
		s.problem(f.Path, doc.Line, false, fmt.Sprintf("the name %q %s", st.Name, bad))
		return
	case key == "default":
		s.problem(f.Path, doc.Line, false, "default is what there is without a style; give it another name")
		return
	case fresh[key]:
		s.problem(f.Path, doc.Line, false, fmt.Sprintf("%q is already defined in %s, which counts", st.Name,
			s.known[key].Source))
		return
	}
	if weaker, ok := s.known[key]; ok {
		st.Shadows = append([]string{weaker.Source}, weaker.Shadows...)
	}
	for _, text := range []*string{&st.Description, &st.text} {
		*text = mask(troupe.Escape(*text))
	}
	fresh[key], s.known[key] = true, st
}

// styleKey: the keys that other programs know, so that their lines are recognised where the rest is not YAML.
func styleKey(key string) bool {
	return slices.Contains([]string{"name", "description", "keepcodinginstructions", "forceforplugin"},
		front.PlainKey(key))
}

func (s *styles) field(st *style, file string, f front.Field) {
	text := strings.TrimSpace(f.Value.Text)
	switch front.PlainKey(f.Key) {
	case "name":
		if text != "" {
			st.Name = text
		}
	case "description":
		st.Description = text
	case "keepcodinginstructions":
		keep, err := strconv.ParseBool(strings.ToLower(text))
		if st.Keeps = keep; err != nil {
			s.problem(file, f.Line, false, f.Key+" must be true or false; it is taken for false")
		}
	case "forceforplugin":
		s.problem(file, f.Line, true, f.Key+" is not followed: people choose a style, in settings")
	}
}

// list are all styles, by name.
func (s *styles) list() []wire.Style {
	out := []wire.Style{}
	for _, st := range s.known {
		out = append(out, st.Style)
	}
	slices.SortFunc(out, func(a, b wire.Style) int {
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	return out
}

// named is a style for a prompt. What is wrong with a name is for people; there is no style then.
func (s *styles) named(name string) (out styleText, problem string) {
	if name == "" || strings.EqualFold(name, "default") {
		return styleText{}, ""
	}
	if st, ok := s.known[front.Fold(name)]; ok {
		return styleText{name: st.Name, text: "Output style: " + st.Name + "\n\n" + st.text, alone: !st.Keeps}, ""
	}
	names := []string{"default"}
	for _, st := range s.list() {
		names = append(names, st.Name)
	}
	return styleText{}, fmt.Sprintf("there is no output style %q, so answers are as usual; there are: %s", name,
		strings.Join(names, ", "))
}

// tell has people told what is wrong with styles: of a file that counts for nothing in the log alone, unless one is
// asked for.
func (s *styles) tell(a *App) {
	for _, p := range s.problems {
		a.env.Log.Info("output styles", "note", p.String())
	}
}
