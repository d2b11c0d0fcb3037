package worktree

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe/internal/disk"
)

// kept are the refs of a keeper, by their names below refs/kept. All are in one file, so that they change in one step.
// Objects of a keeper are never collected.
type kept map[string]string

const keptPrefix = "refs/kept/"

// Names of kept refs, and beginnings of names.
const (
	keptBase    = "base"                 // what the workspace began with
	keptSaved   = "saved"                // the tree of the last checkpoint
	keptHead    = "HEAD"                 // the commit of the agent's HEAD
	keptAgent   = "agent/"               // another ref of the agent's repository, by its name below refs
	keptStashed = "stashed/"             // a stash, by its number
	keptOld     = "old/"                 // what a ref of the agent's stood for once, by its id
	keptEnd     = "end"                  // the commit that an end made of what was not committed
	keptLeft    = "unresolved"           // what an end found, with markers: the commit is without them
	keptMerged  = "merged"               // of a copy: what was there when conflicts were handed to it
	keptBeside  = "beside"               // what a tree does not hold of the folder
	keptRepos   = "beside-repositories/" // the .git of a repository in it, by its id
)

func readKept(p place) (kept, error) {
	refs, err := readPacked(filepath.Join(p.repo, "packed-refs"))
	if err != nil {
		return nil, err
	}
	k := kept{}
	for _, r := range refs {
		if name, ok := strings.CutPrefix(r.name, keptPrefix); ok {
			k[name] = r.id
		}
	}
	return k, nil
}

func (k kept) write(p place) error {
	path := filepath.Join(p.repo, "packed-refs")
	others, err := readPacked(path)
	if err != nil {
		return err
	}
	var refs []gitRef
	for _, r := range others {
		if !strings.HasPrefix(r.name, keptPrefix) {
			refs = append(refs, r)
		}
	}
	for name, id := range k {
		refs = append(refs, gitRef{name: keptPrefix + name, id: id})
	}
	return disk.Replace(path, packed(refs), 0o600)
}

// besides are the objects that stand beside the tree, and are not those of before.
func (k kept) besides(before kept) []string {
	var ids []string
	for name, id := range k {
		if strings.HasPrefix(name, keptBeside) && before[name] != id {
			ids = append(ids, id)
		}
	}
	return ids
}

// newest is what a folder is made from again.
func (k kept) newest(rec *record) string {
	if saved := k[keptSaved]; saved != "" {
		return saved
	}
	return rec.Base.Commit
}

func readPacked(path string) ([]gitRef, error) {
	data, err := disk.Read(path, packedMost)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parsePacked(data), nil
}

// packedMost is more than the refs of any repository have.
const packedMost = 256 << 20

func parsePacked(data []byte) []gitRef {
	var refs []gitRef
	for line := range strings.Lines(string(data)) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case strings.HasPrefix(id, "^") && len(refs) > 0:
			refs[len(refs)-1].peeled = id[1:]
		case isID(id) && name != "":
			refs = append(refs, gitRef{name: name, id: id})
		}
	}
	return refs
}

// isID reports whether it is the whole id of an object.
func isID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}
