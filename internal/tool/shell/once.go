package shell

import (
	"context"
	"errors"
	"io"
	"syscall"
	"time"
)

// Once runs a program to its end: it is told what there is to tell, and what it says goes to out until a moment after
// its end. Then what it has left running goes on; only once ctx is over all that it has started ends, and the error is
// that of ctx.
func (s *Shell) Once(ctx context.Context, v Service, tell []byte, out io.Writer) (exit int, err error) {
	sv, err := s.Serve(v)
	if err != nil {
		return 0, err
	}
	sv.printed.Go(func() { _, _ = io.Copy(out, sv.out) })
	sv.printed.Go(func() {
		_, _ = sv.Write(tell) // a program need not read it
		_ = sv.CloseWrite()
	})
	select {
	case <-sv.exited:
	case <-ctx.Done():
		sv.all.signal(syscall.SIGKILL)
		<-sv.exited
		s.gone(sv.all, syscall.SIGKILL)
		err = ctx.Err()
	}
	_ = sv.in.Close() // it may be closed already
	_ = sv.out.SetReadDeadline(time.Now().Add(s.options.Drain))
	sv.letGo()
	switch {
	case err != nil:
		return 0, err
	case sv.failed != nil:
		return 0, sv.failed
	case sv.state.ExitCode() < 0:
		return 0, errors.New("it was ended: " + sv.state.String())
	}
	return sv.state.ExitCode(), nil
}
