//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// Whatever a confined command was, nothing of it stays with us.
func TestNothingIsLeft(t *testing.T) {
	r := newRoom(t, Options{}).workspace()
	needLandlock(t, r)
	r.file(".git/config", "x")
	r.file(".env", "x")
	r.conf.Protected = []string{filepath.Join(r.ws, ".git/config"), filepath.Join(r.ws, "none")}
	r.conf.Hidden = []string{filepath.Join(r.ws, ".env")}
	count := func() (fds, threads int) {
		f, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		s, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Skip(err)
		}
		return len(f), len(s)
	}
	for range 20 {
		r.run("echo x > a; chmod 600 a; touch /PWNED")
	}
	fds, threads := count()
	for range 100 {
		r.run("echo x > a; chmod 600 a; mv a b; ln -sf b l; echo x > l; echo x > nothing/x; mv nothing l; ln b b; " +
			"touch /PWNED; cat .env; echo > .git/config")
		if _, err := r.box.Start(r.conf, "/none/at/all", []string{"x"}, &os.ProcAttr{Env: []string{}}); !errors.Is(err,
			fs.ErrNotExist) {
			t.Fatalf("a missing program: %v", err)
		}
		if _, err := r.box.Start(r.conf, "/bin/sh", []string{"x"},
			&os.ProcAttr{Env: []string{}, Dir: filepath.Join(r.ws, "none")}); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("a missing folder: %v", err)
		}
	}
	if f, th := count(); f > fds || th > threads+4 {
		t.Errorf("%d descriptors and %d threads, %d and %d before", f, th, fds, threads)
	}
	if status := field(os.Getpid(), "NoNewPrivs") + field(os.Getpid(), "Seccomp"); status != "00" &&
		os.Getenv(otherEnv) == "" {
		t.Errorf("we are confined ourselves: %s", status)
	}
}

// ending runs f on a thread that ends with it. That is never the main thread, which would
// only stop.
func ending(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		f()
		return
	}
	done := make(chan struct{})
	go func() { defer close(done); ending(f) }()
	<-done
	runtime.UnlockOSThread()
}

// A command whose parent dies dies too: the kernel takes the thread that started it for that.
func TestDiesWithItsParent(t *testing.T) {
	for name, set := range map[string]func(*room){"read-only": func(*room) {}, "workspace": func(r *room) {
		r.workspace()
		r.file(".env", "x")
		r.conf.Hidden = []string{filepath.Join(r.ws, ".env")}
	}} {
		r := newRoom(t, Options{})
		needLandlock(t, r)
		set(r)
		pr, pw, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		started := make(chan *Command)
		failed := make(chan error, 1)
		go ending(func() {
			c, err := r.box.Start(r.conf, "/bin/sh", []string{"sh", "-c", "echo on; exec sleep 1000"}, &os.ProcAttr{
				Dir: r.ws, Env: r.env, Files: []*os.File{nil, pw, pw},
				Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
			})
			failed <- err
			if err == nil {
				_, _ = pr.Read(make([]byte, 1)) // it runs
				started <- c
			}
		})
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
		c := <-started
		state, err := c.Process().Wait()
		if status, ok := state.Sys().(syscall.WaitStatus); err != nil || !ok || status.Signal() != syscall.SIGKILL {
			t.Errorf("%s: %v, %v", name, state, err)
		}
		c.Done()
		_ = pr.Close()
		_ = pw.Close()
	}
}

// Many at once, of all kinds, while the process does other things.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	r := newRoom(t, Options{}).workspace()
	needLandlock(t, r)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 10 {
				mine := *r
				if i%2 == 0 {
					mine.conf.Level, mine.conf.Writable = troupe.LevelReadOnly, nil
				}
				name := fmt.Sprintf("f%d-%d", i, j)
				_, _, w := mine.run("echo x > " + name + "; (cat /etc/hostname & cat /etc/hostname) >/dev/null; wait")
				if want := i%2 == 0; want != (attempts(w) == "create "+r.ws+"/"+name) || want == w.Touched {
					t.Errorf("%s: %+v", name, w)
				}
			}
		})
	}
	group.Wait()
}

// Signals interrupt whoever answers; no answer may get lost by it.
func TestSignalsLoseNoAnswers(t *testing.T) {
	has(t, "python3", "timeout")
	r := newRoom(t, Options{}).workspace()
	needLandlock(t, r)
	r.file("f", "x")
	stop := make(chan struct{})
	var storm sync.WaitGroup
	storm.Go(func() {
		tasks, _ := os.ReadDir("/proc/self/task")
		// Every thread over and over, but not without a pause: threads that have to be woken all
		// the time leave a busy machine none for the answers.
		tick := time.NewTicker(100 * time.Microsecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			if n%len(tasks) == 0 {
				select {
				case <-stop:
					return
				case <-tick.C:
				}
			}
			if n%1000 == 0 {
				tasks, _ = os.ReadDir("/proc/self/task")
			}
			if tid, err := strconv.Atoi(tasks[n%len(tasks)].Name()); err == nil {
				_ = unix.Tgkill(os.Getpid(), tid, syscall.SIGURG) // the runtime's own, which means nothing here
			}
		}
	})
	for range 4 {
		out, code, _ := r.start("/usr/bin/env", []string{"env", "timeout", "60", "bash", "-c", python(`
def many():
    for i in range(1500):
        os.close(os.open('f',os.O_WRONLY)); os.chmod('f',0o600+i%8)
th=[threading.Thread(target=many) for _ in range(3)]
[x.start() for x in th]; [x.join() for x in th]`)})
		if code != 0 || out != "DONE\n" {
			t.Fatalf("exit %d: %s", code, out)
		}
	}
	close(stop)
	storm.Wait()
}

func TestBounds(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	r := newRoom(t, Options{})
	needLandlock(t, r)
	r.conf.Bounds = troupe.Bounds{Memory: 512 << 20, FileSize: 1 << 20, Processes: 20}
	out, _, _ := r.run(python(`
try: bytearray(1<<30); print('MEMORY')
except MemoryError: pass
import signal; signal.signal(signal.SIGXFSZ,signal.SIG_IGN)
try: open(os.environ['TMPDIR']+'/big','wb').write(bytes(2<<20)); print('FILE')
except OSError: pass
import resource
for r in (resource.RLIMIT_AS,resource.RLIMIT_FSIZE,resource.RLIMIT_NPROC):
    try: resource.setrlimit(r,(1<<40,1<<40)); print('RAISED',r)
    except (ValueError,OSError): pass`))
	if out != "DONE\n" {
		t.Error(out)
	}
	if os.Geteuid() == 0 {
		return // whom the bound on processes does not bind
	}
	r.workspace() // with a user namespace, which counts for itself
	r.conf.Bounds = troupe.Bounds{Processes: 20}
	out, _, _ = r.run("for i in $(seq 100); do sleep 1 & done 2>&1; wait")
	if !strings.Contains(out, "fork") {
		t.Errorf("a hundred processes were started: %s", out)
	}
	r.conf.Bounds = troupe.Bounds{Processes: 200}
	if out, code, _ := r.run("for i in $(seq 50); do sleep 0.1 & done 2>&1; wait"); code != 0 || out != "" {
		t.Errorf("fifty processes: %d %s", code, out)
	}
}
