//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// mute is a file of which the kernel reports an error and nothing else, as it does of a listener
// when a signal comes at the wrong moment: a full pipe that nobody reads.
func mute(t *testing.T) *os.File {
	t.Helper()
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	for page := make([]byte, 4096); ; {
		if _, err := unix.Write(fds[1], page); errors.Is(err, unix.EAGAIN) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Close(fds[0]); err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fds[1]), "mute")
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// A listener goes on listening when all it hears is an error, until nobody is left.
func TestErrorOfTheFileEndsNoListening(t *testing.T) {
	t.Parallel()
	looks := 0
	ended := attend(mute(t), func(int) bool { looks++; return looks == 10 })
	if !ended || looks != 10 {
		t.Errorf("it looked %d times, want 10; it ended by itself: %v", looks, ended)
	}
}

// And it ends at the deadline all the same.
func TestErrorOfTheFileEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	f, looks := mute(t), 0
	ended := attend(f, func(int) bool {
		if looks++; looks == 5 {
			if err := f.SetReadDeadline(time.Unix(1, 0)); err != nil {
				t.Error(err)
			}
		}
		return looks > 100
	})
	if !ended || looks > 6 {
		t.Errorf("it looked %d times; it ended by itself: %v", looks, ended)
	}
}

// A file that is opened in a command's place is inherited by its programs just if the command said so.
func TestOpenedIsInheritedAsAsked(t *testing.T) {
	t.Parallel()
	r, _ := attackedRoom(t)
	if out, _, _ := r.brief(python(`
for at,flags in ((b'main.c',os.O_RDWR),(b'new',os.O_WRONLY|os.O_CREAT)):
    for flag in (0,os.O_CLOEXEC): print(os.get_inheritable(libc.open(at,flags|flag,0o600)))
`)); out != "True\nFalse\nTrue\nFalse\nDONE\n" {
		t.Errorf("files are inherited: %s", out)
	}
}
