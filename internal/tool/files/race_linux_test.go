package files_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

// exchange lets something outside our control swap pairs of names in a tight loop, until
// stop is called.
func exchange(t *testing.T, pairs ...[2]string) (stop func()) {
	t.Helper()
	end, done := make(chan struct{}), make(chan error, 1)
	swap := func() error {
		for _, p := range pairs {
			if err := unix.Renameat2(unix.AT_FDCWD, p[0], unix.AT_FDCWD, p[1], unix.RENAME_EXCHANGE); err != nil {
				return fmt.Errorf("exchange %s and %s: %w", p[0], p[1], err)
			}
			runtime.Gosched()
		}
		return nil
	}
	if err := swap(); err != nil {
		t.Skip("this file system cannot exchange two names:", err)
	}
	go func() {
		for {
			select {
			case <-end:
				done <- nil
				return
			default:
				if err := swap(); err != nil {
					done <- err
					return
				}
			}
		}
	}()
	stop = sync.OnceFunc(func() {
		close(end)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop) // before the folder goes, however the test ends
	return stop
}

// inMemory is a desk on a file system where a flush costs nothing, if there is one.
func inMemory(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	dir, err := os.MkdirTemp("/dev/shm", "desk")
	if err != nil {
		return d
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	d.dir = dir
	return d
}

// While a folder is exchanged with a link that leads out of the workspace, and a file with
// another such link, in a tight loop, nothing outside is ever written or read by a call that
// was judged to stay inside.
func TestSwappedWhileRunning(t *testing.T) {
	t.Parallel()
	d := inMemory(t)
	const secret = "the secret outside\n"
	for _, name := range []string{"out/f", "out/g", "out/deep/f"} {
		d.put(name, secret)
	}
	d.put("ws/d/f", "inside\n")
	d.put("ws/d/deep/f", "inside\n")
	d.put("ws/g", "inside\n")
	for link, target := range map[string]string{"ws/link": "../out", "ws/h": "../out/g"} {
		if err := os.Symlink(target, d.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	stop := exchange(t, [2]string{d.path("ws/d"), d.path("ws/link")}, [2]string{d.path("ws/g"), d.path("ws/h")})
	calls := []string{
		`{"file_path":"ws/d/f"%s}`, `{"file_path":"ws/d/deep/f"%s}`, `{"file_path":"ws/g"%s}`,
		`{"file_path":"ws/d/new%d"%s}`, `{"file_path":"ws/d/n%d/new"%s}`,
	}
	ran, refused := map[string]int{}, map[string]int{}
	for i := range 400 {
		for _, call := range calls {
			for name, more := range map[string]string{"Read": "", "Write": `,"content":"inside\n"`,
				"Edit": `,"old_string":"inside","new_string":"Inside"`} {
				input := fmt.Sprintf(call, more)
				if strings.Contains(call, "%d") {
					input = fmt.Sprintf(call, i%20, more)
				}
				out, judged := d.judged(name, input)
				switch {
				case !judged:
				case strings.Contains(troupe.JoinText(out.Blocks), secret[:len(secret)-1]):
					t.Fatalf("%s %s read outside: %+v", name, input, out)
				case out.IsError:
					refused[name]++
				default:
					ran[name]++
				}
			}
		}
	}
	stop()
	t.Logf("ran %v, refused %v", ran, refused)
	if ran["Write"] == 0 || refused["Write"] == 0 {
		t.Errorf("the race was never run: %v, %v", ran, refused)
	}
	d.noLitter("ws/d")
	d.noLitter("ws")
	d.onlyOutside(map[string]string{"out/f": secret, "out/g": secret, "out/deep/f": secret})
}

// judged makes a call that a gate would let pass: if what it touches is inside.
func (d *desk) judged(name, input string) (out tool.Output, ok bool) {
	d.t.Helper()
	env := d.env()
	env.Seen = func(path string) (string, bool) { // as if it had just been read
		content, err := os.ReadFile(path)
		return tool.Hash(content), err == nil
	}
	p, err := d.tools[name].Prepare(env, input)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, path := range append(p.Access().Reads, p.Access().Writes...) {
		if !strings.HasPrefix(path, d.path("ws")+"/") {
			return out, false
		}
	}
	out, err = p.Run(d.t.Context(), env)
	if err != nil {
		d.t.Fatalf("%s %s: %v", name, input, err)
	}
	return out, true
}

// onlyOutside fails unless the folder out holds exactly these files.
func (d *desk) onlyOutside(want map[string]string) {
	d.t.Helper()
	found := 0
	err := filepath.WalkDir(d.path("out"), func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(d.dir, path)
		if content, ok := want[rel]; !ok || d.get(rel) != content {
			d.t.Errorf("%s was written outside", path)
		}
		found++
		return err
	})
	if err != nil || found != len(want) {
		d.t.Errorf("%d files outside, %v", found, err)
	}
}
