//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

func peakKB(p *os.ProcessState) int64 {
	r, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return r.Maxrss / 1024 // the only one that counts in bytes
	}
	return r.Maxrss
}

// ownCPU is the processor time of this process so far.
func ownCPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
