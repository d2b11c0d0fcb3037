package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

// planFile finds the plan that a request is told of.
func planFile(r *modeltest.Request) string {
	return regexp.MustCompile(`/[^\s]*/plans/[^\s]*\.md`).FindString(r.FirstText() + r.LastText())
}

func writes(file string) modeltest.Call {
	return toolCall("Write", map[string]any{"file_path": file, "content": "# a plan\n"})
}

// results are the results of calls in a tree, each a line.
func results(t *testing.T, p *place, ref string) (lines []string, opened, approved int) {
	t.Helper()
	for _, e := range p.audit(ref) {
		switch e.Type { //nolint:exhaustive // only what asks and answers
		case troupe.KindToolFinished:
			lines = append(lines, string(e.Data))
		case troupe.KindRequestOpened:
			opened++
		case troupe.KindRequestAnswered:
			var b troupe.RequestAnswered
			if err := json.Unmarshal(e.Data, &b); err != nil {
				t.Fatal(err)
			}
			if b.RequestKind == troupe.RequestPlan && b.Effect == troupe.Allow && b.Caller != nil {
				approved++
			}
		}
	}
	return lines, opened, approved
}

// TestPain09PlanHoldsForChildren: while an agent plans, its children change nothing either, whatever their definitions
// say and rules allow: not the project, not the plan of their parent, by tools or by commands. One that plans by its
// own definition has a plan of its own, and a yes to that gives it what its parent has.
func TestPain09PlanHoldsForChildren(t *testing.T) {
	t.Parallel()
	var p *place
	plan := ""
	p, _ = newServed(t, func(r *modeltest.Request) modeltest.Reply {
		switch {
		case isMain(r) && r.Turn == 1:
			plan = planFile(r)
			return modeltest.Calls(writes(plan), agentCall("prompt", "WILD", "subagent_type", "wild", "name", "w"),
				agentCall("prompt", "PLAN", "subagent_type", "planner", "name", "p"))
		case isMain(r):
			return modeltest.Text("The end.")
		case strings.Contains(r.FirstText(), "WILD") && r.Turn == 1:
			return modeltest.Calls(writes("a.txt"), writes(plan),
				toolCall("Bash", map[string]any{"command": "echo x > b.txt; echo child >> " + plan}),
				toolCall("ExitPlanMode", map[string]any{}))
		case strings.Contains(r.FirstText(), "PLAN") && r.Turn == 1:
			return modeltest.Calls(writes(planFile(r)), toolCall("ExitPlanMode", map[string]any{}))
		case strings.Contains(r.FirstText(), "PLAN") && r.Turn == 2:
			return modeltest.Calls(writes("c.txt"))
		}
		return modeltest.Text("Done.")
	})
	p.write(".claude/agents/wild.md", "---\nname: wild\ndescription: d\npermissionMode: bypassPermissions\n---\nGo.\n")
	p.write(".claude/agents/planner.md", "---\nname: planner\ndescription: d\npermissionMode: plan\n---\nPlan.\n")
	proc, err := startProcess(p.command("-p", "go", "--name", "job", "--ask", "10m", "--trust", "--permission-mode",
		"plan", "--allowed-tools", "Write,Edit,Bash,Bash(python3:*)", "--output-format", "stream-json"))
	if err != nil {
		t.Fatal(err)
	}
	p.eventually([]string{"job/p asks to carry out its plan", "the mode of the agent above it holds again"},
		"requests")
	if r := p.troupe("answer", "allow"); r.code != 0 {
		t.Fatal(r.errOut)
	}
	if r, err := proc.wait(); err != nil || r.code != 0 {
		t.Fatalf("%v, exit %d\n%s", err, r.code, r.errOut)
	}
	for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
		if _, err := os.Stat(filepath.Join(p.dir, name)); err == nil {
			t.Errorf("%s was written while its agent's parent plans", name)
		}
	}
	if text, err := os.ReadFile(plan); err != nil || string(text) != "# a plan\n" {
		t.Errorf("the plan is %q, %v", text, err)
	}
	lines, opened, _ := results(t, p, "job")
	all := strings.Join(lines, "\n")
	for _, want := range []string{"this call writes " + filepath.Join(p.dir, "a.txt"), "this call writes " + plan,
		"You plan for the agent that started you|does not have the tool ExitPlanMode", "approved-plan"} {
		if !regexp.MustCompile(want).MatchString(all) {
			t.Errorf("no result says %q:\n%s", want, all)
		}
	}
	if opened != 1 {
		t.Errorf("%d requests, want the one of the child that plans", opened)
	}
}

