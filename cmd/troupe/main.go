// Command troupe runs a team of coding agents as one controllable system.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/troupe-dev/troupe/internal/cli"
)

// version is set by the build.
var version = "dev"

func main() {
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	os.Exit(cli.Main(context.Background(), os.Args[1:], version, interrupts))
}
