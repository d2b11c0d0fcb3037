package troupe

// Brief is what the runtime tells a session of where it is, before anybody's words. What sessions that
// begin in one place have in common stands first.
type Brief struct {
	Place string `json:"place,omitempty"` // the machine and the folder
	// Instructions are what people wrote for agents in the folder.
	Instructions string `json:"instructions,omitempty"`
	// Holds is what holds for the session now: its model, its mode, what its commands may do. When
	// that changes it is told again.
	Holds  string `json:"holds,omitempty"`
	Agents string `json:"agents,omitempty"` // the types of agents that it can start
}

// String is the brief as a model reads it.
func (b *Brief) String() string {
	text := b.Place + b.Instructions + b.Holds
	if b.Agents != "" {
		text += "\n" + b.Agents
	}
	return text
}
