package worktree

import (
	"context"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// changes are the files that two trees differ in, by their names.
func (r repo) changes(ctx context.Context, from, to string) ([]troupe.FileChanged, error) {
	out, err := r.out(ctx, "diff-tree", "-r", "-z", "--raw", "--numstat", "--no-renames", "--no-ext-diff",
		"--no-textconv", from, to)
	if err != nil {
		return nil, err
	}
	var all []troupe.FileChanged
	at := map[string]int{}
	list := fields(out)
	for i := 0; i < len(list); i++ {
		if about, raw := strings.CutPrefix(list[i], ":"); raw && i+1 < len(list) {
			i++
			at[list[i]] = len(all)
			// A name that is no text would be another one once it is in the log.
			all = append(all, troupe.FileChanged{Path: strings.ToValidUTF8(list[i], "\uFFFD"),
				New: strings.HasSuffix(about, " A"), Gone: strings.HasSuffix(about, " D")})
			continue
		}
		added, rest, _ := strings.Cut(list[i], "\t")
		removed, name, _ := strings.Cut(rest, "\t")
		if j, ok := at[name]; ok {
			all[j].Added, _ = strconv.Atoi(added) // “-” for what is no text
			all[j].Removed, _ = strconv.Atoi(removed)
		}
	}
	return all, nil
}

// compared says how a checkpoint differs from the one before it. That one is of the log, which may be of a keeper that
// is gone: then it is not known.
func (r repo) compared(ctx context.Context, last string, c *troupe.Checkpoint) error {
	if last == c.Tree {
		return nil
	}
	all, err := r.changes(ctx, last, c.Tree)
	if err != nil {
		return ctx.Err()
	}
	listed(c, all)
	return nil
}

// listed puts what changed into a checkpoint, as far as it has room.
func listed(c *troupe.Checkpoint, all []troupe.FileChanged) {
	c.Files, c.Changed = len(all), all[:min(len(all), troupe.MostChanged):min(len(all), troupe.MostChanged)]
}
