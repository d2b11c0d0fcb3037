// Command skips runs go test, says which tests took longest, and notes which were skipped, and why; `skips -show FILE`
// says so in the end.
// `make test` runs it: what is not tested on a machine is read there, and not found out elsewhere.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

func main() {
	file := flag.String("o", "", "append what was skipped to this file, and run the command behind it")
	show := flag.String("show", "", "print what this file says")
	flag.Parse()
	var err error
	if *show != "" {
		err = tell(os.Stdout, *show)
	} else {
		err = run(*file, flag.Args())
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "skips:", err)
		os.Exit(1)
	}
}

// run runs `go test …` and prints what it prints without -json.
func run(file string, args []string) error {
	if file == "" || len(args) < 2 || args[1] != "test" {
		return errors.New("usage: skips -o FILE go test …; skips -show FILE")
	}
	cmd := exec.Command(args[0], slices.Insert(slices.Clone(args[1:]), 1, "-json")...) //nolint:noctx // it ends with us
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	skipped, rerr := read(out, os.Stdout)
	err = cmd.Wait()
	f, ferr := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if ferr == nil {
		_, ferr = f.WriteString(strings.Join(append(skipped, ""), "\n"))
		ferr = errors.Join(ferr, f.Close())
	}
	if err == nil {
		err = errors.Join(rerr, ferr)
	}
	return err
}

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// name is what people call a test.
func (e event) name() string {
	return strings.TrimPrefix(e.Package, "github.com/troupe-dev/troupe/") + " " + e.Test
}

// slowest is how many tests are named at the end, and slow what is worth naming.
const (
	slowest = 15
	slow    = 5 // seconds
)

// tellSlow names the tests that took longest: those in which a faster run begins.
func tellSlow(w io.Writer, ended []event) {
	slices.SortStableFunc(ended, func(a, b event) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	ended = ended[:min(slowest, len(ended))]
	if len(ended) > 0 {
		fmt.Fprintln(w, "Took longest:")
	}
	for _, e := range ended {
		fmt.Fprintf(w, "  %4.0f s  %s\n", e.Elapsed, e.name())
	}
}

// elsewhere is the reason of tests that are left out of the run with the race detector, which is -short. They run in
// the other one: archtest sees to it.
const elsewhere = "without -short it runs"

// said is what a test logs: a place, and words.
var said = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)$`)

// read prints what packages and failing tests print, and returns a line "reason, tab, test" for each test that was
// skipped, or says that something was NOT tested.
func read(r io.Reader, w io.Writer) (skipped []string, err error) {
	held := make(map[event][]string) // by package and test
	var ended []event
	defer func() { tellSlow(w, ended) }()
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if err != nil && line == "" {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return skipped, err
		}
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			fmt.Fprint(w, line)
			continue
		}
		key := event{Package: e.Package, Test: e.Test}
		if e.Elapsed >= slow && (e.Action == "pass" || e.Action == "fail") && strings.Count(e.Test, "/") < 2 &&
			e.Test != "" {
			ended = append(ended, event{Package: e.Package, Test: e.Test, Elapsed: e.Elapsed})
		}
		switch {
		case e.Action == "output" && e.Test != "":
			held[key] = append(held[key], e.Output)
		case e.Action == "output" && e.Output != "PASS\n", e.Action == "build-output":
			fmt.Fprint(w, e.Output)
		case e.Action == "fail" && e.Test == "": // of what it was at when it ended there is no other word
			for k, text := range held {
				if k.Package == e.Package {
					show(w, text)
					delete(held, k)
				}
			}
		case e.Action == "fail":
			show(w, held[key])
			delete(held, key)
		case e.Test != "" && (e.Action == "pass" || e.Action == "skip"):
			if why := reason(held[key], e.Action == "skip"); why != "" && why != elsewhere {
				skipped = append(skipped, why+"\t"+e.name())
			}
			delete(held, key)
		}
	}
}

func show(w io.Writer, text []string) {
	for _, line := range text {
		if !strings.HasPrefix(line, "=== ") {
			fmt.Fprint(w, line)
		}
	}
}

// reason is what a test says about what it did not test; "" if it tested all.
func reason(text []string, skips bool) string {
	var why []string
	for _, line := range text {
		if m := said.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil &&
			(skips || strings.Contains(m[1], "NOT tested")) {
			why = append(why, m[1])
		}
	}
	if len(why) == 0 && skips {
		return "no reason is given"
	}
	return strings.ReplaceAll(strings.Join(why, "; "), "\t", " ")
}

// tell prints the skipped tests of a file by their reasons.
func tell(w io.Writer, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	by := make(map[string][]string)
	for line := range strings.Lines(string(data)) {
		if why, test, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && !slices.Contains(by[why], test) {
			by[why] = append(by[why], test)
		}
	}
	if len(by) == 0 {
		fmt.Fprintln(w, "No test was skipped.")
		return nil
	}
	fmt.Fprintln(w, "NOT tested here:")
	for _, why := range slices.Sorted(maps.Keys(by)) {
		more := ""
		if n := len(by[why]); n > 1 {
			more = fmt.Sprintf(", and %d more", n-1)
		}
		fmt.Fprintf(w, "  %s (%s%s)\n", why, by[why][0], more)
	}
	return nil
}
