package worktree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// agentRefs is what an agent's repository says of itself, read as data.
type agentRefs struct {
	head   string // the commit; "" if there is none
	branch string // what HEAD stands for; "" for a commit alone
	refs   map[string]string
	// stashes are the entries of the stash, the newest first, and old all that HEAD has been at.
	stashes, old []string
}

// Bounds of what is read of an agent's repository.
const (
	refMost  = 4 << 10
	refsMost = 100_000
	logMost  = 64 << 20
)

// agentDir opens the .git of an agent's folder, if it is a folder there.
func agentDir(folder string) (*os.Root, error) {
	top, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = top.Close() }() // what was opened below it stays open
	info, err := top.Lstat(".git")
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errors.New("its .git is no folder any more")
	}
	return top.OpenRoot(".git")
}

// readIn reads a regular file that is in the folder: a link out of it is not followed.
func readIn(root *os.Root, name string, most int64) ([]byte, error) {
	f, err := root.OpenFile(name, readFlags, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", name)
	}
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(f, most+1))
	}
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s is too large", name)
	}
	return data, errors.Join(err, f.Close())
}

// readAgent reads HEAD, all refs and what HEAD and the stash have been.
func readAgent(root *os.Root) (*agentRefs, error) {
	a := &agentRefs{refs: map[string]string{}}
	if data, err := readIn(root, "packed-refs", packedMost); err == nil {
		for _, r := range parsePacked(data) {
			a.refs[r.name] = r.id
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if len(a.refs) > refsMost {
		return nil, fmt.Errorf("it has more than %d refs", refsMost)
	}
	links := map[string]string{}
	err := fs.WalkDir(root.FS(), "refs", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.HasSuffix(name, ".lock") {
			return nil // what cannot be read is no ref of git's either
		}
		if len(a.refs) > refsMost {
			return fmt.Errorf("it has more than %d refs", refsMost)
		}
		data, err := readIn(root, name, refMost)
		if err != nil {
			return nil
		}
		if to, ok := strings.CutPrefix(string(data), "ref: "); ok {
			links[name] = strings.TrimSpace(to)
		} else if id := strings.TrimSpace(string(data)); isID(id) {
			a.refs[name] = id
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for name, to := range links {
		if id := a.refs[to]; id != "" {
			a.refs[name] = id
		}
	}
	all := maps.Clone(a.refs)
	names := slices.Sorted(maps.Keys(all))
	for i, name := range names {
		// No two refs of a repository have names of which one lies below the other.
		if !goodRef(name) || i+1 < len(names) && strings.HasPrefix(names[i+1], name+"/") {
			a.old = append(a.old, a.refs[name])
			delete(a.refs, name)
		}
	}
	a.readHead(root, all)
	return a, nil
}

// readHead reads what HEAD is, and the stashes. all are the refs there are, whatever they are called.
func (a *agentRefs) readHead(root *os.Root, all map[string]string) {
	if data, err := readIn(root, "HEAD", refMost); err == nil {
		text := strings.TrimSpace(string(data))
		if to, ok := strings.CutPrefix(text, "ref:"); ok {
			if a.branch = strings.TrimSpace(to); !goodRef(a.branch) {
				a.branch = ""
			}
			a.head = all[strings.TrimSpace(to)]
		} else if isID(text) {
			a.head = text
		}
	}
	stashes := readLog(root, "logs/refs/stash")
	slices.Reverse(stashes)
	a.stashes = stashes
	a.old = append(a.old, readLog(root, "logs/HEAD")...)
	// Worktrees that the agent made of its repository have a HEAD each.
	if trees, err := fs.ReadDir(root.FS(), "worktrees"); err == nil {
		for _, t := range trees {
			a.old = append(a.old, readLog(root, path.Join("worktrees", t.Name(), "logs/HEAD"))...)
			if data, err := readIn(root, path.Join("worktrees", t.Name(), "HEAD"), refMost); err == nil {
				if id := strings.TrimSpace(string(data)); isID(id) {
					a.old = append(a.old, id)
				}
			}
		}
	}
	for _, name := range []string{"ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD", "AUTO_MERGE"} {
		if data, err := readIn(root, name, refMost); err == nil {
			if id := strings.TrimSpace(string(data)); isID(id) {
				a.old = append(a.old, id)
			}
		}
	}
}

// readLog lists what a ref has been, the newest last. One that cannot be read has nothing.
func readLog(root *os.Root, name string) []string {
	data, err := readIn(root, name, logMost)
	if err != nil {
		return nil
	}
	var ids []string
	for line := range strings.Lines(string(data)) {
		if parts := strings.SplitN(line, " ", 3); len(parts) == 3 && isID(parts[1]) &&
			strings.Trim(parts[1], "0") != "" {
			ids = append(ids, parts[1])
		}
	}
	return ids
}

// goodRef reports whether git takes it for the name of a ref.
func goodRef(name string) bool {
	if !strings.HasPrefix(name, "refs/") || len(name) > 1000 || strings.HasSuffix(name, "/") ||
		strings.HasSuffix(name, ".") || strings.Contains(name, "..") || strings.Contains(name, "@{") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	// What a person would not see, or see otherwise, is in no name of theirs: such a ref is kept by its id.
	return troupe.VisibleLine(name) == name && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune("~^:?*[\\", r)
	})
}

// wanted is what of it is to be kept, by the names of kept refs: what it was born with is not.
func (a *agentRefs) wanted(born []gitRef) kept {
	was := map[string]string{}
	for _, r := range born {
		was[r.name] = r.id
	}
	w := kept{}
	for name, id := range a.refs {
		short := strings.TrimPrefix(name, "refs/")
		if was[name] != id && !strings.HasPrefix(short, "replace/") {
			w[keptAgent+short] = id
		}
	}
	if a.head != "" {
		w[keptHead] = a.head
	}
	for i, id := range a.stashes {
		w[fmt.Sprintf("%s%04d", keptStashed, i)] = id
	}
	return w
}
