package demo

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

//go:embed login.yaml
var loginScript []byte

//go:embed plan.yaml
var planScript []byte

//go:embed fork.yaml
var forkScript []byte

//go:embed worktrees.yaml
var treesScript []byte

//go:embed coordinator.yaml
var coordinatorScript []byte

//go:embed team.yaml
var teamScript []byte

// scenes are the runs that can be asked for by name.
func scenes() map[string]func() scene {
	return map[string]func() scene{"plan": planning, "fork": forking, "worktrees": apart, "coordinator": coordinating,
		"team": together}
}

// scene is a run that the demo shows.
type scene struct {
	begin  wire.Begin
	flags  string // as they would be typed
	script []byte
	git    bool // the project is in a repository
}

// fixing is a team that finds a bug and fixes it.
func fixing() scene {
	return scene{script: loginScript, begin: wire.Begin{
		Prompt: "People say they are signed out as soon as they sign in. Find out why and fix the login bug.",
		Permissions: wire.Permissions{Allow: []string{
			"Edit, Bash(go test ./...), Bash(go test -count=1 ./...)",
			"Bash(go test -count=1 -v -run TestLogin ./internal/auth), Bash(go vet ./...)",
		}},
	}}
}

// planned is the name of the agent that plans, and so that of its plan's file.
const planned = "login-plan"

// planning is an agent that asks, plans, and does what was approved.
func planning() scene {
	return scene{script: planScript, flags: "--permission-mode plan --ask 10m ", begin: wire.Begin{
		Prompt: "People say they are signed out as soon as they sign in. Plan how to fix it.",
		Name:   planned, AskMS: (10 * time.Minute).Milliseconds(), Permissions: wire.Permissions{
			Mode: troupe.ModePlan, Allow: []string{"Bash(go test ./...)"}},
	}}
}

// forking is an agent that goes two ways at once from what it has found out.
func forking() scene {
	return scene{script: forkScript, flags: "--permission-mode acceptEdits ", begin: wire.Begin{
		Prompt:      "People say they are signed out as soon as they sign in. Fix it, and take care of what is left.",
		Permissions: wire.Permissions{Mode: troupe.ModeAcceptEdits, Allow: []string{"Bash(go test ./...)"}},
	}}
}

// apart is three agents in worktrees of their own, two of which change the same lines.
func apart() scene {
	return scene{script: treesScript, flags: "--permission-mode acceptEdits --allowed-tools 'Bash(go test ./...), " +
		"Bash(git commit *)' ", git: true, begin: wire.Begin{
		Prompt: "People are signed out at once. Mend that, let a lock say what to do, and warn people in the README.",
		Permissions: wire.Permissions{Mode: troupe.ModeAcceptEdits,
			Allow: []string{"Bash(go test ./...)", "Bash(git commit *)"}},
	}}
}

// coordinating is an agent that reads and runs nothing itself, and has workers do it.
func coordinating() scene {
	return scene{script: coordinatorScript, flags: "--coordinator --permission-mode acceptEdits ", begin: wire.Begin{
		Role:   wire.Role{Agent: "coordinator"},
		Prompt: "People say they are signed out as soon as they sign in. Have that mended.",
		Permissions: wire.Permissions{Mode: troupe.ModeAcceptEdits,
			Allow: []string{"Bash(go test ./...)", "Bash(go test -count=1 ./...)"}},
	}}
}

// together is a team of two that share a list of tasks and write to each other.
func together() scene {
	return scene{script: teamScript, flags: "--permission-mode acceptEdits ", begin: wire.Begin{
		Prompt: "People are signed out at once. As a team of two: mend that, and say in the README what was " +
			"wrong.",
		Permissions: wire.Permissions{Mode: troupe.ModeAcceptEdits, Allow: []string{"Bash(go test ./...)"}},
	}}
}

// replies are the scene's script, with the place where the agent that plans is told to write.
func (s scene) replies(home string) []byte {
	return bytes.ReplaceAll(s.script, []byte("PLAN_FILE"), []byte(filepath.Join(home, "plans", planned+".md")))
}

// exchange is a request and what the demo said to it.
type exchange struct {
	request wire.Request
	said    string
	err     error
}

// reading is how long the demo lets a request stand before it answers: it can be seen at the terminal meanwhile.
const reading = 1500 * time.Millisecond

// answer says yes to what the demo's agents ask, as a person would from another terminal, until ctx is over.
func answer(ctx context.Context, a api.API) (out []exchange) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return out
		case <-tick.C:
		}
		open, err := a.Requests(ctx, "")
		if err != nil {
			continue // the run itself says what is wrong with the home
		}
		for _, r := range open {
			select {
			case <-ctx.Done():
				return out
			case <-time.After(reading):
			}
			x := exchange{request: r, said: "yes, and edits as well"}
			with := wire.Answer{Allow: true, Mode: troupe.ModeAcceptEdits}
			if len(r.Questions) > 0 {
				with.Mode, x.said = "", ""
				for _, q := range r.Questions {
					first := q.Options[0].Label
					with.Answers = append(with.Answers, troupe.Said{Choices: []string{first}})
					x.said = strings.TrimPrefix(x.said+"; "+first, "; ")
				}
			}
			x.err = a.Answer(ctx, r.ID, with)
			out = append(out, x)
		}
	}
}

// tell shows what was asked, and what the demo answered.
func (d demo) tell(asked []exchange) {
	if len(asked) == 0 {
		return
	}
	d.head("What it asked, and what the demo answered in your place")
	for _, x := range asked {
		for _, q := range x.request.Questions {
			fmt.Fprintln(d.c.Out, console.Clean(q.Text))
			for _, o := range q.Options {
				fmt.Fprintf(d.c.Out, "  - %s: %s\n", console.Line(o.Label, 0), console.Line(o.Description, 0))
			}
		}
		if len(x.request.Questions) == 0 {
			fmt.Fprintln(d.c.Out, console.Clean(strings.TrimSpace(x.request.Action)))
		}
		said := x.said
		if x.err != nil {
			said = "it could not answer: " + x.err.Error()
		}
		fmt.Fprintf(d.c.Out, "> %s\n\n", console.Line(said, 0))
	}
}
