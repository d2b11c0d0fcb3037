// Package profile knows the types of agent: those built in, and those that people define
// in Markdown files or on the command line. A definition is resolved into the
// troupe.Profile that a session is born with; what becomes of the definition afterwards
// does not concern that session.
//
// Nothing a person wrote is ignored in silence: what is not followed as written is a
// Problem with its file and line. Where a definition is unclear about tools, its agents
// get fewer, never more. A definition that cannot be used at all still hides one of the
// same name from a weaker source, so that nobody gets another agent than they defined.
package profile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
)

// Definition is one type of agent.
type Definition struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Prompt      string `json:"prompt,omitempty"`
	// WhenToUse stands behind the description where a parent reads it.
	WhenToUse string `json:"when_to_use,omitempty"`
	Origin
	// Model is an alias, a full name, or "inherit"; "" means inherit.
	Model string `json:"model,omitempty"`
	Manner
	// All: every tool that children get. Otherwise only Tools, which is sorted.
	All   bool     `json:"all,omitempty"`
	Tools []string `json:"tools,omitempty"`
	// Missing are names on its tools line that are no tools here. With no others than these it cannot be
	// started: it was meant to have some.
	Missing []string `json:"missing,omitempty"`
	// Without are tools it does not get even so, sorted; names that are no tools here, too.
	Without []string `json:"without,omitempty"`
	// Reads: it gets no tool that changes files, and its commands only read.
	Reads bool `json:"reads,omitempty"`
	// Starts are the only types that it may start; nil: all.
	Starts []string `json:"starts,omitzero"` // empty: none
	// Mode is a permission mode of its own, which counts beside its parent's: the stricter of
	// the two holds. Sandbox is the most that its commands are left.
	Mode    troupe.Mode  `json:"mode,omitempty"`
	Sandbox troupe.Level `json:"sandbox,omitempty"`
	// MaxTurns is how many model replies a run may have; 0: as many as others. Whoever starts one
	// can only lower it.
	MaxTurns int `json:"max_turns,omitempty"`
	// MaxTokens bounds the tokens of any kind that it uses in its life; 0: nothing does.
	MaxTokens int64 `json:"max_tokens,omitempty"`
	// InitialPrompt stands before the first prompt that it is given.
	InitialPrompt string `json:"initial_prompt,omitempty"`
	Beside
	// OmitInstructions: it is not told what CLAUDE.md and AGENTS.md say.
	OmitInstructions bool    `json:"omit_instructions,omitempty"`
	Servers          Servers `json:"servers,omitzero"`
	// Color is the one it is shown in, of troupe.Colors; "": any.
	Color string `json:"color,omitempty"`
}

// Beside is what goes on beside an agent's own work.
type Beside struct {
	// Workspace is where it works, unless the call says so; "" is where whoever starts it does.
	Workspace troupe.WorkspaceKind `json:"workspace,omitempty"`
	// Merge is what becomes of its work in a folder of its own, unless the call says so; "" is troupe.MergeKeep.
	Merge troupe.MergeBack `json:"merge,omitempty"`
	// Background: it works in the background, whether or not the call says so.
	Background bool `json:"background,omitempty"`
	// Coordinates: it has others do all work (see troupe.Beginning).
	Coordinates bool `json:"coordinates,omitempty"`
	// Schema is the JSON schema that its results have to follow, as it was written; nil: they are words.
	Schema json.RawMessage `json:"output_schema,omitempty"`
	// Skills are those whose texts it is born with.
	Skills []string `json:"skills,omitempty"`
	// Memory is how far what it keeps reaches; "": it keeps nothing.
	Memory troupe.MemoryScope `json:"memory,omitempty"`
	// Hooks run at its moments and at those of all agents below it, as settings write them. What could not be read is
	// a text that says so, which nothing takes for hooks.
	Hooks json.RawMessage `json:"hooks,omitempty"`
}

