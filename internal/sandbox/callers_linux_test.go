//go:build amd64 || arm64

package sandbox

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// ownedByRoot fills a workspace of root's that everybody can look into.
func ownedByRoot(t *testing.T, r *room) {
	t.Helper()
	for path, content := range map[string]string{"rootfile": "as it was", "open/rootfile": "as it was",
		"closed/open/f": "as it was"} {
		r.file(path, content)
	}
	for path, mode := range map[string]os.FileMode{"../..": 0o755, "..": 0o755, ".": 0o755, "open": 0o777,
		"closed/open": 0o777, "closed/open/f": 0o666, "closed": 0o700, "rootfile": 0o600, "open/rootfile": 0o600,
		"../temp": 0o755} {
		if err := os.Chmod(filepath.Join(r.ws, path), mode); err != nil {
			t.Fatal(err)
		}
	}
}

// A command of root that has become another user changes what that user may change.
func TestChangesAreTheirCallers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root's commands can become another user")
	}
	r, _ := attackedRoom(t)
	has(t, "setpriv")
	ownedByRoot(t, r)
	at := func(name string) string { return filepath.Join(r.ws, name) }
	before, err := os.Stat(at("rootfile"))
	if err != nil {
		t.Fatal(err)
	}
	out, _, _ := r.brief(`cat > $TMPDIR/as.sh <<'EOF'
id -u; cp /usr/bin/id open/mine
chmod 777 rootfile; chown 65534 rootfile; touch -d 2001-01-01 rootfile; python3 -c "import os; os.setxattr('rootfile', b'user.x', b'y')"
chown 0:0 open/mine; chmod 6755 open/mine
echo evil > rootfile; truncate -s 0 open/rootfile; echo evil > closed/open/f; echo evil > closed/open/new
rm closed/open/f; ls closed/open
EOF
cat > $TMPDIR/fifo.py <<'EOF'
import os,threading,time
os.mkfifo('open/p',0o666)
def swap():
    time.sleep(0.3); os.rename('open/rootfile','open/p')
threading.Thread(target=swap).start()
fd=os.open('open/p',os.O_WRONLY); os.write(fd,b'evil'); print('GOT')
EOF
nobody="setpriv --reuid 65534 --regid 65534 --clear-groups timeout 3"
$nobody bash $TMPDIR/as.sh < /dev/null; $nobody python3 $TMPDIR/fifo.py
setpriv --regid 65534 --clear-groups mkdir open/theirs`)
	if !strings.HasPrefix(out, "65534\n") || strings.Contains(out, "GOT") {
		t.Errorf("nobody ran, or got what is root's")
	}
	if info, err := os.Stat(at("rootfile")); err != nil || info.Mode() != before.Mode() ||
		!info.ModTime().Equal(before.ModTime()) {
		t.Errorf("rootfile is %v (%v)", info, err)
	}
	var mine syscall.Stat_t
	if err := syscall.Stat(at("open/mine"), &mine); err != nil || mine.Uid != 65534 {
		t.Errorf("open/mine is %+v (%v)", mine, err)
	}
	var theirs syscall.Stat_t // of root, in another group
	if err := syscall.Stat(at("open/theirs"), &theirs); err != nil || theirs.Uid != 0 || theirs.Gid != 65534 {
		t.Errorf("open/theirs is %+v (%v)", theirs, err)
	}
	for _, path := range []string{"rootfile", "closed/open/f", "open/rootfile", "open/p"} {
		info, err := os.Lstat(at(path))
		if err != nil || !info.Mode().IsRegular() {
			continue // open/rootfile is moved, or was not
		}
		if data, err := os.ReadFile(at(path)); err != nil || string(data) != "as it was" {
			t.Errorf("%s holds %q (%v)", path, data, err)
		}
	}
	if exists(at("closed/open/new")) || !exists(at("closed/open/f")) {
		t.Error("what lies in a folder that they cannot come to was changed")
	}
	if t.Failed() {
		t.Log(out)
	}
}

