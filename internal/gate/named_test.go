package gate

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestNamed: rules name a place in a session's own folder by that in the project, through as many folders as one was
// made from another; what is no copy of anything there keeps its path.
func TestNamed(t *testing.T) {
	t.Parallel()
	outer := troupe.Workspace{Kind: troupe.WorkspaceTree, Of: "/proj", Top: "/trees/outer", Folder: "/trees/outer"}
	inner := troupe.Workspace{Kind: troupe.WorkspaceTree, Of: "/trees/outer", Top: "/trees/inner",
		Folder: "/trees/inner"}
	only := troupe.Workspace{Kind: troupe.WorkspaceReadOnly, Of: "/proj", Top: "/proj", Folder: "/proj"}
	for _, tt := range []struct {
		name, want string
		works      []troupe.Workspace
	}{
		{"/trees/inner/src/a.go", "/proj/src/a.go", []troupe.Workspace{inner, outer}},
		{"/trees/outer/src/a.go", "/proj/src/a.go", []troupe.Workspace{outer}},
		{"/trees/outer", "/proj", []troupe.Workspace{outer}},
		{"/trees/outer-2/a", "/trees/outer-2/a", []troupe.Workspace{outer}},
		{"/trees/inner/.git/hooks/x", "/trees/inner/.git/hooks/x", []troupe.Workspace{inner, outer}},
		{"/trees/inner/.github/x", "/proj/.github/x", []troupe.Workspace{inner, outer}},
		{"/proj/a", "/proj/a", []troupe.Workspace{only}},
		{"/etc/hosts", "/etc/hosts", nil},
	} {
		if got := Named(tt.name, tt.works...); got != tt.want {
			t.Errorf("%s is named %s, want %s", tt.name, got, tt.want)
		}
	}
}
