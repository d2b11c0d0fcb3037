// Command benchjson runs a command that prints benchmarks in Go's format, shows its output as it
// comes, and writes what was measured to a JSON file, for machines to read:
//
//	benchjson -o bin/bench.json go test -run '^$' -bench . ./...
//	benchjson -o bin/bench.json -more go run ./internal/bench
//
// The file is an array of {name, value, unit, ideal}, one for each benchmark and unit. A benchmark
// that is printed several times has the median of its values. A metric whose unit begins with
// "ideal-" is not a row of its own but the ideal of the unit that follows.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	code, err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "benchjson:", err)
		code = 1
	}
	stop()
	os.Exit(code)
}

// run returns the exit code of the command.
func run(ctx context.Context, args []string, out io.Writer) (code int, err error) {
	fs := flag.NewFlagSet("benchjson", flag.ContinueOnError)
	file := fs.String("o", "bench.json", "file to write")
	more := fs.Bool("more", false, "keep the rows that the file has")
	if err := fs.Parse(args); err != nil {
		return 2, err
	}
	if fs.NArg() == 0 {
		return 2, errors.New("there is no command to run")
	}
	rows := []row{}
	if *more {
		old, err := os.ReadFile(*file)
		if err == nil {
			err = json.Unmarshal(old, &rows)
		}
		if err != nil {
			return 1, fmt.Errorf("read the rows to keep: %w", err)
		}
	}
	var text bytes.Buffer
	cmd := exec.CommandContext(ctx, fs.Arg(0), fs.Args()[1:]...)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(out, &text), os.Stderr
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		code = max(exit.ExitCode(), 1)
	} else if err != nil {
		return 1, err
	}
	found, bad := parse(&text, runtime.GOMAXPROCS(0))
	data, err := json.MarshalIndent(append(rows, found...), "", "\t")
	if err == nil {
		err = os.WriteFile(*file, append(data, '\n'), 0o644)
	}
	return code, errors.Join(bad, err)
}
