package troupe

import "testing"

// TestUnknownRight: a right that this version does not know, which a newer one may have given, covers nothing.
func TestUnknownRight(t *testing.T) {
	t.Parallel()
	for _, r := range []Right{"", "lead", "Admin"} {
		for _, needs := range UserRights() {
			if r.Covers(needs) {
				t.Errorf("%q covers %s", r, needs)
			}
		}
	}
	for _, r := range []Right{RightOwner, RightParent, RightSystem, RightAdmin} {
		if !r.Covers(RightAdmin) {
			t.Errorf("%s does not cover what an admin may", r)
		}
	}
	if RightViewer.Covers(RightOperator) || !RightOperator.Covers(RightViewer) {
		t.Error("the rights of users are not in order")
	}
}
