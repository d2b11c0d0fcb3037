//go:build amd64 || arm64

package sandbox

import (
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// changeLog are the files that the listener has changed in a command's place, as they were before the first change.
// What
// is made and removed again, and what was only opened for writing, is no change in the end.
type changeLog struct {
	before map[string]stamp
	more   int // that were too many to follow
}

// stamp is what a file is known by; the zero value: it is not there.
type stamp struct {
	id             inode
	size           int64
	written, inode unix.Timespec // when it last changed
	mode           uint32
}

func stampOf(path string) stamp {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return stamp{}
	}
	return stamp{id: inode{uint64(st.Dev), st.Ino}, size: st.Size, written: st.Mtim, inode: st.Ctim,
		mode: st.Mode & unix.S_IFMT}
}

// maxFollowed bounds how many files of one command are followed.
const maxFollowed = 20_000

// about notes that something is about to change at a path. A repository's own files are no one's work.
func (c *changeLog) about(path string) {
	if _, known := c.before[path]; known || strings.Contains(path+"/", "/.git/") {
		return
	}
	if len(c.before) == maxFollowed {
		c.more++
		return
	}
	if c.before == nil {
		c.before = make(map[string]stamp)
	}
	c.before[path] = stampOf(path)
}

// tell adds what has changed in the end to what was seen.
func (c *changeLog) tell(w *troupe.Watched) {
	w.MoreChanged = c.more
	for _, path := range slices.Sorted(maps.Keys(c.before)) {
		was, is := c.before[path], stampOf(path)
		switch {
		case was == is:
		case len(w.Changed) == troupe.MostChanged:
			w.MoreChanged++
		default:
			w.Changed = append(w.Changed, troupe.FileChanged{Path: path, New: was == stamp{}, Gone: is == stamp{}})
		}
	}
}
