// Command soak runs a command many times beside busy processors and says of each run whether it was green, or which
// tests failed, and how long it took. `make test-soak N=20` has it run all tests: one that fails now and then, on a
// machine that is slow for it, is found here and not by whoever changes something next.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	runs := flag.Int("n", 1, "how many runs")
	busy := flag.Int("busy", 2, "how many loops keep processors busy meanwhile")
	file := flag.String("o", "", "append the lines to this file; what a run with failures prints goes to FILE.RUN")
	flag.Parse()
	if flag.NArg() == 0 || *file == "" {
		fmt.Fprintln(os.Stderr, "soak: usage: soak -n RUNS -o FILE COMMAND…")
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for range *busy {
		go func() {
			for ctx.Err() == nil { //nolint:revive // it is there to take time
			}
		}()
	}
	failed, err := soak(ctx, *runs, *file, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
	}
	if err != nil || failed > 0 {
		os.Exit(1)
	}
}

// soak runs the command and writes a line for each run, in the end how many were not green.
func soak(ctx context.Context, runs int, file string, command []string) (failed int, err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return 0, err
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	both := io.MultiWriter(os.Stdout, f)
	for i := range runs {
		start := time.Now()
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		out, err := cmd.CombinedOutput()
		if ctx.Err() != nil {
			return failed, fmt.Errorf("interrupted in run %d of %d", i+1, runs)
		}
		said := "green"
		if err != nil {
			failed++
			said = fmt.Sprintf("%s; see %s.%d", verdict(out, err), file, i+1)
			if err := os.WriteFile(fmt.Sprintf("%s.%d", file, i+1), out, 0o644); err != nil {
				return failed, err
			}
		}
		fmt.Fprintf(both, "%s  run %d of %d, %.0f s: %s\n", start.Format(time.DateTime), i+1, runs,
			time.Since(start).Seconds(), said)
	}
	fmt.Fprintf(both, "%d of %d runs were green.\n", runs-failed, runs)
	return failed, nil
}

var (
	failedTest    = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	failedPackage = regexp.MustCompile(`(?m)^FAIL\t(\S+)`)
)

// verdict names the tests that failed, without those that failed only because a part of them did, and the packages of
// which nothing else is said: they were not built, or ended in the middle of a test.
func verdict(out []byte, err error) string {
	var names []string
	for _, m := range failedTest.FindAllSubmatch(out, -1) {
		names = append(names, string(m[1]))
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(names, func(other string) bool { return strings.HasPrefix(other, name+"/") })
	})
	if len(names) == 0 {
		for _, m := range failedPackage.FindAllSubmatch(out, -1) {
			names = append(names, string(m[1]))
		}
	}
	if len(names) == 0 {
		last := bytes.TrimSpace(out)
		return fmt.Sprintf("%v: %s", err, last[bytes.LastIndexByte(last, '\n')+1:])
	}
	slices.Sort(names)
	return "FAILED " + strings.Join(slices.Compact(names), ", ")
}
