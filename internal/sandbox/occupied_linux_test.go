//go:build amd64 || arm64

package sandbox

import (
	"path/filepath"
	"strings"
	"testing"
)

// A folder that is not empty cannot be removed by anybody. That git tries it, with each folder that it has taken a file
// from, is nothing to ask about.
func TestOccupiedFolders(t *testing.T) {
	t.Parallel()
	r := newRoom(t, Options{}).workspace()
	needLandlock(t, r)
	if !r.box.report().Notify {
		t.Skip("nothing is watched here")
	}
	r.file(".git/HEAD", "x")
	r.file("plain/x", "x")
	r.conf.Guarded = func(path string) string {
		if strings.HasPrefix(path, filepath.Join(r.ws, ".git")) {
			return "it is guarded"
		}
		return ""
	}
	for _, folder := range []string{".git", "plain", r.home + "/.."} {
		out, _, w := r.run("LC_ALL=C rmdir " + folder)
		if !strings.Contains(out, "not empty") || len(w.Attempts) > 0 || w.Touched {
			t.Errorf("rmdir %s: %s%+v", folder, out, w)
		}
	}
	if out, code, _ := r.run("mkdir e && rmdir e && ! test -e e"); code != 0 {
		t.Error(out)
	}
}
