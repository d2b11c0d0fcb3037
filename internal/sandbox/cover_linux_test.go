//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// old is when hidden files were written: long before any index, which git would not trust otherwise.
func old() time.Time { return time.Date(2001, 2, 3, 4, 5, 6, 123456789, time.UTC) }

// secret writes a file that is to be hidden.
func (r *room) secret(name, content string, mode os.FileMode) string {
	r.t.Helper()
	path := r.file(name, content)
	if err := os.Chmod(path, mode); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Chtimes(path, old(), old()); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// needCovers skips where covers look like nothing: where devices have to do. That is so without
// namespaces, and for root on a kernel that cannot map the owners of what is in memory.
func needCovers(t *testing.T, r *room) {
	t.Helper()
	if !r.box.report().Namespaces {
		t.Skip("nothing is covered here")
	}
	if r.box.coverage().alike {
		return
	}
	var name unix.Utsname
	check(t, "ask for the kernel", unix.Uname(&name))
	var major, minor int
	_, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	if err == nil && (!privileged() || strangers() != nil && (major > 6 || major == 6 && minor >= 3)) {
		t.Fatal("files could be covered by what looks like them, and are not")
	}
	t.Skip("files cannot be covered by what looks like them here")
}

func levels() []troupe.Level { return []troupe.Level{troupe.LevelReadOnly, troupe.LevelWorkspace} }

func (r *room) at(level troupe.Level) *room {
	if level == troupe.LevelWorkspace {
		r.workspace()
	}
	return r
}

// A hidden file is there, as long, as old and as executable as it is; and nothing of it is.
func TestHiddenLooksLikeItself(t *testing.T) {
	t.Parallel()
	for _, level := range levels() {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, Options{}).at(level)
			needLandlock(t, r)
			needCovers(t, r)
			r.conf.Hidden = []string{
				r.secret(".env", "LEAKME", 0o644), r.secret("run", "LEAK", 0o755), r.secret("empty", "", 0o600),
				r.secret("deep/er/large", strings.Repeat("LEAK", 1<<18), 0o4640),
				filepath.Dir(r.secret("folder/key", "LEAKME", 0o600)),
			}
			if err := unix.Mkfifo(filepath.Join(r.ws, "pipe"), 0o600); err != nil {
				t.Fatal(err)
			}
			r.conf.Hidden = append(r.conf.Hidden, filepath.Join(r.ws, "pipe"))
			// The clock of a file of this age has its nanoseconds where the file system has them.
			const look = `stat -c '%n %F %s %y %h' .env run empty deep/er/large`
			want, _, _ := r.plain(look)
			if got, _, _ := r.run(look); got != want || !strings.Contains(got, "regular file 6 2001-02-03") {
				t.Errorf("got\n%swant\n%s", got, want)
			}
			out, _, _ := r.run(`stat -c '%a %b' .env run empty deep/er/large; test -f .env && echo file; test -s empty || echo empty; test -r .env || echo unreadable; test -w .env || echo unwritable
ls -A /dev/shm folder; echo x > /dev/shm/x && cat /dev/shm/x; cat < pipe`)
			got := strings.Join(strings.Fields(out), " ")
			for _, want := range []string{"0 0 111 0 0 0 0 0 file empty unreadable unwritable", "/dev/shm: ", "x",
				"pipe: Permission denied"} {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			mounts, _, _ := r.run(`grep " $PWD/" /proc/self/mountinfo`)
			for line := range strings.Lines(mounts) {
				if f := strings.Fields(line); strings.HasSuffix(f[4], "/ws") {
					continue
				} else if !strings.HasPrefix(f[5], "ro,nosuid,nodev,noexec") && !strings.Contains(f[4], "pipe") {
					t.Errorf("it can be changed: %s", line)
				}
			}
			if n := strings.Count(mounts, "\n"); n < len(r.conf.Hidden) {
				t.Errorf("%d mounts:\n%s", n, mounts)
			}
		})
	}
}

