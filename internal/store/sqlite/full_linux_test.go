package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// TestFullDisk is the same on a file system that is really full; only root can make one.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("cannot mount a small file system here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "troupe.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	plantOne(t, s)
	written := 0
	for err == nil {
		err = s.Update(t.Context(), theRoot, func(tx store.Tx) error {
			_, err := tx.Send(troupe.Mail{
				ID: troupe.MailID(fmt.Sprint(written)), Root: theRoot, To: theRoot,
				Blocks: []troupe.Block{troupe.Text(strings.Repeat("x", 50_000))},
			})
			return errors.Join(err, addOne(tx))
		})
		if err == nil {
			written++
		}
	}
	hint(t, err, path)
	if got := total(t, s); got != written || written == 0 {
		t.Errorf("%d were written, total is %d", written, got)
	}
	if err := s.Close(); err != nil {
		t.Logf("close on a full disk: %v", err)
	}
	if s, err = Open(t.Context(), path, Options{}); err != nil {
		t.Fatalf("open on a full disk: %v", err)
	}
	if got := total(t, s); got != written || !isWhole(t, s) {
		t.Errorf("%d were written, total is %d after opening again", written, got)
	}
	if err := s.Close(); err != nil {
		t.Logf("close on a full disk: %v", err)
	}
}
