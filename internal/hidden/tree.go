package hidden

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
)

// mask is a set of patterns, by their places in Finder.sets.
type mask uint32

// node is a folder.
type node struct {
	path     string
	parent   *node // nil: the root
	children map[string]*node
	hits     map[string]mask // the names in it that are meant, and by what
	// covered: the folder or one above it is meant. careful: its name or that of a folder above it may be one
	// that is meant, so that every path below is asked about.
	covered, careful mask
	wd               int
	watched          bool
	gone             bool // it is part of the tree no more
	shut             bool // it could not be opened, but the caller could change that
}

// tree is what is known of a folder.
type tree struct {
	sets   []*Pattern
	all    mask // the patterns that there are
	top    *node
	marked map[*node]bool // those that have hits
	closed map[*node]bool // those that could not be looked into
	names  int
}

// change is a name in a folder that a folder has, or had.
type change struct {
	in   *node
	name string
}

// meetRoot looks at the root itself.
func (t *tree) meetRoot() {
	for i, s := range t.sets {
		if s == nil {
			continue
		}
		if s.Path(t.top.path) {
			t.top.covered |= 1 << i
		}
	}
}

// meant tells the patterns that mean a name in a folder, and those for which all below has to be asked about.
func (t *tree) meant(n *node, name string) (hit, careful mask) {
	path := ""
	for i, s := range t.sets {
		bit := mask(1) << i
		if s == nil || n.covered&bit != 0 {
			continue
		}
		if n.careful&bit == 0 && s.Name != nil && !s.Name(name) {
			continue
		}
		if path == "" {
			path = join(n.path, name)
		}
		if s.Path(path) {
			hit |= bit
		} else {
			careful |= bit
		}
	}
	return hit, careful
}

// join is filepath.Join for what is clean.
func join(dir, name string) string {
	if dir == "/" {
		return dir + name
	}
	return dir + string(filepath.Separator) + name
}

// child makes a folder part of the tree; nil if nothing is looked for in it. Only one goroutine at a time may use
// the folder n.
func (t *tree) child(n *node, name string, hit, careful mask) *node {
	covered := n.covered | hit
	if covered == t.all || isObjects(n.path, name) {
		return nil
	}
	c := &node{path: join(n.path, name), parent: n, covered: covered, careful: n.careful | careful}
	if n.children == nil {
		n.children = make(map[string]*node)
	}
	n.children[name] = c
	return c
}

// isObjects reports whether a folder is where git keeps what was committed: it has many names, all of them hashes.
func isObjects(dir, name string) bool {
	return name == "objects" && filepath.Base(dir) == ".git"
}

// file takes in a name that came into being in a folder. Whether it is there still is looked at when it is listed.
func (t *tree) file(n *node, name string) {
	if hit, _ := t.meant(n, name); hit != 0 {
		t.mark(n, name, hit)
	}
}

func (t *tree) mark(n *node, name string, hit mask) {
	if n.hits == nil {
		n.hits = make(map[string]mask)
	}
	n.hits[name] |= hit
	t.marked[n] = true
}

// again forgets the folders of these names, and returns those that are there now, to be walked. First all are
// forgotten: a folder that moved has its watch under its old name.
func (t *tree) again(changed []change, w *watch) (todo []*node) {
	for _, c := range changed {
		if old := c.in.children[c.name]; old != nil {
			t.drop(old, w)
			delete(c.in.children, c.name)
		}
		delete(c.in.hits, c.name)
	}
	for _, c := range changed {
		if c.in.gone || c.in.children[c.name] != nil {
			continue
		}
		info, err := os.Lstat(join(c.in.path, c.name))
		if err != nil {
			continue // what cannot be found now was removed or moved, and that was noted too
		}
		hit, careful := t.meant(c.in, c.name)
		if hit != 0 {
			t.mark(c.in, c.name, hit)
		}
		if !info.IsDir() {
			continue
		}
		if n := t.child(c.in, c.name, hit, careful); n != nil {
			todo = append(todo, n)
		}
	}
	return todo
}

func (t *tree) drop(n *node, w *watch) {
	n.gone = true
	delete(t.marked, n)
	delete(t.closed, n)
	w.remove(n)
	for _, c := range n.children {
		t.drop(c, w)
	}
}