// Manner is how an agent goes about its work and its words.
type Manner struct {
	// Effort is that of its model; "" means its parent's.
	Effort troupe.Effort `json:"effort,omitempty"`
	// Style is the output style whose text its prompt ends with.
	Style string `json:"style,omitempty"`
	// Vocabulary is in which words it deals with agents of its own; "" is troupe.VocabularyAgents.
	Vocabulary troupe.Vocabulary `json:"vocabulary,omitempty"`
}

// Origin is where a definition comes from.
type Origin struct {
	Source string `json:"source"` // "built-in", "--agents", or a file
	Scope  Scope  `json:"scope,omitempty"`
	// Shadows are the sources of weaker definitions of this name, the strongest first.
	Shadows []string `json:"shadows,omitempty"`
}

// Problem is something about a definition that its author should know.
type Problem = front.Finding

// Set is the types known to one session tree. It does not change.
type Set struct {
	types  map[string]Definition // by folded name
	broken map[string]Problem    // names whose definition cannot be used, folded as types
	hooked []Definition          // see Hooked
}

// Main is the root agent's type.
func (s Set) Main() Definition { return s.types[front.Fold(Main)] }

// Lookup finds the type that a birth asks for, without regard to case; "" is
// general-purpose. The error lists the types there are and is meant for whoever asked.
func (s Set) Lookup(name string) (Definition, error) {
	if name == "" {
		name = troupe.GeneralAgent
	}
	key := front.Fold(name)
	if p, ok := s.broken[key]; ok {
		return Definition{}, &unknownError{fmt.Sprintf("the agent type %q is defined but cannot be used (%s)", name, p)}
	}
	d, ok := s.types[key]
	if !ok || key == front.Fold(Main) {
		return Definition{}, &unknownError{fmt.Sprintf("there is no agent type %q to start; %s", name, s.Find(name))}
	}
	return d, nil
}

