package metrics

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/app/metrics/metricstest"
)

// page writes a set down and reads it.
func page(t *testing.T, s *Set) metricstest.Page {
	t.Helper()
	var b strings.Builder
	if err := s.Write(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	p, err := metricstest.Parse(b.String())
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	return p
}

// TestFormat: what is written is the format, whatever stands in a value, and says what was counted.
func TestFormat(t *testing.T) {
	t.Parallel()
	s := New()
	s.Counter("a_total", "with a \\ and\na line").Add(2)
	c := s.Counter("b_total", "by two", "x", "y")
	for _, v := range []string{"", `"`, `\`, "\n", "{}, ", `\n`} {
		c.Add(1, v, "z")
		c.Add(2, v, "z")
	}
	g := s.Gauge("c_bytes", "what was set", "k")
	s.Ask(func(context.Context) {
		Reset(g, map[string]int{"now": 3}, func(k string) []string { return []string{k} })
	})
	g.Add(5, "before")
	h := s.Histogram("d_seconds", "how long", "route")
	for _, took := range []float64{0, .001, .002, 7, 1e6} {
		h.Observe(took, "r")
	}
	s.Counter("never_total", "no row, so not written", "x")
	if s.Counter("b_total", "by two", "x", "y") != c {
		t.Error("a name has two families")
	}
	p := page(t, s)
	for series, want := range map[string]float64{
		`a_total`: 2, `b_total{x="\"",y="z"}`: 3, `b_total{x="\\",y="z"}`: 3, `b_total{x="\n",y="z"}`: 3,
		`b_total{x="\\n",y="z"}`: 3, `c_bytes{k="now"}`: 3, `c_bytes{k="before"}`: 0,
		`d_seconds_count{route="r"}`: 5, `d_seconds_sum{route="r"}`: 1000007.003,
		`d_seconds_bucket{route="r",le="0.001"}`: 2, `d_seconds_bucket{route="r",le="0.005"}`: 3,
		`d_seconds_bucket{route="r",le="5"}`: 3, `d_seconds_bucket{route="r",le="30"}`: 4,
		`d_seconds_bucket{route="r",le="120"}`: 4, `d_seconds_bucket{route="r",le="+Inf"}`: 5,
	} {
		if got, ok := p.Values[series]; !ok || got != want {
			t.Errorf("%s is %v, %v; want %v", series, got, ok, want)
		}
	}
	if p.Types["never_total"] != "" {
		t.Error("what never happened is told")
	}
}

// TestNothingIsCounted: on nil, everything may be called.
func TestNothingIsCounted(t *testing.T) {
	t.Parallel()
	var s *Set
	s.Ask(nil)
	s.Counter("a_total", "h").Add(1)
	s.Histogram("a_seconds", "h").Observe(1)
	s.Gauge("a", "h").Set(1)
	Reset(s.Gauge("a", "h"), map[int]int{}, nil)
}

// TestSideBySide: nothing is lost where many count and some read.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	s := New()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 500 {
				s.Counter("a_total", "h", "of").Add(1, fmt.Sprint(i%2))
			}
			page(t, s)
		})
	}
	all.Wait()
	if p := page(t, s); p.Values[`a_total{of="0"}`] != 2000 || p.Values[`a_total{of="1"}`] != 2000 {
		t.Errorf("%v", p.Values)
	}
}

// TestProcess: a process says of itself what its system says of it.
func TestProcess(t *testing.T) {
	t.Parallel()
	s := New()
	Process(s, `v"1`, time.Unix(1_700_000_000, 500_000_000))
	p := page(t, s)
	if p.Values["process_start_time_seconds"] != 1_700_000_000.5 {
		t.Errorf("it began at %v", p.Values["process_start_time_seconds"])
	}
	for _, name := range []string{"go_goroutines", "go_heap_objects_bytes"} {
		if p.Values[name] < 1 {
			t.Errorf("%s is %v", name, p.Values[name])
		}
	}
}

// TestParserIsStrict: what is no page is refused, or the tests that read with it would show nothing.
func TestParserIsStrict(t *testing.T) {
	t.Parallel()
	const head = "# HELP a_total h\n# TYPE a_total counter\n"
	const hist = "# HELP a_seconds h\n# TYPE a_seconds histogram\n"
	for _, text := range []string{
		"", "a_total 1\n", head + "a_total 1", head + head + "a_total 1\n", head + "b_total 1\n",
		"# HELP a h\n# TYPE a counter\na 1\n", "# HELP a_total h\n# TYPE a_total gauge\na_total 1\n",
		head + "a_total 1\na_total 2\n", head + "a_total{x=1} 1\n", head + `a_total{x="1",} 1` + "\n",
		head + `a_total{x="1",x="2"} 1` + "\n", head + `a_total{x="\q"} 1` + "\n", head + "a_total one\n",
		head + "a_total 1 \n", head + "\na_total 1\n", "# HELP A h\n# TYPE A gauge\nA 1\n", head + "a_total NaN\n",
		"# TYPE a gauge\na 1\n", "# HELP a h\na 1\n", "# HELP a h\n# TYPE a summary\na 1\n",
		hist + "a_seconds_bucket{le=\"1\"} 1\na_seconds_sum 1\na_seconds_count 1\n",
		hist + "a_seconds_bucket{le=\"1\"} 2\na_seconds_bucket{le=\"+Inf\"} 1\na_seconds_sum 1\na_seconds_count 1\n",
		hist + "a_seconds_bucket{le=\"+Inf\"} 2\na_seconds_sum 1\na_seconds_count 1\n",
	} {
		if _, err := metricstest.Parse(text); err == nil {
			t.Errorf("it is taken: %q", text)
		}
	}
}
