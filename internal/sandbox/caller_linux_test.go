package sandbox

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUmaskOfTheThread: the umask is that of the thread that asks, which need not be that of the first thread: a socket
// is bound on one with a umask of its own.
func TestUmaskOfTheThread(t *testing.T) {
	t.Parallel()
	before := umask()
	got := make(chan uint32)
	go func() {
		runtime.LockOSThread() // and never lets go: the thread ends with this function
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			t.Error(err)
		}
		unix.Umask(0o007)
		got <- umask()
	}()
	if own := <-got; own != 0o007 {
		t.Errorf("it is %o", own)
	}
	if after := umask(); after != before {
		t.Errorf("it is %o for others, and was %o", after, before)
	}
}
