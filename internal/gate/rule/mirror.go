package rule

// Mirror is the rule about the same places in a folder that stands for another one, as a worktree does for the tree
// that it was made from. It is false for a rule that is about no place in either.
func (r Rule) Mirror(at Places, one, other string) (Rule, bool) {
	out := r
	out.Paths = nil
	for i := range r.Paths {
		p := &r.Paths[i]
		base, ok := p.Base(at)
		if !ok {
			continue
		}
		segs := append(LiteralSegments(base), p.Segs...)
		ways := [][2]string{{one, other}, {other, one}}
		if len(other) > len(one) { // the one may lie in the other: what is in both is of the inner
			ways[0], ways[1] = ways[1], ways[0]
		}
		for _, way := range ways {
			if rest, ok := behind(segs, LiteralSegments(way[0])); ok {
				out.Paths = append(out.Paths, Pattern{anchor: atRoot, Segs: append(LiteralSegments(way[1]), rest...)})
				break
			}
		}
	}
	return out, len(out.Paths) > 0
}

// behind is what follows a beginning.
func behind(segs, head []Segment) ([]Segment, bool) {
	if len(segs) < len(head) {
		return nil, false
	}
	for i := range head {
		if segs[i] != head[i] {
			return nil, false
		}
	}
	return segs[len(head):], true
}
