package worktree

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// entry is a file of a tree.
type entry struct{ mode, id string }

// outcome is what git made of two trees.
type outcome struct {
	tree string
	// aside is how git ends the name of a file that another side's folder has taken.
	aside []string
	// stages are, of each file that it could not merge, the base, ours and theirs; one without an id is not there.
	stages map[string][3]entry
	notes  map[string][]string // what git says of a file
	// pieces are what the two sides agree on and what not, of files that are a matter of lines.
	pieces map[string][]piece
	texts  map[string][3]string
}

// conflicted reports whether a file could not be merged.
func (o *outcome) conflicted(name string) bool {
	_, staged := o.stages[name]
	return staged || len(o.notes[name]) > 0
}

func (o *outcome) names() []string {
	all := maps.Clone(o.stages)
	for name := range o.notes {
		if _, staged := all[name]; !staged {
			all[name] = [3]entry{}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// threeWay merges two trees with a third between them. Commits are made for it of which that one is the parent, so that
// it is what git merges by, whatever the history of the two.
func (k *Keeper) threeWay(ctx context.Context, r repo, base, ours, theirs string) (*outcome, error) {
	root, err := k.commit(ctx, r, base, "base")
	if err != nil {
		return nil, err
	}
	a, err := k.commit(ctx, r, ours, "ours", root)
	if err != nil {
		return nil, err
	}
	b, err := k.commit(ctx, r, theirs, "theirs", root)
	if err != nil {
		return nil, err
	}
	if a == b {
		return &outcome{tree: ours}, nil
	}
	size := markerLeast
	for {
		o, err := r.mergeTree(ctx, a, b, size)
		if err != nil || len(o.stages) == 0 {
			return o, err
		}
		next, err := o.takeApart(ctx, r, size)
		if err != nil || next == size || next == 0 {
			return o, err
		}
		size = next
	}
}

// mergeTree runs git's merge of two commits, with markers of a size.
func (r repo) mergeTree(ctx context.Context, ours, theirs string, size int) (*outcome, error) {
	if err := setMarkers(r, size); err != nil {
		return nil, err
	}
	out := git.Capped{Limit: outputMost}
	err := r.runner.Stream(ctx, &out, "merge-tree", "--write-tree", "-z", "--messages", ours, theirs)
	if err != nil && !exited(err, 1) {
		return nil, fmt.Errorf("git merge-tree: %w", err)
	}
	if out.Cut {
		return nil, errors.New("git merge-tree printed too much")
	}
	o, err := parseMerge(out.Buf.String())
	if err == nil {
		o.aside = []string{"~" + ours, "~" + theirs}
	}
	return o, err
}

// parseMerge reads what merge-tree prints: the tree, the stages of what conflicts, an empty field, and what it says.
func parseMerge(text string) (*outcome, error) {
	o := &outcome{stages: map[string][3]entry{}, notes: map[string][]string{}}
	list := strings.Split(text, "\x00")
	odd := func(at int) (*outcome, error) {
		return nil, fmt.Errorf("git merge-tree printed %q", list[min(at, len(list)-1)])
	}
	if o.tree = list[0]; !isID(o.tree) {
		return odd(0)
	}
	at := 1
	for ; at < len(list) && list[at] != ""; at++ {
		info, name, ok := strings.Cut(list[at], "\t")
		parts := strings.Fields(info)
		if !ok || len(parts) != 3 || len(parts[2]) != 1 || parts[2] < "1" || parts[2] > "3" {
			return odd(at)
		}
		stages := o.stages[name]
		stages[parts[2][0]-'1'] = entry{parts[0], parts[1]}
		o.stages[name] = stages
	}
	for at++; at+1 < len(list); {
		n, err := strconv.Atoi(list[at])
		if err != nil || n < 0 || at+n+2 >= len(list) {
			return odd(at)
		}
		if kind := list[at+n+1]; strings.HasPrefix(kind, "CONFLICT") {
			for _, name := range list[at+1 : at+1+n] {
				o.notes[name] = append(o.notes[name], kind)
			}
		}
		at += n + 3
	}
	return o, nil
}

// takeApart finds the hunks of the files that are a matter of lines. If a file has lines that look like markers of the
// size that was asked for, it says which size to ask for; 0: none will do.
func (o *outcome) takeApart(ctx context.Context, r repo, size int) (int, error) {
	o.pieces, o.texts = map[string][]piece{}, map[string][3]string{}
	ids := map[string]bool{}
	result := map[string]string{}
	names := slices.Sorted(maps.Keys(o.stages))
	merged, err := r.entries(ctx, o.tree, names)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if o.byLines(name) && merged[name].id != "" {
			result[name] = merged[name].id
			ids[result[name]] = true
			for _, s := range o.stages[name] {
				ids[s.id] = true
			}
		}
	}
	delete(ids, "")
	blobs, err := r.blobs(ctx, slices.Sorted(maps.Keys(ids)))
	if err != nil {
		return 0, err
	}
	next := size
	for name := range result {
		var three [3]string
		for i, s := range o.stages[name] {
			three[i] = blobs[s.id]
		}
		o.texts[name] = three
		if fits := sizeFor(size, three[:]...); fits == 0 {
			delete(result, name)
		} else {
			next = max(next, fits)
		}
	}
	if next != size {
		return next, nil
	}
	for name, id := range result {
		pieces, err := parseConflict(blobs[id], size)
		if err != nil || !slices.ContainsFunc(pieces, func(p piece) bool { return p.hunk != nil }) {
			continue // it is shown without its hunks
		}
		base, ours, theirs := o.texts[name][0], o.texts[name][1], o.texts[name][2]
		number(pieces, base, baseOf)
		number(pieces, ours, oursOf)
		number(pieces, theirs, theirsOf)
		o.pieces[name] = pieces
	}
	return size, nil
}

// byLines reports whether both sides have a regular file there, which is text as far as git says.
func (o *outcome) byLines(name string) bool {
	stages := o.stages[name]
	for _, s := range stages[1:] {
		if !strings.HasPrefix(s.mode, "100") {
			return false
		}
	}
	return !slices.Contains(o.notes[name], "CONFLICT (binary)")
}

// entries finds files of a tree.
func (r repo) entries(ctx context.Context, tree string, names []string) (map[string]entry, error) {
	found := map[string]entry{}
	list, err := r.out(ctx, "ls-tree", "-r", "-z", "--full-tree", tree)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	for _, line := range fields(list) {
		info, name, _ := strings.Cut(line, "\t")
		if parts := strings.Fields(info); wanted[name] && len(parts) == 3 {
			found[name] = entry{parts[0], parts[2]}
		}
	}
	return found, nil
}

// blobs reads files by their ids.
func (r repo) blobs(ctx context.Context, ids []string) (map[string]string, error) {
	found := map[string]string{}
	if len(ids) == 0 {
		return found, nil
	}
	out, err := r.feed(ctx, strings.Join(ids, "\n")+"\n", "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	out += "\n" // which was taken from the end
	for out != "" {
		head, rest, _ := strings.Cut(out, "\n")
		parts := strings.Fields(head)
		if len(parts) != 3 {
			return nil, fmt.Errorf("git cat-file printed %q", head)
		}
		size, err := strconv.Atoi(parts[2])
		if err != nil || size+1 > len(rest) {
			return nil, fmt.Errorf("git cat-file printed %q", head)
		}
		found[parts[0]], out = rest[:size], rest[size+1:]
	}
	return found, nil
}

// delta is how one file differs between two trees.
type delta struct {
	name     string
	was, now entry // without an id: not there
}

// deltas lists how two trees differ.
func (r repo) deltas(ctx context.Context, from, to string) ([]delta, error) {
	list, err := r.out(ctx, "diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=none", from,
		to)
	if err != nil {
		return nil, err
	}
	all := fields(list)
	var out []delta
	for i := 0; i+1 < len(all); i += 2 {
		parts := strings.Fields(strings.TrimPrefix(all[i], ":"))
		if len(parts) < 4 {
			return nil, fmt.Errorf("git diff-tree printed %q", all[i])
		}
		d := delta{name: all[i+1], was: entry{parts[0], parts[2]}, now: entry{parts[1], parts[3]}}
		for _, e := range []*entry{&d.was, &d.now} {
			if strings.Trim(e.mode, "0") == "" {
				*e = entry{}
			}
		}
		out = append(out, d)
	}
	return out, nil
}

// aside is a file of the repository's folder, such as another index.
func (r repo) aside(name string) string { return filepath.Join(filepath.Dir(r.runner.Dir), name) }

// graft puts files of one tree in another.
func graft(ctx context.Context, r repo, tree string, files map[string]entry) (string, error) {
	if len(files) == 0 {
		return tree, nil
	}
	r = r.with("GIT_INDEX_FILE=" + r.aside("index.graft"))
	if err := r.run(ctx, "read-tree", tree); err != nil {
		return "", err
	}
	var gone, here strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if f := files[name]; f.id == "" {
			fmt.Fprintf(&gone, "0 %s\t%s\x00", strings.Repeat("0", len(tree)), name)
		} else {
			fmt.Fprintf(&here, "%s %s\t%s\x00", f.mode, f.id, name)
		}
	}
	if _, err := r.feed(ctx, gone.String(), "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	if _, err := r.feed(ctx, here.String(), "update-index", "--replace", "-z", "--index-info"); err != nil {
		return "", err
	}
	return r.out(ctx, "write-tree")
}
