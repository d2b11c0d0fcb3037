package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
)

// profiles resolves children: some types are unknown.
type profiles struct{ w *world }

func (p profiles) Open([]byte) (session.Roles, error) { return p, nil }

func (p profiles) Resolve(_ troupe.Session, sp troupe.Spawn) (troupe.Profile, error) {
	if sp.Type == "unknown" {
		return troupe.Profile{}, fmt.Errorf("there is no agent type %q", sp.Type)
	}
	out := p.w.climate.profile(sp.Type)
	out.Team = sp.Team
	return out, nil
}

// Fork implements session.Roles.
func (profiles) Fork(of troupe.Profile, _ troupe.Spawn) troupe.Profile {
	of.Beginning, of.Mode = troupe.Beginning{Fork: true}, ""
	return of
}

// Describe implements session.Roles.
func (profiles) Describe(troupe.Vocabulary, func(string) bool, int) string { return "" }

// Workers implements session.Roles.
func (profiles) Workers(func(string) bool) string { return "" }

// drawCall is what a model asks for. Inputs are words; a leading & is for the background.
func (w *world) drawCall(id troupe.SessionID) (name, input string) {
	and := ""
	if w.one(2) {
		and = "&"
	}
	if st := w.watch.states[id]; st != nil && st.Authority.Mode == troupe.ModePlan && w.one(4) {
		return "ExitPlanMode", ""
	}
	if name, input, ok := w.drawTeam(id); ok {
		return name, input
	}
	switch n := w.rng.IntN(30); {
	case n >= 28:
		return "Weather", "{}"
	case n < 2:
		return "Read", ""
	case n < 4:
		return "Edit", w.drawFile(id)
	case n < 8:
		return "Bash", and + w.drawCommand()
	case n < 9:
		return []string{"Nothing", "Edit", "Agent", "TaskOutput"}[w.rng.IntN(4)], "broken"
	case n < 14:
		name := []string{"", "", "", "Twin", "a/b", "unknown"}[w.rng.IntN(6)]
		if w.one(4) {
			return "Agent", []string{"%", "%!"}[w.rng.IntN(2)]
		}
		if w.one(3) {
			and += []string{"^", "^+"}[w.rng.IntN(2)]
		}
		name += []string{"", "", "@reader", "@boxed", "@planner", "@editor", "@trusted"}[w.rng.IntN(7)]
		return "Agent", and + name + w.drawOrders()
	case n < 16:
		return "SendMessage", w.drawTask(id) + and
	case n < 18:
		if w.one(4) {
			return "TaskOutput", ""
		}
		return "TaskOutput", w.drawTask(id) + and
	case n < 20:
		return "TaskStop", w.drawTask(id)
	case n < 22:
		return "TaskCreate", ""
	case n < 23:
		return "AskUserQuestion", ""
	case n < 25:
		return []string{"EnterPlanMode", "ExitPlanMode", "EnterWorktree", "ExitWorktree"}[w.rng.IntN(4)], ""
	default:
		status := troupe.BoardStatuses()[w.rng.IntN(4)]
		owner := []string{"-", "me", "you"}[w.rng.IntN(3)]
		return "TaskUpdate", fmt.Sprintf("%d %s %s %d %d", 1+w.rng.IntN(3), status, owner, max(0, w.rng.IntN(6)-2),
			max(0, w.rng.IntN(6)-2))
	}
}

// drawOrders are what else an Agent call may say, behind a #: that the work is to be checked, and which files the agent
// is to change alone.
func (w *world) drawOrders() string {
	out := ""
	if w.one(2) {
		out = "v"
	}
	if w.one(3) {
		out += w.drawWrites()
	}
	if out != "" {
		out = "#" + out
	}
	return out
}

// drawTask names something that a session may know of, or anybody of the tree, or nobody.
func (w *world) drawTask(id troupe.SessionID) string {
	if own := w.people.tasks[id]; len(own) > 0 && !w.one(5) {
		t, _ := w.watch.states[id].Task(string(own[w.rng.IntN(len(own))]))
		if t.Kind.OfSession() && w.one(2) {
			return strings.ToUpper(t.Name)
		}
		return string(t.ID)
	}
	if w.one(3) {
		return "nobody"
	}
	return string(w.anybody().Session.ID)
}

