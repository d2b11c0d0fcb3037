package servers

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"slices"
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

// TestKeptAsItWas: what is kept of a list comes back as it was, and a file that is not whole is as good as none.
func TestKeptAsItWas(t *testing.T) {
	t.Parallel()
	k, e := Kept(t.TempDir()), entry.Entry{Name: "s", Type: entry.HTTP, URL: "https://example.com"}
	for _, l := range []mcp.List{{Tools: []mcp.Tool{}}, {Changes: true, Resources: true,
		Prompts: []mcp.Prompt{{Name: "p", Arguments: []string{"a"}}},
		Tools: []mcp.Tool{{Name: "a", Description: "lines\nof “it”", Schema: []byte(`{"type":"object"}`)},
			{Name: "b", Schema: []byte("{\n}")}, {Name: "c", Description: "no more", Schema: []byte(`{}`)}}}} {
		if err := k.Put(e, "", l, nil, time.Now()); err != nil {
			t.Fatal(err)
		}
		if got, found, err := k.Get(e, "", time.Now()); !found || err != nil || !reflect.DeepEqual(got, l) {
			t.Errorf("%+v is %+v, %v, %v", l, got, found, err)
		}
	}
	data, err := os.ReadFile(k.file(e, ""))
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		if _, ok := unpack(data[:i]); ok {
			t.Errorf("the first %d bytes of %d were taken for a list", i, len(data))
		}
	}
	for i := bytes.IndexByte(data, '\n') + 1; i < len(data); i++ {
		other := slices.Clone(data)
		other[i] ^= 1
		if _, ok := unpack(other); ok {
			t.Errorf("%q was taken for a list", other)
		}
	}
}
