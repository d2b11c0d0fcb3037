package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// fanout is the runs of one size of team.
type fanout struct {
	n       int
	replies time.Duration // those that stand one after the other, which nothing can shorten
	runs    []result
}

// ideal is the shortest that a run could have taken.
func (f fanout) ideal(r result) time.Duration { return f.replies + r.followed }

func (f fanout) xIdeal(r result) float64 { return float64(r.wall) / float64(f.ideal(r)) }

func (f fanout) line(r result) string {
	return fmt.Sprintf("BenchmarkFanout/N=%d 1 %d ns/op %d ideal-ns/op %.3f x-ideal %.1f first-ms %.4f cpu-ms/turn "+
		"%.3f cpu-s %d peak-KB %.3f server-cpu-s %.2f others",
		f.n, r.wall.Nanoseconds(), f.ideal(r).Nanoseconds(), f.xIdeal(r), ms(r.first),
		ms(r.usage.cpu())/float64(r.turns),
		r.usage.cpu().Seconds(), r.usage.PeakKB, r.server.Seconds(), r.others)
}

// fanoutTable shows the median of each figure. Memory per agent is what a team needs
// beyond the smallest team of the table, by agent.
func fanoutTable(all []fanout) string {
	var b strings.Builder
	b.WriteString("| N | wall | × ideal | first request | CPU | CPU per turn | peak memory | per agent | server's " +
		"CPU | others |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for i, f := range all {
		wall := median(f.runs, func(r result) time.Duration { return r.wall })
		peak := median(f.runs, func(r result) int64 { return r.usage.PeakKB })
		each := "–"
		if i > 0 && f.n > all[0].n {
			each = fmt.Sprintf("%d KB", perAgent(all[0], f))
		}
		fmt.Fprintf(&b, "| %d | %.2f s | %.3f | %.0f ms | %.2f s | %.2f ms | %d MB | %s | %.2f s | %.0f %% |\n",
			f.n, wall.Seconds(), median(f.runs, f.xIdeal),
			ms(median(f.runs, func(r result) time.Duration { return r.first })),
			median(f.runs, func(r result) time.Duration { return r.usage.cpu() }).Seconds(),
			ms(median(f.runs, func(r result) time.Duration { return r.usage.cpu() / time.Duration(r.turns) })),
			peak/1024, each,
			median(f.runs, func(r result) time.Duration { return r.server }).Seconds(),
			100*median(f.runs, func(r result) float64 { return r.others }))
	}
	return b.String()
}

// perAgent is the memory, in KB, that each sub-agent more than the base's takes.
func perAgent(base, f fanout) int64 {
	peak := func(r result) int64 { return r.usage.PeakKB }
	return (median(f.runs, peak) - median(base.runs, peak)) / int64(f.n-base.n)
}

func (s start) line(r result, firstByte time.Duration) string {
	return fmt.Sprintf("BenchmarkStart/home=%s 1 %d ns/op %d ideal-ns/op %.1f beyond-ms %.1f first-ms %.2f cpu-ms %d "+
		"peak-KB %.2f others",
		s.name, r.wall.Nanoseconds(), firstByte.Nanoseconds(), ms(r.wall-firstByte), ms(r.first), ms(r.usage.cpu()),
		r.usage.PeakKB, r.others)
}

func startTable(all []start, firstByte time.Duration) string {
	var b strings.Builder
	b.WriteString("One agent, one reply:\n\n| home | first request | process beyond the reply | CPU | peak memory " +
		"|\n|---|---|---|---|---|\n")
	for _, s := range all {
		fmt.Fprintf(&b, "| %s | %.0f ms | %.0f ms | %.0f ms | %d MB |\n", s.name,
			ms(median(s.runs, func(r result) time.Duration { return r.first })),
			ms(median(s.runs, func(r result) time.Duration { return r.wall })-firstByte),
			ms(median(s.runs, func(r result) time.Duration { return r.usage.cpu() })),
			median(s.runs, func(r result) int64 { return r.usage.PeakKB })/1024)
	}
	return b.String()
}

func median[T any, V cmp.Ordered](all []T, of func(T) V) V {
	values := make([]V, len(all))
	for i, v := range all {
		values[i] = of(v)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
