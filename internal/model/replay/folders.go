package replay

import (
	"sync"

	"github.com/troupe-dev/troupe"
)

// Folders are what the recording says of folders that were made for agents. Nothing of it is on the disk of whoever
// replays.
type Folders struct {
	paths map[troupe.SessionID]string
	tools map[toolKey]*Tool
	works map[troupe.SessionID]troupe.Workspace // by their owners
	stays map[stayKey]*stay

	mu sync.Mutex // guards how many checkpoints were served
}

type stayKey struct {
	agent string
	owner troupe.SessionID
}

// stay is one agent's time in one folder.
type stay struct {
	base    troupe.WorkspaceBase
	saved   []troupe.WorkspaceSaved
	served  int // of saved
	results map[int]troupe.WorkspaceResult
}

// Folders are those of the recording.
func (p *Player) Folders() *Folders { return p.folders }

func newFolders(p *Player) *Folders {
	return &Folders{paths: p.paths, tools: p.tools, works: make(map[troupe.SessionID]troupe.Workspace),
		stays: make(map[stayKey]*stay)}
}

func (l *Folders) add(f *Folder) {
	key := stayKey{f.Agent, f.Owner}
	s := l.stays[key]
	if s == nil {
		s = &stay{results: make(map[int]troupe.WorkspaceResult)}
		l.stays[key] = s
	}
	switch {
	case f.Workspace != nil:
		l.works[f.Owner] = *f.Workspace
	case f.Ready != nil:
		s.base = *f.Ready
	case f.Saved != nil:
		s.saved = append(s.saved, *f.Saved)
	case f.Result != nil:
		s.results[f.Run] = *f.Result
	}
}

// Work is the folder that was made for a session, or for a call that would have given birth to it.
func (l *Folders) Work(owner troupe.SessionID) (troupe.Workspace, bool) {
	w, ok := l.works[owner]
	return w, ok
}

// Base is what the folder of a session began with.
func (l *Folders) Base(s troupe.Session) troupe.WorkspaceBase {
	if at := l.stay(s); at != nil {
		return at.base
	}
	return troupe.WorkspaceBase{}
}

// Saved is the next checkpoint of a session's folder. When there is one depends on how long git took, so a replay may
// ask for more than there were: the last one stays then, and nothing has changed since.
func (l *Folders) Saved(s troupe.Session) troupe.WorkspaceSaved {
	at := l.stay(s)
	if at == nil || len(at.saved) == 0 {
		return troupe.WorkspaceSaved{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.served == len(at.saved) {
		last := at.saved[at.served-1]
		last.Checkpoint.Files, last.Checkpoint.Changed = 0, nil
		return last
	}
	at.served++
	return at.saved[at.served-1]
}

// Left is what became of the folder of a session in its present run.
func (l *Folders) Left(s troupe.Session) (troupe.WorkspaceResult, bool) {
	if at := l.stay(s); at != nil {
		r, ok := at.results[s.Run]
		return r, ok
	}
	return troupe.WorkspaceResult{}, false
}

func (l *Folders) stay(s troupe.Session) *stay {
	return l.stays[stayKey{l.paths[s.ID], s.Workspace.Owner}]
}

// Refused is what a call of an agent was answered instead of what it asked for: the one that would have given birth to
// the session child.
func (l *Folders) Refused(asks, child troupe.SessionID) (text string, ok bool) {
	for key, t := range l.tools {
		if t.IsError && key.agent == l.paths[asks] &&
			troupe.ChildID(asks, troupe.Coord{Reply: key.reply, Call: key.call}) == child {
			return troupe.JoinText(t.Blocks), true
		}
	}
	return "", false
}
