package safefile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// ways are all that this and other systems open folders by.
func ways() map[string]func(string) (dir, error) {
	return map[string]func(string) (dir, error){"one step": openDir, "part by part": walkFD, "os.Root": openRoot}
}

// While something exchanges a folder and a link to another in a loop, every way opens the
// folder or nothing.
func TestExchangedFolder(t *testing.T) {
	t.Parallel()
	top := tree(t, map[string]string{"in/d/f": "inside", "out/f": "outside", "in/l": "-> ../out"})
	in := filepath.Join(top, "in")
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, in+"/d", unix.AT_FDCWD, in+"/l", unix.RENAME_EXCHANGE); err != nil {
				done <- err
				return
			}
		}
	}()
	defer func() {
		close(stop)
		if err := <-done; err != nil {
			t.Skip("this file system cannot exchange two names:", err)
		}
	}()
	for name, open := range ways() {
		opened, refused := 0, 0
		for range 5000 {
			d, err := open(in + "/d")
			if err != nil {
				if !errors.Is(err, ErrMoved) && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) {
					t.Fatalf("%s: %v", name, err)
				}
				refused++
				continue
			}
			content, _, err := (&Folder{dir: d, path: in + "/d"}).ReadAll("f")
			if err != nil || string(content) != "inside" {
				t.Fatalf("%s: read %q, %v", name, content, err)
			}
			opened++
			_ = d.Close()
		}
		t.Logf("%s: %d opened, %d refused", name, opened, refused)
	}
}

// Opening what waits or never ends does neither.
func TestSpecial(t *testing.T) {
	t.Parallel()
	top := tree(t, map[string]string{"d": "/"})
	if err := unix.Mkfifo(filepath.Join(top, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, open := range ways() {
		for path, want := range map[string]error{top + "/pipe": ErrSpecial, "/dev/zero": ErrSpecial,
			"/dev/tty": ErrSpecial} {
			dir, base := Split(path)
			d, err := open(dir)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, path, err)
			}
			f := &Folder{dir: d, path: dir}
			if _, _, err := f.Open(base); !errors.Is(err, want) {
				t.Errorf("%s, %s: %v", name, path, err)
			}
			if err := f.Writable(base); !errors.Is(err, want) {
				t.Errorf("%s, %s for writing: %v", name, path, err)
			}
			_ = f.Close()
		}
	}
	// What looked like a file a moment ago and is a pipe when it is opened does not block.
	d, err := openDir(top)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	f, err := d.open("pipe", os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := readWhole("/proc/kcore"); err == nil {
		t.Error("all of the machine's memory was read")
	}
}

// readWhole reads the file at path as a whole.
func readWhole(path string) ([]byte, os.FileInfo, error) {
	dir, base := Split(path)
	f, err := OpenFolder(dir)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return f.ReadAll(base)
}
