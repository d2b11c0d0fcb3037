//go:build amd64 || arm64

package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// waysToSetID are attempts to have a program that runs as its owner, or with its group, in the folder where they run.
func waysToSetID() map[string]string {
	numbers := "\nOPENAT2,FCHMODAT2,MKNODAT=" + strings.Join([]string{strconv.Itoa(unix.SYS_OPENAT2),
		strconv.Itoa(unix.SYS_FCHMODAT2), strconv.Itoa(unix.SYS_MKNODAT)}, ",") + `
os.umask(0)
def t(f):
    try: f()
    except OSError as e: print(e)
`
	return map[string]string{
		"chmod":          "cp /bin/true tool; chmod 4755 tool",
		"chmod of group": "cp /bin/true tool; chmod g+s tool",
		"install":        "install -m 4755 /bin/true tool",
		"install group":  "install -m 2755 /bin/true tool",
		"tar": python(`
import tarfile,io
def add(a,name,mode):
    i=tarfile.TarInfo(name); i.mode,i.size=mode,1; a.addfile(i,io.BytesIO(b'x'))
with tarfile.open('a.tar','w') as a: add(a,'tool',0o4755); add(a,'tool2',0o2755)
`) + "\ntar xpf a.tar",
		"open": python(numbers + `
for m in (0o4755,0o2755,0o6777):
    t(lambda: os.close(os.open('tool%o'%m,os.O_CREAT|os.O_WRONLY,m)))
    t(lambda: os.close(os.open('read%o'%m,os.O_CREAT|os.O_RDONLY,m)))
    t(lambda: libc.syscall(OPENAT2,-100,b'two%o'%m,(ctypes.c_uint64*3)(os.O_CREAT|os.O_RDWR,m,0),24))
    t(lambda: libc.creat(b'creat%o'%m,m))
    def nameless():
        f=os.open('.',os.O_TMPFILE|os.O_RDWR,m); os.link('/proc/self/fd/%d'%f,'nameless%o'%m,follow_symlinks=True)
    t(nameless)
    def late():
        f=os.open('.',os.O_TMPFILE|os.O_RDWR,0o700); t(lambda: os.fchmod(f,m))
        os.link('/proc/self/fd/%d'%f,'late%o'%m,follow_symlinks=True)
    t(late)`),
		"mknod": python(numbers + `
import stat
for m in (0o4755,0o2755):
    t(lambda: os.mknod('tool%o'%m,stat.S_IFREG|m))
    t(lambda: libc.syscall(MKNODAT,-100,b'at%o'%m,stat.S_IFREG|m,0))
    t(lambda: os.mknod('zero%o'%m,m))`),
		"chmod by all calls": python(numbers + `
open('tool','w').close()
t(lambda: os.chmod('tool',0o104755)); f=os.open('tool',os.O_RDONLY)
t(lambda: os.fchmod(f,0o4755)); t(lambda: os.chmod('/proc/self/fd/%d'%f,0o4755))
t(lambda: libc.fchmodat(-100,b'tool',0o2755,0)); t(lambda: libc.syscall(FCHMODAT2,-100,b'tool',0o4755,0))
d=os.open('.',os.O_RDONLY); t(lambda: os.chmod('tool',0o4755,dir_fd=d))
os.symlink('tool','l'); t(lambda: os.chmod('l',0o4755)); t(lambda: os.chmod('l',0o4755,follow_symlinks=False))`),
		"one name after another": python(`
open('tool','w').close(); os.mkdir('d'); os.chmod('d',0o2775); END=time.time()+MOMENT
b=ctypes.create_string_buffer(b'd\0\0\0'); end=False
def swap():
    while not end: b[:4]=b'tool'; b[:2]=b'd\0'
w=threading.Thread(target=swap); w.start()
for i in range(2000):
    libc.chmod(b,0o4755)
    if time.time()>END: break
end=True; w.join()`),
	}
}

