package search_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/tool/search"
)

// manyFiles makes a tree of n small files with ignore files and hidden ones in it. One in two
// thousand holds what is looked for.
func manyFiles(b *testing.B, n int) string {
	b.Helper()
	dir := tree(b,
		map[string]string{".git/HEAD": "x", ".gitignore": "*.log\n/build\nnode_modules/\n!keep.log\ndist/**/*.map\n"})
	text := strings.Repeat("func return package import value string error index\n", 60)
	for i := range n {
		folder := filepath.Join(dir, fmt.Sprintf("d%02d/e%02d/f%d", i/10_000, i/500%20, i/50%10))
		if i%50 == 0 {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		name := fmt.Sprintf("file%06d%s", i, []string{".go", ".txt", ".py", ".md", ".log"}[i%5])
		if i%100 == 7 {
			name = "." + name
		}
		content := text[:300+i*7919%2400]
		if i%2000 == 11 {
			content += "here is the Needle_In_Stack(42)\n"
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// BenchmarkManyFiles sets the tools beside grep and find, over 200,000 files (20,000 with -short).
func BenchmarkManyFiles(b *testing.B) {
	n := 200_000
	if testing.Short() {
		n /= 10
	}
	dir := manyFiles(b, n)
	rs := search.New(search.Options{LookPath: noPrograms})
	program := func(name string, args ...string) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.CommandContext(b.Context(), name, args...)
				cmd.Dir = dir
				if err := cmd.Run(); err != nil {
					b.Skip(name, "does not run here:", err)
				}
			}
		})
	}
	program("grep", "-rl", "Needle_In_Stack", ".")
	for name, args := range map[string]map[string]any{
		"literal": {"pattern": "Needle_In_Stack"}, "folded": {"pattern": `needle_in_\w+`, "-i": true},
		"lines": {"pattern": `\bNeedle.*\(\d+\)`, "output_mode": "content", "-C": 1},
	} {
		b.Run("Grep/"+name, func(b *testing.B) {
			for b.Loop() {
				run(b, rs[1], dir, args)
			}
		})
	}
	program("find", ".", "-name", "*.go")
	b.Run("Glob", func(b *testing.B) {
		for b.Loop() {
			run(b, rs[0], dir, map[string]any{"pattern": "**/*.go"})
		}
	})
}