// A command of root that has given up what root may changes what is its own, and nothing of others.
func TestChangesAreOfTheirCallersPowers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root's commands have powers over files")
	}
	r, _ := attackedRoom(t)
	has(t, "python3")
	at := func(name string) string { return filepath.Join(r.ws, name) }
	for _, path := range []string{"other", "others/f", "mine", "moved", "theirs"} {
		r.file(path, "as it was")
	}
	if err := os.Chown(at("theirs"), 0, 65534); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{"other": 0, "others/f": 0o644, "others": 0o755} {
		if err := os.Chown(at(path), 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at(path), mode); err != nil {
			t.Fatal(err)
		}
	}
	out, _, _ := r.brief(python(`
import struct,threading
def t(name,f):
    try: f(); print('DID',name)
    except OSError as e: print('not',name)
def write(path,flags=os.O_WRONLY): os.write(os.open(path,flags),b'evil')
def all():
    t('write',lambda: write('other')); t('truncate',lambda: os.truncate('others/f',0))
    t('chmod',lambda: os.chmod('other',0o777)); t('chown',lambda: os.chown('other',0,0)); t('utime',lambda: os.utime('other',(1,1)))
    t('create',lambda: write('others/new',os.O_WRONLY|os.O_CREAT)); t('mkdir',lambda: os.mkdir('others/d'))
    t('symlink',lambda: os.symlink('x','others/l')); t('remove',lambda: os.unlink('others/f'))
    t('rename',lambda: os.rename('moved','others/moved')); t('give',lambda: os.chown('mine',65534,65534))
    t('bind',lambda: socket.socket(socket.AF_UNIX).bind('others/s'))
def weak():
    print(libc.capset(struct.pack('Ii',0x20080522,0),struct.pack('6I',0,0,0,0,0,0)))
    all(); write('mine'); os.chmod('mine',0o600); os.mkdir('own')
def nearly(without): # root with all but one of its powers
    own=0
    for line in open('/proc/thread-self/status'):
        if line.startswith('CapEff'): own=int(line.split()[1],16)
    own&=~(1<<without)
    low,high=own&0xffffffff,own>>32
    if libc.capset(struct.pack('Ii',0x20080522,0),struct.pack('6I',low,low,0,high,high,0)): print('it kept it')
def fsetid():
    nearly(4)
    try: os.chmod('theirs',0o2755)
    except PermissionError: pass # nobody's command may
for thread in (weak,fsetid):
    w=threading.Thread(target=thread); w.start(); w.join()
os.chown('other',0,0); os.mkdir('others/strong')`))
	if strings.Contains(out, "DID") || !strings.HasPrefix(out, "0\n") || strings.Count(out, "not ") != 12 ||
		!strings.HasSuffix(out, "DONE\n") {
		t.Errorf("without any power it did\n%s", out)
	}
	for path, want := range map[string]string{"other": "as it was", "others/f": "as it was", "mine": "evilt was"} {
		if data, err := os.ReadFile(at(path)); err != nil || string(data) != want {
			t.Errorf("%s holds %q (%v)", path, data, err)
		}
	}
	if info, err := os.Stat(at("theirs")); err != nil || info.Mode()&os.ModeSetgid != 0 {
		t.Errorf("without the power to set it a file runs as its group: %v (%v)", info.Mode(), err)
	}
	if !exists(at("own")) || !exists(at("others/strong")) {
		t.Errorf("what is its own was not changed\n%s", out)
	}
}

// mounted is a process in which a folder is mounted in the places of others.
func mounted(t *testing.T, folder string, over ...string) (pid string) {
	t.Helper()
	has(t, "unshare", "mount")
	how := "-m"
	if os.Geteuid() != 0 {
		how = "-Urm"
	}
	cmd := exec.CommandContext(t.Context(), "unshare", append([]string{how, "sh", "-c",
		`for to in "$@"; do mount --bind "$0" "$to" || exit; done; echo ready; exec sleep 60`, folder}, over...)...)
	from, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	if line, err := bufio.NewReader(from).ReadString('\n'); err != nil {
		t.Skipf("no mounts can be made here: %q %v", line, err)
	}
	return strconv.Itoa(cmd.Process.Pid)
}

