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
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace"
)

// Request is a run asked for. Zero fields leave the choice to the settings, or, when a
// session goes on, to what it was born with.
type Request struct {
	Prompt string
	Cwd    string
	Name   string // of a new session

	// Resume is a session to go on with (see Find); Continue means the newest of Cwd.
	Resume   string
	Continue bool

	Permissions
	Model      string
	MaxTurns   int
	MaxCost    troupe.Money // of the whole tree, as are tokens
	MaxTokens  int64
	MaxTime    time.Duration // of the tree, from when somebody set it to work
	AppendText string        // to the main agent's system prompt
	Agents     string        // JSON of agent definitions
	Fallback   string        // the model to go on with when the chosen one is not to be had
	Images     []troupe.Image

	// AskFor is how long permission requests wait for an answer; 0: nobody is there to give
	// one, and they are denied at once.
	AskFor time.Duration
	// Replay plays a recording in the place of models and tools.
	Replay *Player
	// Idle takes a session up without setting it going.
	Idle bool
	// Look is at Cwd, and was begun before the home was open. nil: the run looks by itself.
	Look   *Look
	caller troupe.Caller
}

// by is who asks for the run, as events say it.
func (r *Request) by() *troupe.Caller { return &r.caller }

// Permissions are what flags say about what agents may do, on top of the settings.
type Permissions struct {
	Mode  string
	Allow []string // rules
	Deny  []string
	Trust bool // trust the folder as it is: what its own files allow counts from here on
}

// Run is a tree that this process advances.
type Run struct {
	Root     troupe.SessionID
	Warnings []string
	before   []troupe.Session // its sessions before it was resumed
	cursors  map[troupe.SessionID]int64
	app      *App
	engine   *engine
	caller   troupe.Caller
}

