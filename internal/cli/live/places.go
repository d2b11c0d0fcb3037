package live

import (
	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// places are the folders that main agents have of their own. They stay from run to run, so that no end tells of them.
type places map[troupe.SessionID]troupe.Workspace

func (p places) know(sessions []wire.Session) {
	for _, s := range sessions {
		if s.Parent == "" && s.Workspace != nil {
			p[s.ID] = *s.Workspace
		}
	}
}

func (p places) take(e troupe.Event) {
	switch b := e.Body.(type) {
	case troupe.Created:
		if b.Depth == 0 {
			p[e.Session] = b.Workspace
		}
	case troupe.WorkspaceChanged:
		p[e.Session] = b.Workspace
	}
}

// ended says where the work of a run is that has ended; "" if it is in the folder of its caller.
func (p places) ended(id troupe.SessionID, o troupe.Outcome) string {
	if o.Workspace != nil {
		return console.Workspace(o.Workspace)
	}
	return console.WorksIn(p[id])
}
