//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// A guarded file gets another content only whole, only one that was judged, and what the command still has open of
// what it wrote is not that file.
func TestReplaces(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	for name, c := range map[string]struct{ command, want string }{
		"harmless":         {"echo fine > .git/config.lock && mv -f .git/config.lock .git/config", "fine\n"},
		"dangerous":        {"echo evil > .git/config.lock && mv -f .git/config.lock .git/config", "was\n"},
		"written directly": {"echo fine > .git/config", "was\n"},
		"from elsewhere":   {"echo fine > $TMPDIR/c && mv -f $TMPDIR/c .git/config", "was\n"},
		"a link to it": {"echo fine > x && ln -sf $PWD/x .git/config.lock && mv -f .git/config.lock .git/config",
			"was\n"},
		"with another name": {"echo fine > .git/c && ln .git/c alias && mv -f .git/c .git/config; echo evil > alias",
			"was\n"},
		"held open": {`python3 -c '
import os
f = open(".git/config.lock", "w")
f.write("fine\n"); f.flush()
os.rename(".git/config.lock", ".git/config")
f.seek(0); f.write("evil\n"); f.flush()'`, "fine\n"},
		"changed while it is looked at": {`python3 -c '
import os, threading
f = open(".git/config.lock", "w")
f.write("fine\n"); f.flush()
def change():
    for i in range(20000): os.pwrite(f.fileno(), b"evil\n" if i % 2 else b"fine\n", 0)
t = threading.Thread(target=change); t.start()
try: os.rename(".git/config.lock", ".git/config")
except OSError: pass
t.join()'`, ""},
		"another file": {"echo fine > .git/h && mv -f .git/h .git/hooks", "was\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, Options{}).workspace()
			needLandlock(t, r)
			if !r.box.report().Notify {
				t.Skip("nothing is watched here")
			}
			config := r.file(".git/config", "was\n")
			r.file(".git/hooks", "was\n")
			r.conf.Guarded = func(path string) string {
				if path == config || path == filepath.Join(r.ws, ".git/hooks") {
					return "it is guarded"
				}
				return ""
			}
			r.conf.Replaces = func(path string, was, is []byte) bool {
				return path == config && bytes.Equal(was, []byte("was\n")) && bytes.Equal(is, []byte("fine\n"))
			}
			out, _, w := r.run(c.command)
			if is := read(t, config); is != c.want && (c.want != "" || is != "fine\n" && is != "was\n") {
				t.Errorf("it holds %q, want %q\n%+v", is, c.want, out)
			}
			if read(t, filepath.Join(r.ws, ".git/hooks")) != "was\n" {
				t.Error("another guarded file was changed")
			}
			names, _ := filepath.Glob(filepath.Join(r.ws, ".git", ".troupe-*"))
			if len(names) > 0 {
				t.Errorf("left behind: %s", names)
			}
			if c.want == "was\n" && len(w.Attempts) == 0 {
				t.Error("no attempt was noted")
			}
		})
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// What cannot be read whole is not taken for a content.
func TestContentOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, data := range map[string][]byte{"small": []byte("was\n"), "large": make([]byte, maxReplaced+1)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil { // it can be opened, and not be read
		t.Fatal(err)
	}
	at, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	q := &asked{pid: os.Getpid()}
	for name, want := range map[string]string{"small": "was\n", "large": "", "folder": "", "missing": ""} {
		got, err := contentOf(q, place{dir: int(at.Fd()), name: name, path: filepath.Join(dir, name)})
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}
