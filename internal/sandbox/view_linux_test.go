//go:build amd64 || arm64

package sandbox

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/troupe-dev/troupe"
)

// asks asks about a path in every way there is, and prints what it is told: for what is not to be seen, the same as for
// what is not there.
const asks = `
import errno,socket,stat,sys
def told(p):
    out=[]
    def t(name,f,*a,**k):
        try: r=f(*a,**k); out.append(name+'='+('yes' if not isinstance(r,(str,bool)) else str(r)))
        except OSError as e: out.append(name+'='+errno.errorcode.get(e.errno,'?'))
    def raw(name,f,*a):
        r=f(*a); out.append(name+'='+('yes' if r>=0 else errno.errorcode[ctypes.get_errno()]))
        if r>2: os.close(r)
    b=p.encode(); w=libc.inotify_init()
    raw('watch',libc.inotify_add_watch,w,b,0xfff); os.close(w)
    t('stat',os.stat,p); t('lstat',os.lstat,p); t('readlink',os.readlink,p); t('access',os.access,p,os.F_OK)
    t('statvfs',os.statvfs,p); t('chdir',os.chdir,p); t('list',os.listdir,p); t('xattr',os.listxattr,p)
    for flags in (os.O_RDONLY,os.O_PATH,os.O_WRONLY,os.O_RDWR,os.O_WRONLY|os.O_TRUNC,os.O_WRONLY|os.O_CREAT,
                  os.O_WRONLY|os.O_CREAT|os.O_EXCL,os.O_RDWR|os.O_TMPFILE):
        t('open%o'%flags,lambda: os.close(os.open(p,flags)))
    t('mkdir',os.mkdir,p); t('mkfifo',os.mkfifo,p); t('symlink',os.symlink,'x',p); t('unlink',os.unlink,p)
    t('rmdir',os.rmdir,p); t('truncate',os.truncate,p,0); t('chmod',os.chmod,p,0o600); t('chown',os.chown,p,0,0)
    t('lchown',os.lchown,p,0,0); t('utime',os.utime,p,(1,1)); t('setxattr',os.setxattr,p,'user.x',b'y')
    own=os.environ['TMPDIR']+'/own'; open(own,'w').close()
    t('rename to',os.rename,own,p); t('rename from',os.rename,p,own); t('link to',os.link,own,p)
    t('link from',os.link,p,own+'2'); t('exec',subprocess.run,[p]); t('below',os.stat,p+'/x')
    t('above',os.stat,p+'/..')
    t('make below',os.open,p+'/x',os.O_WRONLY|os.O_CREAT); t('remove below',os.unlink,p+'/x')
    try: s=socket.socket(socket.AF_UNIX)
    except OSError: s=None
    if s:
        t('connect',s.connect,p); t('bind',s.bind,p)
    return ' '.join(out)
print('|'.join(told(p) for p in NAMES))
`

