package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// TestFirstStartOnAFullDisk: wherever the disk fills up while the database is made, the next start
// with room again has one that works.
func TestFirstStartOnAFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("without -short it runs")
	}
	t.Parallel()
	cmd := child(t, os.Args[0], "fill", t.TempDir())
	if os.Geteuid() != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		}
	} else {
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	}
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), errNoMount.Error()) || errors.Is(err, syscall.EPERM) {
		t.Skipf("cannot mount a small file system here: %v %s", err, out)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

var errNoMount = errors.New("no mount")

// fill begins a home with room for each multiple of 4 KiB, and again without the bound.
func fill(ctx context.Context, dir string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("%w: %w", errNoMount, err)
	}
	failed := 0
	for room := int64(0); room <= 600<<10; room += 4 << 10 {
		first, err := fillOnce(ctx, dir, room)
		if err != nil {
			return fmt.Errorf("with room for %d bytes: %w\nthe first start said: %s", room, err, errString(first))
		}
		if first == nil {
			continue
		}
		failed++
		var u *troupe.UserError
		if !errors.As(first, &u) || u.Hint == "" {
			return fmt.Errorf("with room for %d bytes the first start said: %w", room, first)
		}
	}
	if failed < 10 {
		return fmt.Errorf("only %d starts failed", failed)
	}
	fmt.Println(failed, "starts failed")
	return nil
}

func fillOnce(ctx context.Context, dir string, room int64) (first, err error) {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoMount, err)
	}
	defer func() { err = errors.Join(err, syscall.Unmount(dir, 0)) }()
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 2<<20-room), 0o600); err != nil && room != 0 {
		return nil, err
	}
	path := filepath.Join(dir, "home", "troupe.db")
	first = openAs(ctx, path, "first0000000")
	if err := os.Remove(ballast); err != nil {
		return first, err
	}
	if err := openAs(ctx, path, "second000000"); err != nil {
		return first, fmt.Errorf("the second start: %w", err)
	}
	s, err := Open(ctx, path, Options{})
	if err != nil {
		return first, err
	}
	err = s.View(ctx, func(r store.Reader) error {
		_, err := r.Sessions(store.Filter{RootsOnly: true})
		return err
	})
	return first, errors.Join(err, s.Close())
}
