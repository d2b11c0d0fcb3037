//go:build amd64 || arm64

package sandbox

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// attackedRoom is a workspace with a guarded name, a hidden file in a folder, and a cache.
func attackedRoom(t *testing.T) (r *room, cache string) {
	t.Helper()
	has(t, "python3")
	r = newRoom(t, Options{}).workspace()
	needLandlock(t, r)
	if rep := r.box.report(); !rep.Notify || !rep.Namespaces {
		t.Skip("this kernel has not all that the whole sandbox needs")
	}
	cache = filepath.Join(filepath.Dir(r.ws), "cache")
	if err := os.Mkdir(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	r.conf.Scratch = []string{cache}
	r.conf.Guarded = func(path string) string {
		if name := filepath.Base(path); name == "HEAD" || name == ".envrc" ||
			strings.HasSuffix(path, "/held/hook") {
			return "it is guarded"
		}
		return ""
	}
	r.conf.Hidden = []string{r.file("sub/.env", "SECRET")}
	r.file("main.c", "as it was")
	return r, cache
}

// What got an attacker further once. Nothing of it may change or show anything.
func TestAttacked(t *testing.T) {
	t.Parallel()
	const raw = `
import socket
a,b=None,None
def bound(kind,path):
    for make in (lambda: socket.socketpair(socket.AF_UNIX,kind)[0], lambda: socket.socket(socket.AF_UNIX,kind)):
        try: s=make(); s.bind(path); print('BOUND')
        except OSError as e: print(e)
for kind in (socket.SOCK_STREAM,socket.SOCK_DGRAM,socket.SOCK_RAW,socket.SOCK_SEQPACKET): bound(kind,'HEAD')
`
	for name, command := range map[string]string{
		"hidden, by moving its folder": "mv sub sub2; cat sub2/.env; mv sub $TMPDIR/; cat $TMPDIR/sub/.env; mv " +
			"sub $CACHE/; cat $CACHE/sub/.env",
		"an alias in a cache": "ln main.c $CACHE/alias; ln main.c $TMPDIR/alias; echo changed > " +
			"$CACHE/alias; echo changed > $TMPDIR/alias",
		"an alias from a cache": "cd $CACHE; echo x > a; ln a b; mv a " +
			"$WS/aliased; echo changed > b; ln b $WS/aliased2",
		"a link to a cache": "mkdir -p $CACHE/evil; ln -s $CACHE/evil linked; ln -s $CACHE linked2; " +
			"ln -s $TMPDIR linked3",
		"a link that leads there once moved": "mkdir -p d/e; ln -s ../cache d/e/l; mv d/e/l linked",
		"sockets at guarded names":           python(raw),
		"a folder exchanged for a guarded one": python("os.makedirs('n'); os.makedirs('held'); open('n/hook','w'); " +
			"libc.renameat2(-100,b'held',-100,b'n',2)"),
	} {
		for _, all := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r, cache := attackedRoom(t)
				r.conf.Network.All = all
				r.env = append(r.env, "CACHE="+cache, "WS="+r.ws)
				out, _, _ := r.brief(command)
				if strings.Contains(out, "SECRET") {
					t.Errorf("it was shown\n%s", out)
				}
				if data, err := os.ReadFile(filepath.Join(r.ws, "main.c")); err != nil || string(data) != "as it was" {
					t.Errorf("main.c holds %q (%v)\n%s", data, err, out)
				}
				for _, path := range []string{"HEAD", "linked", "linked2", "linked3", "held/hook", "sub2"} {
					if exists(filepath.Join(r.ws, path)) {
						t.Errorf("%s is there\n%s", path, out)
					}
				}
				for _, path := range []string{"aliased", "aliased2"} {
					if data, err := os.ReadFile(filepath.Join(r.ws, path)); err == nil && string(data) == "changed\n" {
						t.Errorf("%s was changed through its other name\n%s", path, out)
					}
				}
			})
		}
	}
}

