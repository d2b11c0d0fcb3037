//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

func has(t testing.TB, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s", tool)
		}
	}
}

// python wraps a program; it prints DONE if it got through to its end.
func python(program string) string {
	if strings.Contains(program, "racing()") {
		program = race + program
	}
	return "python3 - <<'EOF_PY'\nimport " +
		"os,sys,ctypes,threading,socket,time,subprocess\nlibc=ctypes.CDLL(None,use_errno=True)\n" +
		fmt.Sprintf("MOMENT=%d/1000\n", often(1000)) + program + "\nprint('DONE')\nEOF_PY"
}

// race is for programs whose threads race each other. On a busy machine a moment can pass before one of them has
// run: racing goes on until the sandbox has refused something, so that what is tested did happen, or for 30 s.
// A kernel without notifications refuses nothing and puts things back; UNWATCHED says so.
const race = `
END=time.time()+MOMENT; refused='UNWATCHED' in os.environ
def racing(): return time.time()<END or not refused and time.time()<END+30
def said_no(): return ctypes.get_errno() in (1,13,30) # EPERM, EACCES, EROFS
`

// waysToWrite are programs that change something in the folder they run in, or beside it.
func waysToWrite() map[string]string {
	return map[string]string{
		"redirect":      "echo x > PWNED",
		"append":        "echo x >> victim",
		"truncate":      ": > victim",
		"clobber":       "echo x >| victim",
		"touch":         "touch victim",
		"mkdir":         "mkdir PWNED",
		"remove":        "rm -f victim",
		"rmdir":         "rmdir empty",
		"rename":        "mv victim PWNED",
		"rename folder": "mv empty PWNED",
		"hard link":     "ln victim PWNED",
		"soft link":     "ln -s victim PWNED",
		"fifo":          "mkfifo PWNED",
		"device":        "mknod PWNED c 1 3",
		"chmod":         "chmod 777 victim",
		"chmod folder":  "chmod 777 .",
		"chown":         "chown 12345 victim",
		"times":         "touch -d 2001-01-01 victim",
		"copy":          "cp victim PWNED",
		"setsid":        "setsid -w sh -c 'echo x > PWNED'",
		"double fork":   "( ( sleep 0.1; echo x > PWNED ) & ) ; sleep 0.4",
		"nohup":         "nohup sh -c 'echo x > PWNED' >/dev/null 2>&1",
		"perl": "perl -e 'open(F,\">PWNED\"); unlink \"victim\"; chmod 0777, \"victim\"; utime " +
			"1,1,\"victim\"; rename \"victim\",\"PWNED\"'",
		"dd":           "dd if=/dev/zero of=victim bs=1 count=1 conv=notrunc",
		"own root":     "echo x > /proc/self/root/$PWD/PWNED",
		"own cwd":      "echo x > /proc/self/cwd/PWNED",
		"open by fd":   "exec 5<victim; echo x > /proc/self/fd/5",
		"link out":     "ln -s $PWD $TMPDIR/out; echo x > $TMPDIR/out/PWNED",
		"hard link in": "ln victim $TMPDIR/inner && echo x > $TMPDIR/inner",
		"move out":     "echo x > $TMPDIR/y; mv $TMPDIR/y PWNED",
		"copy out":     "echo x > $TMPDIR/y; cp -p $TMPDIR/y PWNED",
		"tar":          "tar cf $TMPDIR/t.tar -C / etc/hostname; tar xf $TMPDIR/t.tar",
		"unshare":      "unshare -Urm sh -c 'mount -t tmpfs none .; echo x > PWNED'",
		"core":         "ulimit -c unlimited; sh -c 'kill -SEGV $$'",
		"python os": python(`
def t(f,*a):
    try: f(*a)
    except OSError: pass
t(os.open,'PWNED',os.O_CREAT|os.O_WRONLY)
t(os.open,'victim',os.O_RDONLY|os.O_TRUNC)
t(os.open,'.',os.O_TMPFILE|os.O_RDWR)
t(os.truncate,'victim',0)
t(os.unlink,'victim'); t(os.rmdir,'empty'); t(os.rename,'victim','PWNED'); t(os.replace,'victim','PWNED')
t(os.link,'victim','PWNED'); t(os.symlink,'x','PWNED'); t(os.mkfifo,'PWNED'); t(os.mkdir,'PWNED')
t(os.chmod,'victim',0o777); t(os.chown,'victim',1,1); t(os.lchown,'victim',1,1); t(os.utime,'victim',(1,1))
t(os.setxattr,'victim','user.x',b'y'); t(os.setxattr,'.','user.x',b'y')
fd=os.open('victim',os.O_RDONLY); t(os.fchmod,fd,0o777); t(os.fchown,fd,1,1); t(os.utime,fd,(1,1)); t(os.setxattr,fd,'user.x',b'y')
d=os.open('.',os.O_RDONLY); t(os.fchmod,d,0o777)
t(lambda: os.open('PWNED',os.O_CREAT|os.O_WRONLY,dir_fd=d)); t(lambda: os.mkdir('PWNED',dir_fd=d))
t(lambda: os.chmod('victim',0o777,dir_fd=d)); t(lambda: os.utime('victim',(1,1),follow_symlinks=False))`),
		"raw calls": python(`
import platform
if platform.machine()=='x86_64':
    for nr,args in [(2,(b'PWNED',0o101,0o644)),(85,(b'PWNED',0o644)),(76,(b'victim',0)),(132,(b'victim',None)),(235,(b'victim',None)),(261,(-100,b'victim',None)),
                    (452,(-100,b'victim',0o777,0)),(463,(-100,b'victim',0,b'user.x',None,0)),(469,(-100,b'victim',None,0,0)),(425,(8,ctypes.create_string_buffer(200))),
                    (0x40000000|2,(b'PWNED',0o101,0o644)),(437,(-100,b'PWNED',ctypes.create_string_buffer((0o101).to_bytes(8,'little')+(0o644).to_bytes(8,'little')+bytes(8)),24))]:
        libc.syscall(nr,*args)`),
		"swap": python(`
os.makedirs(os.environ['TMPDIR']+'/s',exist_ok=True); os.chdir(os.environ['TMPDIR']+'/s')
ws=sys.argv[1] if len(sys.argv)>1 else os.environ['PWD']
open('good','w').close()
stop=False
def swap():
    while not stop:
        for target in ('good', ws+'/victim'):
            try: os.symlink(target,'n'); os.rename('n','l')
            except OSError: pass
th=[threading.Thread(target=swap) for _ in range(2)]
[x.start() for x in th]
while racing():
    for f in (lambda: open('l','w').write('x'), lambda: os.chmod('l',0o777), lambda: os.utime('l',(1,1)), lambda: os.truncate('l',0)):
        try: f()
        except FileNotFoundError: pass
        except OSError: refused=True
stop=True`),
		"memory": python(`
# The path changes while the call is looked at.
buf=ctypes.create_string_buffer(200)
good=(os.environ['TMPDIR']+'/g').encode(); bad=(os.environ['PWD']+'/victim').encode()
open(good,'w').close()
stop=False
def flip():
    while not stop:
        ctypes.memmove(buf,bad+b'\0',len(bad)+1); ctypes.memmove(buf,good+b'\0',len(good)+1)
th=threading.Thread(target=flip); th.start()
while racing():
    libc.chmod(buf,0o777); libc.truncate(buf,0); libc.utime(buf,None); libc.setxattr(buf,b'user.x',b'y',1,0); libc.unlink(buf)
    fd=libc.open(buf,0o101,0o644)
    if fd>=0: os.close(fd)
    elif said_no(): refused=True
stop=True`),
	}
}

