// Package agent is the Agent tool: an intent. It only decodes a call into the session to be
// born; the session's driver brings it to life and answers the call when it has ended.
// Which types of agent there are is told to a model elsewhere, never in the description.
package agent

import (
	_ "embed"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/schema"
	"github.com/troupe-dev/troupe/internal/tool"
)

// Name is the tool's name.
const Name = "Agent"

//go:embed agent.md
var doc string

const (
	maxName  = 100
	maxTurns = 10_000
	maxGlob  = 1000
)

// place is what a call says of where the agent works, in the two words that there are for it, and of what becomes of
// its work there.
type place struct{ isolation, filesystem, merge string }

func fields(in *troupe.Spawn, at *place) []tool.Field {
	return []tool.Field{
		{Name: "description", String: &in.Description, Doc: "the task in 3-5 words", Required: true, NotEmpty: true,
			MaxBytes: 1000},
		{Name: "prompt", String: &in.Prompt, Doc: "the whole task", Required: true, NotEmpty: true},
		{Name: "subagent_type", Also: "type", String: &in.Type, Doc: "default: " + troupe.GeneralAgent,
			MaxBytes: maxName},
		{Name: "model", String: &in.Model, Doc: "only if another than the type's is needed", MaxBytes: maxName},
		{Name: "effort", String: (*string)(&in.Effort), Doc: troupe.EffortNames(), MaxBytes: maxName},
		{Name: "name", String: &in.Name, Doc: "to tell it from others", MaxBytes: maxName},
		{Name: "team_name", String: &in.Team, Doc: "joins your team, and stays", MaxBytes: maxName},
		{Name: "max_turns", Int: &in.MaxTurns, Max: maxTurns},
		{Name: "tools", List: &in.Tools, Doc: "only these of the type's", MaxBytes: maxName},
		{Name: "disallowed_tools", List: &in.Without, Doc: "not these", MaxBytes: maxName},
		{Name: "system_prompt", String: &in.Role, Doc: "a role of its own, instead of a type"},
		{Name: "run_in_background", Bool: &in.Background},
		{Name: "isolation", String: &at.isolation, Doc: "worktree, copy or none", MaxBytes: maxName},
		{Name: "filesystem", String: &at.filesystem, Doc: "shared_rw, shared_ro, isolated or empty", MaxBytes: maxName},
		{Name: "merge", String: &at.merge, Doc: "auto, ask or keep", MaxBytes: maxName},
		{Name: "writes", List: &in.Writes, Doc: "globs: it changes no other files, and waits for agents that may " +
			"meet it there", MaxBytes: maxGlob},
		{Name: "verify", Bool: &in.Verify, Doc: "another agent checks its changes first"},
		{Name: "schema", Object: &in.Schema, Doc: "JSON schema of its result"},
		{Name: "fork", Bool: &in.Fork},
		{Name: "wait", Bool: &in.Wait, Doc: "for a fork's result"},
	}
}

// Tools returns Agent. What its intent leaves open is for troupe.Spawn.Settled.
func Tools() []tool.Descriptor {
	d := tool.Describe(troupe.ToolFacts{
		Name: Name, Class: troupe.ClassRead, Schedule: troupe.Birth, Background: true, Argument: troupe.AgentArgument,
		OldName: "Task", Vocabulary: troupe.VocabularyAgents,
		Misspellings: []string{"subagent", "agents", "spawnagent", "launchagent"},
	}, doc, fields(new(troupe.Spawn), new(place)))
	d.Intent = func(input string) (troupe.Intent, error) { return Decode(input) }
	return []tool.Descriptor{d}
}

