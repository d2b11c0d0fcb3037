package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/bench.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := parse(f, 2)
	if err != nil {
		t.Error(err)
	}
	wall, ratio := 1.2e9, 1.0
	want := []row{
		{"internal/turn.Escape/1024", 119705, "ns/op", nil},
		{"internal/turn.Escape/1024", 8.52, "MB/s", nil},
		{"internal/turn.Escape/65536", 7799733, "ns/op", nil},
		{"internal/turn.Escape/65536", 8.4, "MB/s", nil},
		{"internal/turn.Escape/65536", 120, "B/op", nil},
		{"internal/turn.Escape/65536", 3, "allocs/op", nil},
		{"internal/store/sqlite.Births", 25116968, "ns/op", nil},
		{"internal/store/sqlite.Births", 42.7, "cpu-µs/birth", nil},
		{"internal/store/sqlite.Create", 0.3, "ns/op", nil},
		{"internal/bench.Fanout/N=2", 1.4e9, "ns/op", &wall},
		{"internal/bench.Fanout/N=2", 1.167, "x-ideal", &ratio},
		{"internal/bench.Fanout/N=2", 22000, "peak-KB", nil},
		{"internal/bench.Start/home=fresh", 226000000, "ns/op", nil},
		{"internal/bench.Start/home=fresh", 21.5, "first-ms", nil},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestNothingIsDropped: a line that looks like a result and is none is said, and the others count.
func TestNothingIsDropped(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"BenchmarkA-2 1 12 ns/op 3", "BenchmarkA-2 12 ns/op", "BenchmarkA-2 one 12 ns/op",
		"BenchmarkA-2 1 twelve ns/op",
	} {
		got, err := parse(strings.NewReader("BenchmarkB-2 1 1 ns/op\n"+line+"\nBenchmarkC-2 1 1 ns/op\n"), 2)
		if err == nil || !strings.Contains(err.Error(), line) || len(got) != 2 {
			t.Errorf("%q: %v, %v", line, got, err)
		}
	}
}

// TestRun: the output passes through, the rows of several commands come together, and a command
// that fails is still a failure.
func TestRun(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "bench.json")
	for i, tt := range []struct {
		script string
		more   bool
		code   int
		names  []string
	}{
		{"echo 'BenchmarkOld 1 1 ns/op'", false, 0, []string{"Old"}},
		{"echo 'BenchmarkA 1 1 ns/op'", false, 0, []string{"A"}},
		{"echo 'BenchmarkB 1 2 ns/op'; echo words; exit 3", true, 3, []string{"A", "B"}},
		{"echo words", true, 0, []string{"A", "B"}},
		{"echo words", false, 0, nil},
	} {
		args := []string{"-o", file, "sh", "-c", tt.script}
		if tt.more {
			args = append([]string{"-more"}, args...)
		}
		var out bytes.Buffer
		code, err := run(t.Context(), args, &out)
		if err != nil || code != tt.code || !strings.Contains(tt.script, strings.Fields(out.String())[0]) {
			t.Errorf("%d: code %d, %v, %q", i, code, err, &out)
		}
		data, err := os.ReadFile(file)
		var rows []row
		if err == nil {
			err = json.Unmarshal(data, &rows)
		}
		if err != nil || rows == nil {
			t.Errorf("%d: %s: %v", i, data, err)
		}
		var names []string
		for _, r := range rows {
			names = append(names, r.Name)
		}
		if d := cmp.Diff(tt.names, names); d != "" {
			t.Errorf("%d: %s", i, d)
		}
	}
	if _, err := run(t.Context(), []string{"-o", file}, &bytes.Buffer{}); err == nil {
		t.Error("nothing was run, and nothing said")
	}
}
