//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// plan is a confinement, looked at on this machine as it is now. All paths are resolved.
type plan struct {
	report   Support
	level    troupe.Level
	temp     string
	writable []string // exist, and hold what is guarded: what changes there the listener changes
	leave    leaves   // beyond that
	caches
	secluded
	late      []string // may be written and do not exist yet; the listener makes them
	fixed     names
	protected []string // with a fixed place, or there already
	hidden    []string // exist
	// guard and above say of any path whether it is guarded, and whether what is guarded could lie
	// below it; nil: nothing is.
	guard    func(path string) string
	above    func(path string) bool
	replaces func(path string, was, is []byte) bool // nil: none
	network  troupe.Network
	bounds   troupe.Bounds
	policy   policy
	mounts   []mountPoint
	// twins are guarded files that have another name, which nothing guards.
	twins map[inode]bool
	// What the kernel cannot keep as it is: compared and put back in the end.
	ledger []string
}

// secluded is what a command has to itself, or is kept from the rest.
type secluded struct {
	readable []string                                                 // exist; nil: everything
	view     *view                                                    // nil: all of the machine's files can be found
	starts   func(dir, input string, argv, environ []string) []string // nil: nobody knows
	project  string                                                   // whose it is
	// apart: it is in the network of its project, and reaches others outside of that.
	apart bool
	// the scratchpad, one of the folders that are writable; "" if there is none
	pad   string
	rooms []troupe.Room
	// repository is the folder of git that a path lies in; nil: none is.
	repository func(path string) string
}

// caches are the folders of build caches.
type caches struct {
	scratch []string // exist, and hold nothing that is guarded: granted by the kernel
	held    []string // as scratch, but the listener changes what changes there; see hold
	shared  []string // all, and those that are not there yet
}

// mountPoint is a place that is mounted over.
type mountPoint struct {
	path string
	kind mountKind
	dir  bool
	like *likeness // of a file that is to be covered
}

type mountKind int

// A place that more than one is wanted for gets the last of these.
const (
	mountSelf      mountKind = iota + 1 // only so that it cannot be renamed
	mountReadOnly                       // protected
	mountCover                          // hidden
	mountPrivate                        // empty and writable
	mountTerminals                      // pseudo-terminals of its own
	mountProcesses                      // its own processes alone
)

