package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// many is a repository of so many files: TROUPE_FILES, or 10,000.
func many(t testing.TB) *bench {
	t.Helper()
	files := 10_000
	if n, err := strconv.Atoi(os.Getenv("TROUPE_FILES")); err == nil {
		files = n
	}
	b := &bench{t: t}
	b.begin()
	for i := range files {
		b.write(fmt.Sprintf("d%d/e%d/f%d.go", i%20, i/20%20, i), strings.Repeat(fmt.Sprintf("line of %d\n", i), 200))
	}
	b.git(b.dir, "add", "-A")
	b.git(b.dir, "commit", "-qm", "many")
	return b
}

// BenchmarkMake is the making of a worktree beside git's own.
func BenchmarkMake(bm *testing.B) {
	b := many(bm)
	n := 0
	bm.Run("git", func(bm *testing.B) {
		for bm.Loop() {
			n++
			b.git(b.dir, "worktree", "add", "-q", "--detach", filepath.Join(b.home, fmt.Sprintf("w%d", n)))
		}
	})
	bm.Run("troupe", func(bm *testing.B) {
		for bm.Loop() {
			n++
			b.made(fmt.Sprintf("w%d", n))
		}
	})
	bm.Run("troupe, dirty", func(bm *testing.B) {
		b.write("d1/new.go", "new\n")
		b.write("d1/e0/f1.go", "changed\n")
		for bm.Loop() {
			n++
			b.made(fmt.Sprintf("w%d", n))
		}
	})
}

// BenchmarkSave is a checkpoint of one changed file, and BenchmarkClose an end with one.
func BenchmarkSave(bm *testing.B) {
	b := many(bm)
	ws := b.made("saved")
	path, n := filepath.Join(ws.Top, "d1/e0/f1.go"), 0
	for name, known := range map[string][]string{"known": {path}, "unknown": nil} {
		bm.Run(name, func(bm *testing.B) {
			for bm.Loop() {
				n++
				put(bm, path, fmt.Sprintln(n))
				b.save(ws, known...)
			}
		})
	}
}

func BenchmarkClose(bm *testing.B) {
	b := many(bm)
	n := 0
	for bm.Loop() {
		bm.StopTimer()
		n++
		ws := b.made(fmt.Sprintf("w%d", n))
		put(bm, filepath.Join(ws.Top, "d1/e0/f1.go"), fmt.Sprintln(n))
		bm.StartTimer()
		if res := b.close(ws); !res.Gone {
			bm.Fatal(res)
		}
	}
}
