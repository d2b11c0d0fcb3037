package sandbox

import (
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// terms are all that a ruleset depends on but the machine's files.
type terms struct {
	version    int
	tcp        bool // is denied, but for connecting to the ports on any host
	ports      []int
	changeable []string
	carved     []string // hidden, and not covered
	readable   []string // nil: everything
}

func (t *terms) equal(o *terms) bool {
	return t.version == o.version && t.tcp == o.tcp && slices.Equal(t.ports, o.ports) &&
		slices.Equal(t.changeable, o.changeable) &&
		slices.Equal(t.carved, o.carved) &&
		(t.readable == nil) == (o.readable == nil) && slices.Equal(t.readable, o.readable)
}

// identity tells files apart. The zero value is that of nothing.
type identity struct {
	inode        uint64
	major, minor uint32 // of the device
	kind         uint16
	born         unix.StatxTimestamp // where a server gives a number twice
}

// found is what lay at a path that was granted by its name.
type found struct {
	path string
	identity
}

// identify looks at a path, or with an empty one at what is open, and says when the file was
// last changed. Nothing is mounted for it.
func identify(dir int, path string) (id identity, changed unix.StatxTimestamp, err error) {
	var st unix.Statx_t
	const mask = unix.STATX_TYPE | unix.STATX_INO | unix.STATX_BTIME | unix.STATX_CTIME
	if err = unix.Statx(dir, path, unix.AT_EMPTY_PATH|unix.AT_NO_AUTOMOUNT, mask, &st); err != nil {
		return id, changed, err
	}
	return identity{st.Ino, st.Dev_major, st.Dev_minor, st.Mode & unix.S_IFMT, st.Btime}, st.Ctime, nil
}

// maxRulesets are kept: those of the commands of a few sessions.
const maxRulesets = 8

// rulesets keeps those that were used last. To make one takes longer than all else that a
// start costs us; to see that nothing has changed does not. One is used again only if a new
// one would grant the same, no less and no more. That is so while
//
//   - the terms are the same,
//   - nothing was mounted or unmounted,
//   - the names in "/", all of which are granted, are those that they were,
//   - and each path that was granted by its name leads to the file that it led to. It is known
//     by its number, which nobody else gets: the kernel holds on to what a ruleset grants for as
//     long as it is mounted.
//
// A ruleset that something was carved out of is never kept: it depends on the names in more
// folders, and to grant what has become hidden since would be worse than a slow start. What a
// kept ruleset grants can be removed and unmounted as ever.
type rulesets struct {
	// calm is how long "/" must have been as it is: clocks of file systems are coarse, and
	// a change right after another can carry the same time.
	calm time.Duration

	mu     sync.Mutex
	kept   []*ruleset // the last used first
	mounts *os.File   // the list of mounts, which tells when it changes
	epoch  int        // how often it has
}

// take returns a ruleset that says what the terms say of the machine as it is now. It is open
// until it is given back. With alone nobody else gets it, so that it can be added to.
func (k *rulesets) take(t terms, alone bool) (*ruleset, error) {
	if alone || len(t.carved) > 0 {
		r, err := t.make()
		if err == nil {
			r.users = 1
		}
		return r, err
	}
	r, epoch := k.find(&t)
	if r != nil {
		if r.current() { // not under the mutex: a file system can be slow
			return r, nil
		}
		k.back(r)
	}
	_, listed, unknown := identify(unix.AT_FDCWD, "/") // before they are listed
	r, err := t.make()
	if err != nil {
		return nil, err
	}
	r.listed, r.users = listed, 1
	if unknown == nil && time.Since(time.Unix(listed.Sec, int64(listed.Nsec))) > k.calm {
		k.keep(r, epoch)
	}
	return r, nil
}

// current reports whether all that was granted is what it was, but for mounts.
func (r *ruleset) current() bool {
	for _, f := range r.found {
		id, changed, err := identify(unix.AT_FDCWD, f.path)
		if err != nil && !absent(err) || id != f.identity || f.path == "/" && changed != r.listed {
			return false
		}
	}
	return true
}

// find finds a ruleset on the same terms, and says which mounts it knows. If there were
// others since, all that was kept is let go.
func (k *rulesets) find(t *terms) (r *ruleset, epoch int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mounted() {
		k.epoch++
		for _, r := range k.kept {
			k.letGo(r)
		}
		k.kept = nil
	}
	i := slices.IndexFunc(k.kept, func(r *ruleset) bool { return r.equal(t) })
	if i < 0 {
		return nil, k.epoch
	}
	r = k.kept[i]
	copy(k.kept[1:], k.kept[:i])
	k.kept[0] = r
	r.users++
	return r, k.epoch
}

// mounted reports whether something was mounted or unmounted since it was last asked, or
// could have been. It does not use the runtime's poller, which would be told in its place.
func (k *rulesets) mounted() bool {
	if k.mounts == nil {
		fd, err := unix.Open("/proc/thread-self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return true
		}
		k.mounts = os.NewFile(uintptr(fd), "mounts")
		return true
	}
	changed := []unix.PollFd{{Fd: int32(k.mounts.Fd()), Events: unix.POLLPRI}}
	n, err := unix.Poll(changed, 0)
	return n != 0 || err != nil
}

// keep keeps a ruleset that was made when the mounts were those of an epoch. It takes the
// place of one on the same terms, or of the one that was not used for longest.
func (k *rulesets) keep(r *ruleset, epoch int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if epoch != k.epoch || k.mounts == nil {
		return
	}
	i := slices.IndexFunc(k.kept, func(o *ruleset) bool { return o.equal(&r.terms) })
	if i < 0 && len(k.kept) == maxRulesets {
		i = maxRulesets - 1
	}
	if i >= 0 {
		k.letGo(k.kept[i])
		k.kept = slices.Delete(k.kept, i, i+1)
	}
	r.users++
	k.kept = slices.Insert(k.kept, 0, r)
}

// back gives a ruleset back.
func (k *rulesets) back(r *ruleset) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.letGo(r)
}

// letGo closes a ruleset that nobody uses and that is not kept.
func (k *rulesets) letGo(r *ruleset) {
	if r.users--; r.users == 0 {
		r.close()
	}
}