// TestPain25ChildrenAsk: an agent whose definition names AskUserQuestion asks the user, who is told which agent it is
// and answers from another terminal. Others have no such tool.
func TestPain25ChildrenAsk(t *testing.T) {
	t.Parallel()
	ask := toolCall("AskUserQuestion", map[string]any{"questions": []any{map[string]any{
		"question": "Which way?", "header": "Way", "options": []any{map[string]any{"label": "Left"},
			map[string]any{"label": "Right"}},
	}}})
	p, _ := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		switch {
		case isMain(r) && r.Turn == 1:
			return modeltest.Calls(agentCall("prompt", "p", "subagent_type", "chooser", "name", "c"),
				agentCall("prompt", "p", "subagent_type", "general-purpose", "name", "g"))
		case !isMain(r) && r.Turn == 1:
			return modeltest.Calls(ask)
		}
		return modeltest.Text("Heard: " + r.LastText())
	})
	p.write(".claude/agents/chooser.md", "---\nname: chooser\ndescription: d\ntools: AskUserQuestion\n---\nAsk.\n")
	proc, err := startProcess(p.command("-p", "go", "--name", "job", "--ask", "10m", "--output-format", "stream-json"))
	if err != nil {
		t.Fatal(err)
	}
	p.eventually([]string{"job/c asks a question", "Which way?", "2  Right"}, "requests")
	if r := p.troupe("answer", "--choice", "right"); r.code != 0 {
		t.Fatal(r.errOut)
	}
	if r, err := proc.wait(); err != nil || r.code != 0 {
		t.Fatalf("%v, exit %d\n%s", err, r.code, r.errOut)
	}
	lines, opened, _ := results(t, p, "job")
	all := strings.Join(lines, "\n")
	if opened != 1 || !strings.Contains(all, "Way: Right") ||
		!strings.Contains(all, "job/g does not have the tool AskUserQuestion") {
		t.Errorf("%d requests, and the results\n%s", opened, all)
	}
}

// TestPain26PlansAreApprovedByAPerson: no rule, no mode, no deadline and no lack of a person approves a plan. A person
// does, and the log says who.
func TestPain26PlansAreApprovedByAPerson(t *testing.T) {
	t.Parallel()
	p, _ := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		switch r.Turn {
		case 1:
			return modeltest.Calls(writes(planFile(r)), toolCall("ExitPlanMode", map[string]any{}), writes("done.txt"))
		case 2:
			return modeltest.Calls(writes("done.txt"))
		}
		return modeltest.Text("The end.")
	})
	for name, flags := range map[string][]string{
		"unattended": {}, "in time": {"--ask", "1s"}, "by a rule": {"--allowed-tools", "ExitPlanMode,Write", "--ask",
			"1s"},
	} {
		ref := strings.ReplaceAll(name, " ", "-")
		p.troupe(append([]string{"-p", "go", "--name", ref, "--permission-mode", "plan"}, flags...)...)
		if _, _, approved := results(t, p, ref); approved != 0 {
			t.Errorf("%s: it was approved", name)
		}
		if _, err := os.Stat(filepath.Join(p.dir, "done.txt")); err == nil {
			t.Errorf("%s: the plan was carried out", name)
		}
	}
	proc, err := startProcess(p.command("-p", "go", "--name", "job", "--ask", "10m", "--permission-mode", "plan",
		"--output-format", "stream-json"))
	if err != nil {
		t.Fatal(err)
	}
	p.eventually([]string{"job asks to carry out its plan", "# a plan"}, "requests")
	if r := p.troupe("answer", "allow", "--accept-edits"); r.code != 0 {
		t.Fatal(r.errOut)
	}
	if r, err := proc.wait(); err != nil || r.code != 0 {
		t.Fatalf("%v, exit %d\n%s", err, r.code, r.errOut)
	}
	if _, _, approved := results(t, p, "job"); approved != 1 || p.read("done.txt") != "# a plan\n" {
		t.Errorf("%d approvals, done.txt %q", approved, p.read("done.txt"))
	}
}
