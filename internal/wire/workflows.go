package wire

// WorkflowQuery asks which workflows there are at a place.
type WorkflowQuery struct {
	Place
	// Name asks for this one alone. Paths are files to look at instead of those at the place.
	Name  string   `json:"name,omitempty"`
	Paths []string `json:"paths,omitempty"`
	// Begin asks for the prompt that the one workflow begins with, given these values of its inputs.
	Begin  bool              `json:"begin,omitempty"`
	Inputs map[string]string `json:"inputs,omitempty"`
}

// WorkflowList is what can be run, and what is wrong with files, each with its line.
type WorkflowList struct {
	Workflows []Workflow `json:"workflows"`
	Problems  []string   `json:"problems"`
}

// Workflow is a list of agents that are started one after another as they need each other's results.
type Workflow struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Source      string          `json:"source"`          // a file
	Scope       string          `json:"scope,omitempty"` // user, project or managed
	Shadows     []string        `json:"shadows,omitempty"`
	Inputs      []WorkflowInput `json:"inputs,omitempty"`
	Steps       []WorkflowStep  `json:"steps"`
	// Prompt is what a session of the type workflow begins with, if it was asked for.
	Prompt string `json:"prompt,omitempty"`
}

// WorkflowInput is a value that a run is given. Without a default every run must have it.
type WorkflowInput struct {
	Name    string  `json:"name"`
	Default *string `json:"default"`
}

// WorkflowStep is an agent that begins when those that it needs have ended.
type WorkflowStep struct {
	Name  string   `json:"name"`
	Needs []string `json:"needs"`
}
