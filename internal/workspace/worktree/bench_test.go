package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// many is a repository of so many files.
func many(t testing.TB, files int) *bench {
	t.Helper()
	b := &bench{t: t}
	b.begin()
	for i := range files {
		b.write(fmt.Sprintf("d%d/e%d/f%d.go", i%20, i/20%20, i), strings.Repeat(fmt.Sprintf("line of %d\n", i), 200))
	}
	b.git(b.dir, "add", "-A")
	b.git(b.dir, "commit", "-qm", "many")
	return b
}

// thisOne is a clone of the repository that this file is in; nil if it is in none.
func thisOne(t testing.TB) *bench {
	t.Helper()
	b := &bench{t: t}
	b.begin()
	top, err := b.try(".", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil
	}
	b.git(b.home, "clone", "-q", strings.TrimSpace(top), "this")
	b.dir = filepath.Join(b.home, "this")
	return b
}

// compared measures what we do beside what git does for the same purpose, in turns on the same disk.
type compared struct {
	*bench
	*testing.B
	n         int
	git, ours time.Duration
	checkout  time.Duration // of ours: git writing the files
}

func (b *compared) time(into *time.Duration, do func()) {
	began := time.Now()
	do()
	*into += time.Since(began)
}

func (b *compared) report() {
	n := float64(b.N)
	b.ReportMetric(float64(b.ours)/n, "ns/op")
	b.ReportMetric(float64(b.git)/n, "ideal-ns/op")
	b.ReportMetric(float64(b.ours)/float64(b.git), "x-git")
	b.ReportMetric(1, "ideal-x-git")
	if b.checkout > 0 {
		b.ReportMetric(float64((b.ours-b.checkout).Milliseconds())/n, "beside-checkout-ms")
	}
}

// one is a worktree of each kind, with a changed file and a new one.
func (b *compared) one() (tree string, ws troupe.Workspace) {
	b.n++
	tree = filepath.Join(b.home, fmt.Sprintf("w%d", b.n))
	b.time(&b.git, func() {
		b.bench.git(b.dir, "worktree", "add", "-q", "-b", fmt.Sprintf("git-%d", b.n), tree)
	})
	var began time.Time
	b.k.step = func(name string) error {
		switch name {
		case "folder":
			began = time.Now()
		case "checkout":
			b.checkout += time.Since(began)
		}
		return nil
	}
	b.time(&b.ours, func() { ws = b.made(fmt.Sprintf("w%d", b.n)) })
	return tree, ws
}

func (b *compared) change(top string) {
	put(b.B, filepath.Join(top, fmt.Sprintf("new%d.txt", b.n)), fmt.Sprintln(b.n))
	put(b.B, filepath.Join(top, "README.md"), fmt.Sprintln(b.n))
}

// gitEnds is what a person does to end a worktree and keep what is in it.
func (b *compared) gitEnds(tree string) {
	b.bench.git(tree, "add", "-A")
	b.bench.git(tree, "commit", "-qm", "end")
	b.bench.git(b.dir, "worktree", "remove", tree)
}

func (b *compared) ends(ws troupe.Workspace) {
	if res := b.close(ws); !res.Gone {
		b.Fatalf("closed: %+v", res)
	}
}

// BenchmarkBesideGit makes, checkpoints, ends and merges worktrees beside plain git: git worktree add; git add and
// git write-tree; git add, git commit and git worktree remove; git merge --squash. On this repository, on 50,000 files
// that are made for it, and on as many as TROUPE_FILES says.
func BenchmarkBesideGit(bm *testing.B) {
	sizes := []int{50_000}
	if n, err := strconv.Atoi(os.Getenv("TROUPE_FILES")); err == nil {
		sizes = []int{n}
	}
	if b := thisOne(bm); b != nil {
		bm.Run("this", func(bm *testing.B) { besideGit(bm, b) })
	}
	for _, files := range sizes {
		bm.Run(fmt.Sprintf("files=%d", files), func(bm *testing.B) { besideGit(bm, many(bm, files)) })
	}
}

func besideGit(bm *testing.B, at *bench) {
	count := 0
	run := func(name string, each func(b *compared)) {
		bm.Run(name, func(bm *testing.B) {
			b := &compared{bench: at, B: bm, n: count}
			for bm.Loop() {
				each(b)
			}
			b.report()
			count = b.n
		})
	}
	run("make", func(b *compared) {
		tree, ws := b.one()
		made := *b
		b.bench.git(b.dir, "worktree", "remove", tree)
		b.ends(ws)
		b.git, b.ours, b.checkout = made.git, made.ours, made.checkout
	})
	part := func(name string, git func(b *compared, tree string), ours func(b *compared, ws troupe.Workspace),
		after func(b *compared, tree string, ws troupe.Workspace)) {
		run(name, func(b *compared) {
			was := *b
			tree, ws := b.one()
			b.change(tree)
			b.change(ws.Top)
			b.git, b.ours, b.checkout = was.git, was.ours, 0
			b.time(&b.git, func() { git(b, tree) })
			b.time(&b.ours, func() { ours(b, ws) })
			after(b, tree, ws)
		})
	}
	both := func(b *compared, tree string, ws troupe.Workspace) { b.gitEnds(tree); b.ends(ws) }
	part("checkpoint", func(b *compared, tree string) {
		b.bench.git(tree, "add", "-A")
		b.bench.git(tree, "write-tree")
	}, func(b *compared, ws troupe.Workspace) { b.save(ws) }, both)
	part("finish", (*compared).gitEnds, (*compared).ends, func(*compared, string, troupe.Workspace) {})
	run("merge", func(b *compared) {
		was := *b
		tree, ws := b.one()
		b.change(tree)
		b.change(ws.Top)
		both(b, tree, ws)
		b.git, b.ours, b.checkout = was.git, was.ours, 0
		b.time(&b.git, func() { b.bench.git(b.dir, "merge", "-q", "--squash", fmt.Sprintf("git-%d", b.n)) })
		b.bench.git(b.dir, "reset", "-q", "--hard")
		b.time(&b.ours, func() {
			m, err := b.k.Merge(b.Context(), ws, Into{})
			if err == nil {
				_, err = Apply(b.dir, m.Changes)
			}
			if err != nil || len(m.Changes) != 2 {
				b.Fatalf("merged: %+v, %v", m, err)
			}
		})
		b.bench.git(b.dir, "reset", "-q", "--hard")
		b.bench.git(b.dir, "clean", "-fdq")
	})
}

// BenchmarkSave is a checkpoint of one changed file in 10,000, which is known to have changed or not: the first one
// after the folder was made, and those after it.
func BenchmarkSave(bm *testing.B) {
	b := many(bm, 10_000)
	ws := b.made("saved")
	n := 0
	for name, known := range map[string]bool{"known": true, "unknown": false} {
		save := func(ws troupe.Workspace) {
			n++
			path := filepath.Join(ws.Top, "d1/e0/f1.go")
			put(bm, path, fmt.Sprintln(n))
			var changed []string
			if known {
				changed = []string{path}
			}
			b.save(ws, changed...)
		}
		bm.Run(name, func(bm *testing.B) {
			for bm.Loop() {
				save(ws)
			}
		})
		bm.Run(name+"/first", func(bm *testing.B) {
			for bm.Loop() {
				bm.StopTimer()
				ws := b.made(fmt.Sprintf("first%d", n))
				bm.StartTimer()
				save(ws)
				bm.StopTimer()
				b.close(ws)
				bm.StartTimer()
			}
		})
	}
}
