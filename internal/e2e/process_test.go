package e2e_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// patience bounds every wait for something that must happen. It is far more than an idle
// machine needs, for a busy one with a slow disk has been seen to take thirty times as long;
// a test that reaches it has failed.
const patience = 3 * time.Minute

// process is a started troupe whose output is read as it comes.
type process struct {
	cmd    *exec.Cmd
	lines  chan string   // closed at the end of its output
	begun  chan struct{} // closed with its first line, or its end
	mu     sync.Mutex
	out    strings.Builder
	errOut bytes.Buffer
}

func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, lines: make(chan string, 10_000), begun: make(chan struct{})}
	cmd.Stderr = &p.errOut
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.lines)
		begin := sync.OnceFunc(func() { close(p.begun) })
		defer begin()
		r := bufio.NewReader(stdout)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				begin()
				p.mu.Lock()
				p.out.WriteString(line)
				p.mu.Unlock()
				p.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return p, nil
}

// await reads output until a line matches.
func (p *process) await(re *regexp.Regexp) error {
	_, err := p.find(re)
	return err
}

// find is await, and returns what of the line matches, and its groups.
func (p *process) find(re *regexp.Regexp) ([]string, error) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return nil, fmt.Errorf("its output ended without a line that matches %s:\n%s%s", re, p.output(),
					p.errOut.String())
			}
			if m := re.FindStringSubmatch(line); m != nil {
				return m, nil
			}
		case <-limit.C:
			return nil, fmt.Errorf("no line that matches %s after %v:\n%s", re, patience, p.output())
		}
	}
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// wait returns how it ended; its output is whole by then.
func (p *process) wait() (ran, error) {
	limit := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() }) // the code then tells
	defer limit.Stop()
	for range p.lines { //nolint:revive // drained, so that the reader can end
	}
	code, err := exitCode(p.cmd.Wait())
	return ran{code, p.output(), p.errOut.String()}, err
}

// noProcesses complains about processes that still have the folder in their environment:
// whatever a run started there and left behind. The end of a killed process is the
// kernel's work and takes a moment.
func noProcesses(complain func(string, ...any), root string) {
	if runtime.GOOS != "linux" {
		return
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		left := processesOf(root)
		if len(left) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-limit.C:
			complain("left behind:\n%s", strings.Join(left, "\n"))
			return
		}
	}
}

func processesOf(root string) []string {
	var out []string
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well-formed
	for _, d := range dirs {
		environ, err := readSome(filepath.Join(d, "environ"))
		if err != nil || !bytes.Contains(environ, []byte(root)) {
			continue
		}
		line, _ := readSome(filepath.Join(d, "cmdline"))
		pid, _ := strconv.Atoi(filepath.Base(d))
		if pid != os.Getpid() {
			out = append(out, fmt.Sprintf("%d %s", pid, bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return out
}

func readSome(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 1<<20))
}
