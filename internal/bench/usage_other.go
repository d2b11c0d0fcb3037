//go:build !unix

package main

import (
	"os"
	"time"
)

func peakKB(*os.ProcessState) int64 { return 0 }

func ownCPU() time.Duration { return 0 }
