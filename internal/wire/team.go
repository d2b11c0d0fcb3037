package wire

import "github.com/troupe-dev/troupe"

// Team is a team with all that are in it.
type Team struct {
	Name        string     `json:"name" doc:"Empty if there is no team"`
	Description string     `json:"description,omitempty"`
	Members     []Teammate `json:"members" doc:"The lead first, then in order of birth"`
}

// TeammateState is what an agent of a team is at.
type TeammateState string

// The states of agents of a team.
const (
	TeammateWorking TeammateState = "working"
	TeammateAsking  TeammateState = "asking"  // it waits for somebody's answer
	TeammateIdle    TeammateState = "idle"    // it has nothing to do, and costs nothing until it is written to
	TeammateLeaving TeammateState = "leaving" // it was asked to come to an end
	TeammateStopped TeammateState = "stopped" // its run was stopped, or failed; a message has it go on
)

// Teammate is one agent of a team.
type Teammate struct {
	ID    troupe.SessionID `json:"id"`
	Name  string           `json:"name"`
	Path  string           `json:"path" doc:"As people name it"`
	Type  string           `json:"type"`
	Color string           `json:"color,omitempty" doc:"That its definition gives it"`
	Lead  bool             `json:"lead,omitempty"`
	State TeammateState    `json:"state"`
	Said  string           `json:"said,omitempty" doc:"The first line of what it said last"`
	Items []string         `json:"items,omitempty" doc:"The ids of what it has begun on the task list"`
}