// Names are those of all types that are defined, also those whose definition cannot be used, and those that come with
// the program.
func (s Set) Names() (names []string) {
	for _, d := range s.types {
		names = append(names, d.Name)
	}
	for name := range s.broken {
		names = append(names, name)
	}
	for _, d := range builtins() {
		names = append(names, d.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Broken reports whether a type of this name is defined and cannot be used.
func (s Set) Broken(name string) bool {
	_, broken := s.broken[front.Fold(name)]
	return broken
}

// unknownError says that there is no such type; it is troupe.ErrNotFound.
type unknownError struct{ text string }

func (e *unknownError) Error() string { return e.text }
func (e *unknownError) Unwrap() error { return troupe.ErrNotFound }

// List returns the types that can be started: built-in ones in their order, then the
// others by name.
func (s Set) List() []Definition {
	return s.list(func(*Definition) bool { return true })
}

// Hooking are those of them that have hooks, and main, if it has.
func (s Set) Hooking() []Definition {
	hooks := func(d *Definition) bool { return len(d.Hooks) > 0 }
	out := s.list(hooks)
	if main := s.Main(); hooks(&main) {
		out = append(out, main)
	}
	return out
}

func (s Set) list(which func(d *Definition) bool) []Definition {
	var out []Definition
	listed := map[string]bool{front.Fold(Main): true}
	for _, b := range builtins() {
		key := front.Fold(b.Name)
		if d, ok := s.types[key]; ok && !listed[key] && which(&d) {
			out = append(out, d)
		}
		listed[key] = true
	}
	type other struct{ name, key string }
	var others []other
	for key, d := range s.types {
		if !listed[key] && which(&d) {
			others = append(others, other{strings.ToLower(d.Name), key})
		}
	}
	slices.SortFunc(others, func(a, b other) int { return strings.Compare(a.name, b.name) })
	out = slices.Grow(out, len(others))
	for _, o := range others {
		out = append(out, s.types[o.key])
	}
	return out
}

// Place is where and to whom an agent is born.
type Place struct {
	// Offer are the tools there are for such an agent.
	Offer []troupe.ToolFacts
	// Model is the parent's, or for a root the chosen one, in full.
	Model string
	// Named finds the full name for what a person or a model wrote.
	Named  func(name string) (string, error)
	Mode   troupe.Mode
	Limits troupe.Limits // defaults
	// Child: it is born to work for another agent, and is told what that means.
	Child bool
	// MostTurns bounds the turns of a run whatever anybody says; 0: nothing does.
	MostTurns int
	// Memory finds the folders of a definition's memory; nil: there are none.
	Memory func(d Definition) (*troupe.Memory, error)
}

// turns is how many model replies a run may have.
func (d Definition) turns(at Place, asked int) int {
	turns := at.Limits.MaxTurns
	if d.MaxTurns > 0 {
		turns = d.MaxTurns
	}
	if asked > 0 && (d.MaxTurns == 0 || asked < d.MaxTurns) {
		turns = asked
	}
	if at.MostTurns > 0 && (turns == 0 || turns > at.MostTurns) {
		turns = at.MostTurns
	}
	return turns
}

// Resolve makes the profile that a session of this type is born with. Of the birth's own
// wishes Model and MaxTurns count here. A model that the birth asks for and that is not to be had is an
// error; one that only the definition names is replaced by the parent's, which a note says.
func (d Definition) Resolve(at Place, s troupe.Spawn) (troupe.Profile, error) {
	d = d.namingClients(at.Offer)
	if none := d.noneOf(at.Offer); none != "" {
		return troupe.Profile{}, fmt.Errorf("%s: %s", d.Source, none)
	}
	d, err := d.narrowed(at, s)
	if err != nil {
		return troupe.Profile{}, err
	}
	model, note, err := d.resolveModel(at, s.Model)
	if err != nil {
		return troupe.Profile{}, fmt.Errorf("the model of agent type %q: %w", d.Name, err)
	}
	p := troupe.Profile{
		Type: d.Name, Description: d.Description, Source: d.Source, Prompt: d.Prompt,
		Tools: []string{}, Model: model, Effort: cmp.Or(s.Effort, d.Effort), Mode: at.Mode, Sandbox: d.Sandbox,
		Limits: at.Limits,
		Starts: d.Starts, Beginning: troupe.Beginning{InitialPrompt: d.InitialPrompt, Background: d.Background,
			Workspace: d.Workspace, Merge: d.Merge, Coordinates: d.Coordinates},
		Color: d.Color, Skills: d.Skills,
		OmitInstructions: d.OmitInstructions, Vocabulary: d.Vocabulary,
	}
	if note != "" {
		p.Notes = append(p.Notes, note)
	}
	if at.Child {
		p.Prompt = strings.TrimSpace(strings.TrimSpace(promptCommon) + "\n\n" + d.Prompt)
	}
	if d.Mode != "" {
		p.Mode = d.Mode
	}
	if usual := s.Subagent.UsualTurns; usual > 0 {
		at.Limits.MaxTurns = usual
	}
	p.Limits.MaxTurns = d.turns(at, s.MaxTurns)
	if d.MaxTokens > 0 && (p.Limits.MaxTokens == 0 || d.MaxTokens < p.Limits.MaxTokens) {
		p.Limits.MaxTokens = d.MaxTokens
	}
	d = d.remembering(at, &p)
	for _, tool := range at.Offer {
		if d.has(tool) {
			p.Tools = append(p.Tools, tool.Name)
		}
	}
	if d.Vocabulary == troupe.VocabularySubagents && slices.ContainsFunc(at.Offer, d.spawns) {
		p.Prompt += "\n\n" + strings.TrimSpace(promptSubagents)
	}
	if p.Schema, err = d.reports(at, s); err != nil {
		return troupe.Profile{}, err
	}
	for _, tool := range at.Offer {
		if p.Schema != nil && tool.Holder == troupe.Reporters {
			p.Tools = append(p.Tools, tool.Name)
		}
	}
	p.Team = s.Team
	p.Tools = append(p.Tools, d.asMember(at.Offer, s.Team)...)
	p.Tools = sorted(p.Tools)
	if unmet := d.unmet(at.Offer); len(unmet) > 0 {
		note := "its definition names tools that no MCP server here offers: " + strings.Join(unmet, ", ")
		p.Notes = append(p.Notes, note)
	}
	return p, nil
}

// namingClients is the type with those of its tools that a client carries out. Its tools line is read before it is
// known which those are.
func (d Definition) namingClients(offer []troupe.ToolFacts) Definition {
	for _, tool := range offer {
		if tool.Client && !d.All && among(d.Missing, tool.Name) {
			d.Tools = sorted(append(slices.Clip(d.Tools), tool.Name))
		}
	}
	return d
}

func among(words []string, name string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, name) })
}

