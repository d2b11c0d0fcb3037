//go:build unix

package login_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/troupe-dev/troupe/internal/mcp/login"
)

// TestWaitIsTold: who waits for another process hears at once for which one and how long, and goes on when that has
// ended; who does not wait any more is told the same.
func TestWaitIsTold(t *testing.T) {
	h := newHome(t)
	h.in()
	f, err := os.OpenFile(filepath.Join(h.dir, ".lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	hold := func(how int) {
		if err := syscall.Flock(int(f.Fd()), how); err != nil {
			t.Fatal(err)
		}
	}
	hold(syscall.LOCK_EX)
	if err := os.WriteFile(f.Name(), []byte("4711 renewing a login"), 0o600); err != nil {
		t.Fatal(err)
	}
	var told []string
	do := func() {}
	h.store = login.New(login.Options{Dir: h.dir, Now: h.clock, Tell: func(text string) {
		told = append(told, text)
		do()
	}})
	ctx, cancel := context.WithCancel(t.Context())
	do = cancel
	const who = "process 4711 is renewing a login"
	if _, err := h.login().Forget(ctx); err == nil || !strings.Contains(err.Error(), who+", and is not done") {
		t.Errorf("who waits no more is told %v", err)
	}
	do = func() { hold(syscall.LOCK_UN) }
	if there, err := h.login().Forget(t.Context()); !there || err != nil {
		t.Errorf("it was not forgotten: %v, %v", there, err)
	}
	if len(told) != 2 || told[1] != who+"; waiting for it, 20s at most" {
		t.Errorf("told %q", told)
	}
	if data, err := os.ReadFile(f.Name()); err != nil || !strings.HasSuffix(string(data), " forgetting a login") {
		t.Errorf("the lock says %q, %v", data, err)
	}
}
