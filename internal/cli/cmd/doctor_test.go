package cmd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/wire"
)

// TestWriteCheckedModel: what is configured is shown, chosen or not.
func TestWriteCheckedModel(t *testing.T) {
	t.Parallel()
	for want, k := range map[string]wire.Diagnosis{
		"model=none is chosen providers=configured: own, vllm": {Providers: []string{"own", "vllm"}},
		"model=vllm/q provider=vllm: ready, VLLM_KEY is set, at http://x providers=configured besides: own": {
			Model: "vllm/q", Providers: []string{"own", "vllm"},
			Provider: wire.ProviderCheck{Name: "vllm", KeyEnv: "VLLM_KEY", Key: true, Ready: true, BaseURL: "http://x"},
		},
		"model=own/q provider=own: not ready": {Model: "own/q", Providers: []string{"own"},
			Provider: wire.ProviderCheck{Name: "own"}},
	} {
		var rows []string
		writeCheckedModel(func(name, format string, args ...any) {
			rows = append(rows,
				name+"="+fmt.Sprintf(format, args...))
		}, k)
		if got := strings.Join(rows, " "); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}
