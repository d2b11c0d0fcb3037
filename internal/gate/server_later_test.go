package gate

import "testing"

// TestOffersLater: all that one server comes to have is offered by its star, and nothing else is.
func TestOffersLater(t *testing.T) {
	t.Parallel()
	l := Layer{Offered: []string{"Read", "mcp__a__*", "mcp__b__one", "*", "Edit*"}}
	for name, want := range map[string]bool{
		"Read": true, "mcp__a__new": true, "mcp__b__one": true, "mcp__b__two": false, "mcp__ab__x": false,
		"Write": false, "Edit": false, "mcp__b__one2": false,
	} {
		if l.offers(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
