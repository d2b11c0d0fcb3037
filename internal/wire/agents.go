package wire

import "github.com/troupe-dev/troupe"

// AgentQuery asks which types of agent there are at a place.
type AgentQuery struct {
	Place
	// Check has files looked at too: all that definitions are read from, or these files and folders.
	Check bool     `json:"check,omitempty"`
	Paths []string `json:"paths,omitempty"`
}

// AgentList is what can be started, and what was found wrong.
type AgentList struct {
	Agents   []AgentType  `json:"agents"`
	Files    []AgentCheck `json:"files,omitempty"` // if they were asked for
	Problems []string     `json:"problems"`
}

// AgentType is a type of agent, as it is defined.
type AgentType struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Source      string        `json:"source"` // a file, "--agents" or "built-in"
	Scope       string        `json:"scope"`  // built-in, plugin, stored, user, project, flag or managed
	Shadows     []string      `json:"shadows,omitempty"`
	Model       string        `json:"model,omitempty"` // as it is written
	Effort      troupe.Effort `json:"effort,omitempty"`
	Tools       []string      `json:"tools"` // null: all that sub-agents get
	Color       string        `json:"color,omitempty"`
}

// AgentCheck is what a file was read as.
type AgentCheck struct {
	Path        string   `json:"path"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tools       []string `json:"tools"` // null: all that sub-agents get
	Model       string   `json:"model"`
	Loaded      bool     `json:"loaded"`
	// Startable: agents of it can be started here.
	Startable bool `json:"startable"`
	// Document: it is taken for a text about agents, not for one of them.
	Document bool     `json:"document,omitempty"`
	Warnings []string `json:"warnings"` // with file and line
}

// AgentName asks for one type of agent.
type AgentName struct {
	Place
	Name string `json:"name"`
}

// AgentProfile is what an agent of a type would be born with as a child of the main agent, or as the main
// agent itself.
type AgentProfile struct {
	AgentType

	Prompt   string `json:"prompt"`
	Resolved string `json:"resolved_model"`
	// Asked is the effort that its model is asked for; left out: none.
	Asked    troupe.Effort `json:"resolved_effort,omitempty"`
	Mode     troupe.Mode   `json:"mode"` // that holds for it, with the main agent's
	Own      troupe.Mode   `json:"own_mode,omitempty"`
	Sandbox  troupe.Level  `json:"sandbox"` // the most that its commands are left
	Has      []ToolOf      `json:"has"`     // every tool there is, and why it has it or not
	Starts   []string      `json:"starts,omitzero" doc:"The only types it may start; left out: all, empty: none"`
	MaxTurns int           `json:"max_turns,omitempty"`
	Tokens   int64         `json:"max_tokens,omitempty"`
	// Memory is what it keeps for agents of its type; null: nothing.
	Memory  *Memory `json:"memory,omitempty"`
	Initial string  `json:"initial_prompt,omitempty"`

	Background bool `json:"background,omitempty"`
	// Workspace is where it works if a call does not say so; left out: where its parent does.
	Workspace troupe.WorkspaceKind `json:"workspace,omitempty"`
	// Merge is what becomes of its work in a folder of its own if a call does not say so; left out: it is kept.
	Merge troupe.MergeBack `json:"merge,omitempty"`
	// Servers are the MCP servers that it has.
	Servers []ServerOf `json:"servers"`
	// Hooks are those that run at its moments, those of skills apart.
	Hooks []HookRow `json:"hooks"`
	AgentTexts
	Notes []string `json:"notes"`
}

// AgentTexts are what texts an agent is born with besides its prompt.
type AgentTexts struct {
	// Skills are those whose texts it is told.
	Skills []string `json:"skills,omitempty"`
	// Style is the output style whose text its prompt ends with.
	Style string `json:"output_style,omitempty"`
	// Omits: it is not told what CLAUDE.md and AGENTS.md say.
	Omits bool `json:"omit_instructions,omitempty"`
}

// ServerOf is an MCP server that an agent has.
type ServerOf struct {
	Name   string `json:"name"`
	Source string `json:"source"`        // the file, or that of the definition that brings it
	Why    string `json:"why,omitempty"` // what keeps it from being used; left out: nothing does
}

// ToolOf says whether an agent has a tool.
type ToolOf struct {
	Tool string `json:"tool"`
	Has  bool   `json:"has"`
	Why  string `json:"why"`
}