// TestHiddenNames: where it is said what a command reads, nothing tells whether anything else is there, how it is
// called, what it is, or when it changes; names by which it finds what is its own stay.
func TestHiddenNames(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	for name, o := range map[string]Options{"whole": {}, "no notifications": {NoNotify: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, o).listed()
			needLandlock(t, r)
			if !r.box.report().Namespaces || !r.box.ownRoot() {
				t.Skip("no view of files can be had here")
			}
			beside := filepath.Dir(r.ws)
			b, far := filepath.Join(beside, "project-of-b"), filepath.Join(beside, "far")
			for _, dir := range []string{b + "/folder", far, beside + "/real"} {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for path, says := range map[string]string{b + "/link": "plan", b + "/out": r.ws, beside + "/named": "real",
				r.ws + "/to": b, r.ws + "/to-none": b + "-none", r.ws + "/to-plan": b + "/plan",
				r.ws + "/to-no-plan": b + "/none"} {
				if err := os.Symlink(says, path); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(b+"/plan", []byte("x"), 0o755); err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("unix", b+"/sock")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			r.file("mine", "of a")
			if err := os.WriteFile(beside+"/real/file", []byte("by name"), 0o644); err != nil {
				t.Fatal(err)
			}
			r.conf.Readable = append(r.conf.Readable, beside+"/real")
			r.conf.Named = []string{beside + "/named", far}
			for _, pair := range [][2]string{{b, b + "-none"}, {b + "/plan", b + "/none"}, {b + "/folder", b + "/none"},
				{b + "/link", b + "/none"}, {b + "/out", b + "/none"}, {b + "/sock", b + "/none"},
				{"to", "to-none"}, {"to-plan", "to-no-plan"}, {"to/plan", "to/none"}, {"to/folder/..", "to-none/x/.."},
				{"/proc/self/root" + b + "/plan", "/proc/self/root" + b + "/none"},
				{"/proc/self/cwd/../project-of-b/plan", "/proc/self/cwd/../project-of-b/none"}} {
				out, _, _ := r.run(python("NAMES=['" + pair[0] + "','" + pair[1] + "']" + asks))
				line, _, _ := strings.Cut(out, "\n")
				of, none, _ := strings.Cut(line, "|")
				if none == "" || !strings.Contains(of, "stat=ENOENT") {
					t.Errorf("%s\nis told %s", pair[0], out)
				}
				told, not := strings.Split(of, " "), strings.Split(none, " ")
				for i := range told {
					if !strings.HasPrefix(pair[0], "/") && strings.Contains(told[i], "readlink=/") {
						continue // the link is its own
					}
					if len(told) != len(not) || told[i] != not[i] {
						t.Errorf("of %s it is told %s, where nothing is %s", pair[0], told[i], not[i])
					}
				}
			}
			lock := syscall.Flock_t{Type: syscall.F_WRLCK}
			file, err := os.OpenFile(b+"/plan", os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if err := syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, &lock); err != nil {
				t.Fatal(err)
			}
			if out, _, _ := r.run("cat /proc/locks"); strings.Contains(out, "WRITE") {
				t.Errorf("it is told of locks: %s", out)
			}
			for _, command := range []string{
				"cat /proc/self/mountinfo; cat /proc/self/mounts /proc/self/mountstats /proc/mounts",
				"cat /proc/[0-9]*/mountinfo", "ls -R " + filepath.Dir(beside),
				"ls -la / /proc/self/cwd/../ /proc/self/root/",
				"find / -xdev -name '*-of-b'",
				"cat /proc/net/unix", "df -a; findmnt -A",
			} {
				if strings.Contains(command, "net") && !privileged() {
					continue // who may not mount enters no other network
				}
				if out, _, _ := r.run(command); strings.Contains(out, "of-b") {
					t.Errorf("%s\ntells %s", command, out)
				}
			}
			r.workspace()
			if r.box.report().Notify { // what a person has shown leave for is made, though it cannot be seen
				made := filepath.Join(filepath.Dir(beside), filepath.Base(beside)+"-granted")
				r.conf.Granted = []troupe.Attempt{{Op: troupe.OpCreate, Path: made}}
				if out, code, _ := r.run("echo leave > " + made); code != 0 {
					t.Errorf("with leave for %s it ends with %d: %s", made, code, out)
				}
				if data, err := os.ReadFile(made); err != nil || string(data) != "leave\n" {
					t.Errorf("%s has %q, %v", made, data, err)
				}
				r.conf.Granted = nil
				_, _, w := r.run("echo no > " + made + "2; echo no > /tmp/not-here")
				if len(w.Attempts) == 0 {
					t.Error("nothing is told of what it tried")
				}
			}
			for command, want := range map[string]string{
				"cat " + r.ws + "/mine": "of a", "cat " + beside + "/named/file": "by name",
				"cd " + far + " && pwd": far, "ls " + beside + "/named": "file",
				"readlink " + beside + "/named": "real", "cat /sys/devices/system/cpu/online": "0",
				"cat /sys/bus/cpu/devices/cpu0/uevent":                      "MODALIAS",
				"mkdir -p d/e && echo z > d/e/f && mv d/e/f d/g && cat d/g": "z",
				"umask":                     "0022",
				"stat -c %a " + beside:      "755",
				"/bin/sh -c 'echo by link'": "by link",
				"echo x > /dev/shm/x && cat /dev/shm/x; stat -fc %T /dev/shm":     "tmpfs",
				"echo $(( $(stat -fc '%b*%S' /dev/shm) ))":                        "1073741824",
				"python3 -c 'import multiprocessing as m; print(m.Lock(),5)'":     "5",
				"script -qec 'tty' /dev/null < /dev/null | tr -d '\\r'; echo end": "end",
			} {
				if out, code, _ := r.run(command); code != 0 || !strings.Contains(out, want) {
					t.Errorf("%s\nends with %d: %s", command, code, out)
				}
			}
		})
	}
}
