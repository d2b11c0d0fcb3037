package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/memstore"
	"github.com/troupe-dev/troupe/internal/store/sqlite"
)

// errUndo ends a transaction that was not meant to stay.
var errUndo = errors.New("undo")

// op is one call in a transaction. It returns what the call answered.
type op func(store.Tx) (any, error)

// TestSameAsMemory gives both implementations the same transactions, good ones and bad
// ones, and compares every answer and everything that can be read. What the simulation
// learns from the one then holds for the other.
func TestSameAsMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		disk, err := sqlite.Open(tContext(t), filepath.Join(dir, fmt.Sprint(n), "troupe.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := disk.Close(); err != nil {
				t.Error(err)
			}
		}()
		memory := memstore.New(memstore.Options{}).Open()
		for range rapid.IntRange(1, 25).Draw(t, "transactions") {
			root := rapid.SampledFrom(roots()).Draw(t, "root")
			ops := rapid.SliceOfN(rapid.Custom(drawOp), 1, 6).Draw(t, "ops")
			undo := rapid.IntRange(0, 5).Draw(t, "undo") == 0
			want := perform(t, memory, root, ops, undo)
			got := perform(t, disk, root, ops, undo)
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("they answer differently (-memory +sqlite):\n%s", d)
			}
			if d := cmp.Diff(everything(t, memory), everything(t, disk)); d != "" {
				t.Fatalf("they hold different things (-memory +sqlite):\n%s", d)
			}
		}
	})
}

// tContext is rapid's context of one check.
func tContext(t *rapid.T) interface {
	rapidContext
} {
	return t.Context()
}
