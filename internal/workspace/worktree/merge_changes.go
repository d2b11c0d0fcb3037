package worktree

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// setMarkers has git write conflicts with markers of a size, whatever a file's attributes say.
func setMarkers(r repo, size int) error {
	const ours = "\n# of the merge\n"
	path := r.aside("info/attributes")
	data, err := disk.Read(path, 64<<20)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	carried, _, _ := strings.Cut(string(data), ours)
	return disk.Cache(path, fmt.Appendf(nil, "%s%s* conflict-marker-size=%d\n", carried, ours, size))
}

// layAttributes lays the files that say how others are merged where git looks for them. They can name what is built in,
// such as union; what runs a program takes a setting, and the computation has none.
func layAttributes(ctx context.Context, r repo, tree string) error {
	r = r.with("GIT_INDEX_FILE=" + r.aside("index.attributes"))
	if err := r.run(ctx, "read-tree", tree); err != nil {
		return err
	}
	list, err := r.out(ctx, "ls-files", "-z", "--", ":(glob)**/.gitattributes")
	if err != nil || list == "" {
		return err
	}
	_, err = r.feed(ctx, list, "checkout-index", "--force", "-z", "--stdin")
	return err
}

// Reasons of files that are not what the merge was begun with.
const (
	whyChanged = "it has just been changed"
	whyRemoved = "it has just been removed"
)

// side is a folder that a tree is to be brought to, from another that is its content now.
type side struct {
	r      repo
	top    string
	hidden func(string) bool
	deltas []delta
	left   *[]string
	// folded are the files that are there, by their names without regard to case; nil, if names have regard to it.
	folded map[string]string
}

// Modes that a tree has for links, for other repositories, and for files that can be run.
const (
	modeLink = "120000"
	modeRepo = "160000"
	modeRun  = "100755"
)

// fold remembers the names in a folder that takes A and a for one.
func (s *side) fold(ctx context.Context, tree string) error {
	list, err := s.r.out(ctx, "ls-tree", "-r", "-z", "--name-only", "--full-tree", tree)
	if err != nil {
		return err
	}
	s.folded = map[string]string{}
	for _, name := range fields(list) {
		s.folded[strings.ToLower(name)] = name
	}
	for _, d := range s.deltas {
		if d.now.id == "" {
			delete(s.folded, strings.ToLower(d.name))
		}
	}
	return nil
}

// changes are what is to be written to the folder, and what cannot be, with its reason. What stands there must be what
// the tree has, or nothing may be there.
func (s *side) changes(ctx context.Context, to string) (changes []Change, blocked []Conflict, err error) {
	s.deltas = slices.DeleteFunc(s.deltas, s.foreign)
	if len(s.deltas) == 0 {
		return nil, nil, nil
	}
	if blocked, err = s.tooMuch(ctx); err != nil {
		return nil, nil, err
	}
	out, err := s.checkout(ctx, to)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range s.deltas {
		c, why, err := s.change(ctx, d, out)
		switch {
		case err != nil:
			return nil, nil, err
		case why != "":
			blocked = append(blocked, Conflict{Path: filepath.Join(s.top, d.name), Why: why,
				moved: why == whyChanged || why == whyRemoved})
		default:
			changes = append(changes, c)
		}
	}
	// What goes makes room for what comes.
	slices.SortStableFunc(changes, func(a, b Change) int {
		switch {
		case a.Gone && !b.Gone:
			return -1
		case b.Gone && !a.Gone:
			return 1
		}
		return 0
	})
	return changes, blocked, nil
}

// mostMerged is how many bytes all files of a merge may have: they are in memory until they are written.
const mostMerged = 1 << 30

// tooMuch takes out what would go past that.
func (s *side) tooMuch(ctx context.Context) (blocked []Conflict, err error) {
	var ids []string
	for _, d := range s.deltas {
		for _, e := range []entry{d.was, d.now} {
			if e.id != "" && e.mode != modeRepo {
				ids = append(ids, e.id)
			}
		}
	}
	list, err := s.r.feed(ctx, revisions(ids), "cat-file", "--batch-check=%(objectname) %(objectsize)")
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for line := range strings.Lines(list) {
		id, size, _ := strings.Cut(strings.TrimSpace(line), " ")
		if sizes[id], err = strconv.ParseInt(size, 10, 64); err != nil {
			return nil, fmt.Errorf("size of %s: %w", id, err)
		}
	}
	all := int64(0)
	s.deltas = slices.DeleteFunc(s.deltas, func(d delta) bool {
		if all += sizes[d.was.id] + sizes[d.now.id]; all <= mostMerged {
			return false
		}
		blocked = append(blocked, Conflict{Path: filepath.Join(s.top, d.name),
			Why: "the files of this merge have more than 1 GB: --into BRANCH takes them"})
		return true
	})
	return blocked, nil
}

// foreign reports whether it is another repository, which a merge does not touch.
func (s *side) foreign(d delta) bool {
	if d.was.mode != modeRepo && d.now.mode != modeRepo {
		return false
	}
	below := func(o delta) bool { return strings.HasPrefix(o.name, d.name+"/") }
	if d.was.id != "" && d.now.id != "" && d.was.mode != d.now.mode || slices.ContainsFunc(s.deltas, below) {
		return false // it would become something else: blocked
	}
	*s.left = append(*s.left, d.name+": it is a repository of its own")
	return true
}

