package follow

import (
	"fmt"
	"testing"

	"github.com/troupe-dev/troupe/internal/wire"
)

// BenchmarkFollow is the cost of one event delivered to one follower, the commit included. It is
// the same however many trees are followed, and not more the more followers a tree has.
func BenchmarkFollow(b *testing.B) {
	for _, bb := range []struct{ trees, followers, idle int }{
		{1, 1, 0}, {1, 1000, 0}, {1000, 1, 0}, {1, 1, 10_000},
	} {
		b.Run(fmt.Sprintf("trees=%d/followers=%d/idle=%d", bb.trees, bb.followers, bb.idle), func(b *testing.B) {
			h := newHome(b, mem())
			all := make([][]*Follower, bb.trees)
			for n := range bb.trees {
				root := h.plant(n, 0)[0]
				for range bb.followers {
					f := h.follow(wire.Follow{Root: root, Deltas: true})
					now(b, f)
					all[n] = append(all[n], f)
				}
			}
			for n := range bb.idle {
				now(b, h.follow(wire.Follow{Root: h.plant(bb.trees+n, 0)[0]}))
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				of := all[i/bb.followers%bb.trees]
				if i%bb.followers == 0 {
					h.note(of[0].o.Root, of[0].o.Root)
				}
				if got, err := of[i%bb.followers].Next(b.Context()); err != nil || len(got.Events) != 1 {
					b.Fatalf("%v, %v", got, err)
				}
			}
		})
	}
}
