package shell

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// ending is how a command ended.
type ending struct {
	code      int    // -1: by a signal, or because it was ended
	signal    string // the signal that nobody here sent
	timedOut  bool
	cancelled bool
	leftovers bool // processes of its group outlived it and were ended
}

// wait waits for the shell, ends it if it must not go on, and then ends what is left of
// its group. When it returns nothing of the group runs.
func (s *Shell) wait(ctx context.Context, p *os.Process, timeout time.Duration) ending {
	type exit struct {
		state *os.ProcessState
		err   error
	}
	exited := make(chan exit, 1)
	go func() {
		state, err := p.Wait()
		exited <- exit{state, err}
	}()
	timer := time.NewTimer(timeout)
	defer timer.Stop()

	e := ending{code: -1}
	var x exit
	select {
	case x = <-exited:
	case <-timer.C:
		e.timedOut = true
	case <-ctx.Done():
		e.cancelled = true
	}
	if e.timedOut || e.cancelled {
		signalGroup(p.Pid, syscall.SIGTERM)
		grace := time.NewTimer(s.options.Grace)
		defer grace.Stop()
		select {
		case x = <-exited:
		case <-grace.C:
			signalGroup(p.Pid, syscall.SIGKILL)
			x = <-exited
		}
		s.endGroup(p.Pid)
		return e
	}
	e.leftovers = s.endGroup(p.Pid)
	if x.err != nil {
		e.signal = x.err.Error()
		return e
	}
	e.code = x.state.ExitCode()
	if status, ok := x.state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.signal = status.Signal().String()
	}
	return e
}

// signalGroup reports whether there was anybody to signal.
func signalGroup(pid int, sig syscall.Signal) bool {
	return !errors.Is(syscall.Kill(-pid, sig), syscall.ESRCH)
}

// endGroup ends what is left of a group whose leader is gone, and reports whether there was
// something. (The group's number cannot have been given to another in the meantime unless
// the system went through all its process numbers since.)
func (s *Shell) endGroup(pid int) bool {
	if !signalGroup(pid, syscall.SIGTERM) {
		return false
	}
	grace := time.NewTimer(s.options.Grace)
	defer grace.Stop()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		look := time.NewTimer(pause)
		select {
		case <-grace.C:
			look.Stop()
			signalGroup(pid, syscall.SIGKILL)
			return true
		case <-look.C:
			if !signalGroup(pid, 0) {
				return true
			}
		}
	}
}