// clientTime is how long what a client carries out waits for its answer.
const clientTime = 90 * time.Second

// tools are a reading tool, two with effects, and the intents.
func tools(p *process) tool.Set {
	var out []tool.Descriptor
	for _, f := range []troupe.ToolFacts{
		{Name: "Read", Class: troupe.ClassRead, Schedule: troupe.Parallel, Argument: troupe.PathArgument},
		{Name: "Edit", Class: troupe.ClassEdit, Argument: troupe.PathArgument},
		{Name: "MergeWorktree", Class: troupe.ClassEdit, Holder: troupe.Parents},
		{Name: "Bash", Class: troupe.ClassExec, Argument: troupe.CommandArgument},
	} {
		out = append(out, tool.Descriptor{ToolFacts: f, Runner: runner{p: p, name: f.Name}})
	}
	for _, f := range []troupe.ToolFacts{
		{Name: "Agent", Schedule: troupe.Birth, Argument: troupe.AgentArgument},
		{Name: "SendMessage", Holder: troupe.Correspondents},
		{Name: "TeamCreate", Holder: troupe.MainAgent},
		{Name: "TeamDelete", Holder: troupe.MainAgent},
		{Name: "TaskOutput", Schedule: troupe.Parallel, Holder: troupe.Parents},
		{Name: "TaskStop", Holder: troupe.Parents},
		{Name: "TaskCreate", Holder: troupe.Members},
		{Name: "TaskUpdate", Holder: troupe.Members},
		{Name: "AskUserQuestion", Holder: troupe.NamedAgents},
		{Name: "EnterPlanMode", Holder: troupe.MainAgent},
		{Name: "ExitPlanMode", Holder: troupe.Planners},
		{Name: "EnterWorktree", Class: troupe.ClassRead, Holder: troupe.MainAgent},
		{Name: "ExitWorktree", Class: troupe.ClassRead, Holder: troupe.MainAgent},
		troupe.ClientTool{Name: "Weather"}.Facts(),
	} {
		out = append(out, tool.Descriptor{ToolFacts: f, Intent: func(input string) (troupe.Intent,
			error) {
			return intent(f.Name, input)
		}})
	}
	return tool.NewSet(out...)
}

func intent(name, input string) (troupe.Intent, error) {
	bare := strings.Trim(input, "&")
	and := bare != input
	if bare == "broken" {
		return nil, &tool.InputError{Tool: name, Problem: "the input is not a JSON object"}
	}
	switch name {
	case "Agent":
		if strings.HasPrefix(bare, "{") {
			return spawnOf(bare)
		}
		if strings.HasPrefix(bare, "%") {
			return troupe.Spawn{Description: "beside it", Prompt: "do a part", Fork: true, Wait: bare != "%"}, nil
		}
		bare, orders, _ := strings.Cut(bare, "#")
		bare, joins := strings.CutPrefix(bare, "=")
		bare, tree := strings.CutPrefix(bare, "^")
		bare, merge := strings.CutPrefix(bare, "+")
		name, kind, own := strings.Cut(bare, "@")
		sp := troupe.Spawn{Description: "part of it", Prompt: "do a part", Type: "worker", Name: name, Background: and}
		orders, sp.Verify = strings.CutPrefix(orders, "v")
		sp.Writes = patterns(orders)
		if joins {
			sp.Team = crew
		}
		if tree {
			sp.Workspace = troupe.WorkspaceTree
		}
		if merge {
			sp.Merge = troupe.MergeAuto
		}
		if own {
			sp.Type, sp.Prompt = kind, "mend ./file"
		}
		if name == "unknown" {
			sp.Name, sp.Type = "", name
		}
		return sp, nil
	case "SendMessage":
		return message(bare, and), nil
	case "TeamCreate":
		return troupe.TeamCreate{Team: troupe.Team{Name: crew}}, nil
	case "TeamDelete":
		return troupe.TeamDelete{}, nil
	case "TaskOutput":
		return troupe.TaskQuery{Task: bare, Block: and, Timeout: time.Duration(1+len(bare)) * time.Second}, nil
	case "AskUserQuestion":
		return troupe.AskUser{Questions: []troupe.Question{{Header: "Way", Text: "Which?", Default: "left", Multi: true,
			Options: []troupe.Option{{Label: "left"}, {Label: "right"}}}}}, nil
	case "Weather":
		return troupe.AskClient{Input: []byte("{}"), Deadline: clientTime}, nil
	case "EnterPlanMode":
		return troupe.EnterPlan{}, nil
	case "ExitPlanMode":
		return troupe.ExitPlan{}, nil
	case "EnterWorktree":
		return troupe.EnterWorktree{}, nil
	case "ExitWorktree":
		return troupe.ExitWorktree{}, nil
	case "TaskCreate":
		return troupe.BoardCreate{Subject: "a part"}, nil
	case "TaskUpdate":
		return listUpdate(bare), nil
	default:
		return troupe.TaskStop{Task: bare}, nil
	}
}

