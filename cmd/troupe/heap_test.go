package main

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// After the first collection the collector is as it always was.
func TestStartSmall(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	percent := func() int {
		p := debug.SetGCPercent(100)
		debug.SetGCPercent(p)
		return p
	}
	t.Setenv("GOGC", "77")
	startSmall()
	if p := percent(); p != 100 {
		t.Errorf("with GOGC set, the heap may grow by %d %% between collections; that was not ours to change", p)
	}
	t.Setenv("GOGC", "")
	startSmall()
	if p := percent(); p != 400 {
		t.Errorf("at the start the heap may grow by %d %%; want 400", p)
	}
	for range 10_000 {
		runtime.GC()
		if percent() == 100 {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("after many collections the heap may still grow by %d %%", percent())
}
