package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/internal/disk"
)

// handTime is how long it is tried: a collection that goes on in the other repository may take for old what is just
// being written.
const handTime = 3 * time.Second

// hand copies what a walk finds to another repository, in one pack.
func (r repo) hand(ctx context.Context, walk string, into repo, folder string, options ...string) (err error) {
	list, err := r.feed(ctx, walk, "rev-list", "--objects", "--stdin")
	if err != nil || list == "" {
		return err
	}
	file, err := os.CreateTemp(folder, "pack-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	r.runner.In = strings.NewReader(walk)
	if err := r.runner.Stream(ctx, file, "pack-objects", "--revs", "--stdout", "--quiet"); err != nil {
		return fmt.Errorf("git pack-objects: %w", err)
	}
	into.runner.In = file
	return retry(ctx, handTime, func() (bool, error) {
		if _, err := file.Seek(0, 0); err != nil {
			return false, err
		}
		if into.strange { // it is the caller's
			if err := straightGit(into.common); err != nil {
				return false, err
			}
		}
		err := into.run(ctx, append([]string{"index-pack", "--stdin", "--fix-thin"}, options...)...)
		return saidIn(err, "No such file"), err
	})
}

// pinned is what a pack of ours says of why it is not to be removed: what refers to it is not there yet. A collection
// that began before leaves it alone, too.
func (p place) pinned() string { return "troupe " + string(p.ws.Owner) }

// unpin lets collections of the caller's repository have our packs, now that refs hold what is in them.
func (p place) unpin(c *caller) error {
	keeps, err := filepath.Glob(disk.Pattern(filepath.Join(c.common, "objects", "pack")) + "/*.keep")
	for _, keep := range keeps {
		if data, e2 := plainFile(keep, 1<<10); e2 == nil && strings.TrimSpace(string(data)) == p.pinned() {
			err = errors.Join(err, os.Remove(keep))
		}
	}
	return err
}

// locked reports whether git met the lock of another program.
func locked(err error) bool {
	return saidIn(err, ".lock': File exists")
}
