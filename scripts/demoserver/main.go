// Command demoserver shows a server go on when a machine dies: `make demo-server`. It starts PostgreSQL in a temporary
// folder, a server that runs nothing itself, and two workers; has a team begin; kills the worker that has it; and shows
// the other one bring it to its end. The model's words come from a file. All it starts ends with it, and all it makes
// is removed.
package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/troupe-dev/troupe/internal/store/postgres/pgtest"
)

//go:embed play.yaml
var play []byte

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "demoserver: usage: demoserver TROUPE")
		os.Exit(2)
	}
	if err := show(ctx, os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "demo-server:", err)
		os.Exit(1)
	}
}

// demo is one showing.
type demo struct {
	ctx              context.Context //nolint:containedctx // of the whole program
	troupe, dir, app string
	database         string
	out              io.Writer
	began            time.Time
}

func show(ctx context.Context, troupe string, out io.Writer) (err error) {
	d := &demo{ctx: ctx, out: out, began: time.Now()}
	if d.troupe, err = filepath.Abs(troupe); err != nil {
		return err
	}
	if d.dir, err = os.MkdirTemp("", "troupe-demo-server-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(d.dir)) }()
	if d.dir, err = filepath.EvalSymlinks(d.dir); err != nil {
		return err
	}
	d.app = filepath.Join(d.dir, "app")
	script := filepath.Join(d.app, "play.yaml")
	if err := errors.Join(os.Mkdir(d.app, 0o755), os.Mkdir(filepath.Join(d.dir, "tmp"), 0o700),
		os.WriteFile(script, play, 0o600)); err != nil {
		return err
	}
	d.say("A database: PostgreSQL, in a temporary folder.")
	pg, err := pgtest.Start(ctx)
	if err != nil {
		return fmt.Errorf("%w\nThe demo needs it: apt install postgresql. Nothing was shown", err)
	}
	defer func() { err = errors.Join(err, pg.Stop()) }()
	d.database = pg.Address("demo")
	return d.play()
}

// play starts the processes, and ends them in the end.
func (d *demo) play() (err error) {
	server, err := d.start("server", "serve", "--workers-only", "--listen", "127.0.0.1:0", "--folder", d.app)
	if err != nil {
		return err
	}
	defer server.end()
	at, err := server.await(`serves at (http://\S+)`)
	if err != nil {
		return err
	}
	code, err := server.await(`^  ([a-z0-9]{8}-[a-z0-9]{8}-[a-z0-9]{8})$`)
	if err != nil {
		return err
	}
	d.say("A server at %s, which has users and tokens, and runs no agent itself.", at)
	login := d.command("you", "login", at)
	login.Stdin = strings.NewReader(code)
	if text, err := login.CombinedOutput(); err != nil {
		return fmt.Errorf("log in: %w: %s", err, text)
	}
	workers := map[int]*process{}
	names := map[int]string{}
	for _, name := range []string{"worker 1", "worker 2"} {
		w, err := d.start(name, "worker", "--folder", d.app)
		if err != nil {
			return err
		}
		defer w.end()
		if _, err := w.await(`(This worker is ready)`); err != nil {
			return err
		}
		workers[w.cmd.Process.Pid], names[w.cmd.Process.Pid] = w, name
		d.say("%s is ready: process %d. It shares nothing with the others but the database and a folder.",
			title(name), w.cmd.Process.Pid)
	}
	d.say("You ask for a team, as you would on one machine:\n\n    troupe -p \"look after the house\"\n")
	run, err := d.start("you", "-p", "--model", "script:play.yaml", "--name", "house", "--allowed-tools", "Bash",
		"look after the house")
	if err != nil {
		return err
	}
	defer run.end()
	// The second step of both agents is under way: the first one's marks are on disk.
	if err := d.appears("garden-1", "roof-1"); err != nil {
		return err
	}
	victim, err := d.holder()
	if err != nil {
		return err
	}
	d.say("Two agents are at work. %s has the whole tree, and dies now: kill -9 %d.", title(names[victim]), victim)
	killed := time.Now()
	if err := workers[victim].cmd.Process.Kill(); err != nil {
		return err
	}
	next := 0
	for next == 0 || next == victim {
		if next, err = d.holder(); err != nil {
			return err
		}
	}
	d.say("%.1f s later %s (process %d) has it. The log told it where each agent was.", time.Since(killed).Seconds(),
		names[next], next)
	if err := run.wait(); err != nil {
		return err
	}
	d.say("All is done, in %s. The command that you had begun waited through it all, and says:\n", names[next])
	fmt.Fprintln(d.out, indent(strings.Join(run.said, "\n")))
	return d.conclude()
}

// conclude shows what is left of the kill.
func (d *demo) conclude() error {
	table, err := d.command("you", "show", "house").Output()
	if err != nil {
		return fmt.Errorf("show the session: %w", err)
	}
	fmt.Fprintln(d.out, indent(regexp.MustCompile(`(?ms)^AGENT.*^all.*?$`).FindString(string(table))))
	log, err := d.command("you", "log", "house", "--tree").CombinedOutput()
	if err != nil {
		return fmt.Errorf("read the log: %w: %s", err, log)
	}
	n := strings.Count(string(log), "interrupted: the process running this call was ended")
	if n == 0 {
		return errors.New("no call was interrupted: the worker was killed too late")
	}
	marks, err := filepath.Glob(filepath.Join(d.app, "*-[123]"))
	if err != nil || len(marks) != 6 {
		return fmt.Errorf("six steps were to be done, and there are %v (%w)", marks, err)
	}
	d.say("Commands that were under way when the worker died: %d. Their agents were told that, looked, and went on.", n)
	d.say("Nothing of this is left on your machine. It took %.0f s.", time.Since(d.began).Seconds())
	return nil
}

func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.out, "%5.1f s  %s\n", time.Since(d.began).Seconds(), fmt.Sprintf(format, args...))
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n    ") + "\n"
}

