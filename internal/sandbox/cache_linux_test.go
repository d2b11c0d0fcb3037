//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestFolderOfACache: a command that may not write the project uses the build caches, and changes nothing of the
// folders that they are. One that is missing it makes, as a folder that no other user may write.
func TestFolderOfACache(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	for name, tt := range map[string]struct {
		command string
		mode    os.FileMode // of the cache that was missing; 0: it must not be there
		told    string      // the last name of what is asked about
	}{
		"its mode": {"chmod 777 $CACHE/there", 0, "there"},
		"its mode, opened": {python("os.fchmod(os.open(os.environ['CACHE']+'/there',os.O_RDONLY),0o777)"), 0,
			"there"},
		"its times": {"touch -d 2001-01-01 $CACHE/there", 0, "there"},
		"made":      {"mkdir -p $CACHE/way/missing; echo x > $CACHE/way/missing/f", 0o755, ""},
		"made for all": {"umask 0; mkdir -p -m 7777 $CACHE/way/missing; mkdir -m 7777 $CACHE/way", 0o755,
			"missing"},
		"made for nobody": {"umask 777; mkdir -p $CACHE/way/missing", 0o700, ""},
		"made, its mode": {"umask 022; mkdir -p $CACHE/way/missing; chmod 777 $CACHE/way/missing", 0o755,
			"missing"},
		"a file in its place": {"mkdir $CACHE/way; echo x > $CACHE/way/missing", 0, "missing"},
		"a file, moved there": {"mkdir $CACHE/way; echo x > $CACHE/there/f; mv $CACHE/there/f $CACHE/way/missing", 0,
			"missing"},
		"a pipe in its place": {"mkdir $CACHE/way; mkfifo $CACHE/way/missing", 0, "missing"},
		"a socket in its place": {"mkdir $CACHE/way; " +
			python("socket.socket(socket.AF_UNIX).bind(os.environ['CACHE']+'/way/missing')"), 0, "missing"},
		"used": {"echo x > $CACHE/there/f; chmod 600 $CACHE/there/f; mkdir $CACHE/there/d; chmod 750 $CACHE/there/d; " +
			python("os.open(os.environ['CACHE']+'/there',os.O_TMPFILE|os.O_RDWR)"), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := attackedRoom(t)
			caches := filepath.Join(r.home, "caches")
			there, missing := filepath.Join(caches, "there"), filepath.Join(caches, "way/missing")
			if err := os.MkdirAll(there, 0o700); err != nil {
				t.Fatal(err)
			}
			before, err := os.Stat(there)
			check(t, "look at the cache", err)
			r.conf.Level, r.conf.Writable = troupe.LevelReadOnly, nil
			r.conf.Scratch = []string{there, missing}
			r.env = append(r.env, "CACHE="+caches)
			out, _, w := r.brief(tt.command)
			after, err := os.Stat(there)
			check(t, "look at the cache", err)
			if after.Mode() != before.Mode() || after.ModTime().Year() == 2001 {
				t.Errorf("the cache is %v of %v\n%s", after.Mode(), after.ModTime(), out)
			}
			for _, path := range []string{missing, filepath.Dir(missing)} {
				info, err := os.Lstat(path)
				switch {
				case err != nil && tt.mode != 0, err == nil && path == missing && tt.mode == 0:
					t.Errorf("%s: %v, %v\n%s", path, info, err, out)
				case err == nil && (!info.IsDir() || info.Mode().Perm()&0o022 != 0 ||
					info.Mode().Perm()&0o700 != 0o700):
					t.Errorf("%s is %v\n%s", path, info.Mode(), out)
				case path == missing && err == nil && info.Mode() != os.ModeDir|tt.mode:
					t.Errorf("%s is %v, want %v\n%s", path, info.Mode(), tt.mode, out)
				}
			}
			told := ""
			for _, a := range w.Attempts {
				told = filepath.Base(a.Path)
			}
			if told != tt.told {
				t.Errorf("asked about %s, want %q\n%s", attempts(w), tt.told, out)
			}
		})
	}
}