// waysToRead are attempts to get at .env. Each prints OPEN and what it did if it was let.
func waysToRead() map[string]string {
	const prelude = `
import mmap
P=b'.env'
def t(name,f):
    ctypes.set_errno(0)
    try: r=f()
    except OSError as e: print(name,'refused',e.errno); return
    if isinstance(r,int) and r<0: print(name,'refused',ctypes.get_errno())
    else: print('OPEN',name,r)
def raw(*a): return libc.syscall(*a)
path=os.open(P,os.O_PATH)
self='/proc/self/fd/%d'%path
`
	return map[string]string{
		"open": prelude + `
for n in ('O_RDONLY','O_WRONLY','O_RDWR'): t(n,lambda: os.open(P,getattr(os,n)))
for n in (os.O_NONBLOCK,os.O_TRUNC,os.O_CREAT,os.O_APPEND,0o1000000,os.O_NOFOLLOW,os.O_DIRECT|os.O_SYNC): t('flag %o'%n,lambda: os.open(P,n))
how=(ctypes.c_uint64*3)(0,0,0)
t('openat2',lambda: raw(OPENAT2,-100,P,how,24))
how[0]=os.O_RDWR
t('openat2 rw',lambda: raw(OPENAT2,-100,P,how,24))
t('tree',lambda: raw(OPEN_TREE,-100,P,1))
d=os.open('.',os.O_RDONLY)
t('openat',lambda: os.open(P,os.O_RDONLY,dir_fd=d))
t('root',lambda: os.open('/proc/self/root'+os.getcwd()+'/.env',os.O_RDONLY))
t('cwd',lambda: os.open('/proc/thread-self/cwd/.env',os.O_RDONLY))`,
		"by a path": prelude + `
t('reopen',lambda: os.open(self,os.O_RDONLY))
t('reopen rw',lambda: os.open(self,os.O_RDWR))
t('reopen dev',lambda: os.open('/dev/fd/%d'%path,os.O_RDONLY))
t('reopen again',lambda: os.open('/proc/%d/task/%d/fd/%d'%(os.getpid(),os.getpid(),path),os.O_RDONLY))
t('read',lambda: os.read(path,1))
t('mmap',lambda: mmap.mmap(path,1,prot=mmap.PROT_READ))
t('link',lambda: os.link(self,'got',follow_symlinks=True))
t('link empty',lambda: raw(LINKAT,path,b'',-100,b'got',0x1000))
t('chmod',lambda: os.chmod(self,0o777))
t('fchmod',lambda: os.fchmod(path,0o777))
t('fchmodat2',lambda: raw(FCHMODAT2,path,b'',0o777,0x1000))
t('handle',lambda: raw(OPEN_BY_HANDLE_AT,path,(ctypes.c_uint32*40)(8,1),0))`,
		"by its name": prelude + `
t('chmod',lambda: os.chmod(P,0o777))
t('chown',lambda: os.chown(P,os.getuid(),os.getgid()))
t('times',lambda: os.utime(P,(1,1)))
t('attribute',lambda: os.setxattr(P,'user.x',b'x'))
t('acl',lambda: os.setxattr(P,'system.posix_acl_access',bytes([2,0,0,0,1,0,7,0,255,255,255,255,4,0,7,0,255,255,255,255,32,0,7,0,255,255,255,255])))
t('truncate',lambda: os.truncate(P,0))
t('link',lambda: os.link(P,'got'))
t('away',lambda: os.rename(P,'got'))
t('exchange',lambda: raw(RENAMEAT2,-100,P,-100,b'plain',2))
open('new','w').write('x') if os.access('.',os.W_OK) and WRITABLE else None
t('over',lambda: os.rename('new',P))
t('remove',lambda: os.unlink(P))
t('folder',lambda: os.rename('.','../ws2'))
t('umount',lambda: raw(UMOUNT2,P,2))
t('remount',lambda: raw(MOUNT,b'none',P,b'none',0x20|0x1000,0))
t('setattr',lambda: raw(MOUNT_SETATTR,-100,P,0,(ctypes.c_uint64*4)(0,1,0,0),32))
t('copy',lambda: subprocess.run(['cp','.env','got'],stderr=subprocess.DEVNULL).returncode and -1)`,
		"run": prelude + `
def runs(*a):
    pid=os.fork()
    if pid==0:
        try: os.execve(*a)
        except OSError as e: os._exit(e.errno)
    code=os.waitstatus_to_exitcode(os.waitpid(pid,0)[1])
    if code: raise OSError(code,'')
t('execve',lambda: runs('.env',['x'],{}))
t('execve path',lambda: runs(path,['x'],{}))
t('loader',lambda: subprocess.run(['/lib64/ld-linux-x86-64.so.2','./.env'],stderr=subprocess.DEVNULL).returncode and -1)
t('source',lambda: subprocess.run(['bash','-c','. ./.env'],stderr=subprocess.DEVNULL).returncode and -1)`,
		"as another": prelude + `
for uid in (65534,1,54321,os.stat('.').st_uid,os.stat('.env').st_uid):
    pid=os.fork()
    if pid==0:
        try: os.setgroups([]); os.setgid(uid); os.setuid(uid)
        except OSError: pass
        t('as %d'%uid,lambda: os.open(P,os.O_RDONLY)); t('chmod as %d'%uid,lambda: os.chmod(P,0o777)); sys.stdout.flush(); os._exit(0)
    os.waitpid(pid,0)
t('user namespace',lambda: raw(UNSHARE,0x10000000))
t('root',lambda: subprocess.run(['unshare','-Ur','cat','.env'],stderr=subprocess.DEVNULL).returncode and -1)
os.seteuid(os.getuid())
t('again',lambda: os.open(P,os.O_RDONLY))`,
	}
}

