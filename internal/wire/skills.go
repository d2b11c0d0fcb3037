package wire

import (
	"slices"
	"strings"
	"unicode"
)

// SkillQuery asks which skills and commands there are at a place.
type SkillQuery struct {
	Place
	// Name asks for this one alone, with its text.
	Name string `json:"name,omitempty"`
	// Check has files looked at: all that skills are read from, or these files and folders.
	Check bool     `json:"check,omitempty"`
	Paths []string `json:"paths,omitempty"`
	// Styles asks for the output styles instead.
	Styles bool `json:"styles,omitempty"`
}

// SkillList is what can be used, and what was found wrong.
type SkillList struct {
	Skills   []Skill      `json:"skills"`
	Files    []SkillCheck `json:"files,omitempty"` // if they were asked for
	Problems []string     `json:"problems"`
	Styles   []Style      `json:"styles,omitempty"` // if they were asked for
}

// Style is an output style: how an agent talks and answers.
type Style struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Source      string   `json:"source"` // a file
	Scope       string   `json:"scope"`  // plugin, user, project or managed
	Shadows     []string `json:"shadows,omitempty"`
	// Keeps: the main agent is told besides how to write software.
	Keeps bool `json:"keep_coding_instructions"`
	// Chosen: settings choose it for main agents that begin here.
	Chosen bool `json:"chosen,omitempty"`
}

// Skill is a skill or a command.
type Skill struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Source      string   `json:"source"` // a file
	Scope       string   `json:"scope"`  // user, project or managed
	Shadows     []string `json:"shadows,omitempty"`
	Command     bool     `json:"command,omitempty"` // a file of commands
	Hint        string   `json:"argument_hint,omitempty"`
	// Tools is what it leaves of a session's tools; null: all. Without are those that it takes away even so.
	Tools   []string `json:"tools"`
	Without []string `json:"without,omitempty"`
	// Paths are the files of which an agent has to have touched one before its model is told of it; null: it is from
	// the beginning.
	Paths []string `json:"paths,omitzero"`
	// Models are told of it, and People can say /name.
	Models bool `json:"models"`
	People bool `json:"people"`
	// Runs: the commands in it may be run. Mute is what keeps those of a trusted project from it.
	Runs bool   `json:"runs"`
	Mute string `json:"mute,omitempty"`
	// Fork: an agent of its own is to do it.
	Fork bool   `json:"fork,omitempty"`
	Text string `json:"text,omitempty"` // if it was asked for by name
}

// SkillCheck is what a file was read as.
type SkillCheck struct {
	Skill

	Path   string `json:"path"`
	Loaded bool   `json:"loaded"`
	// Document: it is taken for a text about commands, not for one of them.
	Document bool     `json:"document,omitempty"`
	Warnings []string `json:"warnings"` // with file and line
}

// BuiltInCommands are those of the conversation, with their other names. No file takes the place of one.
func BuiltInCommands() []string {
	return []string{"agent", "agents", "background", "bg", "bill", "board", "bye", "clear", "compact", "context",
		"continue",
		"cost", "diff", "exit", "expand", "fg", "foreground", "fork", "h", "help", "hooks", "jobs", "kill", "log",
		"mcp", "memory", "merge", "mode", "model", "new", "panes", "permissions", "plans", "ps", "q", "quit", "reset",
		"resume",
		"roster", "show", "skills", "sleep", "status", "stop", "task", "tasks", "team", "todo", "todos", "transcript",
		"undo",
		"usage",
		"push", "worktree", "worktrees"}
}

// BuiltInCommand reports whether a name is that of a command of the conversation.
func BuiltInCommand(name string) bool { return slices.Contains(BuiltInCommands(), name) }

// SlashCommand takes words apart that may be a command: a slash and a name. A path is none, and two slashes keep what
// follows from being one.
func SlashCommand(text string) (name, args string, ok bool) {
	text = strings.TrimSpace(text)
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return "", "", false
	}
	name = rest
	if i := strings.IndexFunc(rest, unicode.IsSpace); i >= 0 {
		name, args = rest[:i], strings.TrimSpace(rest[i:])
	}
	for i, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && (i == 0 || !strings.ContainsRune("-_:.", r)) {
			return "", "", false
		}
	}
	return name, args, name != "" && !strings.HasSuffix(name, ":") && !strings.HasSuffix(name, ".")
}
