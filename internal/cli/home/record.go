package home

import (
	"context"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app"
)

// Recordings, and what playing one comes to.
type (
	Recording = app.Recording
	Player    = app.Player
	Verdict   = app.Verdict
	Mismatch  = app.Mismatch
)

// Record makes a recording of a tree from its logs; args are the command that began it.
func (h *Home) Record(ctx context.Context, root troupe.SessionID, args []string) (Recording, error) {
	if err := h.hereOnly("troupe record"); err != nil {
		return Recording{}, err
	}
	return h.app.Record(ctx, root, args)
}

// Play has every run that begins in this home from now on play a recording. cwd is where.
func (h *Home) Play(rec Recording, cwd string) (*Player, error) {
	return h.app.Player(rec, cwd)
}

// Load reads a recording from a file, Save writes one; Free refuses a file that is there already.
func Load(file string) (Recording, error) { return app.LoadRecording(file) }

// Save writes a recording to a file, which is replaced only with leave.
func Save(file string, rec Recording, replace bool) error {
	return app.SaveRecording(file, rec, replace)
}

// CheckUnused refuses a file that is there already.
func CheckUnused(file string) error { return app.Unwritten(file) }

// DescribeSent says in words what a person sent to the recorded run while it was at work, which a replay
// cannot send again; "" if there is nothing.
func DescribeSent(rec Recording) string {
	sent := rec.Person()
	if len(sent) == 0 {
		return ""
	}
	return app.Unplayable(sent)
}

// ReplayHome fills an empty folder as a home to play a recording in. The variables that it returns
// go before those of the process.
func ReplayHome(dir string, rec Recording) (variables map[string]string, err error) {
	return app.ReplayHome(dir, rec)
}
