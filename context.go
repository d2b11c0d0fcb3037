package troupe

// ContextKind is what a part of a session's context is.
type ContextKind string

// Kinds of parts, in the order in which they are sent for the first time.
const (
	ContextSystem       ContextKind = "system"       // the prompt of its type
	ContextTools        ContextKind = "tools"        // descriptions of tools; named: of an MCP server's
	ContextParent       ContextKind = "parent"       // of a fork, all that its parent was told and had said
	ContextPlace        ContextKind = "place"        // the machine and the folder
	ContextInstructions ContextKind = "instructions" // a file such as CLAUDE.md
	ContextHolds        ContextKind = "holds"        // its mode and what its commands may do
	ContextSkills       ContextKind = "skills"       // the list of them
	ContextAgents       ContextKind = "agents"       // the list of types that it can start
	ContextNames        ContextKind = "names"        // of tools that it has by name alone
	ContextMemory       ContextKind = "memory"       // what agents of its type have kept
	ContextSummary      ContextKind = "summary"      // of what was before
	ContextPrompt       ContextKind = "prompt"       // words of people and agents
	ContextReply        ContextKind = "reply"        // the model's words
	ContextThinking     ContextKind = "thinking"
	ContextCall         ContextKind = "call"   // of a tool, as the model wrote it
	ContextResult       ContextKind = "result" // of a tool
	ContextEnd          ContextKind = "end"    // of a sub-agent, or of a command in the background
	ContextNotice       ContextKind = "notice" // the runtime's own words, and those of hooks
	ContextImage        ContextKind = "image"
)

// ContextPart is what of one kind stands in a session's context.
type ContextPart struct {
	Kind  ContextKind `json:"kind"`
	Name  string      `json:"name,omitempty"` // the file, the tool or the server; "" where the kind says it all
	Count int         `json:"count"`          // of blocks
	Bytes int64       `json:"bytes"`
	// Tokens are its share, by bytes, of those of the whole.
	Tokens int64 `json:"tokens"`
}
