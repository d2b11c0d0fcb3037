package servers

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/mcp"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
)

func TestKeptIsBounded(t *testing.T) {
	k := Kept(t.TempDir())
	for i := range maxKept + 3 {
		e := entry.Entry{Name: "s", Type: entry.HTTP, URL: fmt.Sprintf("https://example.com/%d", i)}
		if err := k.Put(e, "", mcp.List{}, nil, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(string(k)); err != nil || len(left) != maxKept {
		t.Errorf("%d are kept, %v", len(left), err)
	}
}
