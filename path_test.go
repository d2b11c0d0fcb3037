package troupe_test

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

func TestWithin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, folder string
		want         bool
	}{
		{"/a/b", "/a", true}, {"/a", "/a", true}, {"/ab", "/a", false}, {"/a", "/a/b", false},
		{"/a/bc", "/a/b", false}, {"/a/b/c", "/a/b", true}, {"/a/b", "/a/bc", false},
		{"/etc/x", "/", true}, {"/", "/", true}, {"/", "/a", false}, {"/etc/x", "", true},
	} {
		if got := troupe.Within(c.path, c.folder); got != c.want {
			t.Errorf("Within(%q, %q) = %v", c.path, c.folder, got)
		}
	}
	if !troupe.WithinAny("/a/b", []string{"/a/bc", "/a"}) || troupe.WithinAny("/a/b", []string{"/a/bc"}) ||
		troupe.WithinAny("/a", nil) {
		t.Error("WithinAny")
	}
}
