package wire

import "github.com/troupe-dev/troupe"

// MemoryQuery asks what agents have kept that work in a folder.
type MemoryQuery struct {
	Cwd string `json:"cwd"`
	// Agent is the type of agents that it is about; "": all.
	Agent string             `json:"agent,omitempty"`
	Scope troupe.MemoryScope `json:"scope,omitempty"` // "": any
	// Session is the tree that a local one is of, or how its id begins; "": any.
	Session string `json:"session,omitempty"`
	// File asks for what this one holds; the memory must be one.
	File string `json:"file,omitempty"`
	// Has tells which trees count, of those whose memory is a local one; nil: all. It is for a server.
	Has func(troupe.SessionID) bool `json:"-"`
	// InProject leaves out what agents keep for all projects.
	InProject bool `json:"-"`
}

// Memory is what agents of a type have kept.
type Memory struct {
	Agent  string             `json:"agent"`
	Scope  troupe.MemoryScope `json:"scope"`
	Folder string             `json:"folder"`
	// Session is the tree that a local one is of; "" of one that lies with a project, which agents only read.
	Session troupe.SessionID `json:"session,omitempty"`
	Files   []string         `json:"files"`
	Text    string           `json:"text,omitempty"` // of the file that was asked for
	// ETag is of that file or, where none was asked for, of all of them.
	ETag string `json:"etag,omitempty" doc:"Of the file that was asked for or changed, else of all files; for If-Match"`
}

// Tag is its ETag.
func (m Memory) Tag() string { return m.ETag }

// MemoryChange changes what agents have kept.
type MemoryChange struct {
	MemoryQuery
	Precondition

	// Text is what the file holds from now on; null: the file is forgotten, or without a file the whole memory.
	Text *string `json:"text"`
}
