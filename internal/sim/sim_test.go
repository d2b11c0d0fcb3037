package sim_test

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/sim"
	"github.com/troupe-dev/troupe/internal/store/memstore"
)

var (
	seed  = flag.Uint64("seed", 0, "play this seed alone and print every step")
	seeds = flag.Int("seeds", 4_000, "how many seeds TestSeeds plays; with -short no more than 300")
	first = flag.Uint64("first", 1, "the first of the seeds that TestSeeds plays")

	update = flag.Bool("update", false, "look for each planted bug from the first seed on, and write down which "+
		"noticed it")
)

// TestMain collects garbage less often: runs are short, and leave nothing behind.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	goleak.VerifyTestMain(m)
}

func play(n uint64, trace io.Writer, plant func(*session.Deps)) (sim.Result, error) {
	again := rand.New(rand.NewPCG(n, 1))
	db := memstore.New(memstore.Options{Rerun: func() bool { return again.IntN(10) == 0 }})
	return sim.Run(sim.Options{Seed: n, Trace: trace, MaxSteps: 20_000, Plant: plant}, db.Open(), db.Kill)
}

// TestSeeds plays many trees, on all processors, and wants every promise kept in each. What
// it covered is printed, so that a run that never crashed anything is noticed.
func TestSeeds(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		*seeds = min(*seeds, 300)
	}
	var next atomic.Uint64
	var mu sync.Mutex
	var sum sim.Result
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			var mine sim.Result
			for !t.Failed() {
				i := next.Add(1) - 1
				if i >= uint64(*seeds) {
					break
				}
				r, err := play(*first+i, nil, nil)
				if err != nil {
					t.Errorf("%v\nsee every step with: go test ./internal/sim -run 'TestSeed$' -seed %d -v", err,
						*first+i)
				}
				mine = mine.Add(r)
			}
			mu.Lock()
			defer mu.Unlock()
			sum = sum.Add(mine)
		})
	}
	wg.Wait()
	t.Logf("%d seeds: %+v", *seeds, sum)
	for what, n := range map[string]int{
		"crashes": sum.Crashes, "rival owners": sum.Zombies, "stops": sum.Stops, "words": sum.Words,
		"children": sum.Sessions - *seeds, "effects": sum.Effects, "model faults": sum.Faults,
		"requests": sum.Requests, "summaries": sum.Summaries,
		"requests about wants": sum.Wants, "requests ahead": sum.Ahead, "grants": sum.Grants,
		"effects by an answer alone": sum.Leaves,
		"trees taken back":           sum.Returns * 4, "trees left": sum.Left,
		"trees put away": sum.Sleeps, "refusals of trees that sleep": sum.Refused * 4, "judgements": sum.Judged,
		"verdicts of mode auto": sum.Verdicts * 2,
		"plans approved":        sum.Approved * 8, "plans rejected": sum.Rejected * 8,
		"questions answered": sum.Answers * 2, "tools carried out by a client": sum.Carried * 2,
		"messages of agents": sum.Messages, "members of teams": sum.Members * 2,
		"changes of the list": sum.Listed, "hooks": sum.Hooks, "hooks that failed": sum.HooksFailed,
		"pieces of replies": sum.Pieces, "readers that were behind": sum.Behind,
	} {
		if !t.Failed() && n < *seeds/10 {
			t.Errorf("only %d %s in %d seeds: the simulation is not trying hard enough", n, what, *seeds)
		}
	}
}

// TestSeed replays one seed with a trace.
func TestSeed(t *testing.T) {
	t.Parallel()
	if *seed == 0 {
		t.Skip("give a seed with -seed N")
	}
	r, err := play(*seed, os.Stdout, nil)
	fmt.Printf("%+v\n", r)
	if err != nil {
		t.Fatal(err)
	}
}

// TestSameSeedSameRun: a seed reruns exactly.
func TestSameSeedSameRun(t *testing.T) {
	t.Parallel()
	for n := range uint64(20) {
		var traces [2]recorder
		for i := range traces {
			if _, err := play(n+1, &traces[i], nil); err != nil {
				t.Fatal(err)
			}
		}
		if string(traces[0]) != string(traces[1]) {
			t.Fatalf("seed %d took two ways:\n%s\n--- and ---\n%s", n+1, traces[0], traces[1])
		}
	}
}

type recorder []byte

func (r *recorder) Write(p []byte) (int, error) { *r = append(*r, p...); return len(p), nil }
