//go:build amd64 || arm64

package sandbox

import (
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// projectNetworks are those of projects, in which nobody can be reached. In the machine's own a command would see, in
// /proc/net, the sockets of everybody with their names. The sockets with which it reaches others the listener makes for
// it, outside. To make a network for each command costs as much as all else of a start.
type projectNetworks struct {
	mu   sync.Mutex
	kept map[string]*os.File
}

// maxNetworks are kept. One that is let go is gone with the last command in it.
const maxNetworks = 64

// of is that of a project; nil if it cannot be had.
func (n *projectNetworks) of(project string) *os.File {
	n.mu.Lock()
	defer n.mu.Unlock()
	if f, ok := n.kept[project]; ok {
		return f
	}
	if n.kept == nil || len(n.kept) >= maxNetworks {
		n.kept = make(map[string]*os.File) // a birth that has one keeps it open
	}
	n.kept[project] = newNetwork()
	return n.kept[project]
}

// newNetwork makes one. Only who may mount can enter it from other namespaces.
func newNetwork() *os.File {
	if !privileged() {
		return nil
	}
	b := newBirth()
	fd := int32(-1)
	b.add("hold the namespace", step{nr: unix.SYS_OPENAT, use: -1, into: &fd,
		args: [6]uintptr{atCwd, b.text("/proc/self/ns/net"), unix.O_RDONLY | unix.O_CLOEXEC}})
	err := tried(b, unix.CLONE_NEWNET)
	if fd < 0 {
		return nil
	}
	f := os.NewFile(uintptr(fd), "network namespace") // the child opened it for us
	if err != nil {
		_ = f.Close() // nothing was written
		return nil
	}
	return f
}

// reachesNobody reports whether a command may neither connect nor listen.
func (p *plan) reachesNobody() bool {
	return p.policy.net == netNone && p.policy.proxy == 0 && len(p.network.Addresses)+len(p.network.Listens) == 0
}

// outside makes a socket of the machine's network for a command that is in that of its project, with the rights of that
// command. None is raw, nor tells of the sockets of others.
func (r *reach) outside(q *asked) answer {
	domain, kind, protocol := int(q.args[0]), int(q.args[1]), int(q.args[2])
	switch {
	case domain == unix.AF_NETLINK && protocol == unix.NETLINK_ROUTE:
	case domain == unix.AF_NETLINK, !slices.Contains([]int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET},
		kind&sockTypes):
		return proceed()
	}
	fd := -1
	if err := q.as(func() (err error) {
		fd, err = unix.Socket(domain, kind|unix.SOCK_CLOEXEC, protocol)
		return err
	}); err != nil {
		return answered(err)
	}
	defer unix.Close(fd) //nolint:errcheck // the command has its own
	return r.calls.give(q.id, fd, uint32(kind)&unix.SOCK_CLOEXEC)
}

// enterNetwork has a command be in the network of its project.
func (b *birth) enterNetwork(f *os.File) {
	b.keep = append(b.keep, f)
	b.call("enter a network", unix.SYS_SETNS, f.Fd(), unix.CLONE_NEWNET)
}
