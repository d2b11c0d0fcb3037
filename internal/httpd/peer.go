package httpd

import (
	"errors"
	"fmt"
	"io/fs"
	"net"

	"github.com/troupe-dev/troupe"
)

// Peers. Whoever holds this socket can steer agents, stop them, and grant what they ask for,
// so an agent must not be able to call it: its commands run as the same user, and file modes
// do not keep them out. When a connection is made, the caller's process is looked up (the
// kernel notes who called connect) and refused
//
//   - if it runs as another user, or where this process cannot see it;
//   - if this process, which runs the agents, is among its ancestors: every command of an
//     agent of ours descends from it;
//   - if it, the leader of its session or process group, or any ancestor was started with
//     the variable that marks agents' commands (troupe.AgentVariable): that holds for agents of other
//     processes, and for a command that was left to init by its parent's end.
//
// A process id may be given to another process while it is being looked at. On Linux 6.5 and
// later the connection also gives a handle of the caller itself; the answer counts only if
// that very process still lives afterwards, so its number was never another's. Before, and
// on macOS, its start time is compared before and after: a caller that ends between connect
// and the first look, and whose number is taken at once by an innocent process, would pass.
// A parent counts only if its child still names it once it was read.
//
// What this does not do: until commands run in the kernel's sandbox, where AF_UNIX is denied,
// a command that wants to get past it can. It runs as the same user, so it may detach itself
// (setsid, two forks) and start a program without the marker; ask a service that starts
// programs for it (tmux, cron, systemd, at, ssh to this machine); steer a program of the
// user's that is not below an agent, with a debugger or through its terminal; or leave the
// API alone and write to the database. The check keeps honest programs from overreaching and
// makes going around it deliberate. It is not a wall.

// peer is who made a connection.
type peer struct {
	pid     int
	refused error // nil: may call
}

// process is what the system says of one process.
type process struct {
	parent  int
	group   int // its leader's id
	session int // its leader's id
	start   uint64
}

// table is the system's table of processes. What is not there, or is not shown to us, is
// fs.ErrNotExist.
type table interface {
	process(pid int) (process, error)
	// marked reports whether a process was started with troupe.AgentVariable in its environment.
	marked(pid int) (bool, error)
}

// look says who made a connection, and whether that process may call.
func look(c net.Conn) peer { return lookIn(processes(), self(), c) }

func lookIn(t table, self int, c net.Conn) peer {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return peer{refused: errNoPeer}
	}
	pid, alive, err := connected(u)
	if err != nil {
		return peer{pid, unknown(err)}
	}
	defer alive.close()
	err = judge(t, self, pid)
	if err == nil {
		err = alive.check()
	}
	return peer{pid, err}
}

// judge returns why a process may not call, or nil.
func judge(t table, self, pid int) error {
	if pid == self {
		return nil
	}
	if pid <= 0 {
		return unknown(errors.New("it is in another container"))
	}
	p, err := t.process(pid)
	if err != nil {
		return unknown(err)
	}
	marked, err := t.marked(pid)
	switch {
	case err != nil:
		// Programs of this user show their environment to this user. One that does not has
		// been made to hide it.
		return unknown(err)
	case marked:
		return agents(pid, "it was started by an agent's tool")
	}
	for _, leader := range [...]int{p.session, p.group} {
		if leader <= 0 || leader == pid {
			continue
		}
		// A leader may be gone, or another user's; then it says nothing.
		if marked, err := t.marked(leader); err == nil && marked {
			return agents(pid, fmt.Sprintf("process %d, which leads it, was started by an agent's tool", leader))
		}
	}
	if err := ancestors(t, self, pid, p); err != nil {
		return err
	}
	again, err := t.process(pid)
	if err == nil && again.start != p.start {
		err = fs.ErrNotExist
	}
	if err != nil {
		return unknown(err)
	}
	return nil
}

// ancestors walks up from a process and returns why one of its ancestors rules it out.
func ancestors(t table, self, pid int, p process) error {
	// Deeper than any tree of processes; the walk may also start anew where a parent ended.
	const most = 4096
	child, at := pid, p
	for range most {
		parent := at.parent
		switch {
		case parent == self:
			return agents(pid, "it was started by the process that runs the agents")
		case parent <= 1:
			return nil
		}
		marked, merr := t.marked(parent)
		up, err := t.process(parent)
		// Whose id the parent's is can change while it is read, but not while its child
		// names it as its parent.
		now, cerr := t.process(child)
		switch {
		case cerr != nil:
			return unknown(cerr)
		case now.start != at.start:
			return unknown(fs.ErrNotExist)
		case now.parent != parent:
			at = now // it ended, and the child has another now
			continue
		case errors.Is(err, fs.ErrNotExist):
			return nil // the system hides it, as it does with other users' processes
		case err != nil:
			return unknown(err)
		case merr == nil && marked:
			return agents(pid, fmt.Sprintf("process %d above it was started by an agent's tool", parent))
		}
		child, at = parent, up
	}
	return unknown(errors.New("it has too many ancestors"))
}

func agents(pid int, why string) error {
	return &troupe.UserError{
		Problem: fmt.Sprintf("process %d belongs to an agent: %s; agents may not send, stop or answer here", pid, why),
		Hint:    "Type the command in a terminal of your own. An agent talks to other agents with its tools.",
		Code:    troupe.ExitPermission,
	}
}

func unknown(err error) error {
	return &troupe.UserError{
		Problem: fmt.Sprintf("it cannot be told who calls, so the call is refused: %v", err),
		Hint:    "Try again from a terminal of the user who runs the session.", Code: troupe.ExitPermission, Err: err,
	}
}
