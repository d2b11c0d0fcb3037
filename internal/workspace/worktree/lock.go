package worktree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// lockWait is how long an operation waits for others before it says so.
const lockWait = 5 * time.Minute

// hold waits until no other operation goes on with what a name stands for, in any process. What is done meanwhile is
// done under the context it gives: where this process is killed, a git that was started under it lives on, and what the
// name stands for is held until that has ended too.
func (k *Keeper) hold(ctx context.Context, name string) (held context.Context, release func(), err error) {
	return k.holdFor(ctx, name, lockWait)
}

func (k *Keeper) holdFor(ctx context.Context, name string, most time.Duration) (held context.Context, release func(),
	err error) {
	tell := func(string) {}
	if l, ok := ctx.Value(lookingKey{}).(looking); ok {
		if tell = l.tell; l.most > 0 {
			most = min(most, l.most)
		}
	}
	folder := filepath.Join(k.data, "locks")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(filepath.Join(folder, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, err
	}
	begun, told, still := time.Now(), false, false
	err = retry(ctx, most, func() (bool, error) {
		err := tryLock(f)
		if errors.Is(err, errLocked) && !told && time.Since(begun) >= tellAfter {
			told = true
			tell(fmt.Sprintf("waiting for %s, %v at most", holder(f), most-time.Since(begun).Round(time.Second)))
		}
		still = errors.Is(err, errLocked) && time.Since(begun) >= k.patience && frozen(f)
		return errors.Is(err, errLocked) && !still, err
	})
	if err != nil {
		if errors.Is(err, errLocked) {
			what := &troupe.UserError{Problem: fmt.Sprintf("%s has been at work on this for %v", holder(f), most),
				Hint: "try again when it has ended", Err: err}
			if still {
				what.Problem = holder(f) + " is at work on this, and was stopped (Ctrl-Z)"
				what.Hint = "`kill -CONT` with its number has it go on, `kill -KILL` ends it: what it did is kept"
			}
			err = what
		}
		return nil, nil, errors.Join(err, f.Close())
	}
	if f.Truncate(0) == nil { // without that it is held all the same
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	}
	return git.Keeping(ctx, f), func() { _, _ = unlockFile(f), f.Close() }, nil
}

// tellAfter is how long a person's command waits for others without a word.
const tellAfter = 2 * time.Second

type lookingKey struct{}

// looking is how long each wait may last, and who is told of one.
type looking struct {
	most time.Duration
	tell func(string)
}

// Looking has each wait for others that is longer than two seconds told, and given up when it lasts longer than most:
// what is only listed is not worth more. 0: it lasts as long as it would.
func Looking(ctx context.Context, most time.Duration, tell func(string)) context.Context {
	return context.WithValue(ctx, lookingKey{}, looking{most, tell})
}

// holder is who has a lock, as far as its file says. A git of a process that was killed has it for that one.
func holder(f *os.File) string {
	if pid := holderPID(f); pid > 0 {
		return fmt.Sprintf("process %d of troupe", pid)
	}
	return "another process of troupe"
}

// frozen reports whether who has a lock was stopped: nobody can tell whether it ever goes on.
func frozen(f *os.File) bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", holderPID(f)))
	return bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" T"))
}

func holderPID(f *os.File) int {
	data, _ := io.ReadAll(io.NewSectionReader(f, 0, 20))
	pid, _ := strconv.Atoi(string(data))
	return pid
}

// holdCaller waits for the writes of others to the caller's repository.
func (k *Keeper) holdCaller(ctx context.Context, c *caller) (held context.Context, release func(),
	err error) {
	sum := sha256.Sum256([]byte(c.common))
	return k.hold(ctx, "repository-"+hex.EncodeToString(sum[:8]))
}

// Writing waits until no other merge is written into a folder, or no other session carried from or to it, in any
// process. What is done until it is released is done under the context that it gives. Who waits gives up after as
// long as a large merge takes. Locks are taken in one order: this one, that of a workspace, then that of names or of
// the caller's repository; none of the first is asked for while a later one is held.
func Writing(ctx context.Context, k *Keeper, folder string) (held context.Context, release func(), err error) {
	return WritingWithin(ctx, k, folder, time.Minute)
}

// WritingWithin is Writing of what may take longer than a merge: who waits gives up after most.
func WritingWithin(ctx context.Context, k *Keeper, folder string, most time.Duration) (held context.Context,
	release func(), err error) {
	sum := sha256.Sum256([]byte(real(folder)))
	return k.holdFor(ctx, "writes-"+hex.EncodeToString(sum[:8]), most)
}

// retry calls a function until it needs no more patience.
func retry(ctx context.Context, most time.Duration, try func() (again bool, err error)) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	end := time.Now().Add(most)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		again, err := try()
		if !again || time.Now().After(end) {
			return err
		}
		timer.Reset(pause)
	}
}

// errLocked: another operation has the lock.
var errLocked = errors.New("it is locked")