// numbersOfCalls are for calls that Python has no name for.
func numbersOfCalls() string {
	out := ""
	for name, nr := range map[string]int{
		"OPENAT2": unix.SYS_OPENAT2, "OPEN_TREE": unix.SYS_OPEN_TREE, "LINKAT": unix.SYS_LINKAT,
		"FCHMODAT2":         unix.SYS_FCHMODAT2,
		"OPEN_BY_HANDLE_AT": unix.SYS_OPEN_BY_HANDLE_AT, "RENAMEAT2": unix.SYS_RENAMEAT2, "UMOUNT2": unix.SYS_UMOUNT2,
		"MOUNT": unix.SYS_MOUNT, "MOUNT_SETATTR": unix.SYS_MOUNT_SETATTR, "UNSHARE": unix.SYS_UNSHARE,
	} {
		out += fmt.Sprintf("\n%s=%d", name, nr)
	}
	return out
}

// shut runs every way to get at a hidden file.
func shut(t *testing.T, r *room) {
	t.Helper()
	r.file("plain", "open")
	path := r.secret(".env", "LEAKME", 0o744)
	r.conf.Hidden = []string{path}
	before, err := os.Stat(path)
	check(t, "look", err)
	for name, program := range waysToRead() {
		writable := "False"
		if r.conf.Level == troupe.LevelWorkspace {
			writable = "True"
		}
		out, _, _ := r.run(python("WRITABLE=" + writable + numbersOfCalls() + program))
		if strings.Contains(out, "OPEN") || strings.Contains(out, "LEAK") || !strings.Contains(out, "DONE") {
			t.Errorf("%s:\n%s", name, out)
		}
		if name == "open" && !strings.Contains(out, "O_RDONLY refused 13\n") {
			t.Errorf("to open it fails otherwise than for want of leave:\n%s", out)
		}
	}
	after, err := os.Stat(path)
	check(t, "look", err)
	data, err := os.ReadFile(path)
	check(t, "read", err)
	if string(data) != "LEAKME" || after.Mode() != before.Mode() || !after.ModTime().Equal(before.ModTime()) ||
		!os.SameFile(before, after) {
		t.Errorf("it was changed: %q %s %s", data, after.Mode(), after.ModTime())
	}
}

func TestHiddenStaysShut(t *testing.T) {
	t.Parallel()
	has(t, "python3", "unshare")
	for _, level := range levels() {
		for name, o := range map[string]Options{"whole": {}, "no notifications": {NoNotify: true},
			"landlock 1": {Landlock: 1}} {
			t.Run(name+"/"+string(level), func(t *testing.T) {
				t.Parallel()
				r := newRoom(t, o).at(level)
				needLandlock(t, r)
				needCovers(t, r)
				shut(t, r)
			})
		}
		t.Run("devices/"+string(level), func(t *testing.T) { // where that is all there is
			t.Parallel()
			r := newRoom(t, Options{}).at(level)
			needLandlock(t, r)
			r.box.coverage = func() coverage { return coverage{} }
			shut(t, r)
			if out, _, _ := r.run("env"); strings.Contains(out, "GIT_CONFIG_COUNT") {
				t.Error(out)
			}
		})
	}
}

// In a container root often may not mount. It then gets a user namespace, in which it is root
// again, and must have no powers however often it becomes another program.
func TestHiddenFromRootWithoutMounts(t *testing.T) {
	has(t, "python3", "unshare")
	if !privileged() || os.Geteuid() != 0 {
		t.Skip("only root can be without that power")
	}
	for _, level := range levels() {
		ending(func() {
			head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			few := ownCapabilities()
			few[0].Effective &^= 1 << capSysAdmin
			few[0].Permitted &^= 1 << capSysAdmin
			check(t, "give up a capability", unix.Capset(&head, &few[0]))
			r := newRoom(t, Options{}).at(level)
			needCovers(t, r)
			if r.box.coverage().strangers != nil {
				t.Error("it has the powers of root")
			}
			shut(t, r)
			out, _, _ := r.run("id -u; bash -c 'grep CapEff /proc/self/status'; stat -c %u .env")
			if strings.Join(strings.Fields(out), " ") != "0 CapEff: 0000000000000000 0" {
				t.Errorf("it has powers:\n%s", out)
			}
		})
	}
}

