// Package all is the list of tools, a line for each folder. Whatever a tool is and may do
// stands in its own folder; a new one is that folder and one line here.
package all

import (
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/agent"
	"github.com/troupe-dev/troupe/internal/tool/board"
	"github.com/troupe-dev/troupe/internal/tool/files"
	"github.com/troupe-dev/troupe/internal/tool/monitor"
	"github.com/troupe-dev/troupe/internal/tool/notebook"
	"github.com/troupe-dev/troupe/internal/tool/plan"
	"github.com/troupe-dev/troupe/internal/tool/question"
	"github.com/troupe-dev/troupe/internal/tool/result"
	"github.com/troupe-dev/troupe/internal/tool/search"
	"github.com/troupe-dev/troupe/internal/tool/shell"
	"github.com/troupe-dev/troupe/internal/tool/skill"
	"github.com/troupe-dev/troupe/internal/tool/subagent"
	"github.com/troupe-dev/troupe/internal/tool/task"
	"github.com/troupe-dev/troupe/internal/tool/team"
	"github.com/troupe-dev/troupe/internal/tool/web"
	"github.com/troupe-dev/troupe/internal/tool/worktree"
)

// Options are what tools need of the program around them. Without any, the tools can be
// looked at and not used.
type Options struct {
	Shell shell.Options
	Web   web.Options
	Skill skill.Options
	// Merger merges worktrees; nil: there are none.
	Merger worktree.Merger
}

// Tools makes every tool. Whoever runs calls closes the set of them. An error is about the settings.
func Tools(o Options) ([]tool.Descriptor, error) {
	locks := tool.NewLocks()
	fromWeb, err := web.New(o.Web)
	if err != nil {
		return nil, err
	}
	commands := shell.New(o.Shell)
	return slices.Concat(
		commands.Tools(),
		monitor.Tools(monitor.Options{Command: commands.Monitor, Watch: search.Watch}),
		files.New(files.Options{Locks: locks}),
		notebook.New(notebook.Options{Locks: locks}),
		search.New(search.Options{}),
		fromWeb,
		agent.Tools(),
		task.Tools(),
		subagent.Tools(),
		team.Tools(),
		board.Tools(),
		plan.Tools(),
		worktree.Tools(o.Merger),
		question.Tools(),
		result.Tools(),
		skill.Tools(o.Skill),
		ruleOnly(),
	), nil
}

// Known lists what is known of all tools, whatever the settings.
func Known() tool.Set {
	tools, err := Tools(Options{})
	if err != nil {
		panic("all: tools without options: " + err.Error())
	}
	return tool.NewSet(tools...)
}

// ruleOnly are names of tools that have no folder here: those that a tree's MCP servers bring, and such as people have
// rules about for other programs. One that gets a folder leaves this list.
func ruleOnly() []tool.Descriptor {
	var out []tool.Descriptor
	know := func(holder troupe.Holder, names ...string) {
		for _, name := range names {
			out = append(out, tool.Descriptor{ToolFacts: troupe.ToolFacts{Name: name, Class: troupe.ClassExec,
				Holder: holder}})
		}
	}
	know(troupe.AnyAgent, "TodoWrite", "TodoRead", "BashOutput", "KillShell", "LS", "MultiEdit", "NotebookRead",
		"ListMcpResourcesTool", "ReadMcpResourceTool", "ToolSearch", "CallMcpTool")
	know(troupe.BuiltInTypes, "CronCreate", "CronDelete", "Workflow")
	return out
}
