package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// long is one session of many turns, measured at its beginning and at its end: what a turn
// takes must not depend on how many there were before it.
type long struct {
	turns, span int
	early, late sample
	at          [2]int // the first turn of each span
}

// sample is a span of turns.
type sample struct {
	wall time.Duration
	cpu  time.Duration // 0 where it cannot be told
}

// long runs one agent for a number of turns against a server that does not wait.
func (l lab) long(ctx context.Context, turns int) (out long, err error) {
	s, err := l.site(ctx)
	if err != nil {
		return out, err
	}
	span := max(turns/4, 1)
	out = long{turns: turns, span: span, at: [2]int{max(span/4, 1), turns - span}}
	var mu sync.Mutex
	var pid int
	marks := make(map[int]sample)
	begin := time.Now()
	m := &monologue{turns: turns, files: s.files, watch: func(turn int) {
		for _, at := range out.at {
			if turn == at || turn == at+span {
				mu.Lock()
				marks[turn] = sample{time.Since(begin), threadTime(pid)}
				mu.Unlock()
			}
		}
	}}
	_, err = l.run(ctx, s, m.reply, 0, expected{agents: 1, turns: turns}, func(p int) {
		mu.Lock()
		pid = p
		mu.Unlock()
	}, func(time.Time) time.Duration { return 0 })
	if err != nil {
		return out, err
	}
	part := func(at int) sample {
		from, to := marks[at], marks[at+span]
		return sample{(to.wall - from.wall) / time.Duration(span), (to.cpu - from.cpu) / time.Duration(span)}
	}
	out.early, out.late = part(out.at[0]), part(out.at[1])
	return out, nil
}

// threadTime adds up what the threads of a process have run so far, to the nanosecond, as
// Linux counts it. Elsewhere it is 0.
func threadTime(pid int) time.Duration {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0
	}
	var sum time.Duration
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has ended
		}
		var n int64
		if _, err := fmt.Sscan(string(data), &n); err == nil {
			sum += time.Duration(n)
		}
	}
	return sum
}

func (l long) line() string {
	return fmt.Sprintf("BenchmarkLongSession/turns=%d 1 %d early-ns/turn %d late-ns/turn %.4f early-cpu-ms/turn %.4f "+
		"late-cpu-ms/turn",
		l.turns, l.early.wall.Nanoseconds(), l.late.wall.Nanoseconds(), ms(l.early.cpu), ms(l.late.cpu))
}

func (l long) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "One session of %d turns, one Read each, a server that does not wait:\n\n", l.turns)
	b.WriteString("| turns | wall per turn | CPU per turn |\n|---|---|---|\n")
	for i, s := range []sample{l.early, l.late} {
		fmt.Fprintf(&b, "| %d–%d | %.2f ms | %.2f ms |\n", l.at[i], l.at[i]+l.span, ms(s.wall), ms(s.cpu))
	}
	return b.String()
}
