package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/command"
)

// Completes is what a command wanted, with what belongs to it and would be wanted next, so that a person is asked
// once: a command of git that makes a repository needs its folder, in it the one folder that is git's, and to fetch
// it the network. A clone's folder gets all files of its work tree, which may be protected ones.
func (*Tools) Completes(a troupe.Access, wants []troupe.Attempt) []troupe.Attempt {
	if !strings.Contains(a.Command, "git") {
		return wants
	}
	read, err := command.Read(a.Command)
	if err != nil {
		return wants
	}
	add := func(w troupe.Attempt) {
		if slices.ContainsFunc(wants, func(o troupe.Attempt) bool { return o.Covers(w) }) {
			return
		}
		wants = slices.DeleteFunc(slices.Clone(wants), w.Covers)
		wants = append(wants, w)
	}
	create := func(name string, kind troupe.Made) {
		add(troupe.Attempt{Op: troupe.OpCreate, Path: name, Kind: kind})
	}
	for i := range read.Parts {
		r, ok := command.Repository(read.Parts[i].Words)
		if !ok {
			continue
		}
		folder, ok := folderOf(r, wants)
		if !ok {
			continue
		}
		switch {
		case r.Bare:
			create(folder, troupe.KindFolder)
			create(folder, troupe.KindRepository)
		case r.Clone:
			create(folder, troupe.KindTree)
		default:
			create(folder, troupe.KindFolder)
			create(folder+"/.git", troupe.KindTree)
		}
		if r.Remote {
			add(troupe.Attempt{Op: troupe.OpConnect, Path: troupe.NetUDP})
		}
	}
	return wants
}

// Whole is an attempt with what belongs to it whatever the command is: a folder .git is made to be git's, with the
// settings and hooks that git puts there, and so is one of a work tree or a submodule below it.
func Whole(w troupe.Attempt) troupe.Attempt {
	if w.Op == troupe.OpCreate && w.Kind == troupe.KindFolder && (path.Base(w.Path) == ".git" ||
		strings.Contains(w.Path, "/.git/worktrees/") || strings.Contains(w.Path, "/.git/modules/")) {
		w.Kind = troupe.KindTree
	}
	return w
}

// folderOf is the folder of a repository that was to be made, by what was wanted.
func folderOf(r command.NewRepository, wants []troupe.Attempt) (string, bool) {
	made := slices.DeleteFunc(slices.Clone(wants), func(w troupe.Attempt) bool {
		return w.Op != troupe.OpCreate || path.Base(w.Path) == ".git"
	})
	for _, w := range made {
		if folder, ok := r.Under(w.Path); ok {
			return folder, true
		}
	}
	if r.Folder == "" && len(made) == 1 {
		return made[0].Path, true
	}
	// In the workspace a folder can be made, and only git's in it is asked about.
	for _, w := range wants {
		if r.Bare && w.Op == troupe.OpCreate && path.Base(w.Path) == "HEAD" {
			if folder, ok := r.Under(path.Dir(w.Path)); ok {
				return folder, true
			}
		}
		if r.Clone && w.Op == troupe.OpCreate && path.Base(w.Path) == ".git" {
			if folder, ok := r.Under(path.Dir(w.Path)); ok || r.Folder == "" {
				return folder, true
			}
		}
	}
	return "", false
}
