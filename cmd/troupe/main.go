// Command troupe runs a team of coding agents as one controllable system.
package main

import (
	"context"
	"os"

	"github.com/troupe-dev/troupe/internal/cli"
)

// version is set by the build.
var version = "dev"

func main() {
	startSmall()
	os.Exit(cli.Main(context.Background(), os.Args[1:], version))
}
