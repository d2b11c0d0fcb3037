package main

import (
	"os"
	"time"
)

// usage is what a process used of the machine.
type usage struct {
	User, System time.Duration
	PeakKB       int64 // most resident memory; 0 where the system does not tell
}

func (u usage) cpu() time.Duration { return u.User + u.System }

func usageOf(p *os.ProcessState) usage {
	return usage{User: p.UserTime(), System: p.SystemTime(), PeakKB: peakKB(p)}
}
