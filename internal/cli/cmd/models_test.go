package cmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestNoModels: a provider that has no list is configured all the same.
func TestNoModels(t *testing.T) {
	t.Parallel()
	for want, providers := range map[string][]string{
		"No provider is configured.": nil,
		"No models can be listed. Configured: own, vllm. One that you know of: troupe -p --model own/NAME": {"own",
			"vllm"},
	} {
		var b bytes.Buffer
		if err := writeModels(&console.Console{Out: &b, Err: &b}, wire.ModelList{Providers: providers}); err != nil ||
			!strings.HasPrefix(b.String(), want) {
			t.Errorf("%v: %s", err, b.String())
		}
	}
}
