//go:build unix

package httpd

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api/apitest"
)

// short is a folder whose path leaves room for names.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func serveAt(t *testing.T, path string, o Options) (*Server, error) {
	t.Helper()
	s, err := Serve(t.Context(), path, apitest.New().As, o)
	if err == nil {
		t.Cleanup(func() {
			if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
	return s, err
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

// abandon leaves a socket as a killed process does.
func abandon(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	// A program that another test is starting has a copy of the socket until it begins.
	for {
		c, err := net.Dial("unix", path)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return
		}
		if err == nil {
			_ = c.Close()
		}
	}
}

func TestSocketIsPrivate(t *testing.T) {
	t.Parallel()
	base := short(t)
	for dir, m := range map[string]os.FileMode{"open": 0o777, "group": 0o750} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(base, dir), m); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"new/run", "open", "group"} {
		path := filepath.Join(base, dir, "a.sock")
		s, err := serveAt(t, path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if m := mode(t, filepath.Dir(path)); m != os.ModeDir|0o700 {
			t.Errorf("%s: the folder has %v", dir, m)
		}
		if m := mode(t, path); m != os.ModeSocket|0o600 || s.Path() != path {
			t.Errorf("%s: the socket has %v", dir, m)
		}
	}
}

func TestSocketNames(t *testing.T) {
	t.Parallel()
	dir := short(t)
	a, dead, other := filepath.Join(dir, "a.sock"), filepath.Join(dir, "dead.sock"), filepath.Join(dir, "other")
	for _, path := range []string{a, dead, other, filepath.Join(dir, newborn)} {
		abandon(t, path)
	}
	s, err := serveAt(t, a, Options{})
	if err != nil {
		t.Fatalf("a dead process's socket is in the way: %v", err)
	}
	if status, body := ask(t, a, "GET", "/v1/tasks", ""); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	if _, err := os.Lstat(dead); !os.IsNotExist(err) {
		t.Errorf("another dead process's socket is still there: %v", err)
	}
	if _, err := os.Lstat(other); err != nil {
		t.Errorf("a socket that is not ours was removed: %v", err)
	}
	if _, err := serveAt(t, a, Options{}); !errors.Is(err, troupe.ErrExists) {
		t.Errorf("two serve on one socket: %v", err)
	}
	if _, err := serveAt(t, filepath.Join(dir, "b.sock"), Options{}); err != nil {
		t.Fatal(err)
	}
	if status, _ := ask(t, a, "GET", "/v1/tasks", ""); status != 200 {
		t.Error("the first server lost its socket to the second")
	}
	file := filepath.Join(dir, "file.sock")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := serveAt(t, file, Options{}); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("a file was replaced: %v", err)
	}
	// Somebody took the name: it is not ours to remove any more.
	if err := os.Remove(a); err != nil {
		t.Fatal(err)
	}
	abandon(t, a)
	if err := s.socket.remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(a); err != nil {
		t.Errorf("another's socket was removed: %v", err)
	}
}

// TestSocketRace: of many who want one name, over the socket of a dead process, one gets it.
func TestSocketRace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(short(t), "a.sock")
	abandon(t, path)
	var wg sync.WaitGroup
	got := make(chan *socket, 16)
	for range cap(got) {
		wg.Go(func() {
			s, err := claim(t.Context(), path, Options{})
			if err == nil {
				got <- s
			} else if !errors.Is(err, troupe.ErrExists) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	close(got)
	n := 0
	for s := range got {
		n++
		s.listener.Close()
	}
	if n != 1 {
		t.Errorf("%d have the socket", n)
	}
}

func TestSocketTooLong(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(short(t), strings.Repeat("long/", 30))
	long := filepath.Join(dir, "7k3f00000000.sock")
	run, temp := short(t), short(t)
	s, err := serveAt(t, long, Options{Runtime: run, Temp: temp})
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(run, "troupe", "7k3f00000000.sock"); s.Path() != want ||
		mode(t, filepath.Dir(want)) != os.ModeDir|0o700 {
		t.Errorf("it is at %s, want %s", s.Path(), want)
	}
	if status, _ := ask(t, s.Path(), "GET", "/v1/tasks", ""); status != 200 {
		t.Error("it does not answer")
	}
	s, err = serveAt(t, filepath.Join(dir, strings.Repeat("n", 50)+".sock"), Options{Runtime: "relative", Temp: temp})
	if err != nil || filepath.Dir(filepath.Dir(s.Path())) != temp || len(filepath.Base(s.Path())) > 32 {
		t.Errorf("%v: %v", s, err)
	}
	var user *troupe.UserError
	if _, err := serveAt(t, long, Options{Temp: dir}); !errors.As(err, &user) || user.Hint == "" {
		t.Errorf("nowhere to go: %v", err)
	}
	if _, err := serveAt(t, "relative.sock", Options{}); err == nil {
		t.Error("a relative path is served")
	}
}

// TestSocketFolder: a name of ours in a folder of everybody's may be somebody else's.
func TestSocketFolder(t *testing.T) {
	t.Parallel()
	dir := short(t)
	real := filepath.Join(dir, "real")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	link, file := filepath.Join(dir, "link"), filepath.Join(dir, "file")
	if err := errors.Join(os.Symlink(real, link), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{link, file} {
		if _, err := serveAt(t, filepath.Join(at, "a.sock"), Options{}); err == nil ||
			!strings.Contains(err.Error(), "no socket is made") {
			t.Errorf("%s: %v", at, err)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	if err := os.Chown(real, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if _, err := serveAt(t, filepath.Join(real, "a.sock"), Options{}); err == nil ||
		!strings.Contains(err.Error(), "another user") {
		t.Errorf("another's folder is used: %v", err)
	}
}

// TestSocketLock: who is stopped while it holds the lock holds nobody up for long.
func TestSocketLock(t *testing.T) {
	t.Parallel()
	dir := short(t)
	unlock, err := lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := claim(ctx, filepath.Join(dir, "a.sock"), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("somebody got past the lock: %v", err)
	}
	unlock()
	s, err := claim(t.Context(), filepath.Join(dir, "a.sock"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.listener.Close()
	if mode(t, filepath.Join(dir, lockName)).Perm() != 0o600 {
		t.Error("the lock is open to others")
	}
	_ = syscall.Unlink(s.path)
}

// BenchmarkServe is what serving costs a run that nobody calls.
func BenchmarkServe(b *testing.B) {
	dir := b.TempDir()
	cases := apitest.New().As
	for b.Loop() {
		s, err := Serve(b.Context(), filepath.Join(dir, "a.sock"), cases, Options{Temp: os.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
