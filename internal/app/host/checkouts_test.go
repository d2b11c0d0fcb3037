package host

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store/memstore"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestAsksAnother: a process that has not the checkout which a session works in has another one go on with it, and
// never asks itself.
func TestAsksAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, s := newWorld(), memstore.New(memstore.Options{}).Open()
		w.cwd = "/none/checkouts/a/b/c"
		var all []*Host
		for _, id := range []troupe.OwnerID{"w1", "w2"} {
			h := New(t.Context(), Options{Records: s, Trees: w, System: w, Now: time.Now,
				Log: slog.New(slog.DiscardHandler), Folders: []string{"/none/checkouts"}, Checkouts: "/none/checkouts",
				Dial: func(socket string, c troupe.Caller) Peer {
					w.mu.Lock()
					defer w.mu.Unlock()
					w.dialed = append(w.dialed, call{socket, c, false})
					return peer{w, len(w.dialed) - 1}
				}})
			if err := h.Announce(t.Context(), troupe.Owner{ID: id, Socket: string(id)}); err != nil {
				t.Fatal(err)
			}
			all = append(all, h)
		}
		for range 20 {
			_, err := all[0].API(w, troupe.Caller{}).Begin(t.Context(), wire.Begin{Resume: string(tree)})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range w.dialed {
			if c.socket != "w2" {
				t.Fatalf("the first one asked %s", c.socket)
			}
		}
		for _, h := range all {
			if err := h.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestNoRepositories: where no process checks repositories out, it is said whose doing that is.
func TestNoRepositories(t *testing.T) {
	t.Parallel()
	for takes, want := range map[bool]string{false: "this server takes no repositories",
		true: "no worker checks repositories out in /none/checkouts"} {
		synctest.Test(t, func(t *testing.T) {
			w, s := newWorld(), memstore.New(memstore.Options{}).Open()
			h := New(t.Context(), Options{Records: s, Trees: w, System: w, Now: time.Now,
				Log: slog.New(slog.DiscardHandler), Checkouts: "/none/checkouts", TakesRepositories: takes})
			for _, relayed := range []bool{false, true} {
				var b wire.Begin
				b.Repo, b.Prompt = "https://git.example.com/you/app", "x"
				_, err := h.API(w, troupe.Caller{Relayed: relayed}).Begin(t.Context(), b)
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("relayed %v: %v, want %q", relayed, err, want)
				}
			}
			if err := h.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
