package worktree

import (
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
