package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model/modeltest"
	"github.com/troupe-dev/troupe/internal/wire"
)

// lab is where runs take place.
type lab struct {
	dir       string
	binary    string
	firstByte time.Duration
	git       bool
	others    float64 // the most that others may use of the machine; 0: all they like
	// background has the children work in the background.
	background bool
}

// result is what one run took.
type result struct {
	wall   time.Duration // of the process, from before it was started until it was waited for
	first  time.Duration // from its start to the first request at the server
	usage  usage
	server time.Duration // processor time of the model server in the same span
	turns  int           // model replies
	// followed is the first byte that children waited for, as their provider reads what they begin with only once. It
	// is part of what is ideal.
	followed time.Duration
	others   float64 // share of the machine that others used meanwhile
}

// site is the surroundings of a run: a home and a folder with a few small files. It stays until the
// end of all runs: ext4 without a journal does not give the inode of a deleted file out again for
// a minute, and looks at each of them whenever it makes a file.
type site struct {
	home, folder string
	files        []string
}

// settings lift the one limit that large runs would reach. A run of 200 agents needs none of them.
const settings = `{"agents": {"max_total": 0}}`

func (l lab) site(ctx context.Context) (site, error) {
	dir, err := os.MkdirTemp(l.dir, "run-")
	if err != nil {
		return site{}, err
	}
	s := site{home: filepath.Join(dir, "home"), folder: filepath.Join(dir, "folder")}
	if err := errors.Join(os.Mkdir(s.home, 0o700), os.Mkdir(s.folder, 0o700)); err != nil {
		return s, err
	}
	if err := os.WriteFile(filepath.Join(s.home, "settings.json"), []byte(settings), 0o600); err != nil {
		return s, err
	}
	for i := range reads {
		name := filepath.Join(s.folder, fmt.Sprintf("part%d.txt", i+1))
		text := strings.Repeat(fmt.Sprintf("line of file %d, which is neither long nor short\n", i+1), 30)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return s, err
		}
		s.files = append(s.files, name)
	}
	if !l.git {
		return s, nil
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."},
		{"-c", "user.name=b", "-c", "user.email=b@example.org", "commit", "-q", "-m", "files"}} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = s.folder
		if out, err := cmd.CombinedOutput(); err != nil {
			return s, fmt.Errorf("git %s (-git=false does without): %w\n%s", args[0], err, out)
		}
	}
	return s, nil
}

// environ is all that the binary is given.
func (s site) environ(url string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "TMPDIR=" + os.TempDir(), "TROUPE_HOME=" + s.home,
		"ANTHROPIC_API_KEY=not-a-key-but-long-enough", "ANTHROPIC_BASE_URL=" + url,
	}
}

// fanout runs a main agent with n children.
func (l lab) fanout(ctx context.Context, n int) (result, error) {
	s, err := l.site(ctx)
	if err != nil {
		return result{}, err
	}
	return l.play(ctx, s, n)
}

// undisturbed repeats a run that others disturbed, and settles for the quietest.
func (l lab) undisturbed(run func() (result, error)) (best result, err error) {
	for try := range 20 {
		r, err := run()
		if err != nil {
			return r, err
		}
		if try == 0 || r.others < best.others {
			best = r
		}
		if l.others == 0 || best.others <= l.others {
			break
		}
	}
	return best, nil
}

// play runs one team at a site.
func (l lab) play(ctx context.Context, s site, n int) (result, error) {
	p := &play{n: n, files: s.files, background: l.background}
	turns := mainReplies + childReplies*n
	if l.background {
		turns++
	}
	r, err := l.run(ctx, s, p.reply, l.firstByte, expected{agents: n + 1, turns: turns}, nil,
		func(start time.Time) time.Duration {
			return time.Unix(0, p.first.Load()).Sub(start)
		})
	r.followed = p.followed(l.firstByte)
	return r, err
}

// expected is what a run must come to, or its figures mean nothing.
type expected struct {
	agents, turns int
	// atLeast is for runs in which ends come together as it happens, each of which costs a turn; turns is 0 then.
	atLeast int
}