// checkout writes the files as a checkout in the folder would, but elsewhere.
func (s *side) checkout(ctx context.Context, tree string) (folder string, err error) {
	out := s.r.aside("out")
	if err := errors.Join(disk.RemoveTree(out), os.Mkdir(out, 0o700)); err != nil {
		return "", err
	}
	var names strings.Builder
	for _, d := range s.deltas {
		if d.now.id != "" && d.now.mode != modeRepo {
			names.WriteString(d.name + "\x00")
		}
	}
	r := s.r.on(out).with("GIT_INDEX_FILE=" + s.r.aside("index.out"))
	// A tree that has “..” or “.git” as a name cannot be read.
	if err := r.run(ctx, "read-tree", tree); err != nil {
		return "", err
	}
	_, err = r.feed(ctx, names.String(), "checkout-index", "--force", "-z", "--stdin")
	return out, err
}

// change is what is to be done for one file; or why it cannot be done.
func (s *side) change(ctx context.Context, d delta, out string) (c Change, why string, err error) {
	path := filepath.Join(s.top, d.name)
	c = Change{Path: path, Gone: d.now.id == ""}
	switch {
	case d.was.mode == modeRepo || d.now.mode == modeRepo:
		return c, "one side has another repository there", nil
	case s.hidden != nil && s.hidden(path):
		return c, "no agent may write it", nil
	}
	if other := s.folded[strings.ToLower(d.name)]; !c.Gone && other != "" && other != d.name {
		return c, "its name is that of " + other + " but for case, and this folder does not tell them apart", nil
	}
	if c.Above, why, err = s.way(d.name); why != "" || err != nil {
		return c, why, err
	}
	var info fs.FileInfo
	if err = fs.ErrNotExist; c.Above == "" { // else a look would follow the link
		info, err = os.Lstat(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if d.was.id != "" {
			return c, whyRemoved, nil
		}
	case err != nil:
		return c, "", err
	case d.was.id == "":
		if why, err := s.stranger(d.name, info); why != "" || err != nil {
			return c, why, err
		}
	default:
		if why, err = s.same(ctx, d, info, &c); why != "" || err != nil {
			return c, why, err
		}
	}
	if c.Gone {
		return c, "", nil
	}
	c.Content, c.Link, err = readFile(filepath.Join(out, d.name))
	c.Mode = 0o644
	if d.now.mode == modeRun {
		c.Mode = 0o755
	}
	return c, "", err
}

// way looks at the folders above a file: none may be a link or a file, unless that goes, which is said then.
func (s *side) way(name string) (goes, why string, err error) {
	for i := range len(name) {
		if name[i] != '/' {
			continue
		}
		above := name[:i]
		path := filepath.Join(s.top, above)
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", "", nil
		case err != nil:
			return "", "", err
		case info.IsDir():
		case s.goes(above):
			return path, "", nil
		case info.Mode()&fs.ModeSymlink != 0:
			return "", above + " is a link in this folder, and nothing is written through one", nil
		default:
			return "", above + " is a file here", nil
		}
	}
	return "", "", nil
}

// goes reports whether a file is removed, or becomes something else.
func (s *side) goes(name string) bool {
	return slices.ContainsFunc(s.deltas, func(d delta) bool { return d.name == name && d.now.id == "" })
}

// stranger says why something that the tree does not have may not be overwritten; "" if it is a folder of which nothing
// will be left.
func (s *side) stranger(name string, info fs.FileInfo) (why string, err error) {
	if !info.IsDir() {
		return "an ignored or unreadable file is in its place", nil
	}
	errFound := errors.New("found")
	err = filepath.WalkDir(filepath.Join(s.top, name), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if below := strings.TrimPrefix(path, s.top+"/"); !e.IsDir() && !s.goes(below) {
			why = "a folder is in its place, with " + below
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return why, err
}

// same makes sure that the folder has what the tree has there.
func (s *side) same(ctx context.Context, d delta, info fs.FileInfo, c *Change) (why string, err error) {
	if info.IsDir() || !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 {
		return whyChanged, nil
	}
	path := filepath.Join(s.top, d.name)
	data, link, err := readFile(path)
	if err != nil {
		return "", err
	}
	if link != (d.was.mode == modeLink) {
		return whyChanged, nil
	}
	c.Was, c.WasLink = troupe.ContentHash(data), link
	if blobID(data, len(d.was.id)) == d.was.id {
		return "", nil
	}
	if link {
		return whyChanged, nil
	}
	// A file may stand in the folder with other ends of lines than in the tree.
	id, err := s.r.on(s.top).feed(ctx, string(data), "hash-object", "--stdin", "--path="+d.name)
	if err == nil && id != d.was.id {
		return whyChanged, nil
	}
	return "", err
}

// readFile reads a regular file, or where a link leads.
func readFile(path string) (data []byte, link bool, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, false, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		to, err := os.Readlink(path)
		return []byte(to), true, err
	}
	f, err := os.OpenFile(path, readFlags, 0)
	if err != nil {
		return nil, false, err
	}
	data, _, err = disk.ReadFrom(f, 4<<30)
	return data, false, err
}

// blobID is what git calls a content, with ids of a length.
func blobID(data []byte, length int) string {
	sum := sha1.New()
	if length == hex.EncodedLen(sha256.Size) {
		sum = sha256.New()
	}
	_, _ = fmt.Fprintf(sum, "blob %d\x00", len(data)) // a hash takes everything
	_, _ = sum.Write(data)
	return hex.EncodeToString(sum.Sum(nil))
}
