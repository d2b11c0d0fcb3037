package app

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestReadOnlyCommandsAreNoChange: an undo does not warn of a command that could change nothing.
func TestReadOnlyCommandsAreNoChange(t *testing.T) {
	t.Parallel()
	l := logReader{h: &history{turns: []Turn{{Number: 1}}}}
	for _, level := range []troupe.Level{troupe.LevelReadOnly, troupe.LevelWorkspace} {
		l.finished(troupe.ToolFinished{Name: "Bash", Evidence: troupe.Evidence{
			Commands: []troupe.CommandRun{{Command: string(level), Sandbox: level}}}})
	}
	if all := l.h.turns[0].Commands; len(all) != 1 || all[0].Text != string(troupe.LevelWorkspace) {
		t.Errorf("it tells of %+v", all)
	}
}
