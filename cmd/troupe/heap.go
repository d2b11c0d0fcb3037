package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// startSmall puts the first garbage collection off until the heap has 16 MB, four times as many as
// usual: a team of fifty agents then ends before the second one, where five of them, each while all
// agents are at work, took a tenth of the processor time. From the first one on everything is as
// usual, and so is the peak of a large team. Who sets GOGC is left alone.
func startSmall() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(400)
	runtime.SetFinalizer(new([16]byte), func(*[16]byte) { debug.SetGCPercent(100) })
}
