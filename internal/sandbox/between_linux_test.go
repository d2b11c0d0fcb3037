//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestFolderMovesBetween: another command of the same process gives a folder another name after a call about it was
// judged, and before it is made. What was judged is the path, so nothing comes to lie at the new one.
func TestFolderMovesBetween(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"open":    "echo evil > d/hook",
		"mkdir":   "mkdir d/hook",
		"symlink": "ln -s evil d/hook",
		"pipe":    "mkfifo d/hook",
		"link":    "ln main.c d/hook",
		"socket":  python("import socket; socket.socket(socket.AF_UNIX).bind('d/hook')"),
	} {
		for then, other := range map[string]string{"guarded": "mv d held", "made anew": "mv d held; mkdir d"} {
			t.Run(name+" "+then, func(t *testing.T) {
				t.Parallel()
				r, _ := attackedRoom(t)
				if err := os.Mkdir(filepath.Join(r.ws, "d"), 0o700); err != nil {
					t.Fatal(err)
				}
				another, guard, once := *r, r.conf.Guarded, sync.Once{}
				r.conf.Guarded = func(path string) string {
					if strings.HasSuffix(path, "/d/hook") {
						once.Do(func() {
							if out, code, _ := another.brief(other); code != 0 {
								t.Errorf("the other command: exit %d\n%s", code, out)
							}
						})
					}
					return guard(path)
				}
				out, _, _ := r.brief(command)
				if _, err := os.Lstat(filepath.Join(r.ws, "held")); err != nil {
					t.Fatalf("nothing was moved: %v\n%s", err, out)
				}
				if _, err := os.Lstat(filepath.Join(r.ws, "held/hook")); err == nil {
					t.Errorf("it was made at a guarded name\n%s", out)
				}
				if _, err := os.Lstat(filepath.Join(r.ws, "d/hook")); (err == nil) != (then == "made anew") {
					t.Errorf("d/hook: %v\n%s", err, out)
				}
			})
		}
	}
}

// TestEndsChangeBetween: what a rename is about changes after it was looked at, and before the rename is judged.
func TestEndsChangeBetween(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		command string
		change  func(t *testing.T, ws string)
		evil    string
	}{
		"the folder it goes to": {"mv main.c d/hook", func(t *testing.T, ws string) {
			check(t, "move", os.Rename(filepath.Join(ws, "d"), filepath.Join(ws, "held")))
		}, "held/hook"},
		"the folder it is in": {"mv main.c d/hook", func(t *testing.T, ws string) {
			check(t, "move", os.Rename(filepath.Join(ws, "d"), filepath.Join(ws, "held")))
			check(t, "make", os.Mkdir(filepath.Join(ws, "d"), 0o700))
		}, "held/hook"},
		"a folder for a file": {"mv n held", func(t *testing.T, ws string) {
			check(t, "remove", os.Remove(filepath.Join(ws, "n")))
			check(t, "make", os.Mkdir(filepath.Join(ws, "n"), 0o700))
			check(t, "write", os.WriteFile(filepath.Join(ws, "n/hook"), nil, 0o600))
		}, "held/hook"},
		"a link for a file": {"mv d/l out", func(t *testing.T, ws string) {
			check(t, "remove", os.Remove(filepath.Join(ws, "d/l")))
			check(t, "link", os.Symlink("../cache", filepath.Join(ws, "d/l")))
		}, "out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := attackedRoom(t)
			r.file("n", "")
			r.file("d/l", "")
			r.box.changes.RLock() // as a listener does that makes a change
			done := make(chan string)
			go func() {
				out, _, _ := r.brief(tt.command)
				done <- out
			}()
			for r.box.changes.TryRLock() { // until the rename waits for that
				r.box.changes.RUnlock()
				select {
				case out := <-done:
					r.box.changes.RUnlock()
					t.Fatalf("it did not wait\n%s", out)
				default:
					runtime.Gosched()
				}
			}
			tt.change(t, r.ws)
			r.box.changes.RUnlock()
			out := <-done
			if _, err := os.Lstat(filepath.Join(r.ws, tt.evil)); err == nil {
				t.Errorf("%s came to be\n%s", tt.evil, out)
			}
		})
	}
}

// TestLinkedFileChangesBetween: a link in the place of a file that is to get another name leads elsewhere from there.
func TestLinkedFileChangesBetween(t *testing.T) {
	t.Parallel()
	r, _ := attackedRoom(t)
	file := r.file("d/l", "")
	guard, once := r.conf.Guarded, sync.Once{}
	r.conf.Guarded = func(path string) string {
		if filepath.Base(path) == "out" {
			once.Do(func() {
				check(t, "remove", os.Remove(file))
				check(t, "link", os.Symlink("../cache", file))
			})
		}
		return guard(path)
	}
	out, _, _ := r.brief("ln -P d/l out")
	if says, err := os.Readlink(filepath.Join(r.ws, "out")); err == nil {
		t.Errorf("out leads to %s\n%s", says, out)
	}
}

// TestFileComesBetween: leave to make a file is none to write one that has come to be since it was judged.
func TestFileComesBetween(t *testing.T) {
	t.Parallel()
	r, _ := attackedRoom(t)
	guard, path, once := r.conf.Guarded, filepath.Join(r.ws, "d/HEAD"), sync.Once{}
	check(t, "make", os.Mkdir(filepath.Dir(path), 0o700))
	r.conf.Granted = append(r.conf.Granted, troupe.Attempt{Op: troupe.OpCreate, Path: path})
	r.conf.Guarded = func(p string) string {
		if p == path {
			once.Do(func() { check(t, "write", os.WriteFile(path, []byte("another's"), 0o600)) })
		}
		return guard(p)
	}
	out, _, w := r.brief("echo evil > d/HEAD")
	if is := read(t, path); is != "another's" || attempts(w) != "write "+path {
		t.Errorf("it holds %q, attempted %s\n%s", is, attempts(w), out)
	}
}
