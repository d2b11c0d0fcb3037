package wire

import "encoding/json"

// ClientTool is a tool that the client of the API carries out which begins a session.
type ClientTool struct {
	Name        string          `json:"name" maxLength:"64" doc:"A letter, and letters, digits, _ and -; of no other tool"`
	Description string          `json:"description" maxLength:"8000" doc:"What it does and when to call it, for the model"`
	InputSchema json.RawMessage `json:"input_schema,omitempty" doc:"JSON schema of its input, which is an object; at most 16 KiB"`
	ReadOnly    bool            `json:"read_only,omitempty" doc:"It changes nothing, so that agents that only read may have it, and calls of it may go side by side"`
	// DeadlineSeconds is how long a call waits for its answer.
	DeadlineSeconds int `json:"deadline_seconds,omitempty" doc:"How long a call waits for its answer: 300 if it is not given, 86400 at the most"`
}
