// Package metrics counts what a process does, and writes it down as Prometheus reads it: text, of the version 0.0.4.
//
// A Set holds families, a family a row for each set of values that its labels had. Names and labels are given by
// programmers; a value is one of a few that are known, never a text of people or an id, or a scrape would grow for
// ever. All methods may be called from several goroutines, and on nil, which counts nothing: most processes are none
// that is looked at.
package metrics

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// ContentType is that of what Write writes.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Set is what a process counts.
type Set struct {
	writing sync.Mutex // one scrape sets and writes what it asks for before the next one does

	mu       sync.Mutex
	families map[string]*Family
	asks     []func(context.Context)
}

// New makes an empty one.
func New() *Set { return &Set{families: make(map[string]*Family)} }

// Family is the counts of one name.
type Family struct {
	name, help, kind string
	labels           []string

	mu   sync.Mutex
	rows map[string]*row
}

// row is the count of one set of labels.
type row struct {
	value float64 // of a histogram: the sum of what was observed
	in    []uint64
	n     uint64
}

// bounds are those of every histogram, in seconds: from a call that reads memory to one that asks a model.
func bounds() []float64 { return []float64{.001, .005, .025, .1, .5, 1, 5, 30, 120} }

const between = "\xff" // never in a value

// Counter is the family of a name, of which each row only grows.
func (s *Set) Counter(name, help string, labels ...string) *Family {
	return s.family(name, help, "counter", labels)
}

// Gauge is one whose rows grow and shrink.
func (s *Set) Gauge(name, help string, labels ...string) *Family {
	return s.family(name, help, "gauge", labels)
}

// Histogram is one that tells how long things took.
func (s *Set) Histogram(name, help string, labels ...string) *Family {
	return s.family(name, help, "histogram", labels)
}

// family makes one, or finds the one that is there.
func (s *Set) family(name, help, kind string, labels []string) *Family {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.families[name]
	if f == nil {
		f = &Family{name: name, help: help, kind: kind, labels: labels, rows: make(map[string]*row)}
		if len(labels) == 0 {
			f.row(nil)
		}
		s.families[name] = f
	}
	return f
}

// Ask has fn called before each scrape is written, to set gauges.
func (s *Set) Ask(fn func(context.Context)) {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asks = append(s.asks, fn)
	}
}

// row is called with f.mu held.
func (f *Family) row(values []string) *row {
	key := strings.Join(values, between)
	r := f.rows[key]
	if r == nil {
		r = &row{}
		if f.kind == "histogram" {
			r.in = make([]uint64, len(bounds()))
		}
		f.rows[key] = r
	}
	return r
}

// Add adds to the row of these values.
func (f *Family) Add(n float64, values ...string) {
	if f != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.row(values).value += n
	}
}

// Observe notes how long something took.
func (f *Family) Observe(seconds float64, values ...string) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.row(values)
	r.value, r.n = r.value+seconds, r.n+1
	if i, _ := slices.BinarySearch(bounds(), seconds); i < len(r.in) {
		r.in[i]++
	}
}

// Reset sets the rows of a gauge to those of a map, whose keys are the values of its labels, and all others to 0.
func Reset[K comparable](f *Family, now map[K]int, values func(K) []string) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.rows {
		r.value = 0
	}
	for k, n := range now {
		f.row(values(k)).value += float64(n)
	}
}

// Set sets a gauge without labels.
func (f *Family) Set(v float64) {
	if f != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.row(nil).value = v
	}
}

// Write asks, and writes all families in the order of their names.
func (s *Set) Write(ctx context.Context, w io.Writer) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	asks := slices.Clone(s.asks)
	s.mu.Unlock()
	for _, ask := range asks {
		ask(ctx)
	}
	s.mu.Lock()
	all := slices.SortedFunc(maps.Values(s.families), func(a, b *Family) int { return strings.Compare(a.name, b.name) })
	s.mu.Unlock()
	var b strings.Builder
	for _, f := range all {
		f.write(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (f *Family) write(b *strings.Builder) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.rows) == 0 {
		return
	}
	help := strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(f.help)
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", f.name, help, f.name, f.kind)
	for _, key := range slices.Sorted(maps.Keys(f.rows)) {
		r := f.rows[key]
		var pairs []string
		for i, v := range strings.Split(key, between)[:len(f.labels)] {
			v = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(v)
			pairs = append(pairs, f.labels[i]+`="`+v+`"`)
		}
		if f.kind != "histogram" {
			line(b, f.name, pairs, r.value)
			continue
		}
		below := uint64(0)
		for i, bound := range bounds() {
			below += r.in[i]
			line(b, f.name+"_bucket", append(pairs, `le="`+number(bound)+`"`), float64(below))
		}
		line(b, f.name+"_bucket", append(pairs, `le="+Inf"`), float64(r.n))
		line(b, f.name+"_sum", pairs, r.value)
		line(b, f.name+"_count", pairs, float64(r.n))
	}
}

func line(b *strings.Builder, name string, pairs []string, v float64) {
	b.WriteString(name)
	if len(pairs) > 0 {
		b.WriteString("{" + strings.Join(pairs, ",") + "}")
	}
	b.WriteString(" " + number(v) + "\n")
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
