package run

import (
	"context"

	"github.com/troupe-dev/troupe/internal/cli/console"
)

// Headless carries out a prompt and shows what comes of it, as `troupe -p` does.
var Headless = headless

// Interruption is what an interrupt does before a run has begun.
func Interruption(c *console.Console) (raise func()) {
	i := interruption{c: c}
	return func() { i.raise(context.Background()) }
}
