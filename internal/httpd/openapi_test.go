package httpd

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write docs/openapi.yaml")

// TestDescription: what docs/openapi.yaml says is what is served. A change of it is a change
// of a promise; look at it, then write it with -update.
func TestDescription(t *testing.T) {
	t.Parallel()
	const file = "../../docs/openapi.yaml"
	got, err := description()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("docs/openapi.yaml is not what the server says; if that is meant: go test ./internal/httpd -run " +
			"TestDescription -update")
	}
}

// BenchmarkDescription is what the first request costs on top.
func BenchmarkDescription(b *testing.B) {
	for b.Loop() {
		newHandler(nil, b.Context())
	}
}
