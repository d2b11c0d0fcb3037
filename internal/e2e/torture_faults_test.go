package e2e_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// cable is the way of one process to the database: it can be cut, and it can stand still.
type cable struct {
	to      string // the socket of the database
	l       net.Listener
	wg      sync.WaitGroup
	mu      sync.Mutex
	conns   map[net.Conn]bool
	cut     bool          // whoever calls is turned away
	stalled chan struct{} // closed when what was held goes on; nil: nothing is held
	over    bool
}

func newCable(to string) (*cable, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &cable{to: to, l: l, conns: map[net.Conn]bool{}}
	c.wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			c.wg.Go(func() { c.join(in) })
		}
	})
	return c, nil
}

// join carries what both sides say until one hangs up.
func (c *cable) join(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("unix", c.to)
	if err != nil {
		return // the database is down
	}
	defer out.Close()
	c.mu.Lock()
	if c.cut || c.over {
		c.mu.Unlock()
		return
	}
	c.conns[in], c.conns[out] = true, true
	c.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { c.carry(out, in) })
	both.Go(func() { c.carry(in, out) })
	both.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, in)
	delete(c.conns, out)
}

func (c *cable) carry(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		c.mu.Lock()
		wait := c.stalled
		c.mu.Unlock()
		if wait != nil {
			<-wait
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// drop breaks all connections, and lets none be made until again.
func (c *cable) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	c.hangUp()
}

func (c *cable) hangUp() {
	for conn := range c.conns {
		_ = conn.Close() // each is closed once more by who carries
	}
}

// stall holds all that is said until again.
func (c *cable) stall() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stalled = make(chan struct{})
}

// again ends what drop and stall began. What was held arrives, unless it is lost.
func (c *cable) again(lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = false
	if lost {
		c.hangUp()
	}
	if c.stalled != nil {
		close(c.stalled)
		c.stalled = nil
	}
}

func (c *cable) close() {
	_ = c.l.Close()
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.again(true)
	c.wg.Wait()
}

// node is the server or a worker. What ends without having been told to is started again, as a unit of systemd is.
type node struct {
	name  string
	make  func() *exec.Cmd
	log   *os.File
	cable *cable
	wg    sync.WaitGroup

	mu      sync.Mutex
	cmd     *exec.Cmd
	ending  bool
	killed  bool
	crashed []string // ends of its own
	problem error

	busy chan struct{} // has a place while nothing is done to it
}

func newNode(name, logs string, c *cable, command func() *exec.Cmd) (*node, error) {
	log, err := os.OpenFile(filepath.Join(logs, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	n := &node{name: name, make: command, log: log, cable: c, busy: make(chan struct{}, 1)}
	n.busy <- struct{}{}
	if err := n.start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	n.wg.Go(n.look)
	return n, nil
}

func (n *node) start() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.killed = false
	n.cmd = n.make()
	n.cmd.Stdout, n.cmd.Stderr = n.log, n.log
	return n.cmd.Start()
}

// look waits for its end, and starts it again.
func (n *node) look() {
	for {
		n.mu.Lock()
		cmd := n.cmd
		n.mu.Unlock()
		err := cmd.Wait()
		n.mu.Lock()
		ending, killed := n.ending, n.killed
		if !killed && (err != nil || !ending) {
			n.crashed = append(n.crashed, fmt.Sprintf("%s %s (process %d): %v", time.Now().Format("15:04:05.000"),
				n.name, cmd.Process.Pid, err))
		}
		n.mu.Unlock()
		if ending {
			return
		}
		if !killed {
			<-time.After(300 * time.Millisecond)
		}
		if err := n.start(); err != nil {
			n.mu.Lock()
			n.problem = err
			n.mu.Unlock()
			return
		}
	}
}

func (n *node) signal(s os.Signal) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.killed = n.killed || s == syscall.SIGKILL
	err := n.cmd.Process.Signal(s)
	if errors.Is(err, os.ErrProcessDone) { // and is about to be started again
		err = nil
	}
	return err
}

func (n *node) pid() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cmd.Process.Pid
}

// end ends it as an operator does.
func (n *node) end() error {
	n.mu.Lock()
	n.ending = true
	n.mu.Unlock()
	err := n.signal(syscall.SIGTERM)
	late := time.AfterFunc(patience, func() { _ = n.signal(syscall.SIGQUIT) })
	n.wg.Wait()
	late.Stop()
	n.mu.Lock()
	defer n.mu.Unlock()
	err = errors.Join(err, n.problem, n.log.Close())
	if n.cable != nil {
		n.cable.close()
	}
	return err
}

// fault is something that is done to a node, or to the database.
type fault struct {
	after time.Duration // since the one before
	kind  string
	first int           // of the nodes: the next that nothing is done to
	long  time.Duration // how long it lasts
	lost  bool          // what was held is lost

	// What came of it.
	at   time.Time
	node string
	pid  int
}

// draw makes so many faults that last up to longest, and restarts of the database between them.
func draw(rng *rand.Rand, kills, restarts int, longest time.Duration) []*fault {
	kinds := strings.Fields("kill kill kill kill stop stop stop cut cut stall stall server")
	var all []*fault
	for i := range kills {
		if i%len(kinds) == 0 {
			rng.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		}
		kind := kinds[i%len(kinds)]
		all = append(all, &fault{after: time.Duration(rng.IntN(1500)) * time.Millisecond, kind: kind,
			first: rng.IntN(12), long: time.Second + time.Duration(rng.Int64N(int64(longest-time.Second))),
			lost: rng.IntN(2) == 0})
		if (i+1)*restarts/kills > i*restarts/kills {
			all = append(all, &fault{after: time.Duration(rng.IntN(2000)) * time.Millisecond, kind: "database",
				long: time.Duration(rng.IntN(2000)) * time.Millisecond})
		}
	}
	return all
}

// put does a fault to a node that nothing is done to, and comes back when it has begun.
func (r *torture) put(f *fault) error {
	if f.kind == "database" {
		f.at = time.Now()
		if err := r.pg.Kill(); err != nil {
			return err
		}
		<-time.After(f.long)
		return r.pg.Run()
	}
	targets := r.workers
	switch f.kind {
	case "server":
		targets = []*node{r.server}
	case "cut", "stall":
		targets = r.nodes()
	}
	var n *node
	for n == nil {
		for i := range targets {
			select {
			case <-targets[(f.first+i)%len(targets)].busy:
				n = targets[(f.first+i)%len(targets)]
			default:
				continue
			}
			break
		}
		if n == nil { // something is done to all of them
			<-time.After(20 * time.Millisecond)
		}
	}
	f.at, f.node, f.pid = time.Now(), n.name, n.pid()
	free := func() { n.busy <- struct{}{} }
	lasts := func(end func()) {
		r.lasting.Go(func() {
			<-time.After(f.long)
			end()
			free()
		})
	}
	switch f.kind {
	case "kill", "server":
		defer free()
		return n.signal(syscall.SIGKILL)
	case "stop":
		err := n.signal(syscall.SIGSTOP)
		lasts(func() { _ = n.signal(syscall.SIGCONT) })
		return err
	case "cut":
		n.cable.drop()
	case "stall":
		n.cable.stall()
	}
	lasts(func() { n.cable.again(f.lost) })
	return nil
}
