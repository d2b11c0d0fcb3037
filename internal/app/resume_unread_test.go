package app

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestFailedWithUnreadEnd: the end of a task that waits for a session that has failed begins no run, so the
// session is not at work: it can be resumed in the process that has it.
func TestFailedWithUnreadEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := "replies:\n  - agent: main\n    error: bad_request\n"
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	a := openHome(t, t.TempDir())
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	r, err := you(a).Begin(t.Context(), wire.Begin{Prompt: "go", Cwd: dir, Model: "script:s.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	if err := you(a).Wait(t.Context(), r.Root); err != nil {
		t.Fatal(err)
	}
	err = a.trees.store.Update(t.Context(), r.Root, func(tx store.Tx) error {
		_, err := tx.Send(troupe.Mail{ID: "end:x:1", Root: r.Root, To: r.Root, Kind: troupe.MailTaskEnded,
			SentAt: time.Now(), Ended: &troupe.Outcome{Session: r.Root, Name: "x", Status: troupe.Completed}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := you(a).Begin(t.Context(), wire.Begin{Resume: string(r.Root), Cwd: dir}); err != nil {
		t.Errorf("it is not resumed: %v", err)
	} else if err := you(a).Wait(t.Context(), r.Root); err != nil {
		t.Error(err)
	}
}
