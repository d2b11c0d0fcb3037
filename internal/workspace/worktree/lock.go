package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
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
	folder := filepath.Join(k.data, "locks")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(filepath.Join(folder, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, err
	}
	err = retry(ctx, most, func() (bool, error) {
		err := tryLock(f)
		return errors.Is(err, errLocked), err
	})
	if err != nil {
		if errors.Is(err, errLocked) {
			err = &troupe.UserError{Problem: "another process of troupe has been at work on this for minutes",
				Hint: "try again when it has ended", Err: err}
		}
		return nil, nil, errors.Join(err, f.Close())
	}
	return git.Keeping(ctx, f), func() { _, _ = unlockFile(f), f.Close() }, nil
}

// holdCaller waits for the writes of others to the caller's repository.
func (k *Keeper) holdCaller(ctx context.Context, c *caller) (held context.Context, release func(),
	err error) {
	sum := sha256.Sum256([]byte(c.common))
	return k.hold(ctx, "repository-"+hex.EncodeToString(sum[:8]))
}

// Writing waits until no other merge is written into a folder, in any process. What is done until it is released is
// done under the context that it gives. It is asked for before any workspace is held, and never while one is. Who waits
// gives up after as long as a large merge takes.
func Writing(ctx context.Context, k *Keeper, folder string) (held context.Context, release func(), err error) {
	sum := sha256.Sum256([]byte(real(folder)))
	return k.holdFor(ctx, "writes-"+hex.EncodeToString(sum[:8]), time.Minute)
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