// Another process's mounts show another folder by the path of one that may be written.
func TestMountsOfOthers(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {NoNamespaces: true}} {
		r, _ := attackedRoom(t)
		r.box = New(o)
		if o.NoNamespaces {
			r.conf.Hidden = nil
		}
		other := filepath.Join(r.home, "other")
		if err := os.Mkdir(other, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"f", "g"} {
			if err := os.WriteFile(filepath.Join(other, name), []byte("as it was"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r.env = append(r.env, "AT=/proc/"+mounted(t, other, r.ws, "/dev/shm")+"/root", "WS="+r.ws)
		out, _, _ := r.brief(`for to in $WS /dev/shm; do
echo evil > $AT$to/f; echo evil > $AT$to/new; mkdir $AT$to/d; rm $AT$to/f; mv $AT$to/g $AT$to/h; chmod 777 $AT$to/f
touch -d 2001-01-01 $AT$to/f; ln $AT$to/g linked; (cd $AT$to && echo evil > new2; chmod 777 f)
done
` + python(`
for to in (os.environ['WS'],'/dev/shm'):
    try: f=os.open(os.environ['AT']+to+'/f',os.O_RDONLY)
    except OSError as e: print(e); continue
    for change in (lambda: os.fchmod(f,0o777), lambda: os.utime(f,(1,1)), lambda: os.setxattr(f,b'user.a',b'b')):
        try: change(); print('CHANGED')
        except OSError as e: print(e)
    libc.linkat(f,b'',-100,b'linked2',0x1000)
`) + `
echo x > /proc/self/cwd/own; echo y > /dev/stdout; mkdir /proc/self/root$WS/owned; cat own; exec 5>>own; chmod 640 /dev/fd/5
touch /dev/shm/mine; chmod 600 /dev/shm/mine; stat -c %a own`)
		if strings.Contains(out, "CHANGED") {
			t.Errorf("%+v: something was changed\n%s", o, out)
		}
		entries, err := os.ReadDir(other)
		if err != nil || len(entries) != 2 {
			t.Errorf("%+v: there are %v (%v)\n%s", o, entries, err, out)
		}
		for _, e := range entries {
			path := filepath.Join(other, e.Name())
			info, err := os.Stat(path)
			data, err2 := os.ReadFile(path)
			if err != nil || err2 != nil || string(data) != "as it was" || info.Mode() != 0o600 ||
				info.ModTime().Year() < 2020 || links(info) != 1 {
				t.Errorf("%+v: %s is %v and holds %q\n%s", o, path, info, data, out)
			}
		}
		if !strings.HasSuffix(out, "DONE\ny\nx\n640\n") && o == (Options{}) || !exists(filepath.Join(r.ws, "owned")) {
			t.Errorf("%+v: its own links do not work\n%s", o, out)
		}
	}
}

// apart are the functions of the listener that use files, or change what is none, as Troupe's own user.
func apart() map[string]string {
	return map[string]string{
		"openat":       "is what others call",
		"applied":      "apply calls it as the caller",
		"times":        "applied calls it",
		"xattr":        "applied calls it",
		"put":          "replace calls it as the caller",
		"hold":         "attribute calls it as the caller",
		"holdOpen":     "hold calls it",
		"holdPrivate":  "holds what only the caller sees, and uses nothing",
		"here":         "compares what was held, and uses nothing",
		"step":         "locate calls it as the caller",
		"nameless":     "holds what the caller has open",
		"connectLocal": "holds the socket; what connects does it as the caller",
		"alone":        "goes to the folder that the caller is in, and binds as the caller",
		"onlySockets":  "changes nothing but what its own thread may do",
		"note":         "holds what was made, and uses nothing",
		"bindFor":      "a port that was granted or that the kernel picks",
		"await":        "a socket that was bound by leave",
		"whoAt":        "reads of the caller",
	}
}

// Each change that the listener makes, it makes as the caller: in a function that as, make or makeAlone run. A
// new call stands in one, or its function in apart, with a reason.
func TestEachChangeIsTheCallers(t *testing.T) {
	t.Parallel()
	const changes = " Openat Openat2 Open openat Unlinkat Mkdirat Mknodat Symlinkat Linkat Renameat Renameat2 Fchmod " +
		"Fchmodat Chmod Fchown Fchownat Lchown Ftruncate Truncate Setxattr Removexattr Bind Connect Listen Syscall6 "
	set, reasons, used := token.NewFileSet(), apart(), map[string]bool{}
	for _, name := range []string{"judge", "move", "perform", "replace", "place", "reach", "local", "caller", "fixed"} {
		file, err := parser.ParseFile(set, name+"_linux.go", nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			for _, c := range asTroupe(fn, changes) {
				if used[fn.Name.Name] = true; reasons[fn.Name.Name] == "" {
					t.Errorf("%s: %s does this as Troupe's own user", set.Position(c.Pos()), fn.Name.Name)
				}
			}
		}
	}
	for name, reason := range reasons {
		if reason != "" && !used[name] {
			t.Errorf("%s makes no such call: take it off the list", name)
		}
	}
}

// asTroupe are the calls in a function that are among some, and not made as the caller.
func asTroupe(fn *ast.FuncDecl, some string) (out []*ast.CallExpr) {
	ast.Inspect(fn, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name := ""
		switch f := c.Fun.(type) {
		case *ast.SelectorExpr:
			switch x, ok := f.X.(*ast.Ident); {
			case f.Sel.Name == "as", f.Sel.Name == "make", f.Sel.Name == "makeAlone":
				return false
			case ok && x.Name == "unix":
				name = f.Sel.Name
			}
		case *ast.Ident:
			name = f.Name
		}
		if name != "" && strings.Contains(some, " "+name+" ") {
			out = append(out, c)
		}
		return true
	})
	return out
}
