package run

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestBroken: nobody is sent to a log that is gone.
func TestBroken(t *testing.T) {
	t.Parallel()
	const id = troupe.SessionID("0123456789ab")
	if text := broken(id, troupe.ErrFenced, false).Error(); !strings.Contains(text, "troupe log 0123456789ab") {
		t.Error(text)
	}
	for _, err := range []error{troupe.ErrFenced, troupe.ErrNotFound} {
		if text := broken(id, err, true).Error(); strings.Contains(text, "troupe log") || strings.Contains(text, "--resume") || !strings.Contains(text, "nothing is there any more") {
			t.Error(text)
		}
	}
}
