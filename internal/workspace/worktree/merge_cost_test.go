package worktree

import (
	"fmt"
	"path/filepath"
	"testing"
)

// TestHandBackCosts: how often git is asked does not grow with the files that have markers already, and who worked on
// the caller's files is read once.
func TestHandBackCosts(t *testing.T) {
	took := map[int]int{}
	for _, n := range []int{2, 12} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			b := newBench(t)
			ws := b.made("costs")
			for i := range n {
				name := fmt.Sprintf("%02d.txt", i)
				b.write(name, "the caller's\n")
				put(t, filepath.Join(ws.Top, name), "the agent's\n")
			}
			if h := b.handBack(ws); len(h.Marked) != n {
				t.Fatalf("%+v", h)
			}
			calls := b.counting()
			if h := b.handBack(ws); len(h.Marked) != n {
				t.Fatalf("%+v", h)
			}
			took[n] = calls()
		})
	}
	if took[12] > took[2] {
		t.Errorf("2 files took %d calls, and 12 took %d", took[2], took[12])
	}
}
