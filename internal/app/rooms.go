package app

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
)

// rooms has a command see of what sessions have beside each other what is its own's: the scratchpad, saved outputs and
// the temporary folder. Where there are no rooms, or something of the session's lies in one, what is there when the
// command begins is hidden one by one.
func rooms(g *guard, c session.Confine, out *troupe.Confinement) {
	pads := scratchpadsOf(g.app)
	temps := filepath.Dir(filepath.Dir(out.Temp)) // of this process
	for _, r := range []struct {
		all, own string
		others   func() []string
	}{
		{pads.all, c.Scratchpad, func() []string { return pads.others(c.Scratchpad) }},
		{g.app.dirs.Outputs(), g.app.outputDir(c.Session.ID), func() []string { return g.otherOutputs(c.Session.ID) }},
		{temps, filepath.Join(temps, treeOf(c.Session)), func() []string { return otherTrees(g, c.Session, temps) }},
	} {
		if r.all != "" {
			// what is not there cannot be hidden, and another process may make it any time
			_ = os.MkdirAll(r.all, 0o700)
		}
		if room, ok := room(g, r.all, r.own, c, out); ok {
			out.Rooms = append(out.Rooms, room)
		} else {
			out.Hidden = append(out.Hidden, r.others()...)
		}
	}
}

// room makes a room of a folder, if it can be one.
func room(g *guard, all, own string, c session.Confine, out *troupe.Confinement) (troupe.Room, bool) {
	if all == "" || own == "" || !g.box.Support(g.ctx()).Namespaces {
		return troupe.Room{}, false
	}
	all, own = tool.Resolve(all), tool.Resolve(own)
	if info, err := os.Lstat(own); err != nil || !info.IsDir() || filepath.Dir(own) != all {
		return troupe.Room{}, false
	}
	beside := func(path string) bool { return troupe.Within(path, all) && !troupe.Within(path, own) }
	if slices.ContainsFunc(slices.Concat([]string{c.Session.Dir(), c.Session.Cwd}, out.Writable, out.Scratch), beside) {
		return troupe.Room{}, false
	}
	return troupe.Room{Folder: all, Own: own}, true
}
