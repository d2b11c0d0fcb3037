package run

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestBroken: nobody is sent to a log that is gone.
func TestBroken(t *testing.T) {
	t.Parallel()
	const id = troupe.SessionID("0123456789ab")
	if text := away(id, "https://x", api.ErrUnreachable).Error(); strings.Contains(text, "--resume") ||
		!strings.Contains(text, "troupe log 0123456789ab --follow") || strings.Contains(text, "aborted") {
		t.Errorf("of a server that is away: %s", text)
	}
	if text := broken(id, troupe.ErrFenced, false).Error(); !strings.Contains(text, "troupe log 0123456789ab") {
		t.Error(text)
	}
	for _, err := range []error{troupe.ErrFenced, troupe.ErrNotFound} {
		if text := broken(id, err, true).Error(); strings.Contains(text, "troupe log") ||
			strings.Contains(text, "--resume") || !strings.Contains(text, "no longer exists") {
			t.Error(text)
		}
	}
}

// TestMend: how to go on without a model names no model, and no key but the one in question.
func TestMend(t *testing.T) {
	t.Parallel()
	for suspects, want := range map[string]string{"is VLLM_KEY right?": "(is VLLM_KEY right?)",
		"": "when that is fixed, continue with"} {
		text := mend(wire.Report{SessionID: "0123456789ab", Suspects: suspects})
		if !strings.Contains(text, want) || !strings.Contains(text, "--resume 0123456789ab;") ||
			strings.Contains(text, "sonnet") || strings.Contains(text, "ANTHROPIC") {
			t.Error(text)
		}
	}
}

// TestExitCode: the exit code says how the main agent's run ended. A run that was over when its
// background work was interrupted was interrupted all the same.
func TestExitCode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status troupe.Status
		cause  troupe.Cause
		want   int
	}{
		{troupe.Completed, troupe.CauseNone, 0},
		{troupe.Completed, troupe.CauseInterrupt, 130},
		{troupe.Cancelled, troupe.CauseInterrupt, 130},
		{troupe.Failed, troupe.CauseInterrupt, 130},
		{troupe.Failed, troupe.CauseError, 1},
		{troupe.Failed, troupe.CauseNone, 1},
		{troupe.Failed, troupe.CauseRefusal, 1},
		{troupe.Cancelled, troupe.CauseNone, 1},
		{troupe.Failed, troupe.CauseNoModel, 2},
		{troupe.Failed, troupe.CausePermission, 3},
		{troupe.Failed, troupe.CauseLimit, 4},
		{troupe.MaxTurns, troupe.CauseLimit, 4},
	} {
		if got := exitCode(wire.Report{Status: tt.status, Cause: tt.cause}); got != tt.want {
			t.Errorf("%s, %q: exit %d, want %d", tt.status, tt.cause, got, tt.want)
		}
	}
}