// run has the binary do its work against a server that answers with handler. started, if
// not nil, is told the binary's process id.
func (l lab) run(ctx context.Context, s site, handler modeltest.Handler, firstByte time.Duration, want expected,
	started func(pid int), first func(start time.Time) time.Duration,
) (r result, err error) {
	server := modeltest.NewAnthropic(handler, modeltest.Options{FirstByte: firstByte, Keep: -1})
	defer server.Close()
	before, around := ownCPU(), listen()
	m, err := startAndMeasure(ctx, started, s.folder, s.environ(server.URL()),
		l.binary, "-p", "--model", mainModel, "--output-format", "json", "go")
	if err != nil {
		return r, err
	}
	r = result{wall: m.Wall, usage: m.Usage, server: ownCPU() - before, turns: server.Count()}
	r.first = first(m.Start)
	r.others = around.share(r.usage.cpu() + r.server)
	return r, errors.Join(server.Err(), check(m, server.Count(), want))
}

// check holds a run to what was asked of it.
func check(m measured, requests int, want expected) error {
	var report wire.Report
	if err := json.Unmarshal(m.Out, &report); err != nil || m.Exit != 0 {
		return fmt.Errorf("exit code %d, output %.300q, errors %.600q: %w", m.Exit, m.Out, m.Err,
			errors.Join(err, errors.New("the run did not end well")))
	}
	if want.turns == 0 {
		want.turns = max(want.atLeast, requests)
	}
	if len(report.Agents) != want.agents || requests != want.turns {
		return fmt.Errorf("%d agents and %d requests; want %d and %d", len(report.Agents), requests, want.agents,
			want.turns)
	}
	turns := 0
	for _, a := range report.Agents {
		if a.Status != troupe.Completed {
			return fmt.Errorf("%s is %s: %s", a.Path, a.Status, a.Error)
		}
		turns += a.Turns
	}
	if turns != want.turns {
		return fmt.Errorf("the report counts %d turns; want %d", turns, want.turns)
	}
	return nil
}

// start is a run of the main agent alone: what the process costs by itself.
type start struct {
	name string
	runs []result
}

// alone runs the main agent without others.
func (l lab) alone(ctx context.Context, s site) (result, error) {
	p := &play{files: s.files}
	return l.run(ctx, s, p.reply, l.firstByte, expected{agents: 1, turns: 1}, nil, func(start time.Time) time.Duration {
		return time.Unix(0, p.first.Load()).Sub(start)
	})
}

// starts compares a home that does not exist yet with one that has been used.
func (l lab) starts(ctx context.Context, runs int) (out []start, err error) {
	fresh, used := start{name: "fresh"}, start{name: "used"}
	s, err := l.site(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := l.play(ctx, s, 50); err != nil { // so that there is something in it
		return nil, err
	}
	for range runs {
		r, err := l.undisturbed(func() (result, error) { return l.alone(ctx, s) })
		if err != nil {
			return nil, err
		}
		used.runs = append(used.runs, r)
		r, err = l.undisturbed(func() (result, error) {
			other, err := l.site(ctx)
			if err != nil {
				return result{}, err
			}
			return l.alone(ctx, other)
		})
		if err != nil {
			return nil, err
		}
		fresh.runs = append(fresh.runs, r)
	}
	return []start{fresh, used}, nil
}

// measured is what the helper says of the binary's run.
type measured struct {
	Start time.Time
	Wall  time.Duration
	Usage usage
	Exit  int
	Out   []byte
	Err   []byte
}

// startAndMeasure runs argv below the helper. Memory is why there is one: a process begins
// with the peak of whoever started it, and this one has a model server in it.
func startAndMeasure(ctx context.Context, started func(pid int), dir string, env []string, argv ...string) (m measured,
	err error) {
	self, err := os.Executable()
	if err != nil {
		return m, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{helperArg}, argv...)...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, env, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return m, err
	}
	if err := cmd.Start(); err != nil {
		return m, err
	}
	dec := json.NewDecoder(out)
	var pid int
	if err := dec.Decode(&pid); err != nil {
		return m, errors.Join(err, cmd.Wait())
	}
	if started != nil {
		started(pid)
	}
	err = dec.Decode(&m)
	return m, errors.Join(err, cmd.Wait())
}

// help is the helper: it starts argv and writes first its process id, then what it took.
func help(ctx context.Context, argv []string, w *os.File) error {
	enc := json.NewEncoder(w)
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	m := measured{Start: time.Now()}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := enc.Encode(cmd.Process.Pid); err != nil {
		return err
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	m.Wall = time.Since(m.Start)
	m.Exit, m.Usage = cmd.ProcessState.ExitCode(), usageOf(cmd.ProcessState)
	m.Out, m.Err = stdout.Bytes(), stderr.Bytes()
	return enc.Encode(m)
}
