// Package subagent holds spawn_subagent, get_subagents and message_subagent: the other vocabulary for agents of one's
// own (see troupe.Vocabulary). They are intents, and decode to those that Agent, TaskOutput and SendMessage decode to.
package subagent

import (
	"embed"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

// Spawn is the name of the tool that starts agents.
const Spawn = "spawn_subagent"

const (
	get     = "get_subagents"
	message = "message_subagent"
)

//go:embed *.md
var docs embed.FS

const (
	maxName    = 200 // bytes of a name, an id or a type
	maxTitle   = 200 // of the task in lists
	maxTurns   = 10_000
	usualTurns = 20

	foreground = "foreground"
	background = "background"
)

// Tools returns all three. Rules about the tools of the usual vocabulary hold for them.
func Tools() []tool.Descriptor {
	describe := func(facts troupe.ToolFacts, file string, fields []tool.Field,
		decode func(string) (troupe.Intent, error)) tool.Descriptor {
		text, err := docs.ReadFile(file)
		if err != nil {
			panic("subagent: an embedded file: " + err.Error())
		}
		facts.Vocabulary = troupe.VocabularySubagents
		d := tool.Describe(facts, string(text), fields)
		d.Intent = decode
		return d
	}
	return []tool.Descriptor{
		describe(troupe.ToolFacts{Name: Spawn, Schedule: troupe.Birth, Background: true,
			Argument: troupe.AgentArgument, Like: "Agent"}, "spawn.md", new(spawnInput).fields(), decodeSpawn),
		describe(troupe.ToolFacts{Name: get, Schedule: troupe.Parallel, Holder: troupe.Parents, Like: "TaskOutput"},
			"get.md", getFields(new(troupe.TaskQuery)), decodeGet),
		describe(troupe.ToolFacts{Name: message, Holder: troupe.Parents, Argument: troupe.ReceiverArgument,
			Like: "SendMessage"}, "message.md", messageFields(new(troupe.SendMessage)), decodeMessage),
	}
}

type spawnInput struct {
	troupe.Spawn

	mode, agent, template, filesystem string
}

func (in *spawnInput) fields() []tool.Field {
	return []tool.Field{
		{Name: "name", String: &in.Name, Doc: "readable, such as Test Runner; no other of yours has it",
			Required: true, NotEmpty: true, MaxBytes: maxName},
		{Name: "task", String: &in.Prompt, Doc: "the whole task", Required: true, NotEmpty: true},
		{Name: "mode", String: &in.mode, Doc: "default: " + foreground, Enum: []string{foreground, background}},
		{Name: "config", Group: []tool.Field{
			{Name: "system_prompt", String: &in.Role, Doc: "a role of its own, instead of a template"},
			{Name: "agent_id", String: &in.agent, Doc: "a defined agent", MaxBytes: maxName},
			{Name: "template", String: &in.template, Doc: "a template of the workspace", MaxBytes: maxName},
			{Name: "allowed_tools", List: &in.Tools, Doc: "only these", MaxBytes: maxName},
			{Name: "disallowed_tools", List: &in.Without, Doc: "not these", MaxBytes: maxName},
			{Name: "allowed_capabilities", List: &in.Subagent.Capabilities, Doc: "read, edit, exec, or an MCP server",
				MaxBytes: maxName},
			{Name: "model", String: &in.Model, MaxBytes: maxName},
			{Name: "max_turns", Int: &in.MaxTurns, Doc: "default: 20", Min: 1, Max: maxTurns},
			{Name: "filesystem_mode", String: &in.filesystem, Doc: "default: shared_rw",
				Enum: []string{"shared_rw", "shared_ro", "isolated"}},
		}},
	}
}

func decodeSpawn(input string) (troupe.Intent, error) { return Decode(input) }

// Decode reads the input of spawn_subagent. An error is a *tool.InputError.
func Decode(input string) (troupe.Spawn, error) {
	var in spawnInput
	if err := tool.Decode(Spawn, input, in.fields()); err != nil {
		return troupe.Spawn{}, err
	}
	wrong := func(problem string) (troupe.Spawn, error) {
		return troupe.Spawn{}, &tool.InputError{Tool: Spawn, Problem: problem}
	}
	for _, s := range []*string{&in.Name, &in.agent, &in.template, &in.Model} {
		*s = strings.TrimSpace(*s)
	}
	out := in.Spawn
	switch {
	case in.agent != "" && in.template != "":
		return wrong("`agent_id` and `template` each name an agent; give one of them")
	case strings.EqualFold(in.agent+in.template, troupe.ForkAgent):
		return wrong("there are no forks here; task has to hold all that it needs")
	case out.Tools != nil && len(out.Tools) == 0, out.Subagent.Capabilities != nil &&
		len(out.Subagent.Capabilities) == 0:
		return wrong("a list of what is allowed that is empty allows nothing; leave it out")
	}
	if out.Type = in.agent + in.template; out.Type == "" {
		out.Type = troupe.GeneralAgent // so that no setting makes a fork of it
	}
	kind, err := troupe.ParseFilesystem(in.filesystem)
	if err != nil {
		return wrong("`filesystem_mode` " + err.Error())
	}
	out.Workspace, out.Background, out.Subagent.UsualTurns = kind, in.mode == background, usualTurns
	out.Description = strings.Join(strings.Fields(out.Prompt), " ")
	if short, cut := tool.Cut(out.Description, maxTitle); cut > 0 {
		out.Description = short + "…"
	}
	return out, nil
}

func getFields(in *troupe.TaskQuery) []tool.Field {
	return []tool.Field{
		{Name: "name_or_id", String: &in.Task, MaxBytes: maxName},
		{Name: "status_filter", String: (*string)(&in.Only), Doc: "of a list; default: all",
			Enum: troupe.SubagentFilters()},
	}
}

func decodeGet(input string) (troupe.Intent, error) {
	var in troupe.TaskQuery
	if err := tool.Decode(get, input, getFields(&in)); err != nil {
		return nil, err
	}
	in.Task = strings.TrimSpace(in.Task)
	return in, nil
}

func messageFields(in *troupe.SendMessage) []tool.Field {
	return []tool.Field{
		{Name: "name_or_id", String: &in.To, Required: true, NotEmpty: true, MaxBytes: maxName},
		{Name: "message", String: &in.Text, Required: true, NotEmpty: true},
		{Name: "cancel", Bool: &in.Cancel, Doc: "it stops when it has read this"},
	}
}

// decodeMessage knows agents of one's own alone: the words that stand for others mean nobody here.
func decodeMessage(input string) (troupe.Intent, error) {
	var in troupe.SendMessage
	if err := tool.Decode(message, input, messageFields(&in)); err != nil {
		return nil, err
	}
	switch in.To = strings.TrimSpace(in.To); {
	case in.To == troupe.EveryoneName, strings.EqualFold(in.To, troupe.ParentName),
		strings.EqualFold(in.To, troupe.LeadName):
		return nil, &tool.InputError{Tool: message, Problem: "`name_or_id` must be the name or the id of a subagent " +
			"of yours"}
	}
	return in, nil
}
