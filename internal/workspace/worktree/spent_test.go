package worktree

import (
	"errors"
	"os"
	"testing"
)

// TestWakeTaken: a workspace that left nothing is not gone on in while another has its name, even where the folder of
// that one is not there just now; and the other goes on as if it had not been asked for.
func TestWakeTaken(t *testing.T) {
	b := newBench(t)
	first := b.made("name")
	if res := b.close(first); !res.Gone || !there(b.k.spent(first.Owner)) {
		t.Fatalf("%+v", res)
	}
	second := b.made("name")
	if err := os.RemoveAll(second.Top); err != nil {
		t.Fatal(err)
	}
	if _, err := b.k.Open(t.Context(), first, Making{}); err == nil {
		t.Error("two have one folder")
	}
	if !there(b.k.spent(first.Owner)) {
		t.Error("what was asked for in vain is not aside any more")
	}
	b.open(second)
	put(t, second.Top+"/a.txt", "changed\n")
	if res := b.close(second); !res.Gone {
		t.Errorf("%+v", res)
	}
}

// TestWokenInVain: an agent that had changed nothing is asked something that it answers without a tool. Its run ends
// before the folder is made again, with or without a keeper: there is nothing to keep, and the next message finds it as
// it was.
func TestWokenInVain(t *testing.T) {
	b := newBench(t)
	ws := b.made("idle")
	if res := b.close(ws); !res.Gone || !there(b.k.spent(ws.Owner)) {
		t.Fatalf("%+v", res)
	}
	p, err := b.k.place(ws)
	if err != nil {
		t.Fatal(err)
	}
	for name, half := range map[string]func() error{
		"no keeper": func() error { return nil },
		"half a keeper": func() error {
			c, err := b.k.callerOf(t.Context(), b.dir)
			return errors.Join(err, writeKeeper(p, c), os.MkdirAll(p.making, 0o700))
		},
	} {
		if _, err := p.unspend(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := half(); err != nil {
			t.Fatal(err)
		}
		if res := b.close(ws); !res.Gone || res.Files != 0 || there(p.making) || !there(b.k.spent(ws.Owner)) {
			t.Errorf("%s: %+v", name, res)
		}
	}
	if _, err := p.unspend(t.Context()); err != nil {
		t.Fatal(err)
	}
	if removed, why, err := b.k.Prune(t.Context(), ws.Owner, Ending{}); err != nil || !removed {
		t.Errorf("it stays for good: %s %v", why, err)
	}
	b.open(ws)
	put(t, ws.Top+"/a.txt", "changed\n")
	if res := b.close(ws); !res.Gone || res.Files != 1 {
		t.Errorf("%+v", res)
	}
}