// asMember are the tools that agents of this type have besides as members of a team: to write to its others, to share
// its board, and to start agents that they wait for. What the definition takes away stays away.
func (d Definition) asMember(offer []troupe.ToolFacts, team string) (more []string) {
	for _, tool := range offer {
		gets := tool.Holder == troupe.Members || tool.Holder == troupe.Correspondents ||
			tool.Schedule == troupe.Birth && d.All
		if team != "" && gets && d.Vocabulary.Has(tool) && !slices.Contains(d.Without, tool.Name) {
			more = append(more, tool.Name)
		}
	}
	return more
}

// spawns reports whether agents of this type get a tool that starts others.
func (d Definition) spawns(tool troupe.ToolFacts) bool {
	return tool.Schedule == troupe.Birth && d.has(tool)
}

// has reports whether agents of this type get a tool.
func (d Definition) has(tool troupe.ToolFacts) bool {
	has, _ := d.Holds(tool)
	return has
}

// Holds reports whether agents of this type get a tool, and says why. Those that start agents are not among
// "all", because helpers that start helpers should be a person's decision.
func (d Definition) Holds(tool troupe.ToolFacts) (has bool, why string) {
	switch {
	case tool.Holder == troupe.Reporters:
		return false, "agents have it where their result has a schema"
	case !d.Vocabulary.Has(tool):
		return false, "its definition has another vocabulary for agents of its own"
	case slices.Contains(d.Without, tool.Name), tool.Client && among(d.Without, tool.Name):
		return false, "disallowedTools names it"
	case namesServer(d.Without, tool.Name):
		return false, "disallowedTools names its server"
	case keepsOfServer(d.Without, tool.Name):
		return false, "disallowedTools names tools of its server, which may come later"
	case d.Reads && (tool.Class == troupe.ClassEdit || strings.HasPrefix(tool.Name, serverPrefix) ||
		tool.Client && tool.Class > troupe.ClassRead):
		return false, "it takes the place of a built-in agent that only reads"
	case !d.All && (slices.Contains(d.Tools, tool.Name) || namesServer(d.Tools, tool.Name)):
		return true, "tools names it"
	case !d.All && d.forMemory(tool.Name):
		return true, "for its memory alone"
	case !d.All:
		return false, "tools does not name it"
	case tool.Schedule == troupe.Birth && d.Name != Main && d.Vocabulary != troupe.VocabularySubagents:
		return false, "agents start others only if tools names it"
	case tool.Holder == troupe.NamedAgents && d.Name != Main:
		return false, "agents ask the user only if tools names it"
	case (tool.Holder == troupe.MainAgent || tool.Holder == troupe.Members) && d.Name != Main:
		return false, "it is the main agent's"
	case tool.Holder == troupe.Planners && d.Name != Main && d.Mode != troupe.ModePlan:
		return false, "agents show a plan only if permissionMode is plan, or tools names it"
	default:
		return true, "tools leaves all to it"
	}
}

// Elsewhere is the error of Place.Named for a model of a provider that is not set up here. The name with it is the
// parent's.
type Elsewhere struct{ Why string }

func (e *Elsewhere) Error() string { return e.Why }

