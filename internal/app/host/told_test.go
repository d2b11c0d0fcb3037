package host

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe/internal/store/memstore"
)

// TestToldBeforeForgotten: the row of a tree that is over goes only once all of it was told.
func TestToldBeforeForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := newWorld(), memstore.New(memstore.Options{}).Open()
		var mu sync.Mutex
		fails, told := errors.New("the database is away"), 0
		h := New(t.Context(), Options{Records: s, Trees: w, System: w, Now: time.Now,
			Log: slog.New(slog.DiscardHandler), Folders: []string{"/src"},
			Tell: func(_ context.Context, n News) error {
				mu.Lock()
				defer mu.Unlock()
				if fails == nil && n.Root == tree && n.Leaves {
					told++
				}
				return fails
			}})
		defer func() { _ = h.Close(t.Context()) }()
		w.set(Over)
		if err := h.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		pass(10 * lookEvery)
		if _, there := recordOf(t, s); !there {
			t.Fatal("it is forgotten, and was not told")
		}
		mu.Lock()
		fails = nil
		mu.Unlock()
		pass(2 * lookEvery)
		mu.Lock()
		defer mu.Unlock()
		if _, there := recordOf(t, s); there || told != 1 {
			t.Errorf("there is %t, told %d times", there, told)
		}
	})
}
