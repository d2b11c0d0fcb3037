//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/troupe-dev/troupe"
)

// room is a workspace with a temporary folder beside it, and a sandbox.
type room struct {
	t    testing.TB
	box  *Sandbox
	ws   string
	temp string
	home string
	conf troupe.Confinement
	env  []string
	// stdin is what commands read; nil: nothing.
	stdin *os.File
}

func newRoom(t testing.TB, o Options) *room {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &room{t: t, box: New(o), ws: filepath.Join(base, "ws"), temp: filepath.Join(base, "temp"),
		home: filepath.Join(base, "home")}
	for _, dir := range []string{r.ws, r.temp, r.home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r.conf = troupe.Confinement{Level: troupe.LevelReadOnly, Temp: r.temp}
	r.env = append(os.Environ(), "HOME="+r.home, "TMPDIR="+r.temp, "LC_ALL=C.UTF-8")
	r.env = append(r.env, Environment(Quiet())...)
	return r
}

func (r *room) workspace() *room {
	r.conf.Level, r.conf.Writable = troupe.LevelWorkspace, []string{r.ws}
	return r
}

func (r *room) file(name, content string) string {
	r.t.Helper()
	path := filepath.Join(r.ws, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// run runs a shell command confined, in the workspace.
func (r *room) run(command string) (out string, code int, w troupe.Watched) {
	r.t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		r.t.Skip("no bash")
	}
	return r.start(bash, []string{"bash", "-c", command})
}

// brief is run for commands that may wait for somebody.
func (r *room) brief(command string) (out string, code int, w troupe.Watched) {
	r.t.Helper()
	timeout, err := exec.LookPath("timeout")
	if err != nil {
		r.t.Skip("no timeout")
	}
	return r.start(timeout, []string{"timeout", "-k", "1", "8", "bash", "-c", command})
}

func (r *room) start(bin string, argv []string) (out string, code int, w troupe.Watched) {
	r.t.Helper()
	runtime.LockOSThread() // the command ends with the thread
	defer runtime.UnlockOSThread()
	null, err := os.Open(os.DevNull)
	if err != nil {
		r.t.Fatal(err)
	}
	defer null.Close()
	pr, pw, err := os.Pipe()
	if err != nil {
		r.t.Fatal(err)
	}
	defer pr.Close()
	stdin := null
	if r.stdin != nil {
		stdin = r.stdin
	}
	cmd, err := r.box.Start(r.conf, bin, argv, &os.ProcAttr{
		Dir: r.ws, Env: r.env, Files: []*os.File{stdin, pw, pw},
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	_ = pw.Close()
	if err != nil {
		r.t.Fatal(err)
	}
	var buf bytes.Buffer
	_, _ = io.Copy(&buf, pr)
	state, err := cmd.Process().Wait()
	if err != nil {
		r.t.Fatal(err)
	}
	return buf.String(), state.ExitCode(), cmd.Done()
}

func attempts(w troupe.Watched) string {
	var list []string
	for _, a := range w.Attempts {
		list = append(list, string(a.Op)+" "+a.Path)
	}
	return strings.Join(list, "; ")
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
