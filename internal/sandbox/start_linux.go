//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// Command is a confined command that was started.
type Command struct {
	process *os.Process
	watch   *watch
	ledger  *ledger
}

// Process is the command's process, to be signalled and waited for.
func (c *Command) Process() *os.Process { return c.process }

// Done is called once, after the command and all that it started have ended. It lets go of
// what watched them, puts back what must not have changed, and tells what was seen. Were
// something still running, whatever it asks for from now on fails.
func (c *Command) Done() troupe.Watched {
	w := troupe.Watched{Blind: true}
	if c.watch != nil {
		w = c.watch.end()
	}
	w.Restored = c.ledger.settle()
	return w
}

// Start starts a program as os.StartProcess does, confined. Of attr, Env nil means an empty
// environment, and of attr.Sys Setsid, Setpgid, Pgid and Pdeathsig are understood: where the
// last is set, call it from a thread that lives longer than the command. Where the sandbox
// cannot be had nothing is started, and the error is an *UnavailableError.
func (s *Sandbox) Start(c troupe.Confinement, bin string, argv []string, attr *os.ProcAttr) (*Command, error) {
	if c.Level == troupe.LevelNone {
		p, err := os.StartProcess(bin, argv, attr)
		if err != nil {
			return nil, err
		}
		return &Command{process: p, ledger: &ledger{}}, nil
	}
	r := s.report()
	if len(r.Levels()) == 0 {
		return nil, &UnavailableError{Level: c.Level.Meet(troupe.LevelWorkspace),
			Why: "the kernel has no Landlock or no seccomp" + note(r.LandlockNote)}
	}
	if c.Readable != nil && r.Namespaces {
		r.OwnView, r.OwnRoot = s.ownView(), s.ownRoot()
		c.Named = append(slices.Clip(c.Named), bin, attr.Dir)
	}
	for tries := 1; ; tries++ {
		cmd, err := s.spawn(c, r, bin, argv, attr)
		if err == nil || tries == maxBirths || !isGone(err) {
			return cmd, err
		}
	}
}

// maxBirths is how often a command is started of which something hidden was gone by the time it was to be covered.
const maxBirths = 20

// isGone: what was to be covered is another program's, which has removed it; the next plan does not have it.
func isGone(err error) bool {
	e, ok := errors.AsType[*birthError](err)
	return ok && e.err == unix.ENOENT && strings.HasPrefix(e.step, coverStep)
}

// spawn plans a command and starts it once.
func (s *Sandbox) spawn(c troupe.Confinement, r Support, bin string, argv []string,
	attr *os.ProcAttr) (*Command, error) {
	p := newPlan(c, r)
	s.works.take(p)
	led, err := newLedger(p.ledger, func(path string) string { return outermost(path, p.native()) })
	if err != nil {
		return nil, err
	}
	if err := led.keep(s.options.Ledgers); err != nil {
		return nil, err
	}
	started := false
	defer func() {
		if !started {
			led.kept.drop()
		}
	}()
	rules, err := s.rulesets.take(p.terms(), p.mounted() || p.readable != nil) // the child adds what it mounts
	if err != nil {
		return nil, err
	}
	defer s.rulesets.back(rules) // by then the child has entered, or has ended
	b := newBirth()
	flags, err := s.compose(b, p, rules, bin, argv, attr)
	if err != nil {
		return nil, err
	}
	process, err := b.run(flags)
	if b.listener >= 0 && err != nil {
		_ = unix.Close(b.listener) // nobody is left who could ask
	}
	if err != nil {
		return nil, &os.PathError{Op: "start in the sandbox", Path: bin, Err: err}
	}
	started = true
	cmd := &Command{process: process, ledger: led}
	if b.listener >= 0 {
		cmd.watch = s.listen(b.listener, p)
	}
	return cmd, nil
}

