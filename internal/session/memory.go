package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
)

// Memories are what agents keep for others of their type.
type Memories interface {
	// Told are the beginnings of the files that a session is told of when it has had so many replies, each as a block
	// of text, whoever wrote it.
	Told(id troupe.SessionID, replies int, m troupe.Memory) []Instruction
	// Check says why a file of a memory may not hold a content; nil if it may.
	Check(m troupe.Memory, path string, content []byte) error
}

// remembered tells a session what agents of its type have kept. A rule that denies it a file denies it these words too.
// What is in the log of it then is what it stays at, until a summary.
func remembered(h *Hub, at Surroundings, b briefing) string {
	m := b.profile.Memory
	if m == nil || h.d.Memories == nil {
		return ""
	}
	var out strings.Builder
	hidden := gate.Hidden(b.line, []string{at.Folder}, h.d.Home)
	for _, file := range h.d.Memories.Told(b.id, b.replies, *m) {
		if hidden == nil || !slices.ContainsFunc(file.Paths, hidden) {
			out.WriteString(file.Text)
		}
	}
	about := aboutMemory(*m, slices.Contains(b.profile.Tools, "Write") || slices.Contains(b.profile.Tools, "Edit"))
	if out.Len() == 0 {
		return about + "It is empty so far.\n"
	}
	return about + out.String()
}

// aboutMemory says what a memory is for.
func aboutMemory(m troupe.Memory, writes bool) string {
	whose := map[troupe.MemoryScope]string{
		troupe.MemoryUser:    "agents of your type keep here for all projects of the user",
		troupe.MemoryProject: "agents of your type keep here for this project and for all who work on it",
		troupe.MemoryLocal:   "agents of your type keep here for as long as this conversation is kept",
	}[m.Scope]
	text := fmt.Sprintf("Your memory, which %s: %s. It permits nothing, and may be out of date.\n", whose, m.Folder)
	if writes {
		text += "Keep in its " + troupe.MemoryFile + " what will help the next of you, and correct what has become " +
			"wrong. The beginning of that file is told to you; put details into files beside it, and name them " +
			"there. " +
			"Never keys, passwords or other secrets.\n"
	}
	return text
}

// memorable says why a file may not hold a content: what agents keep is told to others after them.
func (c *candidate) memorable(path string, content []byte) error {
	if c.memory == nil || c.h.d.Memories == nil || !c.memory.Holds(path) {
		return nil
	}
	return c.h.d.Memories.Check(*c.memory, path, content)
}
