package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace"
)

// Begin begins or resumes a run and returns at once.
func (a runs) Begin(ctx context.Context, b wire.Begin) (wire.Begun, error) {
	resumes, base := b.Resume != "" || b.Continue, ""
	if resumes {
		base = "/" // it has its folder
	}
	cwd, err := workspace.Resolve(base, b.Cwd)
	if err != nil {
		return wire.Begun{}, err
	}
	b.Cwd = cwd
	if err := checkBegin(b, resumes); err != nil {
		return wire.Begun{}, err
	}
	b.Prompt = a.app.Mask(b.Prompt)
	if b.Mode != "" {
		if _, err := troupe.ParseMode(string(b.Mode)); err != nil {
			return wire.Begun{}, err
		}
	}
	if a.app.models.player != nil {
		if resumes {
			return wire.Begun{}, errNotPlayable
		}
		b.AskMS, b.Attended = 0, false // who answered then is in the recording
	}
	if resumes {
		return a.resume(ctx, b)
	}
	return a.begin(ctx, b)
}

// checkBegin refuses what no command sends, and another program could.
func checkBegin(b wire.Begin, resumes bool) error {
	const mostUSD = 1e9
	problem := ""
	switch {
	case b.MaxTurns < 0, b.MaxAgents < 0, b.MaxTokens < 0, b.MaxMS < 0, b.AskMS < 0, b.MaxUSD < 0:
		problem = "a limit is below zero"
	case b.MaxUSD > mostUSD:
		problem = fmt.Sprintf("max_usd is more than %.0f", mostUSD)
	case !resumes && !b.Idle && b.Prompt == "" && len(b.Images) == 0:
		problem = "there is no prompt"
	default:
		return nil
	}
	return &troupe.UserError{Problem: "this run cannot begin: " + problem,
		Hint: "A limit of 0 is none. A run without a prompt begins idle.", Code: troupe.ExitUsage}
}

// Look is a look at a folder: at its repository above all, which takes longer than all else before
// the first request.
type Look struct {
	folder string
	at     time.Time
	done   chan struct{} // closed once text is there
	text   string
}

// LookAt begins to look at a folder.
func LookAt(ctx context.Context, folder string, environ []string, now func() time.Time) *Look {
	l := &Look{folder: folder, at: now(), done: make(chan struct{})}
	if resolved, err := workspace.Resolve("/", folder); err == nil { // else Begin says what is wrong with it
		l.folder = resolved
	}
	go func() {
		defer close(l.done)
		l.text = workspace.Describe(l.folder, workspace.Look(ctx, l.folder, environ), l.at).Block()
	}()
	return l
}

func (l *Look) wait() string {
	<-l.done
	return l.text
}

// environment is what a session is told of the folder it begins in.
func (a *App) environment(ctx context.Context, cwd string) string {
	return LookAt(ctx, cwd, a.env.Environ, a.env.Now).wait()
}

// folders implements session.Workspaces: each session works in the folder of its parent.
type folders struct{}

func (folders) Folder(parent troupe.Session, _ troupe.Spawn) (string, error) { return parent.Cwd, nil }