// lacking are kernels that have less than this one. What the versions of Landlock between the oldest and this one
// lack, the oldest lacks too: by default they are left out.
func lacking() map[string]Options {
	kernels := map[string]Options{
		"whole": {}, "no namespaces": {NoNamespaces: true},
		"least": {Landlock: 1, NoNotify: true, NoNamespaces: true},
	}
	if !brief() {
		kernels["no notifications"], kernels["landlock 1"] = Options{NoNotify: true}, Options{Landlock: 1}
	}
	if everything() {
		kernels["landlock 2"], kernels["landlock 3"] = Options{Landlock: 2}, Options{Landlock: 3}
		kernels["landlock 5"] = Options{Landlock: 5}
	}
	return kernels
}

func TestReadOnlyChangesNothing(t *testing.T) {
	t.Parallel()
	has(t, "python3", "perl")
	for name, o := range lacking() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "whole" && !everything() && (brief() || name != "least") {
				t.Skip("a lesser kernel")
			}
			r := newRoom(t, o)
			needLandlock(t, r)
			for way, command := range waysToWrite() {
				r.file("victim", "precious")
				_ = os.Mkdir(filepath.Join(r.ws, "empty"), 0o755)
				before := state(t, r.ws)
				if o.NoNotify {
					command = "export UNWATCHED=1; " + command
				}
				out, _, w := r.run(command)
				if list := changes(before, state(t, r.ws)); len(list) > 0 {
					t.Errorf("%s changed %q\n%s", way, list, out)
					_ = os.RemoveAll(r.ws)
					_ = os.Mkdir(r.ws, 0o700)
				}
				if strings.Contains(command, "EOF_PY") && !strings.Contains(out, "DONE") {
					t.Errorf("%s did not run to its end:\n%s", way, out)
				}
				if !o.NoNotify && len(w.Attempts) == 0 && way != "unshare" && way != "core" && way != "hard link in" &&
					way != "raw calls" && way != "device" {
					t.Errorf("%s: nothing was seen\n%s", way, out)
				}
				if o.NoNotify != w.Blind {
					t.Errorf("%s: blind is %v", way, w.Blind)
				}
			}
		})
	}
}

