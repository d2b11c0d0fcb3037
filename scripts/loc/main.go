// Command loc prints the product's lines of code, by package and in all: blank lines, comments,
// tests and what only developers run apart. `make loc` runs it at the top of the repository.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/troupe-dev/troupe/internal/archtest"
)

func main() {
	lines, err := archtest.Lines(context.Background(), ".")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	total := 0
	for _, folder := range slices.Sorted(maps.Keys(lines)) {
		total += lines[folder]
		fmt.Printf("%6d %s\n", lines[folder], "./"+folder)
	}
	fmt.Printf("%6d total\n", total)
}
