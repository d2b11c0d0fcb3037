// Package hidden finds the files of a folder that patterns name, as they are now.
//
// The first call of Now walks the whole folder. From then on the kernel notes what comes into being in it
// (inotify, one watch a folder), and Now reads these notes: they are queued before the call that made the
// change returns, so what was there before Now was called is in its result. Where watches cannot be had, or do
// not tell of everything, each call walks.
//
// A Finder starts goroutines for a walk only, and Now waits for them. Calls of Now take turns. Notes beyond what
// the kernel keeps are lost and say so; then the folder is walked again. Between two calls nothing runs.
package hidden

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// Pattern says which files and folders are looked for. Its functions are called by several goroutines at once.
type Pattern struct {
	// Key tells patterns apart: those with the same key find the same.
	Key string
	// Name is asked first, for it is quick: where it is false for the name of a path and of each folder on the
	// way to it, the path is not meant. If it is nil, every path is asked about.
	Name func(name string) bool
	// Path reports whether a path, absolute and clean, is meant. What lies below such a folder is not looked at.
	Path func(path string) bool
}

// State is how a Finder came by what it knows.
type State struct {
	// Names is how many files and folders the last walk looked at, and Took how long that was.
	Names int
	Took  time.Duration
	// Unwatched says why each call walks; it is "" where changes are watched, or nothing was asked yet.
	Unwatched string
}

// maxSets is how many patterns are kept. Another takes the place of the one that was not asked about for longest.
const maxSets = 32

// Finder finds files in one folder. It is safe for concurrent use.
type Finder struct {
	root string
	// turn holds one value; who took it out may use what is below.
	turn chan struct{}

	sets  []*Pattern // by the bits of masks; nil is free
	asked []int      // when each was asked about last, as a count of calls
	calls int

	known  bool // the tree is whole, and the watch tells of all that changed since
	closed bool
	id     fs.FileInfo // of the root that was walked
	watch  *watch      // nil: each call walks
	tree   tree

	state atomic.Pointer[State]
}

// New makes a Finder for a folder: an absolute path without links.
func New(root string) *Finder {
	f := &Finder{root: filepath.Clean(root), turn: make(chan struct{}, 1), sets: make([]*Pattern, maxSets),
		asked: make([]int, maxSets)}
	f.turn <- struct{}{}
	f.state.Store(&State{})
	return f
}

// Close gives the watches back. Now fails from then on.
func (f *Finder) Close() error {
	<-f.turn
	defer func() { f.turn <- struct{}{} }()
	f.closed, f.tree = true, tree{}
	if f.watch == nil {
		return nil
	}
	w := f.watch
	f.watch = nil
	return w.close()
}

// State tells how the last call of Now that ended came by its result.
func (f *Finder) State() State { return *f.state.Load() }

// Now lists what the patterns mean and what is there, in order; of a link also what it leads to. A folder that the
// caller may open to itself and has closed is in the list too: what it holds cannot be known.
func (f *Finder) Now(ctx context.Context, patterns ...Pattern) ([]string, error) {
	select {
	case <-f.turn:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for what looks for hidden files in %s: %w", f.root, context.Cause(ctx))
	}
	defer func() { f.turn <- struct{}{} }()
	if f.closed {
		return nil, fmt.Errorf("look for hidden files in %s: %w", f.root, os.ErrClosed)
	}
	wanted, err := f.adopt(patterns)
	if err != nil {
		return nil, err
	}
	if err := f.update(ctx); err != nil {
		f.known = false
		return nil, fmt.Errorf("look for hidden files in %s: %w", f.root, err)
	}
	return f.tree.list(wanted), nil
}

// adopt gives each pattern a bit. The tree knows nothing yet of one that is new.
func (f *Finder) adopt(patterns []Pattern) (wanted mask, err error) {
	if len(patterns) > maxSets {
		return 0, fmt.Errorf("more than %d sets of patterns for the hidden files of %s", maxSets, f.root)
	}
	f.calls++
	for _, p := range patterns {
		i := slices.IndexFunc(f.sets, func(s *Pattern) bool { return s != nil && s.Key == p.Key })
		if i < 0 {
			i = 0
			for k := range f.sets {
				if f.asked[k] < f.asked[i] {
					i = k
				}
			}
			f.sets[i], f.known = &p, false
		}
		f.asked[i] = f.calls
		wanted |= 1 << i
	}
	return wanted, nil
}

