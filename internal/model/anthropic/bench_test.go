package anthropic

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

func discard(testing.TB) *log.Logger { return log.New(io.Discard, "", 0) }

// canned is a transport that answers at once, so that only the client's own work is seen.
type canned struct{ stream []byte }

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(bytes.NewReader(c.stream)), Request: r}, err
}

func small() modeltest.Reply {
	return modeltest.Reply{
		Text: "I will look at the three files that matter first.",
		Calls: []modeltest.Call{{Name: "Read", Input: `{"file_path":"a.go"}`},
			{Name: "Read", Input: `{"file_path":"b.go"}`}, {Name: "Read", Input: `{"file_path":"c.go"}`}},
		Usage: troupe.Usage{Input: 10, Output: 90, CacheRead: 5000},
	}
}

// BenchmarkCall is one small streamed call without a network: encoding, reading, decoding.
func BenchmarkCall(b *testing.B) {
	p := New(Options{APIKey: testKey, Transport: canned{small().Stream(&modeltest.Request{Model: "claude-x"})}})
	r := ask(b, p, "go")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Stream(b.Context(), r, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDeltas is a long reply: 1,000 deltas, shown as they come.
func BenchmarkDeltas(b *testing.B) {
	stream := modeltest.Text(strings.Repeat("some words to be shown.\n",
		1000)).Stream(&modeltest.Request{Model: "claude-x"})
	p := New(Options{APIKey: testKey, Transport: canned{stream}})
	r := ask(b, p, "go")
	shown := 0
	b.ReportAllocs()
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		if _, err := p.Stream(b.Context(), r, func(d model.Delta) { shown += len(d.Text) }); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoopback is a small call over real HTTP. The CPU time is of both ends, because
// they share the process; cpu-µs/op less that of the server is the client's.
func BenchmarkLoopback(b *testing.B) {
	p, _ := serve(b, always(small()), modeltest.Options{Keep: -1})
	r := ask(b, p, "go")
	before := cpu(b)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if _, err := p.Stream(b.Context(), r, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
}

// BenchmarkInFlight holds 1,000 calls open, with nothing sent yet, and reports what each
// costs the process: both ends of its connection, and all their goroutines.
func BenchmarkInFlight(b *testing.B) {
	const calls = 1000
	for range b.N {
		p, s := serve(b, always(modeltest.Reply{Text: "x", Delay: time.Hour}), modeltest.Options{Keep: -1})
		r := ask(b, p, "go")
		before := memory()
		ctx, cancel := context.WithCancel(b.Context())
		var wg sync.WaitGroup
		for range calls {
			wg.Go(func() { _, _ = p.Stream(ctx, r, nil) }) // interrupted below
		}
		for s.Peak() < calls {
			runtime.Gosched()
		}
		b.ReportMetric(float64(memory()-before)/calls/1024, "KB/call")
		cancel()
		wg.Wait()
	}
}

func memory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

func cpu(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
