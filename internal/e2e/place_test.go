package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/wire"
)

// place is one Troupe home with a project folder, and the environment of its processes.
// Nothing of the surroundings gets in but PATH and what Go needs.
type place struct {
	t       testing.TB
	dir     string // the project
	root    string // holds everything; every process started here has it in its environment
	environ []string
	lacks   string // the parts of the sandbox that its machine is without (see TestWithout); "" is none
}

func newPlace(t testing.TB, environ ...string) *place {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, root: root, dir: filepath.Join(root, "project")}
	for _, d := range []string{p.dir, p.home(), filepath.Join(root, "user")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.environ = append([]string{
		"PATH=" + filepath.Dir(binary) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + filepath.Join(root, "user"), "TROUPE_HOME=" + p.home(), "TMPDIR=" + root,
	}, environ...)
	t.Cleanup(func() { noProcesses(t.Errorf, root) })
	return p
}

func (p *place) home() string { return filepath.Join(p.root, "home") }

// write puts a file below the project, or below the root if the name begins with "../".
func (p *place) write(name, content string) {
	p.t.Helper()
	name = filepath.Join(p.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700),
		os.WriteFile(name, []byte(content), 0o600)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) read(name string) string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

func (p *place) command(args ...string) *exec.Cmd {
	name := binary
	if p.lacks != "" {
		name, args = filepath.Join(filepath.Dir(binary), withoutName), append([]string{p.lacks, binary}, args...)
	}
	cmd := exec.CommandContext(p.t.Context(), name, args...)
	cmd.Dir, cmd.Env = p.dir, slices.Clone(p.environ)
	return cmd
}

// ran is how a process ended.
type ran struct {
	code        int
	out, errOut string
}

// troupe runs the program to its end. Standard input is empty.
func (p *place) troupe(args ...string) ran {
	p.t.Helper()
	var out, errOut bytes.Buffer
	cmd := p.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Start()
	if err != nil {
		p.t.Fatal(err)
	}
	limit := time.AfterFunc(patience, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) }) // it then says where it hangs
	defer limit.Stop()
	code, err := exitCode(cmd.Wait())
	if err != nil {
		p.t.Fatal(err)
	}
	if dump := regexp.MustCompile(`is in (\S+goroutines-\S+\.txt)`).FindStringSubmatch(errOut.String()); dump != nil {
		stacks, err := os.ReadFile(dump[1])
		p.t.Logf("it was ended by force (%v):\n%s", err, stacks)
	}
	return ran{code, out.String(), errOut.String()}
}

// run runs the program, demands an exit code, and reads the object it prints.
func (p *place) run(code int, args ...string) wire.Report {
	p.t.Helper()
	r := p.troupe(append(args, "--output-format", "json")...)
	if r.code != code {
		p.t.Fatalf("troupe %s: exit %d, want %d\n%s%s", strings.Join(args, " "), r.code, code, r.out, r.errOut)
	}
	var got wire.Report
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		p.t.Fatalf("troupe %s: %v\n%s%s", strings.Join(args, " "), err, r.out, r.errOut)
	}
	return got
}

// exitCode tells a code from a failure to run at all. A signal counts as -1.
func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit):
		return exit.ExitCode(), nil
	}
	return 0, err
}

// audit checks a whole tree from outside; see the function.
func (p *place) audit(ref string) []wire.Event {
	p.t.Helper()
	log, show := p.troupe("log", ref, "--tree", "--json"), p.troupe("show", ref, "--json")
	if log.code != 0 || show.code != 0 {
		p.t.Fatalf("read tree %s: %s%s", ref, log.errOut, show.errOut)
	}
	events, err := audit(log.out, show.out)
	if err != nil {
		p.t.Errorf("tree %s: %v\n%s", ref, err, p.troupe("log", ref, "--tree").out)
	}
	return events
}

func (p *place) mkfifo(name string) {
	p.t.Helper()
	if err := syscall.Mkfifo(filepath.Join(p.dir, name), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// fifo makes a named pipe and returns a function that waits until somebody writes to it.
func (p *place) fifo(name string) (said func()) {
	p.t.Helper()
	p.mkfifo(name)
	// Open for both, so that neither side waits for the other to open it.
	f, err := os.OpenFile(filepath.Join(p.dir, name), os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = f.Close() })
	return func() {
		p.t.Helper()
		if err := hear(f, p.root); err != nil {
			p.t.Fatal(err)
		}
	}
}

// hear waits until somebody writes to a named pipe, which is open for both and does not block. When
// all have ended that were started in the folder root, what they wrote is there or never comes.
func hear(f *os.File, root string) error {
	for begun := time.Now(); ; {
		gone := runtime.GOOS == "linux" && len(processesOf(root)) == 0
		err := f.SetReadDeadline(time.Now().Add(time.Second))
		if err == nil {
			_, err = f.Read(make([]byte, 64))
		}
		if err == nil {
			return nil
		}
		if gone || time.Since(begun) > patience || !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("nobody wrote to %s (all have ended: %v): %w", f.Name(), gone, err)
		}
	}
}
