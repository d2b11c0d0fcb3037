package metrics

import (
	"bytes"
	"context"
	"os"
	"runtime"
	rm "runtime/metrics"
	"strconv"
	"time"
)

// Process has a set tell of this process too. What the system does not say is left out.
func Process(s *Set, version string, started time.Time) {
	s.Gauge("troupe_build_info", "1, with the version of Troupe and of Go.", "version",
		"go").Add(1, version, runtime.Version())
	s.Gauge("process_start_time_seconds", "When the process began, in seconds since 1970.").
		Set(float64(started.UnixNano()) / 1e9)
	routines := s.Gauge("go_goroutines", "Goroutines.")
	heap := s.Gauge("go_heap_objects_bytes", "Memory that objects of the program take.")
	s.Ask(func(context.Context) {
		samples := []rm.Sample{{Name: "/sched/goroutines:goroutines"}, {Name: "/memory/classes/heap/objects:bytes"}}
		rm.Read(samples)
		routines.Set(float64(samples[0].Value.Uint64()))
		heap.Set(float64(samples[1].Value.Uint64()))
		if n, ok := resident(); ok {
			s.Gauge("process_resident_memory_bytes", "Memory that the process takes of the machine.").Set(n)
		}
		if all, err := os.ReadDir("/proc/self/fd"); err == nil {
			s.Gauge("process_open_fds", "Open file descriptors.").Set(float64(len(all) - 1)) // one reads the list
		}
	})
}

// resident is the memory of the process, where /proc says it.
func resident() (bytesOf float64, ok bool) {
	data, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(data)
	if err != nil || len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return float64(pages) * float64(os.Getpagesize()), err == nil
}
