package shell

import (
	"errors"
	"os"
	"runtime"
	"sync"
)

var errClosed = errors.New("the shell is closed")

// starter starts processes from one thread that does not end before they do. (The kernel
// takes the end of the thread for the end of the parent.)
type starter struct {
	mu      sync.Mutex
	closed  bool
	jobs    chan job // made with the thread, by the first start
	stopped chan struct{}
	live    sync.WaitGroup // started and not yet done
}

type job struct {
	program
	made chan<- made
}

// program is what is to be started.
type program struct {
	bin     string
	argv    []string
	attr    *os.ProcAttr
	confine func(bin string, argv []string, attr *os.ProcAttr) (Confined, error) // nil: nothing confines it
}

func (p program) start() (Confined, error) {
	if p.confine != nil {
		return p.confine(p.bin, p.argv, p.attr)
	}
	process, err := os.StartProcess(p.bin, p.argv, p.attr)
	if err != nil {
		return nil, err
	}
	return free{process}, nil
}

type made struct {
	c   Confined
	err error
}

func newStarter() *starter { return &starter{} }

// start starts a process. If it succeeds, done must be called once the process has ended.
func (s *starter) start(p program) (Confined, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed
	}
	if s.jobs == nil {
		s.jobs, s.stopped = make(chan job), make(chan struct{})
		go s.serve()
	}
	s.live.Add(1)
	s.mu.Unlock()

	answer := make(chan made, 1)
	s.jobs <- job{p, answer}
	m := <-answer
	if m.err != nil {
		s.live.Done()
	}
	return m.c, m.err
}

func (s *starter) done() { s.live.Done() }

func (s *starter) serve() {
	defer close(s.stopped)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread() // else the thread would end with the goroutine
	for j := range s.jobs {
		c, err := j.start()
		j.made <- made{c, err}
	}
}

// close waits until all that was started is done.
func (s *starter) close() {
	s.mu.Lock()
	already := s.closed
	s.closed = true
	s.mu.Unlock()
	s.live.Wait()
	if !already && s.jobs != nil {
		close(s.jobs)
		<-s.stopped
	}
}
