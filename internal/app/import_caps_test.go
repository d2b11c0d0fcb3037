package app

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/carry"
)

// TestImportCaps: a file may bring as many agents that go on as the settings here let a tree have, and no more; those
// that have ended, and the main agent, do not count.
func TestImportCaps(t *testing.T) {
	t.Parallel()
	x := importing{p: &policy{}}
	for _, s := range []troupe.Status{troupe.Waiting, troupe.Running, troupe.Waiting, troupe.Completed} {
		c := &carry.Carried{}
		c.State.Session.Status = s
		x.logs = append(x.logs, c)
	}
	for most, refused := range map[int]bool{0: false, 1: true, 2: false} {
		x.p.settings.Agents.MaxTotal, x.out.Notes = most, nil
		err := x.checkCaps()
		switch {
		case refused && (err == nil || !strings.Contains(err.Error(), "2 agents of the file")):
			t.Errorf("with at most %d: %v", most, err)
		case !refused && (err != nil || strings.Join(x.out.Notes, "") != "agents that go on when it is woken: 2"):
			t.Errorf("with at most %d: %v, %q", most, err, x.out.Notes)
		}
	}
}
