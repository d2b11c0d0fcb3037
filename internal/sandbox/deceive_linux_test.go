//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// deceiverEnv has this test binary be a command that asks for one thing and means another, and triesEnv has it ask so
// often.
const (
	deceiverEnv = "SANDBOX_TEST_DECEIVE"
	triesEnv    = "SANDBOX_TEST_TRIES"
)

// deceiver is the environment of such a command.
func deceiver(way string) []string {
	return []string{deceiverEnv + "=" + way, triesEnv + "=" + strconv.Itoa(often(3000)), "GORACE="}
}

// refused: a call of this command was. noticed reports whether one must be, once the other thread has had it name what
// is guarded: what is not there cannot be changed, and what is there cannot be made.
var refused bool

func noticed(way string, there bool) bool {
	return there == (way == "write" || way == "truncate" || way == "unlink") || way == "create" || way == "rename"
}

// deceits are calls that name two paths: one that is free, and one that is guarded. A path is the
// address of a text that another thread changes all the time.
func deceits() map[string]func(path uintptr) {
	const at = atCwd
	call := func(nr uintptr, args ...uintptr) {
		var a [6]uintptr
		copy(a[:], args)
		fd, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
		if errno == unix.EACCES || errno == unix.EPERM || errno == unix.EBUSY { // the last is said of a fixed name
			refused = true
		}
		if nr == unix.SYS_OPENAT && errno == 0 {
			_, _ = unix.Write(int(fd), []byte("planted"))
			_ = unix.Close(int(fd))
		}
	}
	from, err := unix.BytePtrFromString("source")
	if err != nil {
		panic(err)
	}
	source := uintptr(unsafe.Pointer(from))
	again := func() { _ = os.WriteFile("source", nil, 0o600) }
	return map[string]func(uintptr){
		"create":  func(p uintptr) { call(unix.SYS_OPENAT, at, p, unix.O_CREAT|unix.O_WRONLY, 0o644) },
		"write":   func(p uintptr) { call(unix.SYS_OPENAT, at, p, unix.O_WRONLY|unix.O_TRUNC) },
		"mkdir":   func(p uintptr) { call(unix.SYS_MKDIRAT, at, p, 0o755) },
		"mknod":   func(p uintptr) { call(unix.SYS_MKNODAT, at, p, unix.S_IFIFO|0o644, 0) },
		"symlink": func(p uintptr) { call(unix.SYS_SYMLINKAT, source, at, p) },
		"link":    func(p uintptr) { call(unix.SYS_LINKAT, at, source, at, p, 0) },
		"rename":  func(p uintptr) { again(); call(unix.SYS_RENAMEAT2, at, source, at, p, 0) },
		"a link": func(p uintptr) {
			_ = os.Remove("source")
			_ = os.Symlink("elsewhere", "source")
			call(unix.SYS_RENAMEAT2, at, source, at, p, 0)
		},
		"unlink":   func(p uintptr) { call(unix.SYS_UNLINKAT, at, p, 0) },
		"truncate": func(p uintptr) { call(unix.SYS_TRUNCATE, p, 0) },
	}
}

