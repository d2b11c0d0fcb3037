package troupe

import (
	"encoding/json"
	"time"
)

// Bounds of the tools that an API client carries out.
const (
	MaxClientTools       = 64
	MaxClientTool        = 64       // bytes of a name
	MaxClientDescription = 8_000    // bytes
	MaxClientTotal       = 100_000  // bytes of the names, descriptions and schemas of all
	MaxCarried           = 30 << 10 // bytes of what came of a call: as much as is shown of any result
	ClientDeadline       = 5 * time.Minute
	MaxClientDeadline    = 24 * time.Hour
)

// ClientTool is a tool that the client of the API carries out which began the session.
type ClientTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
	ReadOnly    bool            `json:"read_only,omitempty"`
	Deadline    time.Duration   `json:"deadline"`
}

// Facts are what is known of the tool. Only one of which the client says so changes nothing.
func (t ClientTool) Facts() ToolFacts {
	f := ToolFacts{Name: t.Name, Class: ClassExec, Client: true}
	if t.ReadOnly {
		f.Class, f.Schedule = ClassRead, Parallel
	}
	return f
}

// AskClient is the decoded input of a tool that a client carries out, within that time.
type AskClient struct {
	Input    json.RawMessage
	Deadline time.Duration
}

func (AskClient) intent() {}

// Carried is what a client says came of a call that it has carried out.
type Carried struct {
	Text    string `json:"text" doc:"What the agent is told, at most 30,720 bytes"`
	IsError bool   `json:"is_error,omitempty" doc:"It could not be carried out, and the text says why"`
}