func TestReadOnlyReachesNobody(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	for name, o := range lacking() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, o)
			needLandlock(t, r)
			port, called := listener(t)
			udp, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer udp.Close()
			_, uport, _ := net.SplitHostPort(udp.LocalAddr().String())
			path := filepath.Join(r.ws, "s")
			local, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
			if err != nil {
				t.Fatal(err)
			}
			defer local.Close()
			letters := filepath.Join(r.ws, "letters")
			box, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "unixgram", letters)
			if err != nil {
				t.Fatal(err)
			}
			defer box.Close()
			abstract, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", "@troupe-test-"+uport)
			if err != nil {
				t.Fatal(err)
			}
			defer abstract.Close()
			out, _, w := r.run(python(`
def t(name,f):
    try: f(); print('REACHED',name)
    except OSError as e: print(name,e)
def tcp(): socket.create_connection(('127.0.0.1',` + port + `),2)
def tcp6(): socket.socket(socket.AF_INET6,socket.SOCK_STREAM).connect(('::ffff:127.0.0.1',` + port + `))
def mptcp(): socket.socket(socket.AF_INET,socket.SOCK_STREAM,262).connect(('127.0.0.1',` + port + `))
def fast(): socket.socket(socket.AF_INET,socket.SOCK_STREAM).sendto(b'x',0x20000000,('127.0.0.1',` + port + `))
def fastmsg(): socket.socket(socket.AF_INET,socket.SOCK_STREAM).sendmsg([b'x'],[],0x20000000,('127.0.0.1',` + port + `))
def udp(): socket.socket(socket.AF_INET,socket.SOCK_DGRAM).sendto(b'x',('127.0.0.1',` + uport + `))
def udpc():
    s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.connect(('127.0.0.1',` + uport + `)); s.send(b'x')
def unix(): socket.socket(socket.AF_UNIX).connect('` + path + `')
def abstract(): socket.socket(socket.AF_UNIX).connect('\0troupe-test-` + uport + `')
def dgram(): socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM).sendto(b'x','` + letters + `')
def pair(): socket.socketpair(socket.AF_UNIX,socket.SOCK_DGRAM)[0].sendto(b'x','` + letters + `')
def vsock(): socket.socket(socket.AF_VSOCK,socket.SOCK_STREAM)
def packet(): socket.socket(socket.AF_PACKET,socket.SOCK_RAW)
def listen(): socket.socket(socket.AF_INET,socket.SOCK_STREAM).listen()
def bind(): socket.socket(socket.AF_INET,socket.SOCK_STREAM).bind(('127.0.0.1',1+` + port + `%60000))
def picked():
    s=socket.socket(socket.AF_INET,socket.SOCK_STREAM); s.bind(('127.0.0.1',0)); s.listen()
for n,f in list(globals().items()):
    if callable(f) and getattr(f,'__module__','')=='__main__' and n!='t': t(n,f)
a,b=socket.socketpair(); a.send(b'x'); assert b.recv(1)==b'x'`))
			if strings.Contains(out, "REACHED") || !strings.Contains(out, "DONE") || called() {
				t.Error(out)
			}
			if o.NoNotify {
				return
			}
			for _, want := range []string{"127.0.0.1:" + port, path, "@troupe-test-" + uport, "udp"} {
				if !slices.Contains(w.Attempts, troupe.Attempt{Op: troupe.OpConnect, Path: want}) {
					t.Errorf("no attempt to reach %s in %s", want, attempts(w))
				}
			}
		})
	}
}

func TestOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	// Without capabilities, as an ordinary user's: what has more than a command has is out of its reach anyway.
	victim := exec.CommandContext(t.Context(), "python3", "-c", `
import ctypes
for c in range(64): ctypes.CDLL(None).prctl(24,c,0,0,0)
import os; os.execvp('sh',['sh','-c','echo; exec sleep 1000'])`)
	ready, err := victim.StdoutPipe()
	if err == nil {
		err = victim.Start()
	}
	if err == nil {
		_, err = ready.Read(make([]byte, 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = victim.Process.Kill(); _ = victim.Wait() }()
	pid, own := strconv.Itoa(victim.Process.Pid), strconv.Itoa(os.Getpid())
	for _, level := range []troupe.Level{troupe.LevelReadOnly, troupe.LevelWorkspace} {
		for name, o := range lacking() {
			t.Run(string(level)+"/"+name, func(t *testing.T) {
				r := newRoom(t, o)
				needLandlock(t, r)
				r.conf.Level = level
				program := `
import resource
def t(name,f):
    try:
        v=f()
        if isinstance(v,int) and v<0: raise OSError(ctypes.get_errno(),'')
        print('GOT',name,v)
    except OSError as e: pass
for p in (` + pid + `,` + own + `):
    t('ptrace',lambda: libc.ptrace(16,p,0,0))
    t('setpriority',lambda: os.setpriority(os.PRIO_PROCESS,p,19))
` + indented(scheduleCalls) + `
    t('prlimit',lambda: resource.prlimit(p,resource.RLIMIT_CORE,(0,0)))
    t('mem',lambda: os.open('/proc/%d/mem'%p,os.O_RDWR))
    t('environ',lambda: len(open('/proc/%d/environ'%p).read()))
    t('root',lambda: os.listdir('/proc/%d/root'%p))
    t('fd',lambda: os.open('/proc/%d/fd/1'%p,os.O_RDONLY)); t('cwd',lambda: os.listdir('/proc/%d/cwd'%p))
t('keyctl',lambda: libc.syscall(250,0,-3,0)); t('bpf',lambda: libc.syscall(321,0,0,0)); t('userns',lambda: libc.unshare(0x10000000))
t('userfaultfd',lambda: libc.syscall(323,0)); t('perf',lambda: libc.syscall(298,0,0,-1,-1,0)); t('mq',lambda: libc.syscall(240,b'x',0o102,0o600,0))
t('shm',lambda: libc.shmget(1,10,0o1600)); t('setns',lambda: libc.setns(0,0)); t('chroot',lambda: os.chroot('/'))
t('setflags',lambda: __import__('fcntl').ioctl(os.open('.',0),0x40086602,b'\0'*8))`
				if o.Landlock == 0 || o.Landlock >= 6 || !o.NoNotify {
					program += `
for p in (` + pid + `,` + own + `):
    t('kill',lambda: os.kill(p,0))
    t('killpg',lambda: os.killpg(os.getpgid(p),0))
    t('pidfd',lambda: __import__('signal').pidfd_send_signal(os.pidfd_open(p),0))`
				}
				out, _, _ := r.run(python(program))
				if strings.Contains(out, "GOT") || !strings.Contains(out, "DONE") {
					t.Error(out)
				}
			})
		}
	}
}

// scheduleCalls are the calls that say when and where a process p runs.
const scheduleCalls = `def attr():
    class A(ctypes.Structure): _fields_=[(n,ctypes.c_uint32 if n in ('size','policy','nice','prio') else ctypes.c_uint64)
        for n in ('size','policy','flags','nice','prio','runtime','deadline','period')]
    return ctypes.byref(A(48,0,0,19))
t('affinity',lambda: os.sched_setaffinity(p,{min(os.sched_getaffinity(0))}))
t('scheduler',lambda: os.sched_setscheduler(p,os.SCHED_BATCH,os.sched_param(0)))
t('param',lambda: os.sched_setparam(p,os.sched_param(0)))
t('attr',lambda: libc.syscall(SYS_SCHED_SETATTR,p,attr(),0))
t('ioprio',lambda: libc.syscall(SYS_IOPRIO_SET,1,p,3<<13))`

// indented is a piece of Python for a loop, with the numbers of the calls.
func indented(program string) string {
	return "    " + strings.NewReplacer("\n", "\n    ", "SYS_SCHED_SETATTR", strconv.Itoa(unix.SYS_SCHED_SETATTR),
		"SYS_IOPRIO_SET", strconv.Itoa(unix.SYS_IOPRIO_SET)).Replace(program)
}

// A command says when and where its own threads and processes run, whether it names them or says 0.
func TestOwnAreScheduled(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	for name, o := range lacking() {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, o)
			needLandlock(t, r)
			who := "0,os.getpid(),other.native_id,child"
			if o.NoNotify {
				who = "0"
			}
			out, _, _ := r.run(python(`
def t(name,f):
    try:
        v=f()
        if isinstance(v,int) and v<0: raise OSError(ctypes.get_errno(),'')
    except OSError as e: print('REFUSED',name,p,e)
over=threading.Event(); other=threading.Thread(target=over.wait); other.start()
child=os.fork()
if child==0:
    while True: time.sleep(1)
for p in (` + who + `,):
    t('setpriority',lambda: os.setpriority(os.PRIO_PROCESS,p,19))
` + indented(scheduleCalls) + `
over.set(); os.kill(child,9); os.waitpid(child,0)`))
			if strings.Contains(out, "REFUSED") || !strings.Contains(out, "DONE") {
				t.Error(out)
			}
		})
	}
}

