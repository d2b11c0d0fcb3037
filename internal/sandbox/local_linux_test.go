//go:build amd64 || arm64

package sandbox

import (
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// networks are the ways in which a command is connected.
func networks() map[string]troupe.Network {
	return map[string]troupe.Network{"none": {}, "ports": {Ports: []int{1}}, "proxy": {Proxy: 1}, "all": {All: true}}
}

// socketRoom is one whose paths fit into the address of a socket.
func socketRoom(t *testing.T) *room {
	t.Helper()
	r := newRoom(t, Options{})
	base, err := os.MkdirTemp("", "sock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	for name, at := range map[string]*string{"ws": &r.ws, "temp": &r.temp, "home": &r.home} {
		*at = filepath.Join(base, name)
		if err := os.Mkdir(*at, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r.conf.Temp = r.temp
	r.env = append(r.env, "HOME="+r.home, "TMPDIR="+r.temp)
	return r
}

// daemon is a socket of a program of the user's, and how often it was reached.
func daemon(t *testing.T, path string) *atomic.Int32 {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	reached := &atomic.Int32{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			reached.Add(1)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return reached
}

// What a command binds where it may write it can listen at and connect to, under the name that it said.
func TestSocketsOfItsOwn(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	serve := `
def serve(path,kind=socket.SOCK_STREAM):
    s=socket.socket(socket.AF_UNIX,kind); s.bind(path); assert s.getsockname()==path, s.getsockname()
    s.listen(); c=socket.socket(socket.AF_UNIX,kind); c.connect(path)
    a=s.accept()[0]; a.send(b'x'); assert c.recv(1)==b'x'; assert c.getpeername()==path
    return s
os.umask(0o077)
for path in PATHS:
    for kind in (socket.SOCK_STREAM,socket.SOCK_SEQPACKET):
        s=serve(path,kind); assert os.stat(path).st_mode&0o777==0o700, oct(os.stat(path).st_mode)
        try: socket.socket(socket.AF_UNIX).bind(path); print('TWICE')
        except OSError as e: assert e.errno==98, e
        s.close()
        try: socket.socket(socket.AF_UNIX,kind).connect(path); print('GONE')
        except OSError as e: assert e.errno==111, e
        os.rename(path,path+'2'); os.unlink(path+'2')
`
	for name, network := range networks() {
		for _, level := range levels() {
			t.Run(name+"/"+string(level), func(t *testing.T) {
				t.Parallel()
				r := socketRoom(t)
				needLandlock(t, r)
				paths := "[os.environ['TMPDIR']+'/s']"
				if level == troupe.LevelWorkspace {
					r.workspace()
					paths = "[os.environ['TMPDIR']+'/s',os.getcwd()+'/d/s','d/s','./s','s']"
				}
				if !r.box.report().Notify {
					t.Skip("no seccomp notifications here")
				}
				r.file("d/x", "")
				r.conf.Network = network
				out, code, w := r.brief(python(strings.Replace(serve, "PATHS", paths, 1)))
				if code != 0 || out != "DONE\n" || len(w.Attempts) > 0 {
					t.Errorf("exit %d, attempted %s\n%s", code, attempts(w), out)
				}
			})
		}
	}
}

// Programs that are known to need one.
func TestSocketsOfPrograms(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"python3": `python3 -c 'import multiprocessing as m; print(m.Manager().list([7]))'`,
		"tmux": `export TMUX_TMPDIR=$TMPDIR; tmux -f /dev/null new -d 'sleep 100' && ` +
			`tmux ls | grep -o windows && tmux kill-server`,
		"ssh-agent": `ssh-keygen -q -t ed25519 -N "" -f $TMPDIR/key && ssh-agent -a $TMPDIR/agent ` +
			`sh -c 'ssh-add -q $TMPDIR/key && ssh-add -l | wc -l'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			has(t, name)
			if _, err := user.LookupId(strconv.Itoa(os.Getuid())); name == "ssh-agent" && err != nil {
				t.Skip("ssh wants a user with a name")
			}
			r := socketRoom(t).workspace()
			needLandlock(t, r)
			if s := r.box.report(); !s.Notify || !s.Namespaces {
				t.Skip("no seccomp notifications or no namespaces here")
			}
			r.conf.Network.All = true
			out, code, w := r.brief(command)
			want := map[string]string{"python3": "[7]\n", "tmux": "windows\n", "ssh-agent": "1\n"}[name]
			if code != 0 || out != want || len(w.Attempts) > 0 {
				t.Errorf("exit %d, attempted %s\n%s", code, attempts(w), out)
			}
		})
	}
}

// A socket that is not the command's own is not reached, wherever it lies and by whatever name, and that it was
// wanted is seen.
func TestSocketsOfOthers(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	for name, network := range networks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := socketRoom(t).workspace()
			needLandlock(t, r)
			if !r.box.report().Notify {
				t.Skip("no seccomp notifications here")
			}
			r.conf.Network = network
			out := filepath.Join(r.home, "out")
			reached := []*atomic.Int32{daemon(t, filepath.Join(r.ws, "s")), daemon(t, filepath.Join(r.temp, "s")),
				daemon(t, out), daemon(t, "@"+r.ws)}
			for _, err := range []error{os.Link(out, filepath.Join(r.ws, "hard")),
				os.Link(out, filepath.Join(r.temp, "hard")), os.Symlink(out, filepath.Join(r.ws, "soft"))} {
				if err != nil {
					t.Fatal(err)
				}
			}
			text, _, w := r.brief(python(`
T=os.environ['TMPDIR']; os.symlink('` + out + `',T+'/soft')
own=socket.socket(socket.AF_UNIX); own.bind('own'); own.listen()
for what in ('s',T+'/s','` + out + `','hard',T+'/hard','soft',T+'/soft','\0` + r.ws + `','\0new'):
    for kind in (socket.SOCK_STREAM,socket.SOCK_SEQPACKET):
        try: socket.socket(socket.AF_UNIX,kind).connect(what); print('REACHED',what)
        except OSError as e: assert e.errno==13, (what,e)
    try: socket.socketpair(socket.AF_UNIX)[0].connect(what); print('REACHED',what)
    except OSError as e: pass
    for send in (lambda s: s.sendto(b'x',what), lambda s: s.sendmsg([b'x'],[],0,what)):
        for make in (lambda: socket.socket(socket.AF_UNIX), lambda: socket.socket(socket.AF_UNIX,socket.SOCK_SEQPACKET),
                lambda: socket.socketpair(socket.AF_UNIX,socket.SOCK_SEQPACKET)[0], lambda: socket.socket(socket.AF_UNIX,
                socket.SOCK_DGRAM), lambda: socket.socketpair(socket.AF_UNIX,socket.SOCK_DGRAM)[0]):
            try: send(make())
            except OSError as e: pass
for name in ('\0mine','\0` + r.ws + `2'):
    s=socket.socket(socket.AF_UNIX)
    try: s.bind(name); print('BOUND')
    except OSError as e: assert e.errno==13, e
    try: s.listen(); print('LISTENS')
    except OSError as e: assert e.errno==13, e
s=socket.socket(socket.AF_UNIX); s.bind('')
try: s.listen(); print('LISTENS')
except OSError as e: assert e.errno==13, e
`))
			if text != "DONE\n" {
				t.Error(text)
			}
			for i, n := range reached {
				if n.Load() > 0 {
					t.Errorf("daemon %d was reached", i)
				}
			}
			for _, want := range []string{filepath.Join(r.ws, "s"), filepath.Join(r.temp, "s"), out, "@" + r.ws,
				filepath.Join(r.ws, "hard"), filepath.Join(r.temp, "hard")} {
				if !slices.Contains(w.Attempts, troupe.Attempt{Op: troupe.OpConnect, Path: want}) {
					t.Errorf("nothing tells of %s: %s", want, attempts(w))
				}
			}
			if !slices.Contains(w.Attempts, troupe.Attempt{Op: troupe.OpListen, Path: "@mine"}) {
				t.Errorf("nothing tells of the name: %s", attempts(w))
			}
		})
	}
}

// A socket of another command of the same session is another's: that one may be allowed more.
func TestSocketsOfOtherCommands(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	r := socketRoom(t).workspace()
	needLandlock(t, r)
	if !r.box.report().Notify {
		t.Skip("no seccomp notifications here")
	}
	r.conf.Network.All = true
	ready := filepath.Join(r.ws, "ready")
	if err := unix.Mkfifo(ready, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan string)
	go func() {
		out, _, _ := r.brief(python(`
import select
s=socket.socket(socket.AF_UNIX); s.bind('s'); s.listen(); open('ready','w').close()
while not os.path.exists('over'):
    if select.select([s],[],[],0.01)[0]: print('REACHED'); break
`))
		done <- out
	}()
	if f, err := os.Open(ready); err != nil { // it waits for who writes
		t.Fatal(err)
	} else {
		defer f.Close()
	}
	out, _, w := r.brief(python("try: socket.socket(socket.AF_UNIX).connect('s'); print('REACHED')\n" +
		"except OSError as e: print(e.errno)\nopen('over','w').close()"))
	first := <-done
	want := troupe.Attempt{Op: troupe.OpConnect, Path: filepath.Join(r.ws, "s")}
	if out != "13\nDONE\n" || first != "DONE\n" || !slices.Contains(w.Attempts, want) {
		t.Errorf("%q, and the first %q; attempted %s", out, first, attempts(w))
	}
	r.conf.Network.Addresses = []string{want.Path} // as a yes to what was shown does
	reached := daemon(t, filepath.Join(r.temp, "s"))
	r.conf.Network.Addresses = []string{filepath.Join(r.temp, "s")}
	if out, _, _ := r.brief(python("socket.socket(socket.AF_UNIX).connect(os.environ['TMPDIR']+'/s')")); out !=
		"DONE\n" || reached.Load() != 1 {
		t.Errorf("with leave: %q, reached %d times", out, reached.Load())
	}
}

// Whatever changes while the listener looks, the command reaches no socket of others, and makes none where it may not.
func TestSocketsWhileThingsChange(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	for name, program := range map[string]string{
		"the address in memory": `
a=address()
def flip():
    while not stop: a[0]=1; a[0]=2
c=(ctypes.c_char*120).from_buffer(a)
def go():
    for dom in (socket.AF_UNIX,socket.AF_INET):
        s=socket.socket(dom); s.setblocking(False); libc.connect(s.fileno(),c,110); s.close()
`,
		"the socket behind a number": `
a=address(); c=(ctypes.c_char*120).from_buffer(a); at=os.dup(0)
def flip():
    while not stop:
        i=socket.socket(); i.setblocking(False); u=socket.socket(socket.AF_UNIX); u.setblocking(False)
        for x in range(20): os.dup2(u.fileno(),at); a[0]=1; os.dup2(i.fileno(),at); a[0]=2
        i.close(); u.close()
def go(): libc.connect(at,c,110)
`,
		"the name of a socket": `
own=serve(T+'/own')
def flip():
    while not stop: libc.renameat2(-100,(T+'/own').encode(),-100,(T+'/theirs').encode(),2)
def go():
    for p in ('/own','/theirs'):
        s=socket.socket(socket.AF_UNIX); s.setblocking(False)
        try: s.connect(T+p)
        except OSError: pass
        s.close()
`,
		"the name that is being bound": `
def flip():
    while not stop: libc.renameat2(-100,(T+'/new').encode(),-100,(T+'/theirs').encode(),2)
def go():
    s=socket.socket(socket.AF_UNIX)
    try: os.unlink(T+'/new') if os.path.exists(T+'/new') and socket_is_mine(T+'/new') else None
    except OSError: pass
    try: s.bind(T+'/new'); s.listen()
    except OSError: pass
    for p in ('/new','/theirs'):
        c=socket.socket(socket.AF_UNIX); c.setblocking(False)
        try: c.connect(T+p)
        except OSError: pass
        c.close()
    s.close()
def socket_is_mine(p): return os.stat(p).st_ino!=THEIRS
THEIRS=os.stat(T+'/theirs').st_ino
`,
		"the folder that is bound in": `
os.mkdir(T+'/d'); os.symlink(OUTDIR,T+'/l'); os.symlink(os.getcwd()+'/held',T+'/m')
def flip():
    while not stop:
        for l in ('/l','/m'):
            libc.renameat2(-100,(T+'/d').encode(),-100,(T+l).encode(),2); libc.renameat2(-100,(T+'/d').encode(),-100,(T+l).encode(),2)
os.chdir(T)
def go():
    for p in (T+'/d/evil','d/evil',WS+'/../temp/d/evil'):
        s=socket.socket(socket.AF_UNIX)
        try: s.bind(p); os.unlink(p)
        except OSError: pass
        s.close()
`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := socketRoom(t).workspace()
			needLandlock(t, r)
			if !r.box.report().Notify {
				t.Skip("no seccomp notifications here")
			}
			r.conf.Network.All = true
			held := filepath.Dir(r.file("held/x", ""))
			r.conf.Guarded = func(path string) string {
				if troupe.Within(path, held) {
					return "it is guarded"
				}
				return ""
			}
			out := filepath.Join(r.home, "out")
			first, second := daemon(t, out), daemon(t, filepath.Join(r.temp, "theirs"))
			text, code, _ := r.brief(python(`
T=os.environ['TMPDIR']; OUT='` + out + `'; OUTDIR='` + r.home + `'; WS='` + r.ws + `'; stop=False
def address():
    # It is one of loopback too, for the kernel to find nobody at.
    name=b'zz\x7f\1\1\1'; os.symlink(OUT,name); return bytearray((b'\1\0'+name).ljust(120,b'\0'))
def serve(path): s=socket.socket(socket.AF_UNIX); s.bind(path); s.listen(); return s
` + program + `
th=threading.Thread(target=flip); th.start()
end=time.time()+2*MOMENT; n=0
while time.time()<end: go(); n+=1
stop=True; th.join(); assert n>0, n
`))
			if code != 0 || text != "DONE\n" {
				t.Errorf("exit %d\n%s", code, text)
			}
			if a, b := first.Load(), second.Load(); a+b > 0 {
				t.Errorf("sockets of others were reached %d and %d times", a, b)
			}
			for _, path := range []string{filepath.Join(r.home, "evil"), filepath.Join(held, "evil")} {
				if exists(path) {
					t.Errorf("%s was made", path)
				}
			}
		})
	}
}

// A socket lies where files may be made, and nowhere else; and that it was wanted is seen.
func TestSocketsWhereNoneMayBe(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	r := socketRoom(t).workspace()
	needLandlock(t, r)
	if !r.box.report().Notify {
		t.Skip("no seccomp notifications here")
	}
	r.conf.Network.All = true
	r.conf.Guarded = func(path string) string {
		if filepath.Base(path) == "HEAD" {
			return "it is guarded"
		}
		return ""
	}
	out := filepath.Join(r.home, "s")
	text, _, w := r.brief(python(`
os.symlink('` + r.home + `','l')
for path in ('HEAD','` + out + `','l/s'):
    s=socket.socket(socket.AF_UNIX)
    try: s.bind(path); print('BOUND',path)
    except OSError as e: assert e.errno==13, e
    try: s.listen(); print('LISTENS')
    except OSError: pass
`))
	if text != "DONE\n" || exists(out) || exists(filepath.Join(r.ws, "HEAD")) {
		t.Errorf("%s; %v", text, exists(out))
	}
	for _, want := range []string{filepath.Join(r.ws, "HEAD"), out} {
		if !slices.Contains(w.Attempts, troupe.Attempt{Op: troupe.OpCreate, Path: want, Kind: troupe.KindSocket}) {
			t.Errorf("nothing tells of %s: %s", want, attempts(w))
		}
	}
}

// A command that ends while it connects to a host that never answers is not waited for.
func TestConnectingEndsWithItsCommand(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	r := socketRoom(t).workspace()
	needLandlock(t, r)
	r.conf.Network.All = true
	// A listener whose queue is full answers nobody; it stands for a host that is away.
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	at, _ := name.(*unix.SockaddrInet4)
	began := time.Now()
	out, _, _ := r.start("/usr/bin/timeout", []string{"timeout", "-s", "KILL", "2", "python3", "-c", `
import socket,sys
held=[]
while True:
    s=socket.socket(); s.connect(('127.0.0.1',int(sys.argv[1]))); held.append(s)`, strconv.Itoa(at.Port)})
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v\n%s", took, out)
	}
}

// A socket that is older than the call did not come by it, whatever its name.
func TestSocketThatWasThere(t *testing.T) {
	t.Parallel()
	r := socketRoom(t)
	daemon(t, filepath.Join(r.temp, "s"))
	dir, err := unix.Open(r.temp, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	var st unix.Stat_t
	if err := unix.Fstatat(dir, "s", &st, 0); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after time.Duration
		kept  bool
	}{{time.Second, false}, {-time.Minute, true}} {
		own := &reach{own: newSockets()}
		own.note(-1, place{dir: dir, name: "s"}, unix.NsecToTimespec(time.Now().Add(c.after).UnixNano()))
		if own.own.has(&st) != c.kept {
			t.Errorf("bound %v after it was made: kept %v", c.after, !c.kept)
		}
		own.own.close()
	}
}

// What leads to a folder when it is looked at may lead elsewhere when the kernel looks. Then there is no socket.
func TestSocketIsBoundWhereItWasLookedFor(t *testing.T) {
	t.Parallel()
	r := socketRoom(t)
	needLandlock(t, r)
	dir, err := unix.Open(r.temp, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	if err := os.Symlink(r.home, filepath.Join(r.ws, "l")); err != nil {
		t.Fatal(err)
	}
	as := func(do func() error) error { return do() }
	for address, want := range map[string]string{filepath.Join(r.ws, "l", "s"): "", "l/s": "", "../temp/s": "s"} {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		b := binding{fd: fd, dir: dir, address: address, from: r.ws, as: as}
		if err := b.bound(); (err == nil) != (want != "") {
			t.Errorf("%s: %v", address, err)
		}
		if exists(filepath.Join(r.home, "s")) || want != "" && !exists(filepath.Join(r.temp, want)) {
			t.Errorf("%s: it lies elsewhere", address)
		}
		_ = unix.Close(fd)
	}
}

// A command has so many sockets, and those that are gone do not count.
func TestSocketsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSockets()
	defer s.close()
	dir := t.TempDir()
	hold := func(name string) int {
		f := filepath.Join(dir, name)
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		h, err := unix.Open(f, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	for i := range maxSockets {
		if !s.keep(inode{number: uint64(i)}, hold(strconv.Itoa(i))) {
			t.Fatal(i)
		}
	}
	h := hold("more")
	if s.keep(inode{number: maxSockets}, h) {
		t.Error("one too many is kept")
	}
	if err := os.Remove(filepath.Join(dir, "7")); err != nil {
		t.Fatal(err)
	}
	if !s.keep(inode{number: maxSockets}, h) || len(s.files) != maxSockets {
		t.Errorf("%d are kept once one is gone", len(s.files))
	}
}