// devices may be written by everybody: nothing stays in them.
func devices() []string {
	return []string{os.DevNull, "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}
}

func newPlan(c troupe.Confinement, r Support) *plan {
	p := &plan{report: r, level: c.Level.Meet(troupe.LevelWorkspace), network: c.Network, bounds: c.Bounds}
	if c.Temp != "" && plain(filepath.Clean(c.Temp)) {
		p.temp = filepath.Clean(c.Temp)
	}
	if c.Scratchpad != "" {
		p.pad = filepath.Clean(c.Scratchpad)
	}
	p.protected = allResolved(c.Protected, true)
	for _, h := range allResolved(c.Hidden, true) {
		if info, err := os.Lstat(h); err == nil && info.Mode()&os.ModeSymlink == 0 {
			p.hidden = append(p.hidden, h)
		}
	}
	for _, room := range c.Rooms {
		if r.Namespaces && plain(room.Folder) && plain(room.Own) && filepath.Dir(room.Own) == room.Folder {
			p.rooms = append(p.rooms, room)
		}
	}
	p.guard, p.above, p.replaces, p.starts = c.Guarded, c.Leads, c.Replaces, c.Starts
	p.leave.closed, p.repository, p.project = c.Closed, c.Repository, c.Network.Project
	p.areas(c)
	p.reads(c)
	if p.readable != nil && r.OwnRoot {
		p.view = newView(p, c)
	}
	p.policy = policy{landlock: r.Landlock, listener: r.Notify}
	switch n := c.Network; {
	case n.Proxy > 0:
		p.network = troupe.Network{} // Landlock knows no hosts; the listener connects
		p.policy.proxy = n.Proxy
	case n.All:
		p.policy.net = netAll
	case len(n.Ports) > 0:
		p.policy.net = netPorts
	}
	if p.policy.net == netPorts && r.Landlock < 4 {
		p.network, p.policy.net = troupe.Network{}, netNone
	}
	p.place()
	return p
}

// areas settles what may be written. No link is followed.
func (p *plan) areas(c troupe.Confinement) {
	for _, w := range allPlain(c.Writable) {
		if _, err := os.Lstat(w); err == nil {
			p.writable = append(p.writable, w)
		} else {
			p.late = append(p.late, w)
		}
	}
	folders := slices.Clone(p.writable)
	p.grant(c.Granted)
	p.shared = allPlain(c.Scratch)
	for _, dir := range p.shared {
		switch _, err := os.Lstat(dir); {
		case err != nil:
			p.late = append(p.late, dir)
		case outermost(dir, p.writable) != "":
		default:
			p.scratch = append(p.scratch, dir)
		}
	}
	p.fix(slices.Concat(c.Fixed, p.shared), folders)
	if p.report.Notify {
		p.hold()
	}
}

// reads settles what may be read, if that is not everything.
func (p *plan) reads(c troupe.Confinement) {
	if c.Readable == nil {
		return
	}
	p.readable = []string{}
	for _, path := range allResolved(slices.Concat(c.Readable, p.changeable()), false) {
		if _, err := os.Lstat(path); err == nil && outermost(path, p.readable) == "" {
			p.readable = append(slices.DeleteFunc(p.readable, func(r string) bool { return troupe.Within(r, path) }),
				path)
		}
	}
}

// hold takes the caches from the kernel in which a name must stay that no mount can keep. By what its memory says when
// the kernel looks, a call that was judged to make a link elsewhere would make it there.
func (p *plan) hold() {
	loose := func(dir string) bool {
		for name := range p.fixed {
			if name == dir || !troupe.Within(name, dir) {
				continue
			}
			if info, err := os.Lstat(name); err != nil || !info.IsDir() || !p.report.Namespaces {
				return true
			}
		}
		return false
	}
	native := p.scratch
	p.scratch = nil
	for _, dir := range native {
		if loose(dir) {
			p.held = append(p.held, dir)
		} else {
			p.scratch = append(p.scratch, dir)
		}
	}
}

// changeable are the folders below which something may change.
func (p *plan) changeable() []string { return append(p.native(), p.listened()...) }

// native are those of them that the kernel lets be changed, without a word to the listener that
// anything would depend on.
func (p *plan) native() []string {
	all := slices.Clone(p.scratch)
	if !p.report.Notify {
		all = append(all, p.writable...)
	}
	if p.temp != "" {
		all = append(all, p.temp)
	}
	return all
}

// listened are those in which the listener makes each change in the command's place.
func (p *plan) listened() []string {
	if !p.report.Notify {
		return nil
	}
	return slices.Concat(p.writable, p.held)
}

// place settles what is mounted where, and what must be guarded instead.
func (p *plan) place() {
	points := map[string]mountKind{}
	want := func(path string, k mountKind) {
		if !p.isBeside(path) { // nothing is there to be mounted over
			points[path] = max(points[path], k)
		}
	}
	spaces := p.report.Namespaces
	for _, path := range p.protected {
		p.noteTwin(path)
		top := outermost(path, p.native())
		if top == "" {
			continue // the kernel does not grant it
		}
		for dir := filepath.Dir(path); spaces && dir != top && troupe.Within(dir, top); dir = filepath.Dir(dir) {
			if info, err := os.Lstat(dir); err == nil && info.IsDir() {
				want(dir, mountSelf)
			}
		}
		info, err := os.Lstat(path)
		switch {
		case !spaces, err != nil, info.Mode()&os.ModeSymlink != 0:
			p.ledger = append(p.ledger, path)
		default:
			want(path, mountReadOnly)
			if links(info) > 1 && !info.IsDir() {
				p.ledger = append(p.ledger, path) // it has another name, which nothing protects
			}
		}
	}
	if !spaces {
		return
	}
	for path := range p.fixed {
		// Below what the kernel grants whole only a mount keeps a folder's name.
		if top := outermost(path, p.native()); top != "" && top != path {
			if info, err := os.Lstat(path); err == nil && info.IsDir() {
				want(path, mountSelf)
			}
		}
	}
	for _, path := range p.hidden {
		if p.view.holds(path) {
			want(path, mountCover)
		}
	}
	if p.readable != nil && p.report.OwnView {
		want(processes, mountProcesses)
	}
	if len(points)+len(p.rooms) > 0 || p.level == troupe.LevelWorkspace || p.readable != nil {
		if info, err := os.Lstat(sharedMemory); err == nil && info.IsDir() {
			want(sharedMemory, mountPrivate)
		}
	}
	if (len(points)+len(p.rooms) > 0 || p.view != nil) && terminals() {
		want(pseudoTerminals, mountTerminals)
	}
	p.order(points)
}

// pseudoTerminals is where they are, and multiplexer what makes them. Those of the user would show what
// is typed there, so a command that has mounts gets its own.
const (
	pseudoTerminals = "/dev/pts"
	multiplexer     = "/dev/ptmx"
)

// terminals reports whether this machine has pseudo-terminals as they usually are.
func terminals() bool {
	dir, err := os.Stat(pseudoTerminals)
	if err != nil || !dir.IsDir() {
		return false
	}
	mux, err := os.Stat(multiplexer)
	return err == nil && mux.Mode()&os.ModeCharDevice != 0
}

// noteTwin notes a guarded file that has another name, where only the listener can tell.
func (p *plan) noteTwin(path string) {
	if outermost(path, p.listened()) == "" {
		return
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || links(info) < 2 {
		return
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		if p.twins == nil {
			p.twins = make(map[inode]bool)
		}
		p.twins[inode{uint64(st.Dev), st.Ino}] = true
	}
}

// order sorts the mounts so that none hides another, and leaves out those that nobody could tell.
func (p *plan) order(points map[string]mountKind) {
	covered := ""
	paths := make([]string, 0, len(points))
	for path := range points {
		paths = append(paths, path)
	}
	slices.SortFunc(paths, func(a, b string) int { return strings.Compare(a+"/", b+"/") })
	for _, path := range paths {
		if covered != "" && troupe.Within(path, covered) {
			continue
		}
		if points[path] == mountCover {
			covered = path
		}
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		m := mountPoint{path: path, kind: points[path], dir: info.IsDir()}
		if m.kind == mountCover {
			m.like = likenessOf(info)
		}
		p.mounts = append(p.mounts, m)
	}
}

// outermost is the shortest of the folders that a path lies in; "" if it lies in none.
func outermost(path string, folders []string) string {
	best := ""
	for _, f := range folders {
		if troupe.Within(path, f) && (best == "" || len(f) < len(best)) {
			best = f
		}
	}
	return best
}

// mounted reports whether the command gets mounts of its own.
func (p *plan) mounted() bool { return len(p.mounts)+len(p.rooms) > 0 || p.view != nil }

// isBeside reports whether a path lies in a room, and not in the command's own folder there.
func (p *plan) isBeside(path string) bool {
	return slices.ContainsFunc(p.rooms, func(r troupe.Room) bool {
		return path != r.Folder && troupe.Within(path, r.Folder) && !troupe.Within(path, r.Own)
	})
}

// isHidden reports whether a path cannot be read.
func (p *plan) isHidden(path string) bool {
	return troupe.WithinAny(path, p.hidden) || p.isBeside(path)
}

// mount adds the mounts to a birth. What covers goes last, for nothing is mounted below it, and
// last of all what hides where the covers were made. It reports whether files are covered by
// what looks like them.
func (p *plan) mount(b *birth, r *ruleset, how func() coverage) (alike bool) {
	c := p.coverage(how)
	for _, room := range p.rooms {
		if p.view.holds(room.Folder) { // else what may be read of it is all that is there
			b.room(room)
		}
	}
	var folder uintptr
	var covers []mountPoint
	for _, m := range p.mounts {
		switch m.kind {
		case mountSelf:
			b.bind(m.path, false)
		case mountReadOnly:
			b.bind(m.path, true)
		case mountPrivate, mountTerminals, mountProcesses:
		case mountCover:
			switch {
			case c.alike && (m.dir || m.like != nil):
				covers = append(covers, m)
			case m.dir:
				folder = b.coverFolder(m.path, folder)
			default:
				b.coverFile(m.path)
			}
		}
	}
	if c.alike {
		b.coverAlike(covers, c.strangers)
	}
	for _, m := range p.mounts {
		switch m.kind {
		case mountPrivate:
			b.private(m.path)
			b.grant(r, m.path, r.rights&^rightsOfDevices)
		case mountTerminals:
			b.terminals()
			b.grant(r, pseudoTerminals, r.rights&^rightsOfDevices)
			b.grant(r, multiplexer, r.rights&rightsOfFiles)
		case mountProcesses:
			b.ownProcesses()
			b.grant(r, processes, rightsRead)
		default:
		}
	}
	return c.alike
}

// coverage is how this plan's files are covered. The machine is asked only if there is one.
func (p *plan) coverage(how func() coverage) coverage {
	var files, hides bool
	for _, m := range p.mounts {
		files = files || m.like != nil
		hides = hides || m.path == backstage && m.kind == mountPrivate
		if m.path != backstage && troupe.Within(m.path, backstage) {
			return coverage{}
		}
	}
	if !files || !hides {
		return coverage{}
	}
	c := how()
	if privileged() != (c.strangers != nil) { // it was tried with other powers than these
		return coverage{}
	}
	return c
}

// terms are what the plan grants.
func (p *plan) terms() terms {
	t := terms{version: p.report.Landlock, tcp: p.policy.net != netAll, changeable: p.native(), readable: p.readable}
	if !p.report.Namespaces {
		t.carved = p.hidden // else they are covered
	}
	if p.policy.net == netPorts {
		t.ports = slices.Clone(p.network.Ports) // the terms may be kept
	}
	return t
}

// make makes a ruleset that grants what the terms say.
func (t terms) make() (*ruleset, error) {
	r, err := newRuleset(t)
	if err != nil {
		return nil, err
	}
	if err := r.fill(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *ruleset) fill() error {
	read := r.readAllBut
	if r.readable != nil {
		read = r.readListed
	}
	if err := read(r.carved); err != nil {
		return err
	}
	for _, d := range devices() {
		if err := r.grant(d, rightsOfFiles); err != nil {
			return err
		}
	}
	for _, path := range r.changeable {
		if err := r.grantWrite(path); err != nil {
			return err
		}
	}
	for _, port := range r.ports {
		if err := r.port(port); err != nil {
			return err
		}
	}
	return nil
}

// grantWrite grants a folder with what is in it. If something hidden that is not covered lies
// there, it may be written, and is read only where that was granted.
func (r *ruleset) grantWrite(path string) error {
	for _, h := range r.carved {
		switch {
		case troupe.Within(path, h):
			return nil
		case troupe.Within(h, path):
			return r.grant(path,
				r.rights&^rightsOfDevices&^(unix.LANDLOCK_ACCESS_FS_READ_FILE|unix.LANDLOCK_ACCESS_FS_EXECUTE))
		}
	}
	return r.write(path)
}

// links is how many names a file has.
func links(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) // it is smaller on some processors
	}
	return 1
}
