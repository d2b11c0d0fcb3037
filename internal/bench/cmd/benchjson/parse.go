package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// row is one figure.
type row struct {
	Name  string   `json:"name"`
	Value float64  `json:"value"`
	Unit  string   `json:"unit"`
	Ideal *float64 `json:"ideal,omitempty"` // the best there could be, where that is known
}

const (
	module      = "github.com/troupe-dev/troupe/"
	idealPrefix = "ideal-"
)

// parse reads the output of benchmarks. A line that begins like a result and is none is an error,
// beside the rows that could be read: nothing that was measured is dropped without a word. procs is
// the number that go test puts behind names, unless it is 1.
func parse(r io.Reader, procs int) ([]row, error) {
	type key struct{ name, unit string }
	values := make(map[key][]float64)
	var order []key
	var bad []error
	where := ""
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if pkg, ok := strings.CutPrefix(line, "pkg: "); ok {
			where = strings.TrimPrefix(pkg, module) + "."
			continue
		}
		name, metrics, err := result(line, procs)
		if err != nil {
			bad = append(bad, err)
		}
		for _, m := range metrics {
			k := key{where + name, m.Unit}
			if _, known := values[k]; !known {
				order = append(order, k)
			}
			values[k] = append(values[k], m.Value)
		}
	}
	out := []row{}
	for _, k := range order {
		if strings.HasPrefix(k.unit, idealPrefix) {
			continue
		}
		x := row{Name: k.name, Value: median(values[k]), Unit: k.unit}
		if ideals := values[key{k.name, idealPrefix + k.unit}]; len(ideals) > 0 {
			ideal := median(ideals)
			x.Ideal = &ideal
		}
		out = append(out, x)
	}
	return out, errors.Join(append(bad, lines.Err())...)
}

// result reads a line such as "BenchmarkX/a=1-8  1000  12.5 ns/op  3 allocs/op". Other lines have
// no metrics, and neither has a name alone, which go test prints before what a benchmark logs.
func result(line string, procs int) (name string, metrics []row, err error) {
	words := strings.Fields(line)
	if !strings.HasPrefix(line, "Benchmark") || len(words) < 2 {
		return "", nil, nil
	}
	if len(words) < 4 || len(words)%2 != 0 {
		return "", nil, fmt.Errorf("not a result: %q", line)
	}
	if _, err := strconv.ParseInt(words[1], 10, 64); err != nil {
		return "", nil, fmt.Errorf("not a result: %q: %w", line, err)
	}
	name = strings.TrimPrefix(words[0], "Benchmark")
	if procs > 1 {
		name = strings.TrimSuffix(name, fmt.Sprintf("-%d", procs))
	}
	for i := 2; i < len(words); i += 2 {
		v, err := strconv.ParseFloat(words[i], 64)
		if err != nil {
			return "", nil, fmt.Errorf("not a result: %q: %w", line, err)
		}
		metrics = append(metrics, row{Value: v, Unit: words[i+1]})
	}
	return name, metrics, nil
}

// median is the upper one of an even number, as in the tables.
func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