// runner is a tool, and a call of it once it is prepared.
type runner struct {
	p           *process
	name, input string
	at          time.Time // when it was prepared, which is when the gate is asked
}

func (r runner) Prepare(_ tool.Env, input string) (tool.Prepared, error) {
	if input == "broken" || strings.HasPrefix(input, "{") {
		return nil, &tool.InputError{Tool: r.name, Problem: "the input is not a JSON object"}
	}
	r.input, r.at = input, r.p.w.now
	return r, nil
}

func (r runner) Access() troupe.Access { return accessOf(r.name, r.input) }

// accessOf is what a call declares.
func accessOf(name, input string) troupe.Access {
	switch name {
	case "Edit":
		file := map[string]string{"etc": "/etc/file", "guarded": guarded}[input]
		if id, ok := strings.CutPrefix(input, "plan:"); ok {
			file = plans{}.File(troupe.Session{ID: troupe.SessionID(id)})
		}
		if len(input) == 1 && strings.Contains(letters, input) {
			file = "/sim/" + input
		}
		if file == "" {
			file = "/sim/file"
		}
		return troupe.Access{Class: troupe.ClassEdit, Writes: []string{file}}
	case "Bash":
		return troupe.Access{Class: troupe.ClassExec, Command: strings.Trim(input, "&")}
	}
	if name == "Weather" {
		return troupe.Access{Class: troupe.ClassExec, Client: true}
	}
	return troupe.Access{Class: troupe.ClassRead, Reads: []string{"/sim/file"}}
}

// Background implements tool.Backgrounder.
func (r runner) Background() (string, bool) { return r.input, strings.HasPrefix(r.input, "&") }

// Run takes its time. The effect comes before that, or behind it.
func (r runner) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	w := r.p.w
	took := time.Duration(w.rng.IntN(1500)) * time.Millisecond
	if strings.HasSuffix(r.input, "slow") {
		took = time.Duration(5+w.rng.IntN(60)) * time.Second
	}
	w.watch.begins(r, env)
	late := w.one(2)
	if late {
		w.sleep(ctx, took)
	}
	if ctx.Err() != nil || r.p.dead {
		return tool.Errorf("stopped"), nil
	}
	out := tool.Output{Blocks: []troupe.Block{troupe.Text("done")}}
	if r.name != "Read" && !w.acts(r.p, env.Cwd) {
		return tool.Errorf("the working folder is not there"), nil
	}
	switch r.name {
	case "Bash":
		out.Evidence.Commands = []troupe.CommandRun{w.execute(r.Access().Command, env)}
	case "Edit":
		w.effect(effectKey(env.OutputDir, env.CallID), nil)
		out.Evidence.Files = []troupe.FileTouch{{Path: r.Access().Writes[0], Wrote: true}}
	}
	if !late {
		w.sleep(ctx, took)
	}
	switch {
	case ctx.Err() != nil:
		return tool.Errorf("it failed"), nil
	case w.one(20):
		return tool.Output{}, errors.New("an odd file")
	case len(out.Evidence.Commands) > 0 && out.Evidence.Commands[0].ExitCode != 0:
		out.IsError = true
	}
	return out, nil
}