// Root that may mount keeps its powers over the files of others, but for what is hidden.
func TestHiddenFromRoot(t *testing.T) {
	t.Parallel()
	if !privileged() || os.Geteuid() != 0 {
		t.Skip("only root has them")
	}
	r := newRoom(t, Options{})
	needLandlock(t, r)
	needCovers(t, r)
	path := filepath.Join(r.ws, "of another")
	r.secret("of another", "open", 0)
	check(t, "give away", os.Chown(path, 54321, 54321))
	r.conf.Hidden = []string{r.secret(".env", "LEAKME", 0o644)}
	out, _, _ := r.run("cat 'of another'; stat -c ' %u %a' .env; cat .env")
	if !strings.HasPrefix(out, "open 65534 0\n") || strings.Contains(out, "LEAK") ||
		!strings.Contains(out, "Permission denied") {
		t.Error(out)
	}
}

// Where something is hidden where covers are made, there are none, and files are covered all
// the same.
func TestHiddenWhereCoversAreMade(t *testing.T) {
	t.Parallel()
	r := newRoom(t, Options{})
	needLandlock(t, r)
	if !r.box.report().Namespaces {
		t.Skip("nothing is covered here")
	}
	f, err := os.CreateTemp(sharedMemory, "hidden")
	if err != nil {
		t.Skip(err)
	}
	defer os.Remove(f.Name())
	check(t, "close", f.Close())
	r.conf.Hidden = []string{r.secret(".env", "LEAKME", 0o644), f.Name()}
	out, _, _ := r.run("stat -c %F .env; cat .env; ls " + sharedMemory + "; env | grep GIT_CONFIG_COUNT; echo on")
	if out != "character special file\ncat: .env: Permission denied\non\n" {
		t.Error(out)
	}
}

func TestBySizeAndTime(t *testing.T) {
	t.Parallel()
	ours := func(i, j, n string) []string {
		return []string{"GIT_CONFIG_KEY_" + i + "=core.checkStat", "GIT_CONFIG_VALUE_" + i + "=minimal",
			"GIT_CONFIG_KEY_" + j + "=core.trustctime", "GIT_CONFIG_VALUE_" + j + "=false", "GIT_CONFIG_COUNT=" + n}
	}
	theirs := []string{"GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_VALUE_0=c"}
	for name, c := range map[string]struct{ env, want []string }{
		"none": {nil, ours("0", "1", "2")},
		"others": {[]string{"A=b", "XGIT_CONFIG_COUNT=9"},
			append([]string{"A=b", "XGIT_CONFIG_COUNT=9"}, ours("0", "1", "2")...)},
		"one": {append([]string{"GIT_CONFIG_COUNT=1"}, theirs...),
			append(slices.Clone(theirs), ours("1", "2", "3")...)},
		"empty":        {[]string{"GIT_CONFIG_COUNT="}, ours("0", "1", "2")},
		"the last two": {[]string{"GIT_CONFIG_COUNT=9", "GIT_CONFIG_COUNT=4"}, ours("4", "5", "6")},
		"nonsense":     {[]string{"GIT_CONFIG_COUNT=x"}, []string{"GIT_CONFIG_COUNT=x"}},
		"negative":     {[]string{"GIT_CONFIG_COUNT=-1"}, []string{"GIT_CONFIG_COUNT=-1"}},
	} {
		before := slices.Clone(c.env)
		if got := bySizeAndTime(c.env); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
		if !slices.Equal(before, c.env) {
			t.Errorf("%s: the caller's own became %q", name, c.env)
		}
	}
}

// A folder that is hidden may be gone when the command is born: it is another program's.
func TestHiddenIsGone(t *testing.T) {
	t.Parallel()
	r := newRoom(t, Options{})
	needCovers(t, r)
	dir := filepath.Join(r.home, "theirs")
	r.conf.Hidden = []string{dir}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-over:
				return
			default:
				_ = os.Mkdir(dir, 0o700)
				for range 1000 {
					_ = exists(dir) // as long as a birth takes
				}
				_ = os.Remove(dir)
			}
		}
	}()
	defer func() { close(over); <-ended }()
	for range 200 {
		if out, code, _ := r.start("/bin/true", []string{"true"}); code != 0 {
			t.Fatalf("exit %d\n%s", code, out)
		}
	}
}
