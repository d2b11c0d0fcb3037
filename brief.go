package troupe

// Brief is what the runtime tells a session of where it is, before anybody's words. What sessions that
// begin in one place have in common stands first.
type Brief struct {
	// Fork is what a fork is told of being one, instead of all else.
	Fork  string `json:"fork,omitempty"`
	Place string `json:"place,omitempty"` // the machine and the folder
	// Instructions are what people wrote for agents in the folder.
	Instructions string `json:"instructions,omitempty"`
	// About are the files for which instructions are told besides, because an agent has read or written something that
	// they are for.
	About []string `json:"about,omitempty"`
	// Holds is what holds for the session now: its model, its mode, what its commands may do. When
	// that changes it is told again.
	Holds  string `json:"holds,omitempty"`
	Skills string `json:"skills,omitempty"` // those that it can use
	Agents string `json:"agents,omitempty"` // the types of agents that it can start
	Tools  string `json:"tools,omitempty"`  // those that it has by name alone
	Memory string `json:"memory,omitempty"` // what agents of its type have kept, as it was then
	// Workspace tells a session that does not simply work in its parent's folder where it works. It is no part of
	// String: others of its type are told the same up to here.
	Workspace string `json:"workspace,omitempty"`
	// Team tells a member of a team of it; no part of String either.
	Team string `json:"team,omitempty"`
}

// Blocks are the brief as it stands in a conversation.
func (b *Brief) Blocks() []Block {
	out := []Block{Text(b.String())}
	for _, own := range []string{b.Workspace, b.Team} {
		if own != "" {
			out = append(out, Text(own))
		}
	}
	return out
}

// String is the brief as a model reads it.
func (b *Brief) String() string {
	text := b.Fork + b.Place + b.Instructions + b.Holds
	if b.Skills != "" {
		text += "\n" + b.Skills
	}
	if b.Agents != "" {
		text += "\n" + b.Agents
	}
	if b.Tools != "" {
		text += "\n" + b.Tools
	}
	if b.Memory != "" {
		text += "\n" + b.Memory
	}
	return text
}
