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
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/workspace"
)

// Player plays a recording in the place of every model and of what tools do.
type Player = replay.Player

// ReplayHome fills an empty folder as a home to replay in: with the settings that held when
// it was recorded, and nobody's sessions. The variables it returns go before those of the
// process.
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
	return map[string]string{"TROUPE_HOME": dir, "TROUPE_MODEL": modelFlag(h.Model)}, nil
}

// modelFlag is a model as a person would ask for it.
func modelFlag(full string) string {
	if file, ok := strings.CutPrefix(full, "script/"); ok {
		return scriptPrefix + file
	}
	return full
}

// Player makes a player of a recording for a run in cwd.
func (a *App) Player(rec Recording, cwd string) (*Player, error) {
	if n := len(rec.Person()); n > 0 {
		return nil, &troupe.UserError{
			Problem: fmt.Sprintf("while the recorded run was at work a person sent it more (words, a grant, another model: %d in all), and that cannot be done again yet", n),
			Hint:    "Record a run that has one prompt and is left alone. Answers to permission requests are no matter.", Code: 2,
		}
	}
	cwd, err := workspace.Resolve("/", cwd)
	if err != nil {
		return nil, err
	}
	return replay.New(rec, a.place(cwd)), nil
}

// playable refuses what a replay cannot do.
func playable(r Request) error {
	if r.Resume == "" && !r.Continue {
		return nil
	}
	return &troupe.UserError{
		Problem: "a replay begins where the recorded run began; it cannot go on with a session",
		Hint:    "Leave --resume and --continue out.", Code: 2,
	}
}

// grace is how long the other agents of a replay may go on once it differs: one of them may
// come to a difference that stands further up in the recording.
const grace = 2 * time.Second

// direct has a replay end where the recorded run was broken off, or soon after it differs if
// it does not end by itself: agents may then wait for what will not come. It takes a
// goroutine of the scheduler until then, or until that ends.
func direct(sched session.Scheduler, p *Player, stop func(context.Context) error, log *slog.Logger) {
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

// played is the tools of a replay: prepared and judged as ever, and what they would have
// done is taken from the recording.
func played(t session.Tools, p *Player) session.Tools {
	if p == nil {
		return t
	}
	return playedTools{t, p}
}

type playedTools struct {
	session.Tools
	player *Player
}

// Runner implements session.Tools.
func (t playedTools) Runner(name string) (tool.Runner, bool) {
	r, ok := t.Tools.Runner(name)
	if !ok {
		return nil, false
	}
	return playedRunner{r, t.player}, true
}

type playedRunner struct {
	tool.Runner
	player *Player
}

// Prepare implements tool.Runner.
func (r playedRunner) Prepare(env tool.Env, input string) (tool.Prepared, error) {
	p, err := r.Runner.Prepare(env, input)
	if err != nil {
		return nil, err
	}
	return playedCall{p, r.player}, nil
}

type playedCall struct {
	tool.Prepared
	player *Player
}

// Background implements tool.Backgrounder.
func (c playedCall) Background() (string, bool) {
	if b, ok := c.Prepared.(tool.Backgrounder); ok {
		return b.Background()
	}
	return "", false
}

// Run implements tool.Prepared.
func (c playedCall) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	var reply, call int
	if _, err := fmt.Sscanf(env.CallID, "r%dc%d", &reply, &call); err != nil {
		return tool.Output{}, fmt.Errorf("replay call %q: %w", env.CallID, err)
	}
	agent := c.player.Path(troupe.SessionID(filepath.Base(env.OutputDir)))
	t, err := c.player.Serve(ctx, agent, reply, call)
	if err != nil {
		return tool.Errorf("%v", err), nil
	}
	return tool.Output{Blocks: t.Blocks, IsError: t.IsError, Evidence: t.Evidence}, nil
}