func TestUsualWorkIsWatchedExactly(t *testing.T) {
	t.Parallel()
	has(t, "python3", "git")
	r := newRoom(t, Options{})
	needLandlock(t, r)
	r.file("victim", "x")
	r.file("dir/inner", "x")
	ws := r.ws + "/"
	for command, want := range map[string]string{
		"touch PWNED || true":                      "create " + ws + "PWNED",
		"cd dir && touch ../PWNED; touch ../PWNED": "create " + ws + "PWNED",
		"rm victim; echo > victim":                 "remove " + ws + "victim; write " + ws + "victim",
		"mv victim x":                              "remove " + ws + "victim; create " + ws + "x",
		"rm nothing; cat nothing; rmdir nothing":   "",
		"mkdir dir; mkdir -p dir; mkdir none/none": "",
		"echo x > none/x; echo x > dir":            "",
		"echo x > /dev/null; echo x > /dev/tty":    "",
		"echo x > $TMPDIR/a; mv $TMPDIR/a $TMPDIR/b; chmod 600 $TMPDIR/b; rm $TMPDIR/b; mktemp -d": "",
		"ls > /dev/stdout; echo x > /dev/stderr; echo x > /proc/self/fd/1":                         "",
		"echo x > /proc/self/comm; echo x > /proc/sys/nothing":                                     "",
		"mkdir -p a/b/c":                                          "create " + ws + "a",
		"ln -s victim l; ln victim h":                             "create " + ws + "l; create " + ws + "h",
		"chmod 600 victim; touch -d @1 victim":                    "write " + ws + "victim",
		"id; ls -la; getent passwd root; hostname; ps >/dev/null": "",
		"sort <(echo b; echo a) | cat; echo $(ls) | wc":           "",
		"python3 -c 'import tempfile,os; f=tempfile.NamedTemporaryFile(); f.write(b\"x\"); os.chmod(f.name,0o600)'": "",
		"printf 'x' | tee /dev/full >/dev/null": "",
	} {
		out, _, w := r.run(command)
		if got := attempts(w); got != want || w.Touched || w.Blind {
			t.Errorf("%s\nattempted %q, touched %v, blind %v, want %q\n%s", command, got, w.Touched, w.Blind, want, out)
		}
	}
}

