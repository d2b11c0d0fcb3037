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
	bin  string
	argv []string
	attr *os.ProcAttr
	made chan<- made
}

type made struct {
	p   *os.Process
	err error
}

func newStarter() *starter { return &starter{} }

// start starts a process. If it succeeds, done must be called once the process has ended.
func (s *starter) start(bin string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
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
	s.jobs <- job{bin, argv, attr, answer}
	m := <-answer
	if m.err != nil {
		s.live.Done()
	}
	return m.p, m.err
}

func (s *starter) done() { s.live.Done() }

func (s *starter) serve() {
	defer close(s.stopped)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread() // else the thread would end with the goroutine
	for j := range s.jobs {
		p, err := os.StartProcess(j.bin, j.argv, j.attr)
		j.made <- made{p, err}
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
