// Command ansi2svg draws terminal output from its standard input as an SVG on its standard
// output. It makes the pictures in the documentation; see `make picture`.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/troupe-dev/troupe/internal/picture"
)

func main() {
	title := flag.String("title", "", "what the window's bar says")
	columns := flag.Int("columns", 100, "where lines wrap")
	flag.Parse()
	if err := run(*title, *columns); err != nil {
		fmt.Fprintln(os.Stderr, "ansi2svg:", err)
		os.Exit(1)
	}
}

func run(title string, columns int) error {
	in, err := io.ReadAll(os.Stdin)
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	return picture.SVG(os.Stdout, string(in), picture.Options{Title: title, Columns: columns})
}
