package sim_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/troupe-dev/troupe/internal/sim"
	"github.com/troupe-dev/troupe/internal/store/memstore"
)

var (
	seed  = flag.Uint64("seed", 0, "play this seed alone and print every step")
	seeds = flag.Int("seeds", 2000, "how many seeds TestSeeds plays")
	first = flag.Uint64("first", 1, "the first of the seeds that TestSeeds plays")
)

func play(n uint64, trace io.Writer) (sim.Result, error) {
	db := memstore.New(memstore.Options{})
	return sim.Run(sim.Options{Seed: n, Trace: trace, MaxSteps: 20_000}, db.Open(), db.Kill)
}

// TestSeeds plays many trees and wants every promise kept in each. What it covered is
// printed, so that a run that never crashed anything is noticed.
func TestSeeds(t *testing.T) {
	t.Parallel()
	var sum sim.Result
	for i := range *seeds {
		n := *first + uint64(i)
		r, err := play(n, nil)
		if err != nil {
			t.Fatalf("%v\nsee every step with: go test ./internal/sim -run TestSeed$ -seed %d -v", err, n)
		}
		sum = sum.Add(r)
	}
	t.Logf("%d seeds: %+v", *seeds, sum)
	for what, n := range map[string]int{
		"crashes": sum.Crashes, "lingering processes": sum.Zombies, "stops": sum.Stops,
		"children": sum.Sessions - *seeds, "effects": sum.Effects, "model faults": sum.Faults,
	} {
		if n < *seeds/20 {
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
	r, err := play(*seed, os.Stdout)
	fmt.Printf("%+v\n", r)
	if err != nil {
		t.Fatal(err)
	}
}

// TestSameSeedSameRun: a seed reruns exactly.
func TestSameSeedSameRun(t *testing.T) {
	t.Parallel()
	var traces [2]recorder
	for i := range traces {
		if _, err := play(42, &traces[i]); err != nil {
			t.Fatal(err)
		}
	}
	if traces[0] != traces[1] {
		t.Fatalf("seed 42 took two ways:\n%s\n--- and ---\n%s", traces[0], traces[1])
	}
}

type recorder string

func (r *recorder) Write(p []byte) (int, error) { *r += recorder(p); return len(p), nil }