// Start begins or resumes a run and returns at once.
func (a *App) Start(ctx context.Context, r Request) (*Run, error) {
	cwd, err := workspace.Resolve("/", r.Cwd)
	if err != nil {
		return nil, err
	}
	r.Cwd = cwd
	r.Prompt = a.Mask(r.Prompt)
	if r.Mode != "" {
		if _, err := troupe.ParseMode(string(r.Mode)); err != nil {
			return nil, err
		}
	}
	if r.Replay != nil {
		if err := playable(r); err != nil {
			return nil, err
		}
		a.models.player, r.AskFor = r.Replay, 0 // who answered then is in the recording
	}
	if r.Resume != "" || r.Continue {
		return runs{use{a, r.caller}}.resume(ctx, r)
	}
	return runs{use{a, r.caller}}.begin(ctx, r)
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
	if resolved, err := workspace.Resolve("/", folder); err == nil { // else Start says what is wrong with it
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

func (a runs) begin(ctx context.Context, r Request) (*Run, error) {
	if r.Name != "" {
		if err := fleet.CheckName(r.Name); err != nil {
			return nil, &troupe.UserError{Problem: err.Error(), Hint: "Choose another --name.", Code: troupe.ExitUsage}
		}
		if strings.EqualFold(r.Name, "main") {
			return nil,
				&troupe.UserError{Problem: `no session can be named "main": that means the newest one of a folder`,
					Hint: "Choose another --name.", Code: troupe.ExitUsage}
		}
	}
	model, err := a.models.Default(r.Model, r.Cwd)
	if err != nil {
		return nil, err
	}
	if _, _, err := a.models.Provider(model); err != nil {
		return nil, err
	}
	look := r.Look
	if look == nil || look.folder != r.Cwd {
		look = LookAt(ctx, r.Cwd, a.env.Environ, a.env.Now)
	}
	e, err := a.start(ctx)
	if err != nil {
		return nil, err
	}
	p, err := a.policyOf(r.Cwd, r.Trust)
	if err != nil {
		return nil, err
	}
	profiles, problems, err := newProfiles(a.App, e.tools, p, r)
	if err != nil {
		return nil, err
	}
	main, err := profiles.main(r, model)
	if err != nil {
		return nil, err
	}
	if err := a.checkPrice(r, model); err != nil {
		return nil, err
	}
	id, err := newRoot(r.Replay, rand.Reader)
	if err != nil {
		return nil, err
	}
	caps := p.settings.Caps()
	if r.MaxCost > 0 {
		caps.MaxCost = r.MaxCost
	}
	if r.MaxTokens > 0 {
		caps.MaxTokens = r.MaxTokens
	}
	if r.MaxTime == 0 {
		r.MaxTime = time.Duration(p.settings.Agents.MaxSeconds) * time.Second
	}
	authority, warnings, err := a.authority(r, p, nil)
	if err != nil {
		return nil, err
	}
	main.Mode = authority.Mode
	settings, document, err := a.runSettings(r, profiles, troupe.Settings{})
	if err != nil {
		return nil, err
	}
	e.hub.Seen(r.Cwd, look.wait(), look.at)
	prompt := append(words(r), troupe.Text(look.text))
	if text := profiles.describe(main, authority, caps); text != "" {
		prompt = append(prompt, troupe.Text(text))
	}
	err = e.hub.Begin(ctx, fleet.Birth{
		Root: id, ID: id, Name: r.Name, Title: title(r.Prompt), Cwd: r.Cwd,
		Profile: main, Authority: authority, Caps: &caps, Settings: settings, Definitions: document, Prompt: prompt,
		Caller: r.by(),
	})
	if errors.Is(err, troupe.ErrExists) {
		return nil, &troupe.UserError{
			Problem: fmt.Sprintf("there is a session named %q already", r.Name),
			Hint:    fmt.Sprintf("Go on with it: troupe -p --resume %q; or choose another --name.", r.Name),
			Code:    troupe.ExitUsage, Err: err,
		}
	}
	if err != nil {
		return nil, err
	}
	run := &Run{Root: id, Warnings: append(problems, warnings...), app: a.App, engine: e, caller: r.caller}
	if r.Replay != nil {
		if err := (a.use).recite(ctx, r.Replay); err != nil {
			return nil, err
		}
		direct(e.pool, r.Replay, run.Stop, a.env.Log)
	}
	return run, nil
}

// checkPrice refuses a limit in money that could not hold.
func (a runs) checkPrice(r Request, model string) error {
	if _, priced := a.models.Cost(model, troupe.Usage{}); r.MaxCost == 0 || priced {
		return nil
	}
	return &troupe.UserError{
		Problem: fmt.Sprintf("no price is known for %s, so --max-cost could not hold", model),
		Hint:    "Add its price to " + a.dirs.Models() + ", or limit turns instead.", Code: troupe.ExitUsage,
	}
}

// words are a request's prompt as blocks.
func words(r Request) []troupe.Block {
	out := []troupe.Block{troupe.Text(r.Prompt)}
	for i := range r.Images {
		out = append(out, troupe.Block{Type: troupe.ImageBlock, Image: &r.Images[i]})
	}
	return out
}

// fallback resolves the model that a tree goes on with when its own is not to be had.
func (a *App) fallback(r Request) (string, error) {
	name := r.Fallback
	if name == "" {
		name = a.settings.Fallback
	}
	if name == "" {
		return "", nil
	}
	full, err := a.models.Resolve(name, "", r.Cwd)
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

// saveResult writes an agent's final words where its parent may read them.
func saveResult(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o600)
}

// Wait returns when the whole tree has ended.
func (r *Run) Wait(ctx context.Context) error {
	defer r.app.followers.Moved(r.Root) // it may have been lost
	return r.engine.hub.Wait(ctx, r.Root)
}

// Finish is Wait for whoever leaves then: when it returns, nothing that is said to the tree
// wakes it here any more, and so nothing that has just begun is cut off.
func (r *Run) Finish(ctx context.Context) error {
	defer r.app.followers.Moved(r.Root)
	return r.engine.hub.Leave(ctx, r.Root)
}

// Stop ends the tree's run in good order: what is under way is cancelled, every call gets
// its result, and all of it can be resumed.
func (r *Run) Stop(ctx context.Context) error {
	return steering{use{r.app, r.caller}}.Stop(ctx, r.Root, wire.Stop{Now: true, Tree: true})
}

// Before lists the tree's sessions as they were when the run was resumed; none if it is new.
func (r *Run) Before() []troupe.Session { return r.before }

const maxTitle = 72

// title is the beginning of a prompt, on one line.
func title(prompt string) string {
	t := []rune(strings.Join(strings.Fields(prompt), " "))
	if len(t) > maxTitle {
		return string(t[:maxTitle-1]) + "…"
	}
	return string(t)
}

func promptID() troupe.MailID { return troupe.MailID("prompt:" + rand.Text()) }
