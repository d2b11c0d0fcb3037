package worktree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// Past is how the content of a workspace went from one checkpoint to the next.
type Past struct {
	There bool     // the folder is at its place
	Steps [][]Step // one for each pair of checkpoints
}

// Step is a file that two checkpoints differ in.
type Step struct {
	Path     string // absolute
	From, To Version
}

// Version is what a checkpoint has of a file. The zero value is: nothing.
type Version struct {
	ID   string // of the object
	Hash string // troupe.ContentHash of the content, or something that is none if that cannot be had
	Exec bool
	Odd  bool // it is no regular file: a link, or another repository
}

// Past compares checkpoints, the first with the base. Nothing is changed, and nothing is waited for: objects of a
// keeper stay as they are.
func (k *Keeper) Past(ctx context.Context, ws troupe.Workspace, trees []string) (Past, error) {
	p, err := k.place(ws)
	if err != nil {
		return Past{}, err
	}
	rec, err := readRecord(p.folder)
	if err != nil {
		return Past{}, fmt.Errorf("read the checkpoints of the workspace %s: %w", ws.Name, err)
	}
	out := Past{}
	if out.There, _, err = p.has(rec); err != nil {
		return Past{}, err
	}
	r, err := k.keeper(p)
	if err != nil {
		return Past{}, err
	}
	last, err := r.out(ctx, "rev-parse", "--verify", rec.Base.Commit+"^{tree}")
	if err != nil {
		return Past{}, err
	}
	var pairs strings.Builder
	for _, tree := range trees {
		if !isID(tree) {
			return Past{}, fmt.Errorf("%q names no checkpoint", tree)
		}
		pairs.WriteString(last + " " + tree + "\n")
		last = tree
	}
	list, err := r.feed(ctx, pairs.String(), "diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", "--no-abbrev",
		"--ignore-submodules=none")
	if err != nil {
		return Past{}, err
	}
	if out.Steps, err = stepsOf(list, p.ws.Top); err != nil || len(out.Steps) != len(trees) {
		return Past{}, errors.Join(err, fmt.Errorf("some of %d checkpoints of the workspace %s are gone", len(trees),
			ws.Name))
	}
	return out, r.hashes(ctx, out.Steps)
}

// stepsOf reads what diff-tree printed of pairs of trees: a line with the two, then the files, each behind a zero byte.
func stepsOf(list, top string) (out [][]Step, err error) {
	for list != "" {
		if !strings.HasPrefix(list, ":") {
			head, rest, _ := strings.Cut(list, "\n")
			if from, to, ok := strings.Cut(head, " "); !ok || !isID(from) || !isID(to) {
				return nil, fmt.Errorf("git diff-tree printed %.100q", head)
			}
			out, list = append(out, nil), rest
			continue
		}
		about, rest, _ := strings.Cut(list[1:], "\x00")
		name, rest, _ := strings.Cut(rest, "\x00")
		list = rest
		parts := strings.Fields(about)
		if len(parts) < 4 || len(out) == 0 {
			return nil, fmt.Errorf("git diff-tree printed %.100q", about)
		}
		if inFolder(name) { // else the tree was written by hand
			n := len(out) - 1
			out[n] = append(out[n], Step{filepath.Join(top, name), versionOf(parts[0], parts[2]),
				versionOf(parts[1], parts[3])})
		}
	}
	return out, nil
}

func versionOf(mode, id string) Version {
	v := Version{ID: id, Hash: "git:" + id}
	switch mode {
	case "000000":
		return Version{}
	case modeRun:
		v.Exec = true
	case modeLink, modeRepo:
		v.Odd = true
	}
	return v
}

// hashes finds out by which hash the contents are known elsewhere.
func (r repo) hashes(ctx context.Context, steps [][]Step) error {
	known := map[string]string{}
	var ask strings.Builder
	each := func(do func(v *Version)) {
		for _, list := range steps {
			for i := range list {
				for _, v := range []*Version{&list[i].From, &list[i].To} {
					if v.ID != "" && !v.Odd {
						do(v)
					}
				}
			}
		}
	}
	each(func(v *Version) {
		if _, asked := known[v.ID]; !asked {
			known[v.ID] = v.Hash
			ask.WriteString(v.ID + "\n")
		}
	})
	if ask.Len() == 0 {
		return nil
	}
	r.runner.In = strings.NewReader(ask.String())
	if err := r.runner.Stream(ctx, &hasher{known: known}, "cat-file", "--batch"); err != nil {
		return fmt.Errorf("git cat-file: %w", err)
	}
	each(func(v *Version) { v.Hash = known[v.ID] })
	return nil
}

// hasher reads what cat-file prints, and keeps nothing of it but hashes.
type hasher struct {
	known map[string]string
	head  []byte
	id    string
	left  int64 // of the content, and the line's end behind it
	sum   hash.Hash
}

func (h *hasher) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		if h.left == 0 {
			line, rest, whole := bytes.Cut(b, []byte("\n"))
			h.head, b = append(h.head, line...), rest
			if whole {
				h.begin(string(h.head))
				h.head = h.head[:0]
			}
			continue
		}
		part := b[:min(int64(len(b)), h.left)]
		b, h.left = b[len(part):], h.left-int64(len(part))
		if h.left == 0 {
			part = part[:len(part)-1]
		}
		h.sum.Write(part)
		if h.left == 0 {
			h.known[h.id] = hex.EncodeToString(h.sum.Sum(nil)[:16])
		}
	}
	return n, nil
}

// begin takes the line before a content. What is missing has none, and stays without a hash.
func (h *hasher) begin(line string) {
	parts := strings.Fields(line)
	if len(parts) != 3 {
		return
	}
	size, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return
	}
	h.id, h.left, h.sum = parts[0], size+1, sha256.New()
}

// contentMost bounds one content that is read back.
const contentMost = 256 << 20

// Content is what a checkpoint has of a file.
func (k *Keeper) Content(ctx context.Context, ws troupe.Workspace, id string) ([]byte, error) {
	p, err := k.place(ws)
	if err != nil {
		return nil, err
	}
	r, err := k.keeper(p)
	if err != nil {
		return nil, err
	}
	if !isID(id) {
		return nil, fmt.Errorf("%q: %w", id, fs.ErrNotExist)
	}
	out := git.Capped{Limit: contentMost}
	if err := r.runner.Stream(ctx, &out, "cat-file", "blob", id); err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	if out.Cut {
		return nil, fmt.Errorf("it is larger than %d bytes", contentMost)
	}
	return out.Buf.Bytes(), nil
}