// Datagrams reach nobody: a raw socket of that family is one for datagrams.
func TestDatagramsOfOthers(t *testing.T) {
	t.Parallel()
	r, _ := attackedRoom(t)
	path := filepath.Join(r.home, "s")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r.conf.Level, r.conf.Writable = troupe.LevelReadOnly, nil
	out, _, _ := r.brief(python(`
for kind in (socket.SOCK_DGRAM,socket.SOCK_RAW):
    for make in (lambda: socket.socketpair(socket.AF_UNIX,kind)[0], lambda: socket.socket(socket.AF_UNIX,kind)):
        for send in (lambda s: s.sendto(b'x','` + path + `'), lambda s: s.sendmsg([b'x'],[],0,'` + path + `')):
            try: send(make()); print('SENT')
            except OSError as e: print(e)
`))
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 9)); err == nil {
		t.Errorf("%d bytes arrived\n%s", n, out)
	}
}

// Only what was granted is connected to, whatever takes its name between our look and the call.
func TestGrantedSocketIsNotExchanged(t *testing.T) {
	t.Parallel()
	r, _ := attackedRoom(t)
	accept := func(path string) <-chan struct{} {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		came := make(chan struct{}, 1000)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_ = c.Close()
				select {
				case came <- struct{}{}:
				default: // that there were some is enough
				}
			}
		}()
		return came
	}
	other := filepath.Join(r.home, "other")
	wrong := accept(other)
	right := accept(filepath.Join(r.temp, "s"))
	r.conf.Level, r.conf.Writable = troupe.LevelGranted, nil
	r.conf.Network.Addresses = []string{filepath.Join(r.temp, "s")}
	out, _, _ := r.brief("cd $TMPDIR; ln -s " + other + " l\n" + python(`
n=0; tried=0; END=time.time()
def swap():
    for i in range(20000): libc.renameat2(-100,b's',-100,b'l',2)
    while (n==0 or tried<100) and time.time()<END+30: libc.renameat2(-100,b's',-100,b'l',2)
t=threading.Thread(target=swap); t.start()
while t.is_alive():
    tried+=1
    try: socket.socket(socket.AF_UNIX).connect('s'); n+=1
    except OSError: pass
print(n)
`))
	if len(wrong) > 0 {
		t.Errorf("%d connections to another socket\n%s", len(wrong), out)
	}
	if len(right) == 0 {
		t.Errorf("no connection to the granted one\n%s", out)
	}
}

// A file that becomes a pipe, or that another holds a lease of, makes its own command wait and nobody else.
func TestListenerDoesNotWait(t *testing.T) {
	t.Parallel()
	r, _ := attackedRoom(t)
	began := time.Now()
	out, _, _ := r.start("/usr/bin/timeout", []string{"timeout", "-s", "KILL", "4", "bash", "-c", `
mkfifo p; echo x > f
( while :; do mv f g; mv p f; mv f p; mv g f; done ) 2>/dev/null &
for i in $(seq 300); do ( echo y > f ) & done 2>/dev/null
wait`})
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v\n%s", took, out)
	}
	if out, code, _ := r.run("echo z > after && cat after"); code != 0 || out != "z\n" {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// TestOtherNameOfGuarded: a guarded file is not written by another name that it had before the command.
func TestOtherNameOfGuarded(t *testing.T) {
	t.Parallel()
	r, _ := attackedRoom(t)
	guarded := r.file(".envrc", "as it was")
	r.conf.Protected = append(r.conf.Protected, guarded)
	if err := os.Link(guarded, filepath.Join(r.ws, "alias")); err != nil {
		t.Fatal(err)
	}
	out, _, _ := r.brief("echo changed > alias; echo changed >> main.c")
	if data, err := os.ReadFile(guarded); err != nil || string(data) != "as it was" {
		t.Errorf(".envrc holds %q (%v)\n%s", data, err, out)
	}
	if data, err := os.ReadFile(filepath.Join(r.ws, "main.c")); err != nil ||
		!strings.Contains(string(data), "changed") {
		t.Errorf("main.c holds %q (%v)\n%s", data, err, out)
	}
}
