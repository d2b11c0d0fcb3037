//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// gitRoom is an attacked room with a folder of git in it.
func gitRoom(t *testing.T) *room {
	t.Helper()
	r, cache := attackedRoom(t)
	r.env = append(r.env, "CACHE="+cache)
	for _, name := range []string{"HEAD", "config", "refs/heads/main", "logs/refs/heads/main"} {
		r.file(".git/"+name, "as it was")
	}
	git := filepath.Join(r.ws, ".git")
	r.conf.Protected = append(r.conf.Protected, filepath.Join(git, "config"))
	r.conf.Repository = func(path string) string {
		if path != git && troupe.Within(path, git) {
			return git
		}
		return ""
	}
	return r
}

// links are all that lie in a folder and lead out of it, or to its config.
func linksOut(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.Type()&os.ModeSymlink == 0 {
			return err
		}
		says, err := os.Readlink(path)
		if !filepath.IsAbs(says) {
			says = filepath.Join(filepath.Dir(path), says)
		}
		if to := resolved(says); !troupe.Within(to, dir) || to == dir || filepath.Base(to) == "config" {
			out = append(out, path[len(dir):]+" -> "+says)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// No command has the next git of a person's write by a link in its folder: to a shell profile, a source file or its
// own config.
func TestLinksOutOfGit(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"a message":            "ln -s ~/.profile .git/COMMIT_EDITMSG",
		"into the project":     "ln -s ../main.c .git/COMMIT_EDITMSG",
		"deep":                 "ln -s ../../../../main.c .git/logs/refs/heads/x; ln -s $PWD/main.c .git/refs/heads/x",
		"to its config":        "ln -s config .git/COMMIT_EDITMSG; ln -s ../config .git/refs/x",
		"to all of it":         "ln -s . .git/x; ln -s $PWD/.git .git/y; ln -s .. .git/refs/z",
		"what is not there":    "ln -s ../new.c .git/FETCH_HEAD",
		"up from what follows": "ln -s a/../../x .git/l; ln -s a/../config .git/m; ln -s refs .git/a",
		"renamed": "ln -s ~/.profile l; mv l .git/TAG_EDITMSG; ln -s HEAD n; mv n .git/refs/n; ln -s " +
			"../../x m; mv m .git",
		"exchanged": "echo x > .git/MSG; ln -s ~/.profile l; " +
			python("libc.renameat2(-100,b'l',-100,b'.git/MSG',2)"),
		"in a folder":            "mkdir -p d/e; ln -s ~/.profile d/e/l; mv d .git/rebase-apply; cp -a d .git/refs/d",
		"in a folder that rises": "mkdir -p .git/a/b; ln -s ../../refs .git/a/b/l; mv .git/a/b .git/b",
		"a chain": "ln -s ../main.c l; mkdir .git/d; mv l .git/d/l; ln -s ../l k; ln -s ../k .git/m; " +
			"ln -s k .git/d",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gitRoom(t)
			out, _, _ := r.brief(command)
			if bad := linksOut(t, filepath.Join(r.ws, ".git")); len(bad) > 0 {
				t.Errorf("%s\n%s", strings.Join(bad, "\n"), out)
			}
		})
	}
}

// Links that stay in it are git's own affair, and folders with links are moved as before where git is not concerned.
func TestLinksWithinGit(t *testing.T) {
	t.Parallel()
	r := gitRoom(t)
	if out, code, _ := r.brief("ln -s testing .git/t && ln -s refs/heads/main .git/refs/s && mkdir -p .git/d/e && " +
		"ln -s ../../refs/heads/main .git/d/e/l && mv .git/d/e .git/d/f && mkdir d && ln -s /etc/hostname d/l && " +
		"ln -s ../main.c d/m && mv d e && mv .git/t .git/u"); code != 0 {
		t.Error(out)
	}
}
