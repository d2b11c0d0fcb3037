package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model/replay"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/workspace"
)

// Player plays a recording in the place of every model and of what tools do.
type Player = replay.Player

// Verdict is what a replay came to, Mismatch the first difference.
type (
	Verdict  = replay.Verdict
	Mismatch = replay.Mismatch
)

// ReplayHome fills an empty folder as a home to replay in: with the settings that held when it was recorded, and
// nobody's sessions. The variables it returns go before those of the process.
func ReplayHome(dir string, rec Recording) (variables map[string]string, err error) {
	h := rec.Header
	for name, text := range map[string]string{"settings.json": h.Settings, "models.yaml": h.Catalog} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("write the settings of a replay: %w", err)
		}
	}
	// What was run when nobody chose a model is run again.
	return map[string]string{"TROUPE_HOME": dir, DatabaseVariable: "", "TROUPE_MODEL": modelFlag(h.Model)}, nil
}

// modelFlag is a model as a person would ask for it.
func modelFlag(full string) string {
	if file, ok := strings.CutPrefix(full, "script/"); ok {
		return scriptPrefix + file
	}
	return full
}

// Player has every run that begins in this home from now on play a recording, in the place of
// models and tools. cwd is where.
func (a *App) Player(rec Recording, cwd string) (*Player, error) {
	if sent := rec.Person(); len(sent) > 0 {
		return nil, &troupe.UserError{
			Problem: "this recording cannot be replayed: while the run was at work a person sent it " +
				Unplayable(sent),
			Hint: "Record a run to which nothing is sent but words for its main agent. Answers that hold once are " +
				"no matter.", Code: troupe.ExitUsage,
		}
	}
	cwd, err := workspace.Resolve("/", cwd)
	if err != nil {
		return nil, err
	}
	known, err := a.known()
	if err != nil {
		return nil, err
	}
	p := replay.New(rec, a.place(cwd), known.Intent)
	a.models.player = p
	return p, nil
}

// Unplayable says what a person sent that a replay cannot send again.
func Unplayable(sent []replay.Sent) string {
	count := make(map[string]int)
	var order []string
	for _, s := range sent {
		what := "something (" + string(s.Mail.Kind) + ")"
		switch s.Mail.Kind {
		case troupe.MailPrompt, troupe.MailNotice:
			what = "words for " + s.Agent
		case troupe.MailStop:
			what = "a stop for " + s.Agent + ", which went on or was not alone"
		case troupe.MailGrant:
			what = "a change of what it may do"
		case troupe.MailModel:
			what = "another model"
		case troupe.MailCompact:
			what = "an order to shorten the conversation"
		case troupe.MailFork:
			what = "an order to fork " + s.Agent
		case troupe.MailMonitor:
			what = "what a monitor told " + s.Agent
		case troupe.MailAnswer, troupe.MailTaskEnded, troupe.MailMessage, troupe.MailBoard:
		}
		if count[what]++; count[what] == 1 {
			order = append(order, what)
		}
	}
	for i, what := range order {
		if n := count[what]; n > 1 {
			order[i] += fmt.Sprintf(" (%d times)", n)
		}
	}
	return strings.Join(order, ", ")
}

// replayMail leaves what a person said to the recorded root in the mailbox of this one. It is read
// before the replies before which it was read then, however early it comes.
func (a bound) replayMail(ctx context.Context, p *Player) error {
	words := p.Words()
	if len(words) == 0 {
		return nil
	}
	_, err := a.post(ctx, p.Root(), func(store.Tx) ([]troupe.Mail, error) {
		for i := range words {
			words[i].To = p.Root()
		}
		return words, nil
	})
	return err
}

var errNotPlayable = &troupe.UserError{
	Problem: "a replay begins where the recorded run began; it cannot go on with a session",
	Hint:    "Replay it without naming a session to go on with.", Code: troupe.ExitUsage,
}

// grace is how long the other agents of a replay may go on once it differs: one of them may
// come to a difference that stands further up in the recording.
const grace = 2 * time.Second

// stopReplay has a replay end where the recorded run was broken off, or soon after it differs if
// it does not end by itself: agents may then wait for what will not come. It takes a
// goroutine of the scheduler until then, or until that ends.
func stopReplay(sched session.Scheduler, p *Player, stop func(context.Context) error, log *slog.Logger) {
	sched.Go(func(ctx context.Context) {
		select {
		case <-p.Over():
		case <-p.Broken():
			late := make(chan struct{})
			cancel := sched.After(grace, func() { close(late) })
			defer cancel()
			select {
			case <-late:
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
		if err := stop(ctx); err != nil {
			log.Error("stop the replay", "err", err)
		}
	})
}

// replayTools are the tools of a replay: prepared and judged as ever, and what they would have
// done is taken from the recording.
func replayTools(t tool.Set, p *Player) tool.Set {
	if p == nil {
		return t
	}
	return t.Map(func(d tool.Descriptor) tool.Descriptor {
		if d.Runner != nil {
			d.Runner = replayRunner{d.Runner, p}
		}
		return d
	})
}

type replayRunner struct {
	tool.Runner
	player *Player
}

// Prepare implements tool.Runner.
func (r replayRunner) Prepare(env tool.Env, input string) (tool.Prepared, error) {
	p, err := r.Runner.Prepare(env, input)
	if err != nil {
		return nil, err
	}
	return replayCall{p, r.player}, nil
}

type replayCall struct {
	tool.Prepared
	player *Player
}

// Monitors implements tool.Monitor.
func (c replayCall) Monitors() bool {
	m, ok := c.Prepared.(tool.Monitor)
	return ok && m.Monitors()
}

// Background implements tool.Backgrounder.
func (c replayCall) Background() (string, bool) {
	if b, ok := c.Prepared.(tool.Backgrounder); ok {
		return b.Background()
	}
	return "", false
}

// Run implements tool.Prepared.
func (c replayCall) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	agent, at, err := callOf(c.player, env)
	if err != nil {
		return tool.Output{}, err
	}
	t, err := c.player.Serve(ctx, agent, at.Reply, at.Call)
	if err != nil {
		return tool.Errorf("%v", err), nil
	}
	return tool.Output{Blocks: t.Blocks, IsError: t.IsError, Evidence: t.Evidence}, nil
}

// callOf is the call that runs, as the recording names it.
func callOf(p *Player, env tool.Env) (agent string, at troupe.Coord, err error) {
	if _, err := fmt.Sscanf(env.CallID, "r%dc%d", &at.Reply, &at.Call); err != nil {
		return "", at, fmt.Errorf("replay call %q: %w", env.CallID, err)
	}
	return p.Path(troupe.SessionID(filepath.Base(env.OutputDir))), at, nil
}
