package app

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/config/gitconfig"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
)

// protect fills in what stays as it is below what a command may write. In caches, which hold what is of no
// project, nothing does.
func (g *guard) protect(gr *folder, c session.Confine, out *troupe.Confinement) {
	asked := g.box.Support(g.ctx()).Notify
	o, denied, own := openedBy(c.Granted, asked), denied(c), g.own()
	pad := func(path string) bool {
		return c.Scratchpad != "" && path != c.Scratchpad && troupe.Within(path, c.Scratchpad)
	}
	settled := gate.Closed(c.Scratchpad, gr.closed)
	closed := func(path string) string {
		if troupe.WithinAny(path, own) {
			return "Troupe's own settings and sessions"
		}
		if troupe.WithinAny(path, out.Scratch) || out.Temp != "" && troupe.Within(path, out.Temp) {
			return ""
		}
		if out.Temp != "" && troupe.Within(path, filepath.Dir(filepath.Dir(out.Temp))) {
			return "the temporary folder of another agent"
		}
		if why := cmp.Or(denied(path), settled(path)); why != "" || c.Outside == nil {
			return why
		}
		return c.Outside(path)
	}
	out.Closed = func(path string) bool { return closed(path) != "" }
	out.Guarded = func(path string) string {
		if why := closed(path); why != "" || pad(path) || o.opens(path) {
			return why
		}
		why, _ := gr.protected.Covers(path)
		return why
	}
	out.Starts = g.starts
	out.Leads = func(path string) bool { return !pad(path) && gr.protected.Leads(path) }
	out.Repository = func(path string) string {
		if pad(path) {
			return ""
		}
		return config.GitFolder(path)
	}
	out.Replaces = func(path string, was, is []byte) bool {
		switch {
		case closed(path) != "":
			return false
		case gr.protected.Unfinished(path):
			return gitconfig.HarmlessTodo(was, is)
		default:
			return was != nil && is != nil && gr.protected.Config(path) &&
				gitconfig.Harmless(was, is, config.BesideGit(g.app.dirs.Home, g.app.env.Lookup))
		}
	}
	out.Protected = gr.protected.Paths()
	for _, glob := range c.Unwritable {
		if name, ok := config.Literal(glob); ok {
			out.Protected = append(out.Protected, name)
		}
	}
	if !asked {
		out.Protected = append(out.Protected, gr.nested.now(gr.protected, g.app.env.Now)...)
	}
	out.Protected = slices.DeleteFunc(out.Protected, func(p string) bool { return closed(p) == "" && o.opens(p) })
}

// denied says which rule keeps a path from being written. What rules deny no answer opens.
func denied(c session.Confine) func(path string) (why string) {
	if c.Keeps == nil {
		return func(string) string { return "" }
	}
	return c.Keeps
}

// writable are the folders and files that a command may write in the workspace, and what was granted for this
// run, without what a rule denies whole.
func (g *guard) writable(gr *folder, c session.Confine) (out []string, granted []troupe.Attempt) {
	denied := denied(c)
	if c.Level == troupe.LevelWorkspace {
		for _, path := range g.workspace(gr) {
			if denied(path) == "" {
				out = append(out, g.leads(path, func() string { return tool.Resolve(path) }))
			}
		}
		if c.Outside != nil && !g.box.Support(g.ctx()).Notify {
			out = within(c.Whole, out)
		}
	}
	if c.Scratchpad != "" && denied(c.Scratchpad) == "" && gr.protected.Denied(c.Scratchpad) == "" {
		out = append(out, c.Scratchpad)
	}
	for _, a := range c.Granted {
		if a.Changes() && denied(a.Path) == "" && gr.closed(a.Path) == "" &&
			(c.Outside == nil || c.Outside(a.Path) == "") {
			granted = append(granted, a)
		}
	}
	return out, granted
}

// within are those of the folders and files that are there and lie in others, without a link on the way.
func within(whole, folders []string) (out []string) {
	for _, path := range whole {
		if _, err := os.Lstat(path); err == nil && tool.Resolve(path) == path && troupe.WithinAny(path, folders) {
			out = append(out, path)
		}
	}
	return out
}

