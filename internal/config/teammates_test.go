package config

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestTeammateMode: where members of a team are shown is the user's and an administrator's to say, in both dialects; a
// project's word is ignored with a warning, and a mode that there is not is named.
func TestTeammateMode(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.write(h.userTheirs, `{"teammateMode": "tmux"}`)
	h.project(".troupe/settings.json", `{"teammate_mode": "iterm2"}`)
	if got := h.read().Settings(true).Teammates; got != troupe.TeammatesTmux {
		t.Errorf("the mode is %q", got)
	}
	told := ""
	for _, w := range h.warnings {
		told += w.String()
	}
	if !strings.Contains(told, `"teammate_mode"`) {
		t.Errorf("of the project's word it is said: %s", told)
	}
	h.write(h.userOurs, `{"teammate_mode": "in-process"}`)
	if got := h.read().Settings(true).Teammates; got != troupe.TeammatesInProcess {
		t.Errorf("the mode is %q", got)
	}
	if _, _, err := Parse("f", []byte(`{"teammate_mode": "windows"}`)); err == nil ||
		!strings.Contains(err.Error(), "the modes are auto, tmux, iterm2 and in-process") {
		t.Error(err)
	}
}