func TestNetworkByRule(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	for name, o := range lacking() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, o).workspace()
			needLandlock(t, r)
			open, called := listener(t)
			shut, wrong := listener(t)
			local, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(r.ws, "s"))
			if err != nil {
				t.Fatal(err)
			}
			defer local.Close()
			number, _ := strconv.Atoi(open)
			program := python(`
def t(name,f):
    try: f(); print('REACHED',name)
    except OSError as e: pass
def tcp(p): socket.create_connection(('127.0.0.1',p),2)
t('open',lambda: tcp(` + open + `)); t('shut',lambda: tcp(` + shut + `)); t('mptcp',lambda: socket.socket(socket.AF_INET,socket.SOCK_STREAM,262).connect(('127.0.0.1',` + shut + `)))
def udp():
    s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.sendto(b'x',('127.0.0.1',9))
t('udp',udp); t('unix',lambda: socket.socket(socket.AF_UNIX).connect('s')); t('pair',lambda: socket.socketpair(socket.AF_UNIX,socket.SOCK_DGRAM)[0].sendto(b'x','s'))
def listen():
    s=socket.socket(); s.bind(('127.0.0.1',0)); s.listen()
t('listen',listen)`)
			for _, c := range []struct {
				network troupe.Network
				reached string
			}{
				{troupe.Network{}, ""},
				{troupe.Network{Ports: []int{number}}, "open"},
				{troupe.Network{Ports: []int{number, 53}}, "open"}, // names are looked up by TCP
				{troupe.Network{Addresses: []string{"127.0.0.1:" + open}}, "open"},
				{troupe.Network{Addresses: []string{"127.0.0.2:" + open, "[::1]:" + shut, "127.0.0.1:0"}}, ""},
				{troupe.Network{Listens: []string{"127.0.0.1:0"}}, "listen"},
				{troupe.Network{Addresses: []string{local.Addr().String()}}, "unix"},
				{troupe.Network{Proxy: number}, "open"},
				{troupe.Network{Proxy: number, All: true, Ports: []int{1}}, "open"},
				{troupe.Network{All: true}, "open shut mptcp udp listen"},
			} {
				want := c.reached
				switch rep := r.box.Support(t.Context()); {
				case len(c.network.Ports) > 0 && c.network.Proxy == 0 && rep.Landlock < 4,
					(c.network.Proxy > 0 || len(c.network.Addresses)+len(c.network.Listens) > 0) && !rep.Notify:
					want = ""
				}
				r.conf.Network = c.network
				out, _, w := r.run(program)
				var got []string
				for line := range strings.Lines(out) {
					if s, ok := strings.CutPrefix(line, "REACHED "); ok {
						got = append(got, strings.TrimSpace(s))
					}
				}
				if strings.Join(got, " ") != want || !strings.Contains(out, "DONE") {
					t.Errorf("%+v reached %q, want %q (%s)\n%s", c.network, got, want, attempts(w), out)
				}
				if called() != strings.Contains(want, "open") || wrong() != strings.Contains(want, "shut") {
					t.Errorf("%+v: the listeners say otherwise", c.network)
				}
			}
		})
	}
}
