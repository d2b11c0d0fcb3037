package session_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
)

// quick reads in no time.
type quick struct{}

func (quick) Prepare(tool.Env, string) (tool.Prepared, error) { return quick{}, nil }

func (quick) Access() troupe.Access {
	return troupe.Access{Class: troupe.ClassRead, Reads: []string{"/ws/f"}}
}

func (quick) Run(context.Context, tool.Env) (tool.Output, error) {
	return tool.Output{Blocks: []troupe.Block{troupe.Text("read")}}, nil
}

// cpu is the processor time that this process has used: other processes do not count.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkReads is what a call that only reads costs beside its own work, from the reply that asks
// for ten thousand of them to the last result.
func BenchmarkReads(b *testing.B) {
	const n = 10_000
	asks := make([]string, n)
	for i := range asks {
		asks[i] = "Read:f"
	}
	var spent time.Duration
	before := cpu(b)
	for b.Loop() {
		h := newHome(b)
		p := h.start(func(r model.Request) troupe.Reply {
			if len(r.Messages) > 1 {
				return say("ok")
			}
			return call(asks...)
		}, func(p *process) {
			p.deps = func(d *session.Deps) {
				d.Tools = tool.NewSet(tool.Descriptor{
					ToolFacts: troupe.ToolFacts{Name: "Read", Schedule: troupe.Parallel, Argument: troupe.PathArgument},
					Runner:    quick{},
				})
			}
		}).begin(troupe.Caps{})
		p.end()
		var replied, last time.Time
		for _, e := range h.events(h.root) {
			switch e.Body.(type) {
			case troupe.Replied:
				if replied.IsZero() {
					replied = e.At
				}
			case troupe.ToolFinished:
				last = e.At
			}
		}
		spent += last.Sub(replied)
	}
	b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/float64(b.N)/n, "cpu-ns/call")
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N)/n, "ns/call")
}
