// Command bench measures a whole team: it starts a model server on loopback, has the real
// binary run one main agent with N sub-agents against it, and prints what that took.
//
// The server answers every request after a fixed time, so there is a best time that nobody
// can beat: two replies for the main agent and four for its children, one after the other.
// What a run takes beyond that is ours. The server lives in this process, the binary in
// one of its own below a small helper, whose wait tells the binary's processor time and
// peak memory apart from everybody else's. Runs go one after the other; each has a home
// and a folder of its own, which are all removed at the end.
//
// Lines that begin with Benchmark are for benchstat, one per run; the table under them
// shows medians.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// helperArg, as the first argument, makes this program the helper that starts the binary.
const helperArg = "start-and-measure"

type options struct {
	binary    string
	sizes     []int
	runs      int
	firstByte time.Duration
	long      int
	dir       string
	git       bool
	others    float64

	background  bool
	definitions bool
	team        int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == helperArg {
		if err := help(ctx, os.Args[2:], os.Stdout); err != nil {
			fail(err)
		}
		return
	}
	o, err := parse(os.Args[1:])
	if err == nil {
		err = bench(ctx, o)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		stop()
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(1)
}

func parse(args []string) (options, error) {
	var o options
	var sizes string
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.StringVar(&o.binary, "troupe", "", "binary to measure (default: one built from this module)")
	fs.StringVar(&sizes, "n", "1,10,50,200,1000", "numbers of sub-agents")
	fs.IntVar(&o.runs, "runs", 5, "runs of each")
	fs.DurationVar(&o.firstByte, "first-byte", 200*time.Millisecond,
		"how long the model server lets every request wait")
	fs.IntVar(&o.long, "long", 400, "turns of the one long session; 0 leaves it out")
	fs.StringVar(&o.dir, "dir", "", "where homes and folders are made (default: the system's temporary folder)")
	fs.BoolVar(&o.git, "git", true, "make the folder a git repository, as most are")
	fs.BoolVar(&o.background, "background", false, "have the sub-agents work in the background: their ends together "+
		"must cost the main agent one turn")
	fs.BoolVar(&o.definitions, "definitions", false, "measure nothing but what hundreds of definitions "+
		"add to a run of one reply")
	fs.IntVar(&o.team, "team", 200, "members of the team whose board is measured; 0 leaves it out")
	fs.Float64Var(&o.others, "others", 0, "run again, up to 20 times, what was run while others used more than this "+
		"share of the machine; 0 takes all runs")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	for s := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 1 {
			return o, fmt.Errorf("-n %q: want positive numbers with commas between them", sizes)
		}
		o.sizes = append(o.sizes, n)
	}
	if o.runs < 1 {
		return o, errors.New("-runs must be at least 1")
	}
	return o, nil
}

func bench(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp(o.dir, "troupe-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.binary == "" {
		if o.binary, err = build(ctx, dir); err != nil {
			return err
		}
	}
	if o.binary, err = filepath.Abs(o.binary); err != nil {
		return err
	}
	sync, err := syncTime(dir)
	if err != nil {
		return err
	}
	fmt.Printf("goos: %s\ngoarch: %s\npkg: github.com/troupe-dev/troupe/internal/bench\n", runtime.GOOS, runtime.GOARCH)
	fmt.Printf("# %d processors; one write and fsync in the benchmark's folder: %.2f ms; first byte after %v\n",
		runtime.NumCPU(), ms(sync), o.firstByte)
	l := lab{dir: dir, binary: o.binary, firstByte: o.firstByte, git: o.git, others: o.others, background: o.background}
	tables, err := measure(ctx, l, o)
	if err != nil {
		return err
	}
	fmt.Print("\n", strings.Join(tables, "\n"))
	return nil
}

// measure runs every scenario, prints a line for each run, and returns tables for people.
func measure(ctx context.Context, l lab, o options) ([]string, error) {
	if o.definitions {
		d, err := l.definitions(ctx, o.runs)
		if err != nil {
			return nil, fmt.Errorf("definitions: %w", err)
		}
		fmt.Println(strings.Join(d.lines(), "\n"))
		return []string{d.table()}, nil
	}
	var fanouts []fanout
	for _, n := range o.sizes {
		f := fanout{n: n, replies: idealReplies * o.firstByte}
		for range o.runs {
			r, err := l.undisturbed(func() (result, error) { return l.fanout(ctx, n) })
			if err != nil {
				return nil, fmt.Errorf("%d sub-agents: %w", n, err)
			}
			f.runs = append(f.runs, r)
			fmt.Println(f.line(r))
		}
		fanouts = append(fanouts, f)
		if n > fanouts[0].n {
			fmt.Printf("BenchmarkFanout/N=%d 1 %d KB/agent\n", n, perAgent(fanouts[0], f))
		}
	}
	starts, err := l.starts(ctx, o.runs)
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	for _, s := range starts {
		for _, r := range s.runs {
			fmt.Println(s.line(r, o.firstByte))
		}
	}
	tables := []string{fanoutTable(fanouts), startTable(starts, o.firstByte)}
	if o.team > 0 {
		t, err := l.teams(ctx, o.team, o.runs)
		if err != nil {
			return nil, err
		}
		fmt.Println(strings.Join(t.lines(), "\n"))
		tables = append(tables, t.table())
	}
	if o.long > 0 {
		long, err := l.long(ctx, o.long)
		if err != nil {
			return nil, fmt.Errorf("a session of %d turns: %w", o.long, err)
		}
		fmt.Println(long.line())
		tables = append(tables, long.table())
	}
	return tables, nil
}

// build makes the binary the way a release is made.
func build(ctx context.Context, dir string) (string, error) {
	out := filepath.Join(dir, "troupe")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out,
		"github.com/troupe-dev/troupe/cmd/troupe")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build has it, so that nothing is compiled twice
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build the binary: %w", err)
	}
	return out, nil
}

// syncTime is what the disk takes to make a small write durable: commits cannot be faster.
func syncTime(dir string) (time.Duration, error) {
	f, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return 0, err
	}
	var took []time.Duration
	page := make([]byte, 4096)
	for range 21 {
		start := time.Now()
		if _, err := f.Write(page); err != nil {
			return 0, errors.Join(err, f.Close())
		}
		if err := f.Sync(); err != nil {
			return 0, errors.Join(err, f.Close())
		}
		took = append(took, time.Since(start))
	}
	return median(took, func(d time.Duration) time.Duration { return d }), f.Close()
}
