//go:build unix

package login

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lock waits until no other process changes a login. One that is stopped in the middle would be waited for without
// end, but for ctx. Whoever has it stands in the file, so that who waits can say for whom: told hears that at once.
func lock(ctx context.Context, dir, what string, told func(string)) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the logins: %w", err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for first := true; ; first = false {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			sign(f, what)
			return func() { _ = f.Close() }, nil // which lets go of it
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock the logins: %w", err), f.Close())
		}
		if until, ok := ctx.Deadline(); ok && first {
			told(fmt.Sprintf("%s; waiting for it, %v at most", holder(f), time.Until(until).Round(time.Second)))
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(errors.New(holder(f)+", and is not done; try again when it has ended"), f.Close())
		case <-tick.C:
		}
	}
}

// sign says in the file who has the lock. Without that it is held all the same.
func sign(f *os.File, what string) {
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+" "+what), 0)
	}
}

// holder is who has the lock, as far as the file says.
func holder(f *os.File) string {
	data, _ := io.ReadAll(io.NewSectionReader(f, 0, 200))
	id, what, ok := strings.Cut(string(data), " ")
	if pid, err := strconv.Atoi(id); ok && err == nil && pid > 0 {
		return fmt.Sprintf("process %d is %s", pid, shown(what))
	}
	return "another process is changing a login"
}
