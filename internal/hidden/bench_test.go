package hidden

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// largeTree is a project of 200,000 files in 20,000 folders, with hidden ones deep inside; of a tenth with -short.
func largeTree(b *testing.B) (root string, names int) {
	b.Helper()
	root = resolvedTemp(b)
	tops, one := 200, ""
	if testing.Short() {
		tops = 20
	}
	for i := range tops {
		for k := range 100 {
			dir := fmt.Sprintf("%s/package%03d/source%d/module%02d", root, i, k/25, k)
			must(b, os.MkdirAll(dir, 0o755))
			for n := range 10 {
				if one == "" || names%50_000 < 2 { // names of one file are made sooner than files
					one = fmt.Sprintf("%s/%d", root, names)
					put(b, one)
				}
				must(b, os.Link(one, fmt.Sprintf("%s/component_%d.go", dir, n)))
				names++
			}
			names++
		}
	}
	for i := range 10 {
		put(b, fmt.Sprintf("%s/package%03d/source1/module30/deep/%d/.env", root, i, i))
	}
	return root, names
}

// BenchmarkHiddenFirst200k is the first call, which walks and places watches, and what find takes for the same tree.
func BenchmarkHiddenFirst200k(b *testing.B) {
	root, names := largeTree(b)
	var found, walked time.Duration
	for b.Loop() {
		began := time.Now()
		out, err := exec.CommandContext(b.Context(), "find", root, "-name", ".env*").Output()
		if err != nil || len(out) == 0 {
			b.Fatal(err)
		}
		found += time.Since(began)
		began = time.Now()
		f := New(root)
		if got := now(b, f, secrets()); len(got) != 10 || f.State().Unwatched != "" || f.State().Names < names {
			b.Fatalf("found %d; %+v", len(got), f.State())
		}
		walked += time.Since(began)
		must(b, f.Close())
	}
	b.ReportMetric(float64(walked.Milliseconds())/float64(b.N), "first-ms")
	b.ReportMetric(float64(found.Milliseconds())/float64(b.N), "find-ms")
}

// BenchmarkHiddenUnwatched200k is each call where there are no watches.
func BenchmarkHiddenUnwatched200k(b *testing.B) {
	root, _ := largeTree(b)
	f := finder(b, root)
	f.unwatch("for comparison")
	for b.Loop() {
		now(b, f, secrets())
	}
}

// BenchmarkHiddenAgain200k is a later call, after a command has written 100 files.
func BenchmarkHiddenAgain200k(b *testing.B) {
	root, _ := largeTree(b)
	f := finder(b, root)
	now(b, f, secrets())
	for b.Loop() {
		b.StopTimer()
		for i := range 100 {
			put(b, filepath.Join(root, "package007", fmt.Sprintf("new%02d", i/20), fmt.Sprint(i)))
		}
		b.StartTimer()
		if got := now(b, f, secrets()); len(got) != 10 {
			b.Fatalf("found %d", len(got))
		}
	}
}
