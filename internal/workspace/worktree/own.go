package worktree

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe/internal/disk"
)

// A keeper borrows the caller's objects, and git writes no object that it finds there. Of these only what the base and
// the tips reach is sure to stay: everything else may go with a branch of the caller's, so the keeper copies it before
// anything of it counts as kept. What is kept can then be had from the keeper, the base and the tips alone.

// ownTree writes the tree of the index, with the keeper's own copy of what differs from the one that was kept last.
func ownTree(ctx context.Context, p place, r repo, folder, was, base string) (string, error) {
	tree, err := r.out(ctx, "write-tree")
	if err != nil || tree == was || r.all {
		return tree, err
	}
	if err := p.k.step("looked"); err != nil {
		return "", err
	}
	names, ids, err := differing(ctx, r, was, tree)
	if err == nil {
		err = ownFiles(ctx, p, r, ids, base)
	}
	if err == nil || ctx.Err() != nil {
		return tree, err
	}
	// The caller's has gone between our look and now. The folder has it still, and git looks at a file again that the
	// index does not know.
	s, err := r.sortOut(ctx, folder, names)
	if err != nil {
		return "", err
	}
	if _, err := r.take(ctx, folder, scan{gone: names}); err != nil {
		return "", err
	}
	if _, err := r.take(ctx, folder, s); err != nil {
		return "", err
	}
	if tree, err = r.out(ctx, "write-tree"); err != nil {
		return "", err
	}
	if _, ids, err = differing(ctx, r, was, tree); err != nil {
		return "", err
	}
	return tree, ownFiles(ctx, p, r, ids, base)
}

// differing are the files in which a tree is not as another, and the objects that it has for them and their folders.
func differing(ctx context.Context, r repo, was, tree string) (names, ids []string, err error) {
	list, err := r.out(ctx, "diff-tree", "-r", "-t", "-z", "--no-renames", was, tree)
	if err != nil {
		return nil, nil, err
	}
	ids = []string{tree}
	entries := fields(list)
	for i := 0; i+1 < len(entries); i += 2 {
		about := strings.Fields(entries[i])
		if len(about) < 5 || about[4] == "D" || about[1] == modeRepo {
			continue
		}
		ids = append(ids, about[3])
		if about[1] != modeFolder {
			names = append(names, entries[i+1])
		}
	}
	return names, ids, nil
}

// modeFolder is what a tree has for a folder.
const modeFolder = "040000"

// ownFiles is own for what a tree has, but for what the base has.
func ownFiles(ctx context.Context, p place, r repo, ids []string, base string) error {
	borrowed, err := borrowed(p, ids)
	if err != nil || len(borrowed) == 0 {
		return err
	}
	list, err := reached(ctx, r, borrowed, base+"^{tree}")
	if err != nil {
		return err
	}
	return own(ctx, p, r, slices.DeleteFunc(borrowed, func(id string) bool { return !list[id] }))
}

// reached are the objects that some reach, and others do not. It is an error where one is not there.
func reached(ctx context.Context, r repo, from []string, not ...string) (map[string]bool, error) {
	list, err := r.feed(ctx, revisions(from, not...), "rev-list", "--objects", "--stdin")
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for line := range strings.Lines(list) {
		id, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		all[id] = true
	}
	return all, nil
}

// What a commit may name: a few trees in trees stand for as many files as their author likes, and git has the names of
// all of them in memory where it compares two.
const (
	mostNames     = 3_000_000
	mostNameBytes = 512 << 20
)

// bounded refuses a commit or tree of a stranger's that names more files than that.
func bounded(ctx context.Context, r repo, id string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	count := counter{stop: stop}
	err := r.runner.Stream(ctx, &count, "ls-tree", "-r", "-z", "--name-only", id)
	if count.names > mostNames || count.bytes > mostNameBytes {
		return fmt.Errorf("%.12s names more than %d files", id, mostNames)
	}
	return err
}

// weight is how many bytes the files of a bounded tree have.
func weight(ctx context.Context, r repo, id string) (all int64, err error) {
	list, err := r.out(ctx, "ls-tree", "-r", "-z", "--format=%(objectsize)", id)
	for _, size := range fields(list) {
		if n, err := strconv.ParseInt(size, 10, 64); err == nil { // else it is another repository
			all += n
		}
	}
	return all, err
}

// counter counts names that end with a zero, and stops what prints them once there are too many.
type counter struct {
	names, bytes int
	stop         func()
}

// Write implements io.Writer.
func (c *counter) Write(b []byte) (int, error) {
	c.names, c.bytes = c.names+bytes.Count(b, []byte{0}), c.bytes+len(b)
	if c.names > mostNames || c.bytes > mostNameBytes {
		c.stop()
	}
	return len(b), nil
}

// own has the keeper copy those of the objects that it only borrows.
func own(ctx context.Context, p place, r repo, ids []string) (err error) {
	ids, err = borrowed(p, ids)
	if err != nil || len(ids) == 0 {
		return err
	}
	file, err := os.CreateTemp(p.folder, "pack-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	out := r
	out.runner.In = strings.NewReader(strings.Join(ids, "\n") + "\n")
	if err := out.runner.Stream(ctx, file, "pack-objects", "--stdout", "--quiet"); err != nil {
		return err
	}
	if _, err := file.Seek(0, 0); err != nil {
		return err
	}
	r.runner.In = file
	return errors.Join(r.run(ctx, "index-pack", "--stdin"), p.k.step("owned"))
}

// borrowed are those of the objects that the keeper does not have itself.
func borrowed(p place, ids []string) ([]string, error) {
	objects := filepath.Join(p.repo, "objects")
	var out []string
	for _, id := range ids {
		if _, err := os.Lstat(filepath.Join(objects, id[:2], id[2:])); errors.Is(err, fs.ErrNotExist) {
			out = append(out, id)
		} else if err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	indexes, err := filepath.Glob(disk.Pattern(filepath.Join(objects, "pack")) + "/*.idx")
	if err != nil {
		return nil, err
	}
	for _, path := range indexes {
		index, err := disk.Read(path, 4<<30)
		if err != nil {
			return nil, err
		}
		out = slices.DeleteFunc(out, func(id string) bool { return inPack(index, id) })
	}
	return out, nil
}

// inPack reports whether the index of a pack, of git's version 2, lists an object.
func inPack(index []byte, id string) bool {
	const head, fan = 8, 256 * 4
	name, err := hex.DecodeString(id)
	if err != nil || len(index) < head+fan || !bytes.Equal(index[:head], []byte("\xfftOc\x00\x00\x00\x02")) {
		return false
	}
	all := int(binary.BigEndian.Uint32(index[head+fan-4:]))
	names := index[head+fan:]
	if len(names)/len(name) < all {
		return false
	}
	at := func(i int) []byte { return names[i*len(name) : (i+1)*len(name)] }
	i := sort.Search(all, func(i int) bool { return bytes.Compare(at(i), name) >= 0 })
	return i < all && bytes.Equal(at(i), name)
}
