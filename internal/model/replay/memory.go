package replay

import (
	"strings"

	"github.com/troupe-dev/troupe"
)

// Every file of a memory that an agent is told stands between these, the first followed by its quoted name. What stands
// between them is escaped, and holds neither.
const (
	MemoryTag = "<runtime-memory file="
	MemoryEnd = "</runtime-memory>\n"
)

// Memory is what an agent was told of its memory when it had so many replies: at its birth, or behind a summary. It is
// empty if there was nothing to tell; ok is false if the recording does not have the agent, or nothing that it sent
// then.
func (p *Player) Memory(id troupe.SessionID, replies int) (text string, ok bool) {
	a := p.agents[p.paths[id]]
	if a == nil {
		return "", false
	}
	for _, c := range a.calls {
		if c.Reply <= replies || c.Compact || replies > 0 && !c.Anew {
			continue
		}
		for _, m := range c.Messages {
			for _, b := range m.Blocks {
				// It is the last part of its block.
				if i := strings.Index(b.Text, "\n"+MemoryTag); i >= 0 && m.Role == troupe.User {
					end := strings.LastIndex(b.Text, MemoryEnd)
					return b.Text[i+1 : max(i+1, end+len(MemoryEnd))], true
				}
			}
		}
		return "", true
	}
	return "", false
}
