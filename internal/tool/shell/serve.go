package shell

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/troupe-dev/troupe"
)

// Service is a program that stays and is spoken to, such as an MCP server.
type Service struct {
	Command string // a path, or a name that PATH leads to
	Args    []string
	Env     []string // all of its environment
	Dir     string
	Stderr  io.Writer // nil: nobody reads it
	// Confine is what it may touch; nil: nothing confines it.
	Confine *troupe.Confinement
}

// Serving is a Service that was started. It is ended by End, and killed should this process be, as commands are.
type Serving struct {
	shell    *Shell
	confined Confined
	all      kin
	in, out  *os.File
	errors   *os.File
	exited   chan struct{} // closed once it is waited for
	state    *os.ProcessState
	failed   error // to wait for it
	printed  sync.WaitGroup
	end      func()
}

// Serve starts a service. Close waits for its End.
func (s *Shell) Serve(v Service) (*Serving, error) {
	bin, err := lookIn(v.Command, v.Env, v.Dir)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	defer func() {
		for _, f := range files {
			_ = f.Close() // the program has its own, or was not started
		}
	}()
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	inR, inW := pipe()
	outR, outW := pipe()
	errR, errW := pipe()
	files = append(files, inR, outW, errW)
	ours := []*os.File{inW, outR, errR}
	if err == nil {
		var sv *Serving
		if sv, err = s.begin(v, bin, []*os.File{inR, outW, errW}); err == nil {
			sv.in, sv.out, sv.errors = inW, outR, errR
			sv.attend(v.Stderr)
			return sv, nil
		}
	}
	for _, f := range ours {
		_ = f.Close() // nothing was written
	}
	return nil, err
}

// begin starts the program, held until the guard knows of it.
func (s *Shell) begin(v Service, bin string, files []*os.File) (*Serving, error) {
	argv, held, release, err := hold(append([]string{bin}, v.Args...), s.options.LookPath)
	if err != nil {
		return nil, err
	}
	env := v.Env
	if len(env) == 0 {
		env = []string{"PWD=" + v.Dir} // an empty one would mean ours
	}
	started, err := s.starter.start(program{bin: argv[0], argv: argv, confine: s.confine(v.Confine),
		attr: &os.ProcAttr{Dir: v.Dir, Env: env, Files: append(files, held...), Sys: sysProcAttr()}})
	if err != nil {
		release(false)
		return nil, err
	}
	pid := started.Process().Pid
	s.guard.add(pid)
	all := kin{group: pid, mark: s.marks.put(pid)}
	release(true)
	return &Serving{shell: s, confined: started, all: all, exited: make(chan struct{})}, nil
}

// attend waits for the program, and reads what it prints beside what it says.
func (v *Serving) attend(to io.Writer) {
	v.end = sync.OnceFunc(v.finish)
	go func() {
		defer close(v.exited)
		v.state, v.failed = v.confined.Process().Wait()
	}()
	v.printed.Go(func() {
		if to == nil {
			to = io.Discard
		}
		_, _ = io.Copy(to, v.errors) // what is lost of it explains nothing
	})
}

// Read reads what it says.
func (v *Serving) Read(p []byte) (int, error) { return v.out.Read(p) }

// Write tells it something.
func (v *Serving) Write(p []byte) (int, error) { return v.in.Write(p) }

// CloseWrite ends its input, which asks it to end.
func (v *Serving) CloseWrite() error { return v.in.Close() }

// End ends the service and all that it started: politely, by the end of its input, then by signals. It returns when
// nothing of them runs, and may be called more than once.
func (v *Serving) End() { v.end() }

func (v *Serving) finish() {
	_ = v.in.Close() // it may be closed already
	grace := func() bool {
		timer := time.NewTimer(v.shell.options.Grace)
		defer timer.Stop()
		select {
		case <-v.exited:
			return true
		case <-timer.C:
			return false
		}
	}
	if !grace() {
		v.all.signal(syscall.SIGTERM)
		if !grace() {
			v.all.signal(syscall.SIGKILL)
			<-v.exited
		}
	}
	v.shell.endAll(v.all)
	v.letGo()
}

// letGo ends what there is beside a service that has ended.
func (v *Serving) letGo() {
	defer v.shell.starter.done()
	v.shell.guard.remove(v.confined.Process().Pid)
	_ = v.errors.SetReadDeadline(time.Now().Add(v.shell.options.Drain)) // what strayed may hold on to it
	v.printed.Wait()
	_, _ = v.errors.Close(), v.out.Close() // only read from
	_ = v.confined.Done()                  // what it attempted is told by what it says
}

// lookIn finds a program by the PATH that it will have itself.
func lookIn(name string, env []string, dir string) (string, error) {
	if strings.Contains(name, "/") {
		if !strings.HasPrefix(name, "/") {
			name = dir + "/" + name
		}
		if info, err := os.Stat(name); err != nil || info.IsDir() {
			return "", fmt.Errorf("there is no program %s", name)
		}
		return name, nil
	}
	for _, kv := range env {
		path, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, folder := range strings.Split(path, ":") {
			if !strings.HasPrefix(folder, "/") {
				continue // the folder one stands in may be a stranger's
			}
			found, err := exec.LookPath(folder + "/" + name)
			if err == nil || errors.Is(err, exec.ErrDot) {
				return found, nil
			}
		}
	}
	return "", fmt.Errorf("there is no program %q in the folders of PATH", name)
}
