package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"time"
)

// machine is how long all processors of this machine have been busy so far, as Linux counts
// it (in hundredths of a second). known is false elsewhere.
func machine() (busy time.Duration, known bool) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, false
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	var user, nice, system, idle, wait, irq, softirq, steal int64
	if _, err := fmt.Sscanf(string(line), "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &wait, &irq,
		&softirq, &steal); err != nil {
		return 0, false
	}
	return time.Duration(user+nice+system+irq+softirq+steal) * (time.Second / 100), true
}

// noise is which share of the machine others used while a run took place: what the figures
// of that run are worth.
type noise struct {
	busy  time.Duration
	known bool
	begin time.Time
}

func listen() noise {
	busy, known := machine()
	return noise{busy, known, time.Now()}
}

// share is what was neither ours nor idle since then; 0 where it is not known.
func (n noise) share(ours time.Duration) float64 {
	busy, known := machine()
	if !known || !n.known {
		return 0
	}
	all := time.Since(n.begin) * time.Duration(runtime.NumCPU())
	return max(0, float64(busy-n.busy-ours)/float64(all))
}
