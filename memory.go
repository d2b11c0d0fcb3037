package troupe

import (
	"path"
	"slices"
)

// Memory is where a session keeps what agents of its type shall know the next time.
type Memory struct {
	Scope MemoryScope `json:"scope"`
	// Folder is the one that it may write, absolute and with links followed.
	Folder string `json:"folder"`
	// Also is one that it is told of and may read.
	Also string `json:"also,omitempty"`
	// Only are the tools that it has for its memory alone.
	Only []string `json:"only,omitempty"`
}

// MemoryScope is how far a memory reaches.
type MemoryScope string

// Scopes of memory.
const (
	MemoryUser    MemoryScope = "user"    // in all projects of the user
	MemoryProject MemoryScope = "project" // in one project, for all who work on it
	MemoryLocal   MemoryScope = "local"   // in one tree of sessions, and gone with it
)

// MemoryScopes lists the scopes.
func MemoryScopes() []MemoryScope { return []MemoryScope{MemoryUser, MemoryProject, MemoryLocal} }

// MemoryFile is the file of a memory whose beginning its agents are told.
const MemoryFile = "MEMORY.md"

// Holds reports whether a path lies in the folder that may be written. A nil memory holds nothing.
func (m *Memory) Holds(name string) bool {
	return m != nil && m.Folder != "" && path.Clean(name) != m.Folder && Within(path.Clean(name), m.Folder)
}

// Shows reports whether a path is, or lies in, one of its folders.
func (m *Memory) Shows(name string) bool {
	return m != nil && slices.ContainsFunc([]string{m.Folder, m.Also}, func(dir string) bool {
		return dir != "" && Within(path.Clean(name), dir)
	})
}