// Decode reads a call's input. An error is a *tool.InputError.
func Decode(input string) (troupe.Spawn, error) {
	var in troupe.Spawn
	var at place
	if err := tool.Decode(Name, input, fields(&in, &at)); err != nil {
		return troupe.Spawn{}, err
	}
	var err error
	if in.Workspace, err = at.kind(); err != nil {
		return troupe.Spawn{}, err
	}
	if in.Merge, err = at.back(in.Workspace); err != nil {
		return troupe.Spawn{}, err
	}
	for _, s := range []*string{&in.Description, &in.Type, &in.Model, &in.Name, &in.Team} {
		*s = strings.TrimSpace(*s)
	}
	if in.Effort != "" {
		if in.Effort, err = troupe.ParseEffort(string(in.Effort)); err != nil {
			return troupe.Spawn{}, &tool.InputError{Tool: Name,
				Problem: "`effort` must be one of " + troupe.EffortNames()}
		}
	}
	if in.Schema != "" {
		if _, err := schema.Parse([]byte(in.Schema)); err != nil {
			return troupe.Spawn{}, &tool.InputError{Tool: Name, Problem: "`schema` " + err.Error()}
		}
	}
	if in.Tools != nil && len(in.Tools) == 0 {
		return troupe.Spawn{}, &tool.InputError{Tool: Name,
			Problem: "`tools` names none; leave it out for all tools of the type"}
	}
	if in.Writes != nil && (in.Workspace == troupe.WorkspaceReadOnly || len(in.Writes) == 0) {
		return troupe.Spawn{}, &tool.InputError{Tool: Name,
			Problem: "`writes` names files to change; for an agent that changes none leave it out and give " +
				"`filesystem` shared_ro"}
	}
	if strings.EqualFold(in.Type, troupe.ForkAgent) {
		in.Fork, in.Type = true, ""
	}
	if in.Fork {
		if what := notOfForks(in); what != "" {
			return troupe.Spawn{}, &tool.InputError{Tool: Name,
				Problem: "`" + what + "` cannot be given for a fork, which has what this conversation has; leave it " +
					"or `fork` out"}
		}
	}
	// Names are parts of paths such as main/Auth Explorer, and stand on one line of a list.
	if strings.ContainsFunc(in.Name, func(r rune) bool { return r == '/' || r < ' ' || r >= 0x7f && r <= 0x9f }) {
		return troupe.Spawn{}, &tool.InputError{Tool: Name, Problem: "`name` must be one line without a slash"}
	}
	return in, nil
}

// kind is the workspace that both words mean together.
func (p place) kind() (troupe.WorkspaceKind, error) {
	kind, err := troupe.ParsePlace(p.isolation, p.filesystem, "`isolation`", "`filesystem`")
	if err != nil {
		return "", &tool.InputError{Tool: Name, Problem: err.Error()}
	}
	return kind, nil
}

// back is what becomes of the work. Where the call itself says that the agent has no folder of its own there is none.
func (p place) back(kind troupe.WorkspaceKind) (troupe.MergeBack, error) {
	m, err := troupe.ParseMerge(p.merge)
	switch {
	case err != nil:
		return "", &tool.InputError{Tool: Name, Problem: "`merge` " + err.Error()}
	case m != "" && m != troupe.MergeKeep && (kind == troupe.WorkspaceShared || kind == troupe.WorkspaceReadOnly):
		return "", &tool.InputError{Tool: Name, Problem: "`merge` " + string(m) + " is for an agent with a folder of " +
			"its own; give `isolation` worktree or copy with it, or leave it out"}
	}
	return m, nil
}

// notOfForks is a parameter that a call for a fork has and cannot have; "" if there is none.
func notOfForks(in troupe.Spawn) string {
	for _, p := range []struct {
		name  string
		given bool
	}{
		{"model", in.Model != ""}, {"subagent_type", in.Type != ""}, {"effort", in.Effort != ""},
		{"tools", in.Tools != nil}, {"disallowed_tools", in.Without != nil}, {"system_prompt", in.Role != ""},
		{"schema", in.Schema != ""},
	} {
		if p.given {
			return p.name
		}
	}
	return ""
}
