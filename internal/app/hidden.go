package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/hidden"
	"github.com/troupe-dev/troupe/internal/session"
)

// hide lists what a command may not read: what settings and rules name, and what of it is in the project now.
func (g *guard) hide(ctx context.Context, gr *folder, c session.Confine) ([]string, error) {
	rules := func(project string) []hidden.Pattern {
		if c.Hides.Test == nil {
			return nil
		}
		return []hidden.Pattern{{Key: "rules\n" + c.Hides.Key, Path: c.Hides.Test, Name: c.Hides.Names(project)}}
	}
	for _, project := range []string{gr.hidden.Project(), gr.own.Project()} {
		if project == "" || c.Looks == nil {
			continue
		}
		if s := g.finder(project).State(); s.Names == 0 || s.Unwatched != "" { // it was not walked yet, or is each time
			c.Looks()
		}
	}
	out, err := g.hiddenNow(ctx, gr, rules, c.Unreadable)
	if c.Hides.Test == nil || err != nil {
		return out, err
	}
	for _, p := range c.Unreadable {
		if !strings.ContainsAny(p, `*?[\`) {
			out = append(out, p)
		}
	}
	return out, nil
}

// HiddenFiles implements session.Guard.
func (g *guard) HiddenFiles(at session.Place) []string {
	gr, err := g.folder(at)
	if err != nil {
		return []string{"/"} // what cannot be known is not open
	}
	out, err := g.hiddenNow(g.ctx(), gr, noRules, nil)
	if err != nil {
		return []string{"/"}
	}
	return out
}

// keptFrom is a test for what of a tree no agent may be given with a folder that is made from it, nor by a merge into
// it: what is hidden there, with what hidden links lead to, and what rules keep from being read. The tree may itself be
// a folder of an agent's own.
func (g *guard) keptFrom(ctx context.Context, p *policy, of string, rules func(path string) bool) (
	func(path string) bool, error) {
	h := p.all.HiddenIn(of, p.all.Hidden().Project())
	found, err := g.find(ctx, of, hidden.Pattern{Key: "kept from\n" + of, Name: h.MayCover, Path: h.IsIn})
	if err != nil {
		return nil, err
	}
	var targets []string
	for _, path := range append(found, h.Paths()...) {
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			targets = append(targets, real)
		}
	}
	return func(path string) bool {
		_, covered := h.Covers(path)
		return covered || rules != nil && rules(path) || troupe.WithinAny(path, targets)
	}, nil
}

func noRules(string) []hidden.Pattern { return nil }

// hiddenNow are the files and folders that settings and rules hide, in the project and elsewhere, as far as they exist;
// denied are the patterns of the rules.
func (g *guard) hiddenNow(ctx context.Context, gr *folder, rules func(project string) []hidden.Pattern,
	denied []string) ([]string, error) {
	out, globs := gr.hidden.Paths(), append(gr.hidden.Globs(), denied...)
	for _, dir := range gr.more() {
		if !exists(dir) || !slices.ContainsFunc(globs, func(text string) bool { return reaches(text, dir) }) {
			continue
		}
		settings := hidden.Pattern{Key: "settings\n" + gr.at.Dir(), Name: gr.hidden.MayCover, Path: gr.hidden.IsIn}
		found, err := g.find(ctx, dir, append(rules(dir), settings)...)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	more, _, err := elsewhere(ctx, g, gr, globs)
	if err != nil {
		return nil, err
	}
	others, err := hiddenBeside(ctx, g, gr)
	if err != nil {
		return nil, err
	}
	out = slices.Concat(out, more, others)
	for _, h := range []config.Hidden{gr.hidden, gr.own} {
		if h.Project() == "" {
			continue
		}
		settings := hidden.Pattern{Key: "settings\n" + gr.at.Dir(), Name: h.MayCover, Path: h.IsIn}
		found, err := g.find(ctx, h.Project(), append(rules(h.Project()), settings)...)
		if err != nil {
			return nil, err
		}
		g.app.learned.from(h.Project(), found)
		out = append(out, found...)
	}
	return out, nil
}

// finder is the one for a folder. All sessions that work in it share it, for its watches are the user's.
func (g *guard) finder(dir string) *hidden.Finder {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.finders[dir]
	if f == nil {
		f = hidden.New(dir)
		g.finders[dir] = f
	}
	return f
}

// find looks with it. What has just been let go of by the end of another session is taken up once more.
func (g *guard) find(ctx context.Context, dir string, patterns ...hidden.Pattern) ([]string, error) {
	found, err := g.finder(dir).Now(ctx, patterns...)
	if errors.Is(err, os.ErrClosed) {
		found, err = g.finder(dir).Now(ctx, patterns...)
	}
	return found, err
}

// unwatched says of each folder that is looked through before each command what that costs, and why.
func (g *guard) unwatched() (lacks []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for dir, f := range g.finders {
		if s := f.State(); s.Unwatched != "" {
			lacks = append(lacks, fmt.Sprintf("watches for hidden files in %s (%s; each command first looks through "+
				"%d names, %s)", dir, s.Unwatched, s.Names, s.Took.Round(time.Millisecond)))
		}
	}
	slices.Sort(lacks)
	return lacks
}

// tryHidden looks once, and says what is wrong with that.
func (g *guard) tryHidden(ctx context.Context, cwd string) []string {
	gr, err := g.folder(session.Place{Cwd: cwd})
	if err == nil {
		_, err = g.hiddenNow(ctx, gr, noRules, nil)
	}
	if err != nil {
		return []string{err.Error()}
	}
	_, unsearched, err := elsewhere(ctx, g, gr, gr.hidden.Globs())
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, glob := range unsearched {
		out = append(out, "sandbox.deny_read: "+notSearched(glob))
	}
	for _, lack := range g.unwatched() {
		out = append(out, "commands have to do without "+lack)
	}
	return out
}
