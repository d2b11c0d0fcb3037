//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// number is what a file system knows a file by.
func number(t *testing.T, path string) uint64 {
	t.Helper()
	var st syscall.Stat_t
	check(t, "look at "+path, syscall.Lstat(path, &st))
	return st.Ino
}

// TestNumberOfWhatWasMade: a file that a person puts where the command had made one is the person's, though file
// systems give it the number of the one that is gone.
func TestNumberOfWhatWasMade(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]troupe.Made{"file": "", "folder": troupe.KindFolder} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := attackedRoom(t)
			path := filepath.Join(r.home, "x")
			r.conf.Level, r.conf.Writable = troupe.LevelGranted, nil
			r.conf.Granted = []troupe.Attempt{{Op: troupe.OpCreate, Path: path, Kind: kind}}
			first, last := "echo made > "+path, "echo evil > "+path
			victim := path
			if kind == troupe.KindFolder {
				first, last, victim = "mkdir "+path, "echo evil > "+path+"/f; echo evil > "+path+"/new", path+"/f"
			}
			reused, over := make(chan bool), make(chan struct{})
			go func() { // the person
				defer close(reused)
				for !exists(filepath.Join(r.temp, "made")) {
					select {
					case <-over:
						return
					case <-time.After(time.Millisecond):
					}
				}
				was := number(t, path)
				check(t, "remove", os.Remove(path))
				if kind == troupe.KindFolder {
					check(t, "make a folder", os.Mkdir(path, 0o700))
				}
				check(t, "write", os.WriteFile(victim, []byte("a person's"), 0o600))
				reused <- number(t, path) == was
			}()
			go func() { // the command goes on once the person is done
				if ok := <-reused; !ok {
					t.Log("the number was not given again")
				}
				check(t, "tell the command", os.WriteFile(filepath.Join(r.temp, "go"), nil, 0o600))
			}()
			// The clock of file systems ticks some hundred times a second.
			out, _, w := r.brief(first + "; sleep 0.05; touch $TMPDIR/made; until [ -e $TMPDIR/go ]; do sleep 0.01; " +
				"done; " + last)
			close(over)
			if read(t, victim) != "a person's" || exists(path+"/new") || !strings.Contains(attempts(w), path) {
				t.Errorf("%s holds %q, attempted %s\n%s", victim, read(t, victim), attempts(w), out)
			}
		})
	}
}

// TestNumberOfAnEarlierRun: nor is it the command's own when that runs again.
func TestNumberOfAnEarlierRun(t *testing.T) {
	t.Parallel()
	r, _ := attackedRoom(t)
	path := filepath.Join(r.home, "x")
	r.conf.Level, r.conf.Writable = troupe.LevelGranted, nil
	r.conf.Granted = []troupe.Attempt{{Op: troupe.OpCreate, Path: path}}
	if out, code, w := r.brief("echo made > " + path + "; sleep 0.05"); code != 0 || len(w.Attempts) > 0 {
		t.Fatalf("exit %d, attempted %s\n%s", code, attempts(w), out)
	}
	was := number(t, path)
	check(t, "remove", os.Remove(path))
	check(t, "write", os.WriteFile(path, []byte("a person's"), 0o600))
	if number(t, path) != was {
		t.Log("the number was not given again")
	}
	if out, _, w := r.brief("echo evil > " + path); read(t, path) != "a person's" || attempts(w) != "write "+path {
		t.Errorf("it holds %q, attempted %s\n%s", read(t, path), attempts(w), out)
	}
}
