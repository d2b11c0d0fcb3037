package profile

import (
	_ "embed"
	"strings"

	"github.com/troupe-dev/troupe"
)

// The prompts of the built-in types. They say what the type is for and how it is to work;
// tools explain themselves, and where the session is stands in its first message.
var (
	// promptCommon stands before the prompt of every type that works for another agent, also of those
	// that people define: they all need to know these things, and their requests begin alike.
	//go:embed prompts/common.md
	promptCommon string
	// promptSubagents ends the prompt of every type that has spawn_subagent.
	//go:embed prompts/subagents.md
	promptSubagents string
	//go:embed prompts/main.md
	promptMain string
	//go:embed prompts/general-purpose.md
	promptGeneral string
	//go:embed prompts/explore.md
	promptExplore string
	//go:embed prompts/plan.md
	promptPlan string
	//go:embed prompts/verification.md
	promptVerification string
	//go:embed prompts/review.md
	promptReview string
	//go:embed prompts/worker.md
	promptWorker string
	//go:embed prompts/simple.md
	promptSimple string
	//go:embed prompts/bash.md
	promptBash string
	//go:embed prompts/coordinator.md
	promptCoordinator string
	//go:embed prompts/workflow.md
	promptWorkflow string
	//go:embed prompts/dream.md
	promptDream string
	//go:embed prompts/guide.md
	promptGuide string
	//go:embed prompts/statusline.md
	promptStatusline string
)

// Documented reports whether a definition is of a type that works from Troupe's own documents.
func (d Definition) Documented() bool {
	return d.Source == troupe.BuiltIn && (d.Name == "Guide" || d.Name == "Statusline")
}

// Types that the runtime knows by name. Main is the root agent's, which no child can have; Coordinator is that of a
// session that only has others work.
const (
	Main        = "main"
	Coordinator = "coordinator"
	// Workflow is the type of a session whose prompt is a workflow, which its model follows.
	Workflow = "workflow"
	// Dream is that of a session which puts the memory of another type in order.
	Dream = "dream"
)

// IsWorkflow reports whether agents of this type follow a workflow.
func (d Definition) IsWorkflow() bool { return d.Name == Workflow && d.Source == troupe.BuiltIn }

// mainPrompt is the prompt of the main agent: whole, or without what is about writing software, which an output style
// can do without. Its lines say of which of the two they are; most are of both.
func mainPrompt(coding bool) string {
	var b strings.Builder
	for line := range strings.Lines(promptMain) {
		for mark, in := range map[string]bool{"[coding]": coding, "[else]": !coding} {
			if text, only := strings.CutPrefix(line, mark); only {
				if line = strings.TrimPrefix(text, " "); !in {
					line = ""
				}
			}
		}
		b.WriteString(line)
	}
	return strings.TrimSpace(b.String())
}

// NotCoding is the main agent, its prompt without what is about writing software.
func (d Definition) NotCoding() Definition {
	if d.Name == Main && d.Source == troupe.BuiltIn {
		d.Prompt = mainPrompt(false)
	}
	return d
}

