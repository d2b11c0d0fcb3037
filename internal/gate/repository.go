package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/command"
)

// Completes lists what belongs to what a command wanted, and would be wanted next, so that a person
// is asked once: a command of git that makes a repository needs its folder, in it the one folder
// that is git's, and to fetch it the network.
func (*Tools) Completes(a troupe.Access, wants []troupe.Attempt) []troupe.Attempt {
	if !strings.Contains(a.Command, "git") {
		return nil
	}
	read, err := command.Read(a.Command)
	if err != nil {
		return nil
	}
	var out []troupe.Attempt
	add := func(op troupe.AttemptOp, name string) {
		if a := (troupe.Attempt{Op: op, Path: name}); !slices.Contains(wants, a) && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	for i := range read.Parts {
		r, ok := command.Repository(read.Parts[i].Words)
		if !ok {
			continue
		}
		if folder, ok := folderOf(r, wants); ok {
			add(troupe.OpCreate, folder)
			if r.Bare {
				add(troupe.OpCreate, folder+"/HEAD")
			} else {
				add(troupe.OpCreate, folder+"/.git")
			}
			if r.Remote {
				add(troupe.OpConnect, troupe.NetUDP)
			}
		}
	}
	return out
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
		if r.Clone && w.Op == troupe.OpCreate && path.Base(w.Path) == ".git" {
			if folder, ok := r.Under(path.Dir(w.Path)); ok || r.Folder == "" {
				return folder, true
			}
		}
	}
	return "", false
}