// How often what changes while it is looked at is looked at again: what was noted, and the whole folder.
const (
	maxRounds = 10
	maxWalks  = 3
)

// update brings the tree up to now.
func (f *Finder) update(ctx context.Context) error {
	id, err := os.Lstat(f.root)
	if err != nil {
		return err
	}
	if f.watch != nil && f.known && f.id != nil && os.SameFile(id, f.id) && !f.watch.mounted() {
		whole, err := f.catchUp(ctx)
		if whole || err != nil {
			return err
		}
	}
	f.known, f.id = false, id
	for range maxWalks {
		began := time.Now()
		if err := f.walkAll(ctx); err != nil {
			return err
		}
		s := State{Names: f.tree.names, Took: time.Since(began), Unwatched: f.state.Load().Unwatched}
		f.state.Store(&s)
		if f.watch == nil || f.tree.closed[f.tree.top] {
			return nil
		}
		whole, err := f.catchUp(ctx)
		if whole || err != nil {
			f.known = whole
			return err
		}
	}
	// So much changes that notes were lost again and again. All that was there when this began was looked at; the
	// next call walks again.
	if f.watch != nil && f.watch.confused {
		f.unwatch("one of its folders can be reached in two ways")
	}
	return nil
}

// walkAll walks the folder anew, with watches where they can be had.
func (f *Finder) walkAll(ctx context.Context) error {
	if f.watch == nil && f.state.Load().Unwatched == "" {
		w, err := newWatch()
		if err != nil {
			f.unwatch(err.Error())
		}
		f.watch = w
	}
	f.tree = tree{sets: f.sets, top: &node{path: f.root}, marked: make(map[*node]bool)}
	if f.watch != nil {
		f.watch.forget()
	}
	for i, s := range f.sets {
		if s != nil {
			f.tree.all |= 1 << i
		}
	}
	f.tree.meetRoot()
	lost, err := f.walk(ctx, []*node{f.tree.top})
	if err == nil && lost != "" {
		f.unwatch(lost)
	}
	if err == nil && f.tree.top.shut {
		return &fs.PathError{Op: "open", Path: f.root, Err: fs.ErrPermission}
	}
	return err
}

// unwatch gives the watches back, for good: to try again would cost each call as many watches as can be had.
func (f *Finder) unwatch(why string) {
	s := *f.state.Load()
	s.Unwatched = why
	f.state.Store(&s)
	if f.watch != nil {
		_ = f.watch.close() // nothing is to be had from it any more
		f.watch = nil
	}
}

// catchUp takes in what changed since the walk. It is not whole if the notes are not: then the folder has to be
// walked again.
func (f *Finder) catchUp(ctx context.Context) (whole bool, err error) {
	for range maxRounds {
		changed, whole, err := f.watch.drain(f.tree.file)
		if err != nil || !whole {
			return false, err
		}
		for n := range f.tree.closed {
			changed = append(changed, change{n.parent, filepath.Base(n.path)})
		}
		if len(changed) == 0 {
			return true, nil
		}
		before := len(f.tree.closed)
		lost, err := f.walk(ctx, f.tree.again(changed, f.watch))
		if err != nil {
			return false, err
		}
		if lost != "" {
			f.unwatch(lost)
			return false, nil
		}
		if f.watch.confused {
			return false, nil
		}
		if before == len(changed) && before == len(f.tree.closed) {
			return true, nil // those that were closed are so still, and nothing else was there to do
		}
	}
	return true, nil
}

// workers is how many goroutines walk: half of the time is the kernel's, which does as many folders at once.
func workers() int { return max(2, runtime.GOMAXPROCS(0)) }

// isGone: the folder was removed, moved, or is none any more.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || isNoFolder(err)
}