// setIDsBelow are the files below folders that run as their owner or with their group.
func setIDsBelow(t *testing.T, dirs ...string) (list []string) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
				list = append(list, info.Mode().String()+" "+path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// No confined command leaves a program that runs as the person for every user of the machine: not in the project, not
// in its temporary folder, not in a cache; with or without a listener.
func TestAttacksBySetID(t *testing.T) {
	t.Parallel()
	for kernel, o := range map[string]Options{
		"whole": {}, "no listener": {NoNotify: true}, "no mounts": {NoNamespaces: true},
		"least": {Landlock: 1, NoNotify: true, NoNamespaces: true},
	} {
		for name, command := range waysToSetID() {
			t.Run(kernel+"/"+name, func(t *testing.T) {
				t.Parallel()
				has(t, "python3")
				r := newRoom(t, o)
				needLandlock(t, r)
				cache := filepath.Join(filepath.Dir(r.ws), "cache")
				if err := os.Mkdir(cache, 0o700); err != nil {
					t.Fatal(err)
				}
				r.conf.Scratch = []string{cache}
				r.env = append(r.env, "CACHE="+cache)
				command := "(" + command + "\n)"
				out, _, w := r.brief("cd $TMPDIR; " + command + "; cd $CACHE; " + command)
				r.workspace()
				more, _, w2 := r.brief(command)
				if list := setIDsBelow(t, r.ws, r.temp, cache); len(list) > 0 {
					t.Errorf("%s\n%s%s", list, out, more)
				}
				if !r.box.report().Notify || strings.Contains(name, "after another") { // which may miss its moment
					return
				}
				said := func(w troupe.Watched, dir string) bool {
					return slices.ContainsFunc(w.Attempts, func(a troupe.Attempt) bool {
						return a.Op == troupe.OpSetID && troupe.Within(a.Path, dir)
					})
				}
				if !said(w, r.temp) || !said(w, cache) || !said(w2, r.ws) {
					t.Errorf("not noted: %s; %s\n%s%s", attempts(w), attempts(w2), out, more)
				}
			})
		}
	}
}

// A file that has a bit already loses it when a command may write to it, however it does, and does not take it along.
func TestWrittenLosesSetID(t *testing.T) {
	t.Parallel()
	r, cache := attackedRoom(t)
	for _, name := range []string{"mapped", "opened", "moved", "kept"} {
		if err := os.Chmod(r.file(name, strings.Repeat("x", 5000)), fs.ModeSetuid|fs.ModeSetgid|0o755); err != nil {
			t.Fatal(err)
		}
	}
	r.env = append(r.env, "CACHE="+cache)
	out, _, _ := r.brief("cat kept >/dev/null; mv moved $CACHE/; " + python(`
import mmap
f=os.open('mapped',os.O_RDWR); m=mmap.mmap(f,5000); m[:3]=b'new'; m.flush()
os.close(os.open('opened',os.O_WRONLY))`))
	if list := setIDsBelow(t, r.ws, cache); len(list) != 1 || !strings.HasSuffix(list[0], "/kept") {
		t.Errorf("%s\n%s", list, out)
	}
	if data, err := os.ReadFile(filepath.Join(r.ws, "mapped")); err != nil || string(data[:3]) != "new" {
		t.Errorf("mapped: %.5q, %v\n%s", data, err, out)
	}
}

// What archives and git do with folders goes on: there the bit of the group says whose new files are.
func TestFoldersKeepTheirGroup(t *testing.T) {
	t.Parallel()
	has(t, "git")
	r := newRoom(t, Options{}).workspace()
	needLandlock(t, r)
	if !r.box.report().Notify {
		t.Skip("no modes are changed without a listener")
	}
	for _, dir := range []string{r.ws, r.temp} {
		out, code, w := r.run("set -ex; cd " + dir + `; git init -q --shared r; test -g r/.git/objects
mkdir -m 2775 a; test -g a; mkdir a/b; test -g a/b; echo x > a/f; chmod 755 a/f; install -d -m 2750 c; test -g c
tar cf x.tar a; mkdir to; tar xpf x.tar -C to; test -g to/a; test -x to/a/f; cp -a a copy; test -g copy`)
		if code != 0 || len(w.Attempts) > 0 {
			t.Errorf("exit %d; %s\n%s", code, attempts(w), out)
		}
	}
}