// holder is the process that has the tree.
func (d *demo) holder() (pid int, err error) {
	text, err := d.command("you", "admin", "--json").Output()
	if err != nil {
		return 0, fmt.Errorf("ask who has the session: %w", err)
	}
	var all struct {
		Workers []struct {
			ID  string
			PID int
		}
		Sessions []struct{ Worker string }
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return 0, err
	}
	for _, s := range all.Sessions {
		for _, w := range all.Workers {
			if w.ID == s.Worker {
				return w.PID, nil
			}
		}
	}
	return 0, d.breath()
}

// breath is the time between two looks.
func (d *demo) breath() error {
	select {
	case <-d.ctx.Done():
		return d.ctx.Err()
	case <-time.After(100 * time.Millisecond):
	}
	if time.Since(d.began) > 2*time.Minute {
		return errors.New("nothing happens any more")
	}
	return nil
}

// appears waits for files of the folder.
func (d *demo) appears(names ...string) error {
	for _, name := range names {
		for {
			if _, err := os.Stat(filepath.Join(d.app, name)); err == nil {
				break
			}
			if err := d.breath(); err != nil {
				return err
			}
		}
	}
	return nil
}

// command is troupe with a home of its own.
func (d *demo) command(home string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(d.ctx, d.troupe, args...)
	cmd.Dir, cmd.WaitDelay = d.app, 10*time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	own := filepath.Join(d.dir, strings.ReplaceAll(home, " ", ""))
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(name, "TROUPE_") || name == "HOME" || name == "TMPDIR" ||
			strings.HasSuffix(name, "_API_KEY")
	})
	cmd.Env = append(cmd.Env, "TROUPE_HOME="+own, "HOME="+own, "TMPDIR="+filepath.Join(d.dir, "tmp"))
	if home != "you" {
		cmd.Env = append(cmd.Env, "TROUPE_DATABASE="+d.database)
	}
	return cmd
}

// process is one that runs beside the demo, and what it has printed.
type process struct {
	cmd   *exec.Cmd
	name  string
	once  sync.Once
	lines chan string
	said  []string
	err   error
}

// start begins a process. It ends with end.
func (d *demo) start(name string, args ...string) (*process, error) {
	p := &process{cmd: d.command(name, args...), name: name, lines: make(chan string, 10_000)}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stderr = p.cmd.Stdout
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	return p, nil
}

// await waits for a line, and is what its group holds.
func (p *process) await(expression string) (string, error) {
	re := regexp.MustCompile(expression)
	for line := range p.lines {
		p.said = append(p.said, line)
		if m := re.FindStringSubmatch(line); m != nil {
			return m[1], nil
		}
	}
	return "", fmt.Errorf("%s has ended: %s", p.name, strings.Join(p.said, "\n"))
}

// wait waits for its end.
func (p *process) wait() error {
	for line := range p.lines {
		p.said = append(p.said, line)
	}
	p.once.Do(func() { p.err = p.cmd.Wait() })
	if p.err != nil {
		return fmt.Errorf("%s: %w: %s", p.name, p.err, strings.Join(p.said[max(0, len(p.said)-5):], "\n"))
	}
	return nil
}

// end ends it as Ctrl-C does, if it is still there, and waits.
func (p *process) end() {
	late := time.AfterFunc(10*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	_ = p.wait()                              // that it was ended is no failure
}
