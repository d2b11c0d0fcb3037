package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe"
)

// named is by which name the caller's repository has what was done: the branch, or where a person removed that the ref
// that stays; "" if it has neither.
func named(p place, rec *record, c *caller) string {
	if c == nil {
		return ""
	}
	for _, ref := range c.refs {
		if rec.Own != "" && ref.name == "refs/heads/"+rec.Own {
			return rec.Own
		}
	}
	for _, ref := range c.refs {
		if ref.name == refOf(p.ws, "tip") {
			return ref.name
		}
	}
	return ""
}

// Pruned reports whether a workspace of that session, which was there once, is known no more.
func Pruned(k *Keeper, id troupe.SessionID) bool {
	for _, folder := range []string{filepath.Join(k.data, string(id)), k.spent(id)} {
		if _, err := os.Lstat(folder); err == nil {
			return false
		}
	}
	return true
}

// Left is the ref that stays of each workspace beside a tree that was pruned or discarded.
func Left(ctx context.Context, k *Keeper, of string) (map[troupe.SessionID]string, error) {
	c, err := k.callerOf(ctx, of)
	if err != nil {
		return nil, err
	}
	left := map[troupe.SessionID]string{}
	for _, ref := range c.refs {
		id, name, _ := strings.Cut(strings.TrimPrefix(ref.name, "refs/troupe/"), "/")
		if name == "tip" || name == "discarded" {
			left[troupe.SessionID(id)] = ref.name
		}
	}
	return left, nil
}
