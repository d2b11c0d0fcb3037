package demo

import (
	"strings"
	"testing"
)

// TestNeeds: a program is asked for where it is not there, and only then.
func TestNeeds(t *testing.T) {
	if hint := needs("go"); hint != "" {
		t.Errorf("go is there: %q", hint)
	}
	t.Setenv("PATH", t.TempDir())
	if hint := needs("go"); !strings.Contains(hint, "`go`") {
		t.Errorf("go is not there: %q", hint)
	}
}
