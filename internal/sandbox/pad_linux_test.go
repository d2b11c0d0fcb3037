//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/troupe-dev/troupe"
)

// No file has a name in the project and one in the scratchpad, which agents write that may not write the project; and
// no link of the project leads there, where nothing is guarded.
func TestScratchpadIsApart(t *testing.T) {
	t.Parallel()
	exchange := python("libc.renameat2(-100,b'here',-100,os.environ['PAD'].encode()+b'/a',2)")
	for name, command := range map[string]string{
		"a link":              "ln -s $PAD/lib lib; ln -s $PAD lib2; ln -s ../pad lib3",
		"a link, renamed":     "ln -s $PAD/lib $PAD/l; mv $PAD/l lib; ln -s lib $PAD/m; mv $PAD/m lib4; mkdir $PAD/lib",
		"a link in a folder":  "mkdir -p $PAD/d/e; ln -s $PAD/lib $PAD/d/e/l; mv $PAD/d lib",
		"a name there":        "ln main.c $PAD/twin",
		"a name here":         "echo x > $PAD/twin; ln $PAD/twin here; cat here",
		"a name, renamed":     "ln main.c other.c; mv main.c $PAD/twin; mv $PAD/twin main.c; rm other.c",
		"in a folder":         "mkdir $PAD/d; echo x > $PAD/d/f; ln $PAD/d/f $PAD/twin; mv $PAD/d here",
		"in a folder, out":    "mkdir d; ln main.c d/f; mv d $PAD/d",
		"exchanged":           "echo x > $PAD/a; ln $PAD/a $PAD/twin; echo x > here; " + exchange,
		"exchanged, a folder": "mkdir $PAD/a here; echo x > $PAD/a/f; ln $PAD/a/f $PAD/twin; " + exchange,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := attackedRoom(t)
			pad := filepath.Join(filepath.Dir(r.ws), "pad")
			if err := os.Mkdir(pad, 0o700); err != nil {
				t.Fatal(err)
			}
			r.conf.Writable, r.conf.Scratchpad = append(r.conf.Writable, pad), pad
			r.env = append(r.env, "PAD="+pad)
			out, _, _ := r.brief(command)
			inodes := map[uint64]map[string]bool{}
			for _, dir := range []string{r.ws, pad} {
				err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
					if err != nil {
						return err
					}
					info, err := e.Info()
					if err != nil || e.IsDir() {
						return err
					}
					if e.Type()&os.ModeSymlink != 0 && dir == r.ws {
						if says, _ := os.Readlink(path); troupe.Within(filepath.Join(r.ws, says), pad) ||
							troupe.Within(says, pad) {
							t.Errorf("%s leads to %s\n%s", path, says, out)
						}
						return nil
					}
					st, ok := info.Sys().(*syscall.Stat_t)
					if !ok {
						t.Fatal("no number of " + path)
					}
					id := st.Ino
					if inodes[id] == nil {
						inodes[id] = map[string]bool{}
					}
					inodes[id][dir] = true
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, in := range inodes {
				if len(in) > 1 {
					t.Errorf("a file lies in both\n%s", out)
				}
			}
		})
	}
}

// A folder comes from the scratchpad file by file: what tools for files make in it meanwhile would come along unseen.
func TestFolderFromScratchpad(t *testing.T) {
	t.Parallel()
	r, _ := attackedRoom(t)
	pad := filepath.Join(filepath.Dir(r.ws), "pad")
	if err := os.Mkdir(pad, 0o700); err != nil {
		t.Fatal(err)
	}
	r.conf.Writable, r.conf.Scratchpad = append(r.conf.Writable, pad), pad
	r.env = append(r.env, "PAD="+pad)
	out, _, _ := r.brief("mkdir -p $PAD/d/e; echo x > $PAD/d/e/f; " + python(`
try: os.rename(os.environ["PAD"]+"/d", "whole"); print("WHOLE")
except OSError as e: print(e.strerror)
os.rename(os.environ["PAD"]+"/d", os.environ["PAD"]+"/c")
`) + "\nmv $PAD/c here && cat here/e/f && mv here $PAD/back && ls $PAD/back")
	if strings.Contains(out, "WHOLE") || !strings.Contains(out, "x\n") || !exists(filepath.Join(pad, "back/e/f")) {
		t.Error(out)
	}
}
