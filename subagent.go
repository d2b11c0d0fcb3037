package troupe

// Vocabulary is a set of tools with which a session deals with agents of its own. All of them decode to the same
// intents; a session has one, which its profile names.
type Vocabulary string

// Vocabularies.
const (
	// VocabularyAgents is Agent, SendMessage, TaskOutput, TaskStop and the tools of teams.
	VocabularyAgents Vocabulary = "agents"
	// VocabularySubagents is spawn_subagent, get_subagents and message_subagent, whose results are JSON.
	VocabularySubagents Vocabulary = "subagents"
)

// Has reports whether agents of this vocabulary can have a tool.
func (v Vocabulary) Has(tool ToolFacts) bool {
	if v == "" {
		v = VocabularyAgents
	}
	return tool.Vocabulary == "" || tool.Vocabulary == v
}

// SubagentSpawn is what spawn_subagent says of a birth that Agent does not.
type SubagentSpawn struct {
	// Capabilities are classes of tools, or MCP servers: it gets no tool that belongs to none of them; nil: all.
	Capabilities []string
	// UsualTurns is how many model replies a run of it has where neither the call nor its type says so; 0: as any.
	UsualTurns int
}

// SubagentFilter says which sub-agents a list is of.
type SubagentFilter string

// Filters of sub-agents.
const (
	SubagentsAll       SubagentFilter = "all"
	SubagentsRunning   SubagentFilter = "running"
	SubagentsCompleted SubagentFilter = "completed"
	SubagentsFailed    SubagentFilter = "failed"
)

// SubagentFilters are all of them.
func SubagentFilters() []string {
	return []string{string(SubagentsAll), string(SubagentsRunning), string(SubagentsCompleted), string(SubagentsFailed)}
}

// Meets reports whether a session in a status is in the list. Who is about to run is running, and who has used up its
// replies has failed.
func (f SubagentFilter) Meets(s Status) bool {
	switch f {
	case SubagentsRunning:
		return s.Live()
	case SubagentsCompleted:
		return s == Completed
	case SubagentsFailed:
		return s == Failed || s == MaxTurns
	case SubagentsAll:
	}
	return true
}

// OfSubagent is the status in the words of VocabularySubagents: what a session waits for is no status there.
func (s Status) OfSubagent() string {
	switch s {
	case Waiting:
		return string(Running)
	case MaxTurns:
		return "max_iterations"
	case Spawning, Running, Completed, Failed, Cancelled:
	}
	return string(s)
}