// stillToMake is what was granted, without files that were to be made and that another program has made since: leave
// to make a file is no leave to change that one, and the command is asked about it.
func stillToMake(c session.Confine) []troupe.Attempt {
	return slices.DeleteFunc(slices.Clone(c.Granted), func(a troupe.Attempt) bool {
		if a.Op != troupe.OpCreate || !slices.Contains(c.Asked, a) {
			return false
		}
		info, err := os.Lstat(a.Path)
		return err == nil && !info.IsDir()
	})
}

// workspace are the folders that sessions of a place may write, as they are named.
func (g *guard) workspace(gr *folder) []string {
	switch w := gr.at.Work; {
	case w.Kind == troupe.WorkspaceReadOnly:
		return nil
	case w.Kind.Made():
		return gr.folders()
	default:
		return append(gr.folders(), absolute(gr.policy.settings.Sandbox.Write, gr.at.Cwd, g.app.dirs.Home)...)
	}
}

// own are Troupe's folders, which no leave opens.
func (g *guard) own() []string {
	var out []string
	for _, dir := range []string{g.app.dirs.Config, g.app.dirs.Data, g.app.dirs.Run} {
		if dir == "" {
			continue
		}
		out = append(out, dir)
		if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
			out = append(out, real)
		}
	}
	return out
}

// ofRepository lists what makes a folder a repository of git.
func ofRepository() []string {
	return []string{"HEAD", "objects", "refs", "config", "hooks", "info", "branches"}
}

// opened is what of the protected places was allowed for one run, beyond the operations that were shown one by
// one: those the sandbox knows.
type opened struct {
	// paths are those that were shown, where the sandbox knows no operations.
	paths map[string]bool
	// folders are new ones in a repository's own folder, of a work tree or a submodule.
	folders []string
	// bare are folders that become repositories, and kept the files that were there before: those stay as they are.
	bare []string
	kept map[string]bool
}

func openedBy(granted []troupe.Attempt, listened bool) opened {
	o := opened{paths: make(map[string]bool)}
	for _, a := range granted {
		switch folder, ok := a.Beside(); {
		case !a.Changes():
		case ok && missing(folder):
			o.folders = append(o.folders, folder)
		case a.Kind == troupe.KindRepository && !(missing(filepath.Join(a.Path, "HEAD")) && o.keep(a.Path)):
		case a.Kind == troupe.KindRepository:
			o.bare = append(o.bare, a.Path)
		case !listened:
			o.paths[a.Path] = true
		}
	}
	return o
}

// mostKept is more than git puts into a new repository.
const mostKept = 1000

// keep notes the files that are in a folder where a repository's would be. It reports false if there are more than a
// new one has.
func (o *opened) keep(dir string) bool {
	if o.kept == nil {
		o.kept = make(map[string]bool)
	}
	for _, name := range ofRepository() {
		err := filepath.WalkDir(filepath.Join(dir, name), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				o.kept[path] = true
			}
			if len(o.kept) > mostKept {
				return fs.SkipAll
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) || len(o.kept) > mostKept {
			return false
		}
	}
	return true
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// opens reports whether a path was allowed, or is part of a repository that was allowed to be made.
func (o *opened) opens(path string) bool {
	if o.paths[path] || troupe.WithinAny(path, o.folders) {
		return true
	}
	if o.kept[path] {
		return false
	}
	for _, dir := range o.bare {
		if rest, ok := strings.CutPrefix(path, dir+"/"); ok {
			if piece, _, _ := strings.Cut(rest, "/"); slices.Contains(ofRepository(), piece) {
				return true
			}
		}
	}
	return false
}

// nested are the protected places that only looking finds. They are looked for where no listener is asked about
// each change. The walk counts for a second at least; in a large project for longer, so that no more
// than one part in nestedShare of the time is spent looking.
type nested struct {
	mu     sync.Mutex
	looked time.Time
	fresh  time.Duration
	found  []string
}

const (
	nestedFresh = time.Second
	nestedShare = 20
	nestedMost  = 50_000
)

func (n *nested) now(p *config.Protection, clock func() time.Time) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := clock(); now.Sub(n.looked) > n.fresh || now.Before(n.looked) {
		n.found, _ = p.InProject(nestedMost)
		n.looked = clock()
		n.fresh = max(nestedFresh, nestedShare*n.looked.Sub(now))
	}
	return n.found
}