// resolveModel finds the full name of a model. The note says that another one than the call or the definition names
// is taken; that a built-in type has another where its own is not to be had needs no words.
func (d Definition) resolveModel(at Place, wish string) (full, note string, err error) {
	name := wish
	if name == "" {
		name = d.Model
	}
	if name == "" || strings.EqualFold(name, "inherit") {
		return at.Model, "", nil
	}
	full, err = at.Named(name)
	var elsewhere *Elsewhere
	switch gone := errors.As(err, &elsewhere); {
	case wish != "" && gone:
		return full, fmt.Sprintf("the call that started it names the model %q, which is not to be had here (%s); it "+
			"has "+
			"its parent's, %s", wish, elsewhere.Why, full), nil
	case err == nil, wish != "":
		return full, "", err
	}
	if d.Source != troupe.BuiltIn {
		why, _, _ := strings.Cut(err.Error(), "\n")
		note = fmt.Sprintf("its definition names the model %q, which is not to be had here (%s); it has its "+
			"parent's, %s", name, strings.TrimSuffix(why, "."), at.Model)
	}
	return at.Model, note, nil
}

// Describe tells a parent which types it can start. It belongs into a session's first
// message, not into a tool's description, which must be the same for everybody. allowed,
// if not nil, leaves out types that rules forbid. Where the list is longer than room, in bytes, descriptions
// are shortened, and at last types are left out: Find tells of those.
func Describe(s Set, v troupe.Vocabulary, allowed func(name string) bool, room int) string {
	var list []front.Entry
	for _, d := range s.List() {
		if (allowed == nil || allowed(d.Name)) && !d.forPeople() {
			list = append(list, d.entry())
		}
	}
	call, as := "Agent", "subagent_type"
	if v == troupe.VocabularySubagents {
		call, as = "spawn_subagent", "template in its config"
	}
	return front.Listing("Agents you can start with "+call+", as "+as+":\n", list, room,
		"Call "+call+" with words for what "+
			"you need as "+as+": no agent is started, and you are told which of them fit.")
}

// Workers tells a coordinator what the types that it can start have, by name: it has none of these tools itself.
func Workers(s Set, offer func(d Definition) []troupe.ToolFacts, allowed func(name string) bool) string {
	var b strings.Builder
	var all []troupe.ToolFacts
	for _, d := range s.List() {
		if d.forPeople() || allowed != nil && !allowed(d.Name) {
			continue
		}
		var names, servers []string
		for _, tool := range offer(d) {
			switch server, of := strings.CutPrefix(tool.Name, serverPrefix); {
			case !d.has(tool):
			case of:
				server, _, _ = strings.Cut(server, "__")
				servers, all = append(servers, server), append(all, tool)
			default:
				names = append(names, tool.Name)
			}
		}
		if servers = sorted(servers); len(servers) > 0 {
			names = append(sorted(names), "MCP "+strings.Join(servers, ", MCP "))
		}
		fmt.Fprintf(&b, "- %s: %s\n", d.Name, strings.Join(names, ", "))
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nTools that they have:\n" + b.String() + ofServers(all)
}

// ofServers lists MCP servers and their tools.
func ofServers(offer []troupe.ToolFacts) string {
	tools := make(map[string][]string)
	for _, tool := range offer {
		if name, of := strings.CutPrefix(tool.Name, serverPrefix); of {
			server, name, _ := strings.Cut(name, "__")
			if name == "*" { // stands for those that are not known yet
				continue
			}
			tools[server] = append(tools[server], name)
		}
	}
	var b strings.Builder
	for _, server := range slices.Sorted(maps.Keys(tools)) {
		fmt.Fprintf(&b, "- %s: %s\n", server, strings.Join(sorted(tools[server]), ", "))
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nMCP servers, and their tools:\n" + b.String()
}

// Find completes the error about a type that there is not (see front.Find).
func (s Set) Find(words string) string {
	var list []front.Entry
	for _, d := range s.List() {
		if !d.forPeople() {
			list = append(list, d.entry())
		}
	}
	return front.Find(words, list, "types")
}

// forPeople: only people start sessions of this type, and models are not told of it.
func (d Definition) forPeople() bool {
	return d.Coordinates || d.Name == Dream && d.Source == troupe.BuiltIn
}

// entry is the type as it stands in a list.
func (d Definition) entry() front.Entry {
	return front.Entry{Name: d.Name, Text: strings.TrimSpace(d.Description + " " + d.WhenToUse)}
}