// compose writes down the birth of a confined command.
func (s *Sandbox) compose(b *birth, p *plan, rules *ruleset, bin string, argv []string,
	attr *os.ProcAttr) (flags uintptr, err error) {
	sys := attr.Sys
	if sys == nil {
		sys = &syscall.SysProcAttr{}
	}
	if sys.Credential != nil || sys.Chroot != "" || sys.Cloneflags != 0 || sys.Unshareflags != 0 || sys.Ptrace ||
		sys.Setctty || sys.Foreground {
		return 0, errors.New("start in the sandbox: it cannot do that to a process")
	}
	if sys.Setsid {
		b.call("begin a session", unix.SYS_SETSID)
	}
	if sys.Setpgid {
		b.call("begin a group", unix.SYS_SETPGID, 0, uintptr(sys.Pgid))
	}
	env := attr.Env
	if p.mounted() {
		flags = b.namespaces()
		if p.mount(b, rules, s.coverage) {
			env = bySizeAndTime(env)
		}
		if p.view != nil {
			b.enter(p.view, s.umask())
		}
	}
	if p.readable != nil && !p.report.OwnView {
		b.grant(rules, processes+"/self", rightsRead)
	}
	if attr.Dir != "" {
		b.call("go to "+attr.Dir, unix.SYS_CHDIR, b.text(attr.Dir)) // after the mounts: it must be in them
	}
	if p.project != "" && (p.report.Notify || p.reachesNobody()) {
		if f := s.networks.of(p.project); f != nil {
			b.enterNetwork(f)
			p.apart = !p.reachesNobody()
		}
	}
	s.limits(b, p)
	b.giveUp(keptBy(flags))
	if sys.Pdeathsig != 0 {
		b.call("die with the parent", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(sys.Pdeathsig))
		b.add("find the parent alive", step{nr: unix.SYS_GETPPID, use: -1, check: true, want: uintptr(s.own)})
	}
	b.call("give up gaining privileges", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)
	b.call("enter the Landlock domain", unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules.fd))
	var listener uintptr
	if p.report.Notify {
		listener = s.listener
	}
	b.filter(s.filter(p.policy), listener)
	b.call("part with our files", unix.SYS_UNSHARE, unix.CLONE_FILES)
	fds := make([]int, len(attr.Files))
	for i, f := range attr.Files {
		fds[i] = -1
		if f != nil {
			fds[i] = int(f.Fd())
			b.keep = append(b.keep, f)
		}
	}
	b.files(fds)
	return flags, b.become(bin, argv, env)
}

// become makes the child the command.
func (b *birth) become(bin string, argv, env []string) error {
	args, err := syscall.SlicePtrFromStrings(argv)
	if err != nil {
		return fmt.Errorf("start in the sandbox: an argument has a null byte: %w", err)
	}
	vars, err := syscall.SlicePtrFromStrings(env)
	if err != nil {
		return fmt.Errorf("start in the sandbox: the environment has a null byte: %w", err)
	}
	b.keep = append(b.keep, args, vars)
	b.call("run "+bin, unix.SYS_EXECVE, b.text(bin), uintptr(unsafe.Pointer(&args[0])),
		uintptr(unsafe.Pointer(&vars[0])), firstProgram)
	return nil
}

// firstProgram is an argument that the system call does not have. The filter knows by it that we make the call.
const firstProgram = 0x74726f75

// limits bounds the child. A new user namespace counts the processes within it; elsewhere the
// kernel counts all of the user's, wherever they are, so the bound is put that much above what
// the machine has now. Root is not bound by that one.
func (s *Sandbox) limits(b *birth, p *plan) {
	if l := s.nofile(); l != nil {
		b.limit(unix.RLIMIT_NOFILE, l)
	}
	b.limit(unix.RLIMIT_CORE, &unix.Rlimit{})
	if n := uint64(p.bounds.Memory); n > 0 {
		b.limit(unix.RLIMIT_AS, &unix.Rlimit{Cur: n, Max: n})
	}
	if n := uint64(p.bounds.FileSize); n > 0 {
		b.limit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: n, Max: n})
	}
	if n := uint64(p.bounds.Processes); n > 0 {
		if !p.mounted() || privileged() {
			n += tasks()
		}
		b.limit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: n})
	}
}

// tasks is how many processes and threads the machine has.
func tasks() uint64 {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 1 << 20
	}
	_, rest, _ := strings.Cut(string(data), "/") // 0.41 0.38 0.40 running/all last
	number, _, _ := strings.Cut(rest, " ")
	all, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return 1 << 20
	}
	return all
}

// originalNofile is the limit on open files that commands are to have. Go raises our own at
// start and gives those it starts the one it found; what that was, only they can tell.
func originalNofile() *unix.Rlimit {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err != nil || own.Cur != own.Max {
		return nil // nothing was raised
	}
	bin, err := exec.LookPath("true")
	if err != nil {
		return nil
	}
	p, err := os.StartProcess(bin, []string{"true"}, &os.ProcAttr{Env: []string{}})
	if err != nil {
		return nil
	}
	var l unix.Rlimit
	err = unix.Prlimit(p.Pid, unix.RLIMIT_NOFILE, nil, &l) // also of one that has ended
	_, _ = p.Wait()                                        // how it ended does not matter
	if err != nil {
		return nil
	}
	return &l
}
