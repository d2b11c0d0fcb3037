package shell

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/troupe-dev/troupe"
)

// ending is how a command ended.
type ending struct {
	code      int    // -1: by a signal, or because it was ended
	signal    string // the signal that nobody here sent
	timedOut  bool
	cancelled bool
	moved     bool          // to the background, while it ran
	allowed   time.Duration // the time it had there
	leftovers bool          // something it had started outlived it and was ended
	held      bool          // something could still write to its output when reading was given up
	tests     *troupe.TestCount
	level     troupe.Level    // it was confined to this
	watched   *troupe.Watched // and this was seen of it
	cwd       string          // it ran in this folder
}

// wait waits for the shell, ends it if it must not go on, and then ends what is left of its kin. When
// it returns nothing of them runs. It has another time from when it is moved on, and is moved no more once it ends.
func (s *Shell) wait(ctx context.Context, p *os.Process, all kin, timeout time.Duration, u *underway) ending {
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
	for waits := true; waits; {
		waits = false
		select {
		case x = <-exited:
		case <-timer.C:
			e.timedOut = u.timeIsUp()
			waits = !e.timedOut
		case timeout = <-u.more:
			timer.Reset(timeout)
			waits = true
		case <-ctx.Done():
			e.cancelled = true
		}
	}
	u.ending()
	if e.timedOut || e.cancelled {
		all.signal(syscall.SIGTERM)
		grace := time.NewTimer(s.options.Grace)
		defer grace.Stop()
		select {
		case x = <-exited:
		case <-grace.C:
			all.signal(syscall.SIGKILL)
			x = <-exited
		}
		s.endAll(all)
		return e
	}
	e.leftovers = s.endAll(all)
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

// endAll ends what is left of a command whose shell is gone, and reports whether there was
// something. (The group's number cannot have been given to another in the meantime unless
// the system went through all its process numbers since.)
func (s *Shell) endAll(all kin) bool {
	if !all.signal(0) {
		return false
	}
	all.signal(syscall.SIGTERM)
	if !s.gone(all, 0) {
		// Who has strayed from the group can start others until it is hit itself, so they are
		// hit until nobody is left. Only what the kernel holds on to is not waited for.
		s.gone(all, syscall.SIGKILL)
	}
	return true
}

// gone looks until nobody is left, or the grace is over, and sends the signal each time.
func (s *Shell) gone(all kin, sig syscall.Signal) bool {
	grace := time.NewTimer(s.options.Grace)
	defer grace.Stop()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if !all.signal(sig) {
			return true
		}
		look := time.NewTimer(pause)
		select {
		case <-grace.C:
			look.Stop()
			return false
		case <-look.C:
		}
	}
}
