package hidden

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// noted is what is watched for: that a name appears in a folder, and that a folder moves away. That a file is gone
// is seen when it is looked at, and a folder that is removed takes its watch along; to be told of these would only
// fill the queue, of which the kernel keeps 16,384.
const noted = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW |
	unix.IN_EXCL_UNLINK

// watch is told by the kernel of what appears in folders.
type watch struct {
	fd     int
	mounts int // /proc/self/mountinfo: what is mounted over a folder is not noted
	nodes  map[int]*node
	most   int64 // how many watches it may have
	placed atomic.Int64
	// confused: one watch belongs to two folders of the tree. One of them moved while it was looked at.
	confused bool
	buf      []byte
}

// share is the part of a user's watches that a folder may take: editors and others need some too.
const share = 2

func newWatch() (*watch, error) {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if err != nil {
		return nil, fmt.Errorf("how many watches there are is not known: %w", err)
	}
	most, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("how many watches there are is not known: %w", err)
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watches run out; raise fs.inotify.max_user_instances: %w", err)
	}
	mounts, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("what is mounted cannot be watched: %w", err), unix.Close(fd))
	}
	return &watch{fd: fd, mounts: mounts, nodes: make(map[int]*node), most: most / share,
		buf: make([]byte, 64<<10)}, nil
}

func (w *watch) close() error { return errors.Join(unix.Close(w.fd), unix.Close(w.mounts)) }

// mounted reports whether something was mounted or unmounted since it was asked last.
func (w *watch) mounted() bool {
	polled := []unix.PollFd{{Fd: int32(w.mounts), Events: unix.POLLPRI}}
	n, err := unix.Poll(polled, 0)
	return err != nil || n > 0
}

// forget makes ready for another walk. Watches of folders that are there still come back with the same numbers.
func (w *watch) forget() {
	w.nodes, w.confused = make(map[int]*node, len(w.nodes)), false
	w.placed.Store(0)
}

// place watches a folder. why says what makes watches no use; it is "" if nothing does.
func (w *watch) place(n *node) (why string, err error) {
	if w.placed.Add(1) > w.most {
		return fmt.Sprintf("watches run out: it has more folders than one in %d of fs.inotify.max_user_watches; "+
			"raise that",
			share), nil
	}
	n.wd, err = unix.InotifyAddWatch(w.fd, n.path, noted)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.ENOMEM) {
		return "watches run out; raise fs.inotify.max_user_watches", nil
	}
	n.watched = err == nil
	return "", err
}

// register makes a folder known that was given a watch.
func (w *watch) register(n *node) {
	if w == nil {
		return
	}
	if old := w.nodes[n.wd]; old != nil && old != n && !old.gone {
		w.confused = true
	}
	w.nodes[n.wd] = n
}

// remove gives up a folder's watch.
func (w *watch) remove(n *node) {
	if w == nil || !n.watched || w.nodes[n.wd] != n {
		return
	}
	delete(w.nodes, n.wd)
	w.placed.Add(-1)
	_, _ = unix.InotifyRmWatch(w.fd, uint32(n.wd))
}

// drain reads all notes that there are. Each name of a file that appeared is given to file; folders that appeared
// or moved away are returned, each once. whole is false if notes were lost.
func (w *watch) drain(file func(*node, string)) (changed []change, whole bool, err error) {
	left, err := unix.IoctlGetInt(w.fd, unix.TIOCINQ)
	if err != nil {
		return nil, false, fmt.Errorf("read what changed: %w", err)
	}
	seen := make(map[change]bool)
	for left > 0 { // what is noted from now on is for the next time: others may write on and on
		n, err := unix.Read(w.fd, w.buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return changed, true, nil
		case err != nil:
			return nil, false, fmt.Errorf("read what changed: %w", err)
		}
		left -= n
		for b := w.buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			wd := int(int32(binary.NativeEndian.Uint32(b)))
			what, size := binary.NativeEndian.Uint32(b[4:]), int(binary.NativeEndian.Uint32(b[12:]))
			name, _, _ := bytes.Cut(b[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+size], []byte{0})
			b = b[unix.SizeofInotifyEvent+size:]
			if what&unix.IN_Q_OVERFLOW != 0 {
				w.empty()
				return nil, false, nil
			}
			in := w.nodes[wd]
			switch {
			case in == nil:
			case what&unix.IN_IGNORED != 0:
				w.gone(in)
			case what&unix.IN_ISDIR != 0:
				if c := (change{in, string(name)}); !seen[c] {
					seen[c] = true
					changed = append(changed, c)
				}
			case what&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0:
				file(in, string(name))
			}
		}
	}
	return changed, true, nil
}

// empty reads what is left of a queue that lost some of it: a walk follows.
func (w *watch) empty() {
	for {
		if _, err := unix.Read(w.fd, w.buf); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// gone: the folder was removed. Where another has its name by now, that was noted too.
func (w *watch) gone(n *node) {
	delete(w.nodes, n.wd)
	w.placed.Add(-1)
	n.watched, n.gone = false, true
	if n.parent != nil && n.parent.children[filepath.Base(n.path)] == n {
		delete(n.parent.children, filepath.Base(n.path))
	}
}
