package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Start starts a program with less than its user's rights, and is called as os.StartProcess is. Done is called once,
// after the program has ended.
type Start func(bin string, argv []string, attr *os.ProcAttr) (process *os.Process, done func(), err error)

// run runs git. It ends, with all that it started, when the context does.
func (g *Runner) run(ctx context.Context, out, complaint io.Writer, args []string) (code int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	var ends pipes
	defer ends.close()
	in, err := ends.input(g.In)
	if err != nil {
		return 0, err
	}
	stdout, err := ends.output(out)
	if err != nil {
		return 0, err
	}
	stderr, err := ends.output(complaint)
	if err != nil {
		return 0, err
	}
	start := g.Start
	if start == nil {
		start = g.plain
	}
	process, done, err := start(g.Path, slices.Concat([]string{g.Path, "--no-pager"}, g.Settings, args),
		&os.ProcAttr{Dir: g.Dir, Env: lasting(g.Env), Files: append([]*os.File{in, stdout, stderr}, kept(ctx)...),
			Sys: asGroup()})
	if err != nil {
		return 0, g.unstarted(args[0], err)
	}
	defer done()
	ends.started()
	stop := context.AfterFunc(ctx, func() { endGroup(process) })
	state, err := process.Wait()
	stop()
	whole := ends.wait()
	if err == nil && !whole && state.Success() {
		err = errors.New("what it wrote could not be read to its end: a process that it has left has its output open")
	}
	if err != nil {
		return 0, fmt.Errorf("git %s: %w", args[0], err)
	}
	return state.ExitCode(), nil
}

// plain is a Start that leaves git its user's rights.
func (g *Runner) plain(bin string, argv []string, attr *os.ProcAttr) (*os.Process, func(), error) {
	process, err := os.StartProcess(bin, argv, attr)
	if err == nil && g.Memory > 0 {
		keepSmall(process, g.Memory)
	}
	return process, func() {}, err
}

// pipes are what a process reads from and writes to.
type pipes struct {
	its, ours []*os.File
	begin     []func()
	copying   sync.WaitGroup
}

// input is what the process reads.
func (p *pipes) input(from io.Reader) (*os.File, error) {
	if from == nil {
		f, err := os.Open(os.DevNull)
		if err == nil {
			p.its = append(p.its, f)
		}
		return f, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.its, p.ours = append(p.its, r), append(p.ours, w)
	p.begin = append(p.begin, func() {
		_, _ = io.Copy(w, from) // a process that has heard enough says what came of it by its end
		_ = w.Close()
	})
	return r, nil
}

// output is what the process writes to.
func (p *pipes) output(to io.Writer) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.its, p.ours = append(p.its, w), append(p.ours, r)
	p.begin = append(p.begin, func() { _, _ = io.Copy(to, r) })
	return w, nil
}

// started lets go of the process's own ends, and begins to copy.
func (p *pipes) started() {
	for _, f := range p.its {
		_ = f.Close()
	}
	p.its = nil
	for _, copies := range p.begin {
		p.copying.Go(copies)
	}
}

// wait waits until all that the process wrote is read: no longer than outputDelay, if it left a process that has its
// output open. It reports whether all was.
func (p *pipes) wait() (whole bool) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.copying.Wait()
	}()
	tick := time.NewTicker(outputDelay / outputLooks)
	defer tick.Stop()
	for range outputLooks {
		select {
		case <-read:
			return true
		case <-tick.C:
		}
	}
	for _, f := range p.ours {
		_ = f.SetDeadline(time.Now())
	}
	<-read
	return false
}

func (p *pipes) close() {
	for _, f := range slices.Concat(p.its, p.ours) {
		_ = f.Close() // of a pipe all has been read, or nothing is wanted any more
	}
}

// lasting is an environment in which each name stands once, with its last value: a program takes the first.
func lasting(environ []string) []string {
	at := map[string]int{}
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if i, ok := at[name]; ok {
			out[i] = kv
			continue
		}
		at[name] = len(out)
		out = append(out, kv)
	}
	return out
}