func (a runs) begin(ctx context.Context, b wire.Begin) (begun wire.Begun, err error) {
	if b.Name != "" {
		if err := fleet.CheckName(b.Name); err != nil {
			return begun, &troupe.UserError{Problem: err.Error(), Hint: "Choose another --name.",
				Code: troupe.ExitUsage}
		}
		if strings.EqualFold(b.Name, "main") {
			return begun,
				&troupe.UserError{Problem: `no session can be named "main": that means the newest one of a folder`,
					Hint: "Choose another --name.", Code: troupe.ExitUsage}
		}
	}
	p, err := a.app.policyOf(b.Cwd, b.Trust)
	if err != nil {
		return begun, err
	}
	model, err := a.app.models.Default(b.Model, p.settings.Model, b.Cwd)
	if err != nil {
		return begun, err
	}
	if _, _, err := a.app.models.Provider(model); err != nil {
		return begun, err
	}
	look := a.app.env.Look
	if look == nil || look.folder != b.Cwd {
		look = LookAt(ctx, b.Cwd, a.app.env.Environ, a.app.env.Now)
	}
	e, err := a.app.start(ctx)
	if err != nil {
		return begun, err
	}
	e.guard.sweepFolder(b.Cwd)
	profiles, problems, err := newProfiles(a.app, e.tools, p, b)
	if err != nil {
		return begun, err
	}
	main, err := profiles.main(b, model)
	if err != nil {
		return begun, err
	}
	model = main.Model
	if _, _, err := a.app.models.Provider(model); err != nil {
		return begun, err
	}
	if main.Limits.MaxTime == 0 {
		main.Limits.MaxTime = time.Duration(p.settings.Agents.MaxSeconds) * time.Second
	}
	if err := a.checkPrice(b, model); err != nil {
		return begun, err
	}
	id, err := newRoot(a.app.models.player, rand.Reader)
	if err != nil {
		return begun, err
	}
	caps := p.settings.Caps()
	if b.MaxUSD > 0 {
		caps.MaxCost = troupe.Dollars(b.MaxUSD)
	}
	if b.MaxTokens > 0 {
		caps.MaxTokens = b.MaxTokens
	}
	if b.MaxAgents > 0 {
		caps.MaxTotal = b.MaxAgents
	}
	authority, warnings, err := a.app.authority(e.tools.gate, b, p, nil)
	if err != nil {
		return begun, err
	}
	if authority.Mode = boundBy(main, authority.Mode); main.Type == profile.Main {
		main.Mode = authority.Mode
	}
	settings, document, err := a.runSettings(b, p.settings, profiles, troupe.Settings{})
	if err != nil {
		return begun, err
	}
	e.hub.Seen(b.Cwd, look.wait(), look.at)
	err = e.hub.Begin(ctx, fleet.Birth{
		Root: id, ID: id, Name: b.Name, Title: title(b.Prompt), Cwd: b.Cwd,
		Profile: main, Authority: authority, Caps: &caps, Settings: settings, Definitions: document,
		Prompt: words(b.Prompt, b.Images),
		Caller: &a.caller,
	})
	if errors.Is(err, troupe.ErrExists) {
		return begun, &troupe.UserError{
			Problem: fmt.Sprintf("there is a session named %q already", b.Name),
			Hint:    fmt.Sprintf("Go on with it: troupe -p --resume %q; or choose another --name.", b.Name),
			Code:    troupe.ExitUsage, Err: err,
		}
	}
	if err != nil {
		return begun, err
	}
	if player := a.app.models.player; player != nil {
		if err := a.replayMail(ctx, player); err != nil {
			return begun, err
		}
		stop := func(ctx context.Context) error {
			return steering(a).Stop(ctx, id, wire.Stop{Now: true, Tree: true})
		}
		stopReplay(e.pool, player, stop, a.app.env.Log)
	}
	return wire.Begun{Root: id, Warnings: append(problems, warnings...)}, nil
}

// checkPrice refuses a limit in money that could not hold.
func (a runs) checkPrice(b wire.Begin, model string) error {
	if _, priced := a.app.models.Cost(model, troupe.Usage{}); b.MaxUSD == 0 || priced {
		return nil
	}
	return &troupe.UserError{
		Problem: fmt.Sprintf("no price is known for %s, so --max-cost could not hold", model),
		Hint:    "Add its price to " + a.app.dirs.Models() + ", or limit turns instead.", Code: troupe.ExitUsage,
	}
}

// words are what a person says, as blocks.
func words(text string, images []troupe.Image) []troupe.Block {
	out := []troupe.Block{troupe.Text(text)}
	for i := range images {
		out = append(out, troupe.Block{Type: troupe.ImageBlock, Image: &images[i]})
	}
	return out
}

// fallback resolves the model that a tree goes on with when its own is not to be had.
func (a *App) fallback(b wire.Begin, s config.Settings) (string, error) {
	name := b.Fallback
	if name == "" {
		name = s.Fallback
	}
	if name == "" {
		return "", nil
	}
	full, err := a.models.Resolve(name, "", b.Cwd)
	if err != nil {
		return "", err
	}
	_, _, err = a.models.Provider(full)
	return full, err
}

// keep stores what a file held before it was changed. What holds a credential is not kept,
// and undo says so: nothing of it is stored anywhere else either.
func (a *App) keep(root troupe.SessionID, data []byte) (string, error) {
	if text := string(data); a.Mask(text) != text {
		return "", nil
	}
	return a.contents(root).Put(data)
}

// kept is what keep stored.
func (a *App) kept(root troupe.SessionID, hash string) ([]byte, error) {
	return a.contents(root).Get(hash)
}

// saveResult writes an agent's final words where its parent may read them.
func saveResult(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o600)
}

func promptID() troupe.MailID { return troupe.MailID("prompt:" + rand.Text()) }