// deceive makes one of the calls many times, in the working folder.
func deceive(way string) {
	memory := make([]byte, 64)
	if secret, ok := strings.CutPrefix(way, "secret:"); ok {
		way = secret
		const memfdSecret = 447
		fd, _, errno := unix.Syscall(memfdSecret, 0, 0, 0)
		if errno != 0 {
			fmt.Println("no secret memory")
			return
		}
		if err := unix.Ftruncate(int(fd), 4096); err != nil {
			fmt.Println("no secret memory")
			return
		}
		mapped, err := unix.Mmap(int(fd), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			fmt.Println("no secret memory")
			return
		}
		memory = mapped
		copy(memory, "guarded\x00")
		for range 10 {
			deceits()[way](uintptr(unsafe.Pointer(&memory[0])))
		}
		return
	}
	copy(memory, "free\x00\x00\x00\x00")
	word := (*uint64)(unsafe.Pointer(&memory[0]))
	free := *word
	copy(memory, "guarded\x00")
	guarded := *word
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		for {
			select {
			case <-done:
				return
			default:
			}
			for range 100 {
				atomic.StoreUint64(word, free)
				atomic.StoreUint64(word, guarded)
			}
		}
	}()
	_ = os.WriteFile("source", nil, 0o600)
	do := deceits()[way]
	tries, err := strconv.Atoi(os.Getenv(triesEnv))
	if err != nil {
		panic(err)
	}
	_, err = os.Lstat("guarded")
	must, late := noticed(way, err == nil), time.Now().Add(time.Minute)
	// On a busy machine the other thread may not run for long, and then all of the calls name what is free.
	for i := 0; i < tries || must && !refused && time.Now().Before(late); i++ {
		do(uintptr(unsafe.Pointer(word)))
		if i%2 == 0 && way != "write" && way != "truncate" {
			_ = os.Remove("free")
		} else if way == "unlink" {
			_ = os.WriteFile("free", nil, 0o600)
		}
	}
	close(done)
	fmt.Println("refused:", refused)
}

// What a call says is looked at once. A command that changes it between our look and the kernel's,
// or keeps it where we cannot look, gets nothing by that: not even for a moment.
func TestDeceiversChangeNothingGuarded(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for way := range deceits() {
		for _, memory := range []string{"", "secret:"} {
			for _, there := range []bool{false, true} {
				name := fmt.Sprintf("%s%s/there=%v", memory, way, there)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					r := newRoom(t, Options{}).workspace()
					if needLandlock(t, r); !r.box.report().Notify {
						t.Skip("this kernel tells nobody of calls")
					}
					guarded := filepath.Join(r.ws, "guarded")
					r.conf.Guarded = func(path string) string {
						if path == guarded {
							return "it is guarded"
						}
						return ""
					}
					r.file("free", "")
					if there {
						r.file("guarded", "as it was")
					}
					r.env = append(r.env, deceiver(memory+way)...)
					out, _, w := r.start(exe, []string{exe})
					if strings.Contains(out, "no secret memory") {
						t.Skip("this kernel has no secret memory")
					}
					info, err := os.Lstat(guarded) // it may be anything, also a pipe
					if there && (err != nil || info.Size() != int64(len("as it was"))) || !there && err == nil {
						t.Errorf("it is %v (%v); attempts: %s\n%s", info, err, attempts(w), out)
					}
					if noticed(way, there) && len(w.Attempts) == 0 && !w.Blind {
						t.Errorf("nothing was noted\n%s", out)
					}
					if memory != "" && !w.Blind && w.Attempts[0].Op != troupe.OpUnseen {
						t.Errorf("attempts: %s", attempts(w))
					}
				})
			}
		}
	}
}

// A cache that is not there yet can lie in another one. No command has its name be a link meanwhile, whatever its
// calls say when the kernel looks: the next command would follow that.
func TestDeceiversLeadNoCacheAstray(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{"symlink", "a link"} {
		for _, there := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/there=%v", way, there), func(t *testing.T) {
				t.Parallel()
				r := newRoom(t, Options{NoNamespaces: there})
				if needLandlock(t, r); !r.box.report().Notify {
					t.Skip("this kernel tells nobody of calls")
				}
				cache := filepath.Join(r.ws, "guarded")
				r.conf.Scratch, r.conf.Fixed = []string{r.ws, cache}, []string{cache}
				if there {
					if err := os.Mkdir(cache, 0o700); err != nil {
						t.Fatal(err)
					}
				}
				r.env = append(r.env, deceiver(way)...)
				out, _, w := r.start(exe, []string{exe})
				if info, err := os.Lstat(cache); err == nil && !info.IsDir() || there && err != nil {
					t.Errorf("it is %v (%v); attempts: %s\n%s", info, err, attempts(w), out)
				}
				if len(w.Attempts) > 0 {
					t.Errorf("attempted %s", attempts(w))
				}
				if !there && !strings.Contains(out, "refused: true") {
					t.Errorf("no call named the cache\n%s", out)
				}
			})
		}
	}
}