// list is what is there of what the patterns mean.
func (t *tree) list(wanted mask) []string {
	var out []string
	if t.top.covered&wanted != 0 {
		return []string{t.top.path}
	}
	for n := range t.marked {
		for name, hit := range n.hits {
			if hit&wanted == 0 {
				continue
			}
			path := join(n.path, name)
			info, err := os.Lstat(path)
			if err != nil && isGone(err) {
				delete(n.hits, name)
				continue
			}
			out = append(out, path)
			if err != nil || info.Mode()&fs.ModeSymlink == 0 {
				continue
			}
			if target, err := filepath.EvalSymlinks(path); err == nil {
				out = append(out, target)
			}
		}
		if len(n.hits) == 0 {
			delete(t.marked, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// walker goes through folders, with several goroutines.
type walker struct {
	tree    *tree
	watch   *watch // nil: no watches are placed
	names   atomic.Int64
	stop    atomic.Bool
	useless atomic.Bool // watches are

	mu   sync.Mutex
	more sync.Cond // todo or busy changed
	todo []*node
	busy int
	err  error  // the first
	lost string // why watches are no use; "" while they are
}

// part is what one goroutine found. All of it becomes part of the tree once the walk has ended.
type part struct {
	*walker
	marked, closed []*node
	watched        []*node
	below          []*node // folders that the folder has which is being read
	reader
}

// walk looks through folders and all below them. lost says why there can be no watches.
func (f *Finder) walk(ctx context.Context, todo []*node) (lost string, err error) {
	if len(todo) == 0 {
		return "", nil
	}
	w := &walker{tree: &f.tree, watch: f.watch, todo: todo}
	w.more.L = &w.mu
	parts := make([]part, workers())
	var all sync.WaitGroup
	for i := range parts {
		parts[i].walker = w
		all.Go(func() { parts[i].run(ctx) })
	}
	all.Wait()
	f.tree.names += int(w.names.Load())
	for i := range parts {
		f.tree.take(&parts[i], f.watch)
	}
	return w.lost, w.err
}

// take makes what was found part of the tree.
func (t *tree) take(p *part, w *watch) {
	for _, n := range p.marked {
		t.marked[n] = true
	}
	for _, n := range p.closed {
		if t.closed == nil {
			t.closed = make(map[*node]bool)
		}
		t.closed[n] = true
		if n.shut && n.parent != nil {
			t.mark(n.parent, filepath.Base(n.path), t.all&^n.covered)
		}
	}
	for _, n := range p.watched {
		w.register(n)
	}
}

func (w *walker) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	w.stop.Store(true)
	w.more.Broadcast()
}

// noWatch: there can be none from here on.
func (w *walker) noWatch(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost == "" {
		w.lost = why
	}
	w.useless.Store(true)
}

// next is a folder to be read; nil at the end. The one before is done.
func (w *walker) next(below []*node, first bool) *node {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.todo = append(w.todo, below...)
	if !first {
		w.busy--
	}
	if len(below) > 1 || w.busy == 0 {
		w.more.Broadcast()
	}
	for len(w.todo) == 0 && w.busy > 0 && !w.stop.Load() {
		w.more.Wait()
	}
	if len(w.todo) == 0 || w.stop.Load() {
		return nil
	}
	n := w.todo[len(w.todo)-1]
	w.todo = w.todo[:len(w.todo)-1]
	w.busy++
	return n
}

func (p *part) run(ctx context.Context) {
	for n := p.next(nil, true); n != nil; n = p.next(p.below, false) {
		p.below = p.below[:0]
		if ctx.Err() != nil {
			p.fail(context.Cause(ctx))
			continue
		}
		err := p.read(n)
		if err == nil || isGone(err) {
			continue
		}
		if !errors.Is(err, fs.ErrPermission) {
			p.fail(err)
			continue
		}
		n.shut = couldOpen(n.path)
		p.closed = append(p.closed, n)
	}
}

// entry takes in a name of the folder that is being read.
func (p *part) entry(n *node, name string, dir bool) {
	p.names.Add(1)
	hit, careful := p.tree.meant(n, name)
	if hit != 0 {
		if n.hits == nil {
			n.hits = make(map[string]mask)
			p.marked = append(p.marked, n)
		}
		n.hits[name] = hit
	}
	if !dir {
		return
	}
	if c := p.tree.child(n, name, hit, careful); c != nil {
		p.below = append(p.below, c)
	}
}