// builtins are the types every installation has, in the order they are shown.
func builtins() []Definition {
	defs := []Definition{
		{Name: Main, Description: "The agent one talks to.", Prompt: mainPrompt(true), All: true},
		{
			Name: troupe.GeneralAgent, Prompt: promptGeneral, All: true,
			Description: "Any task of several steps, in particular one that changes files: finding out, editing, " +
				"running. Not for mere searching, which Explore does faster. Has all tools except Agent.",
		},
		{
			Name: "Explore", Prompt: promptExplore, Tools: []string{"Bash", "Glob", "Grep", "Read"},
			Sandbox: troupe.LevelReadOnly, Model: "haiku", OmitInstructions: true,
			Description: "Finding things in code, quickly and cheaply: where something is, how it works, who uses " +
				"it. Say how thorough: quick, medium or very thorough. Reads only. Not for a file you can name, nor " +
				"for judging a change.",
		},
		{
			Name: "Plan", Prompt: promptPlan, Tools: []string{"Bash", "Glob", "Grep", "Read"},
			Sandbox: troupe.LevelReadOnly, OmitInstructions: true,
			Description: "Designing a change before it is made: the steps, their order, the risks, the critical " +
				"files. Reads only. For changes of several files or with more than one way; not for obvious ones.",
		},
		{
			Name: "Verification", Prompt: promptVerification,
			Tools: []string{"Bash", "Glob", "Grep", "Read", "WebFetch"},
			Description: "Trying to break finished work by running it; tell it the task, what changed and how. For " +
				"changes that others rely on, not before they are done. Reports commands and outcomes, and ends " +
				"with VERDICT: PASS, FAIL or PARTIAL.",
		},
		{
			Name: "Review", Prompt: promptReview, Tools: []string{"Bash", "Glob", "Grep", "Read"},
			Sandbox: troupe.LevelReadOnly,
			Description: "Reading a diff with fresh eyes, for faults; say which one. Reads only and runs no tests: " +
				"Verification does. Not for work that is under way.",
		},
		{
			Name: "worker", Prompt: promptWorker, All: true,
			Description: "One part of a plan whose parts are done at the same time; name its files. Not for " +
				"work that stands alone: general-purpose does that.",
		},
		{
			Name: "simple", Prompt: promptSimple, Tools: []string{"Bash", "Edit", "Read"},
			Description: "A small change that is fully described; has Bash, Read and Edit alone. Not for finding out.",
		},
		{
			Name: Coordinator, Prompt: promptCoordinator, OmitInstructions: true,
			Tools: []string{"Agent", "AskUserQuestion", "MergeWorktree", "SendMessage", "TaskCreate", "TaskGet",
				"TaskList",
				"TaskOutput", "TaskStop", "TaskUpdate"},
			Description: "A session that has workers do all work, and understands what they report (troupe " +
				"--coordinator). Not for an agent to start.",
		},
		{
			Name: Workflow, Prompt: promptWorkflow, OmitInstructions: true,
			// It calls the first alone; a step with `merge: auto` is merged only if its parent may merge.
			Tools:       []string{"Agent", "MergeWorktree"},
			Description: "A session that follows a file of steps (troupe workflow run). Not for an agent to start.",
		},
		{
			Name: "Bash", Prompt: promptBash, Tools: []string{"Bash"}, Model: "haiku",
			Description: "Running commands whose long output you do not need to see: builds, test suites, " +
				"logs. Reports and mends nothing. Not for a command or two.",
		},
		{
			Name: Dream, Prompt: promptDream, Tools: []string{"Glob", "Grep", "Read"}, Sandbox: troupe.LevelReadOnly,
			Model: "haiku", OmitInstructions: true,
			Description: "A session that puts a memory in order (troupe memory dream). Not for an agent to start.",
		},
		{
			Name: "Guide", Prompt: promptGuide, Tools: []string{"Glob", "Grep", "Read"}, Sandbox: troupe.LevelReadOnly,
			Model: "haiku", OmitInstructions: true,
			Description: "Answering how Troupe itself is used: commands, settings, rules, definitions, hooks. For " +
				"questions of the user about it; not about their project.",
		},
		{
			Name: "Statusline", Prompt: promptStatusline, OmitInstructions: true,
			Tools: []string{"Bash", "Edit", "Glob", "Grep", "Read", "Write"},
			Description: "Writing the user's statusLine setting. Say what the line is to show. Not for other " +
				"settings.",
		},
	}
	for i := range defs {
		defs[i].Origin = Origin{Source: troupe.BuiltIn, Scope: troupe.BuiltIn}
		defs[i].Prompt = strings.TrimSpace(defs[i].Prompt)
		defs[i].Coordinates = defs[i].Name == Coordinator || defs[i].Name == Workflow
	}
	return defs
}
