package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/model/governor"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/trust"
	"github.com/troupe-dev/troupe/internal/turn"
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

	Model      string
	Mode       string
	Allow      []string // permission rules, on top of the settings'
	Trust      bool     // trust the folder as it is: what its own files allow counts from here on
	Deny       []string
	MaxTurns   int
	MaxCost    troupe.Money // of the whole tree, as are tokens
	MaxTokens  int64
	MaxTime    time.Duration // of each run of the main agent
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
}

// Run is a tree that this process advances.
type Run struct {
	Root     troupe.SessionID
	Warnings []string
	before   []troupe.Session // its sessions before it was resumed
	cursors  map[troupe.SessionID]int64
	app      *App
	engine   *engine
}

// Start begins or resumes a run and returns at once.
func (a *App) Start(ctx context.Context, r Request) (*Run, error) {
	cwd, err := workspace.Resolve("/", r.Cwd)
	if err != nil {
		return nil, err
	}
	r.Cwd = cwd
	r.Prompt = findSecrets(a.env.Environ).mask(r.Prompt)
	if r.Mode != "" {
		if _, ok := gate.Meaning(troupe.Mode(r.Mode)); !ok {
			return nil, &troupe.UserError{Problem: fmt.Sprintf("there is no permission mode %q", r.Mode), Hint: "The modes are " + modeNames() + ".", Code: 2}
		}
	}
	if r.Replay != nil {
		if err := playable(r); err != nil {
			return nil, err
		}
		a.models.player, r.AskFor = r.Replay, 0 // who answered then is in the recording
	}
	if r.Resume != "" || r.Continue {
		return a.resume(ctx, r)
	}
	return a.begin(ctx, r)
}

// environment is what a session is told of the folder it begins in.
func (a *App) environment(ctx context.Context, cwd string) string {
	return workspace.Describe(cwd, workspace.Look(ctx, cwd, a.env.Environ), a.env.Now()).Block()
}

func modeNames() string {
	var names []string
	for _, m := range troupe.Modes() {
		names = append(names, string(m))
	}
	return strings.Join(names, ", ")
}

func (a *App) begin(ctx context.Context, r Request) (*Run, error) {
	if r.Name != "" {
		if err := fleet.CheckName(r.Name); err != nil {
			return nil, &troupe.UserError{Problem: err.Error(), Hint: "Choose another --name.", Code: 2}
		}
	}
	model, err := a.models.Default(r.Model, r.Cwd)
	if err != nil {
		return nil, err
	}
	if _, _, err := a.models.Provider(model); err != nil {
		return nil, err
	}
	// Looking at the repository takes longer than all else before the first request.
	environment := make(chan string, 1)
	go func() { environment <- a.environment(ctx, r.Cwd) }()

	fallback, err := a.fallback(r)
	if err != nil {
		return nil, err
	}
	e, err := a.start(ctx)
	if err != nil {
		return nil, err
	}
	p, err := a.policyOf(r.Cwd, r.Trust)
	if err != nil {
		return nil, err
	}
	profiles, problems, err := newProfiles(a, e.tools, p, r)
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
	e.roles.set(id, profiles)
	e.host(id, r.AskFor, fallback)
	prompt := append(words(r), troupe.Text(<-environment))
	if text := profiles.describe(main, authority, caps); text != "" {
		prompt = append(prompt, troupe.Text(text))
	}
	err = e.hub.Begin(ctx, fleet.Birth{
		Root: id, ID: id, Name: r.Name, Title: title(r.Prompt), Cwd: r.Cwd,
		Profile: main, Authority: authority, Caps: &caps, Prompt: prompt,
	})
	if errors.Is(err, troupe.ErrExists) {
		return nil, &troupe.UserError{
			Problem: fmt.Sprintf("there is a session named %q already", r.Name),
			Hint:    fmt.Sprintf("Go on with it: troupe -p --resume %q; or choose another --name.", r.Name), Code: 2, Err: err,
		}
	}
	if err != nil {
		return nil, err
	}
	run := &Run{Root: id, Warnings: append(problems, warnings...), app: a, engine: e}
	if r.Replay != nil {
		direct(e.pool, r.Replay, run.Stop, a.env.Log)
	}
	return run, nil
}

func (a *App) resume(ctx context.Context, r Request) (*Run, error) {
	if r.AppendText != "" || r.Name != "" || r.MaxTurns > 0 || r.MaxTime > 0 {
		return nil, &troupe.UserError{
			Problem: "--append-system-prompt, --name, --max-turns and --max-time are fixed when a session is born",
			Hint:    "Leave them out when you resume; a session that used up its turns gets as many again.", Code: 2,
		}
	}
	s, err := a.findForResume(ctx, r)
	if err != nil {
		return nil, err
	}
	t, err := a.Tree(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	if err := a.free(ctx, t, s); err != nil {
		return nil, err
	}
	if _, err := workspace.Resolve("/", s.Cwd); err != nil {
		return nil, &troupe.UserError{
			Problem: fmt.Sprintf("session %s works in %s, which is not to be had: %v", s.ID, s.Cwd, err),
			Hint:    "Put the folder back, or begin a new session.", Code: 2, Err: err,
		}
	}
	ad := session.Adoption{Root: s.ID, Expect: t.Lease, Idle: r.Idle}
	if r.Prompt != "" {
		ad.Prompt = words(r)
		if ad.MailID, err = promptID(); err != nil {
			return nil, err
		}
	}
	r.Cwd = s.Cwd
	p, err := a.policyOf(r.Cwd, r.Trust)
	if err != nil {
		return nil, err
	}
	warnings, err := a.changes(ctx, r, p, s, &ad)
	if err != nil {
		return nil, err
	}
	// The settings' limits are followed as they are now, as its rules are.
	caps := p.settings.Caps()
	// A limit in money is raised only by whoever says so.
	old := t.Sum.Caps.MaxCost
	switch {
	case r.MaxCost > 0:
		caps.MaxCost = r.MaxCost
	case old > 0 && (caps.MaxCost == 0 || old < caps.MaxCost):
		caps.MaxCost = old
	}
	switch oldTokens := t.Sum.Caps.MaxTokens; {
	case r.MaxTokens > 0:
		caps.MaxTokens = r.MaxTokens
	case oldTokens > 0 && (caps.MaxTokens == 0 || oldTokens < caps.MaxTokens):
		caps.MaxTokens = oldTokens
	}
	ad.Caps = &caps
	fallback, err := a.fallback(r)
	if err != nil {
		return nil, err
	}
	e, err := a.start(ctx)
	if err != nil {
		return nil, err
	}
	profiles, problems, err := newProfiles(a, e.tools, p, r)
	if err != nil {
		return nil, err
	}
	e.roles.set(s.ID, profiles)
	e.host(s.ID, r.AskFor, fallback)
	// What is shown of this run begins behind what is there now.
	cursors := make(map[troupe.SessionID]int64)
	for _, x := range t.Sessions {
		cursors[x.ID] = x.Seq
	}
	if err := e.hub.Adopt(ctx, ad); errors.Is(err, troupe.ErrFenced) {
		return nil, &troupe.UserError{
			Problem: fmt.Sprintf("another process has just taken session %s over", s.ID),
			Hint:    fmt.Sprintf("`troupe log %s --follow` shows what it does.", s.ID), Code: 2, Err: err,
		}
	} else if err != nil {
		return nil, err
	}
	return &Run{Root: s.ID, before: t.Sessions, cursors: cursors, Warnings: append(problems, warnings...), app: a, engine: e}, nil
}

func (a *App) findForResume(ctx context.Context, r Request) (troupe.Session, error) {
	var s troupe.Session
	var err error
	if r.Continue {
		err = a.store.View(ctx, func(rd store.Reader) error {
			s, err = newest(rd, r.Cwd)
			return err
		})
	} else {
		s, err = a.Find(ctx, r.Resume, r.Cwd)
	}
	if err == nil && s.Parent != "" {
		err = &troupe.UserError{
			Problem: fmt.Sprintf("session %s is a sub-agent of %s", s.ID, s.Root),
			Hint:    fmt.Sprintf("Resume the whole tree: troupe -p --resume %s", s.Root), Code: 2,
		}
	}
	return s, err
}

// changes works out what the session is told before it goes on: another model, another
// authority. A model that cannot be had any more stops the resuming before anything of the
// session is touched.
func (a *App) changes(ctx context.Context, r Request, p *policy, s troupe.Session, ad *session.Adoption) ([]string, error) {
	full := s.Model
	if r.Model != "" {
		var err error
		if full, err = a.models.Resolve(r.Model, "", r.Cwd); err != nil {
			return nil, err
		}
	}
	if _, _, err := a.models.Provider(full); err != nil {
		if r.Model != "" {
			return nil, err
		}
		return nil, &troupe.UserError{
			Problem: fmt.Sprintf("session %s works with the model %s, which is not to be had: %v", s.ID, s.Model, err),
			Hint:    fmt.Sprintf("Go on with another one: troupe -p --resume %s --model %s", s.ID, defaultModel), Code: 2, Err: err,
		}
	}
	if full != s.Model {
		ad.Events = append(ad.Events, troupe.ModelChanged{Model: full, Why: "--model"})
	}
	events, err := a.Events(ctx, s.ID, 0, 0)
	if err != nil {
		return nil, err
	}
	st, err := turn.Fold(events)
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", s.ID, err)
	}
	if r.Prompt == "" && s.Status.Ended() && !st.Awaits() && !r.Idle {
		// Its own run is over. What it left in the background may not be: then the tree goes on,
		// and whatever comes of that wakes it.
		if ad.Idle, err = a.unfinished(ctx, s.ID, &st); err != nil {
			return nil, err
		}
	}
	if r.Prompt == "" && s.Status.Ended() && !st.Awaits() && !ad.Idle {
		return nil, &troupe.UserError{
			Problem: fmt.Sprintf("session %s has said its last word (%s); there is nothing left to go on with", s.ID, s.Status),
			Hint:    fmt.Sprintf(`Give it something to do: troupe -p --resume %s "..."`, s.ID), Code: 2,
		}
	}
	if err := a.checkPrice(r, full); err != nil {
		return nil, err
	}
	authority, warnings, err := a.authority(r, p, &st.Authority)
	if err != nil {
		return nil, err
	}
	if !sameAuthority(authority, st.Authority) {
		ad.Events = append(ad.Events, troupe.AuthorityChanged{Authority: authority})
	}
	return warnings, nil
}

// unfinished reports whether a tree whose root's run is over has something left to do: agents
// at work, mail that asks for a run, commands whose end was not told.
func (a *App) unfinished(ctx context.Context, root troupe.SessionID, st *turn.State) (bool, error) {
	if len(st.Shells()) > 0 {
		return true, nil
	}
	left := false
	err := a.store.View(ctx, func(r store.Reader) error {
		all, err := r.Sessions(store.Filter{Root: root})
		if err != nil {
			return err
		}
		left = anyLive(all)
		boxes, err := r.Mailboxes(root)
		for _, id := range boxes {
			mail, uerr := r.Unread(id)
			if uerr != nil {
				return uerr
			}
			left = left || slices.ContainsFunc(mail, troupe.Mail.Wakes)
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("look what is left to do in tree %s: %w", root, err)
	}
	return left, nil
}

// checkPrice refuses a limit in money that could not hold.
func (a *App) checkPrice(r Request, model string) error {
	if _, priced := a.models.Cost(model, troupe.Usage{}); r.MaxCost == 0 || priced {
		return nil
	}
	return &troupe.UserError{
		Problem: fmt.Sprintf("no price is known for %s, so --max-cost could not hold", model),
		Hint:    "Add its price to " + a.dirs.Models() + ", or limit turns instead.", Code: 2,
	}
}

const (
	sourceAllow = "--allowed-tools"
	sourceDeny  = "--disallowed-tools"
)

// authority is what a root is granted: the settings' rules as they are now, and the flags',
// which a session that goes on keeps unless they are given anew.
func (a *App) authority(r Request, p *policy, before *troupe.Authority) (troupe.Authority, []string, error) {
	rules, err := a.rules(p, r.Cwd)
	if err != nil {
		return troupe.Authority{}, nil, err
	}
	out := troupe.Authority{Mode: troupe.Mode(r.Mode), Rules: rules}
	if out.Mode == "" && before != nil {
		out.Mode = before.Mode
	}
	if out.Mode == "" {
		out.Mode = p.all.Mode(p.trusted())
	}
	warnings := slices.Clone(p.warnings)
	if most := config.Closer(out.Mode, p.all.Most()); most != out.Mode {
		warnings = append(warnings, fmt.Sprintf("mode %s is not allowed by the administrator's settings; it is %s", out.Mode, most))
		out.Mode = most
	}
	for _, q := range p.standing.Questions {
		warnings = append(warnings, untrustedText(q))
	}
	out.Rules = append(out.Rules, flagRules(troupe.Deny, sourceDeny, r.Deny)...)
	out.Rules = append(out.Rules, flagRules(troupe.Allow, sourceAllow, r.Allow)...)
	if before != nil {
		// Each flag stands until that flag is given again: a new permission must not
		// take a prohibition away.
		for _, rule := range before.Rules {
			if (rule.Source == sourceAllow && len(r.Allow) == 0) || (rule.Source == sourceDeny && len(r.Deny) == 0) {
				out.Rules = append(out.Rules, rule)
			}
		}
	}
	for _, rule := range out.Rules {
		if _, err := gate.ParseRule(rule); err != nil {
			warnings = append(warnings, err.Error())
		} else if text := unknownTool(rule); text != "" {
			warnings = append(warnings, text)
		}
	}
	return out, warnings, nil
}

// untrustedText says what does not count, and how it would.
func untrustedText(q trust.Question) string {
	what := "is not trusted"
	if q.Verdict.Before {
		what = "has changed since it was trusted"
	}
	return fmt.Sprintf("%s %s: what its own files allow does not count (%d settings; `troupe --trust` accepts them)", q.Fingerprint.Folder, what, len(q.Fingerprint.Items))
}

// unknownTool says that a rule speaks of no tool there is. It may be meant for another
// program or a later version; or it may be a slip of somebody who believes to be protected.
func unknownTool(r troupe.Rule) string {
	name, _, _ := strings.Cut(strings.TrimSpace(r.Text), "(")
	if strings.ContainsAny(name, "*?") {
		return "" // covers whatever there is
	}
	for _, known := range [...]string{"Agent", "Task", "Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read", "Skill", "WebFetch", "WebSearch", "Write"} {
		if strings.EqualFold(name, known) {
			return ""
		}
	}
	return fmt.Sprintf("%s: the %s rule %q has no effect: there is no tool %q", r.Source, r.Effect, r.Text, name)
}

func flagRules(effect troupe.Effect, source string, values []string) []troupe.Rule {
	var out []troupe.Rule
	for _, v := range values {
		for _, text := range gate.Split(v) {
			out = append(out, troupe.Rule{Effect: effect, Text: text, Source: source})
		}
	}
	return out
}

func sameAuthority(a, b troupe.Authority) bool {
	if a.Mode != b.Mode || len(a.Rules) != len(b.Rules) {
		return false
	}
	for i := range a.Rules {
		if a.Rules[i] != b.Rules[i] {
			return false
		}
	}
	return true
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

// start makes this process an owner and gives it a hub, unless it has them.
func (a *App) start(ctx context.Context) (*engine, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.engine != nil {
		return a.engine, nil
	}
	guard, err := a.newGuard(ctx)
	if err != nil {
		return nil, err
	}
	tools, err := a.newToolbox(guard)
	if err != nil {
		return nil, err
	}
	id, err := troupe.NewRootID(rand.Reader)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	owner := troupe.Owner{ID: troupe.OwnerID(id), PID: os.Getpid(), Host: host, StartedAt: a.env.Now()}
	served := a.serve(ctx, owner.ID)
	if served != nil {
		owner.Socket = served.Path()
	}
	release, err := a.store.Register(ctx, owner)
	if err != nil {
		if served != nil {
			err = errors.Join(err, served.Close(ctx))
		}
		return nil, fmt.Errorf("register as an owner: %w", err)
	}
	secrets := findSecrets(a.env.Environ)
	environ, _ := config.Environment(a.env.Environ, a.settings)
	pool := session.NewPool(context.WithoutCancel(ctx))
	e := &engine{
		pool: pool, guard: guard, tools: tools, roles: &roles{}, owner: owner.ID, release: release, log: a.env.Log,
		served: served, ctx: func() context.Context { return context.WithoutCancel(ctx) },
		ask: make(map[troupe.SessionID]time.Duration), fallback: make(map[troupe.SessionID]string),
		governor: governor.New(governor.Options{Max: a.models.maxRequests, Now: a.env.Now, After: pool.After}),
	}
	deps := session.Deps{
		Store: a.store, Owner: owner.ID, Models: a.models, Tools: e.tools, Profiles: e.roles, Sched: pool,
		Now: a.env.Now,
		Policy: turn.Policy{
			MaxAttempts: maxAttempts, MaxDenials: maxDenials, FallbackAfter: fallbackAfter, Gather: gather,
			AutoBackground: time.Duration(a.settings.Agents.BackgroundSeconds) * time.Second,
		},
		Governor: e.governor,
		Ask: func(ctx context.Context, s troupe.Session, question, text string) (string, troupe.Usage, troupe.Money, error) {
			return e.askSmall(ctx, a.models, s, question, text)
		},
		AskFor: e.askFor, Fallback: e.fallbackFor, SaveResult: saveResult, Deltas: a.deltas.send,
		Keep:        a.keep,
		Guard:       e.guard,
		Environment: func(cwd string) string { return a.environment(context.WithoutCancel(ctx), cwd) },
		OutputDir:   a.outputDir, Environ: environ, Home: resolved(a.dirs.Home), Mask: secrets.mask, Masked: masked,
		Notify: a.watch.notify, Log: a.env.Log,
	}
	if p := a.models.player; p != nil {
		deps.Tools, deps.Replay, deps.Governor = played(deps.Tools, p), p, nil
	}
	e.hub = session.New(deps)
	a.engine = e
	pool.Go(a.sweep)
	return e, nil
}

// serve opens the socket by which other processes reach what runs here. Without one the run
// goes on; it can then only be reached through the home, when it looks for mail again.
func (a *App) serve(ctx context.Context, id troupe.OwnerID) Served {
	if a.env.Serve == nil {
		return nil
	}
	s, err := a.env.Serve(ctx, a, filepath.Join(a.dirs.Data, "run", string(id)+".sock"))
	if err != nil {
		a.env.Log.Warn("no socket: other processes cannot reach this one", "err", err)
		return nil
	}
	return s
}

// resolved follows links, so that rules about ~/ hold for the folder itself too.
func resolved(home string) string {
	if real, err := filepath.EvalSymlinks(home); err == nil {
		return real
	}
	return home
}

// The loop's own settings. Thirty attempts with growing pauses are some fifty minutes of a
// provider that is down, unless there is another model to fall back to after three; three
// replies of nothing but denied calls are a model that does not take no for an answer. Ends of tasks
// that are less than 200 ms apart are told together, as long as others are at work; the last
// one waits for nobody.
const (
	maxAttempts   = 30
	fallbackAfter = 3
	maxDenials    = 3
	gather        = 200 * time.Millisecond
)

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
func (r *Run) Wait(ctx context.Context) error { return r.engine.hub.Wait(ctx, r.Root) }

// Finish is Wait for whoever leaves then: when it returns, nothing that is said to the tree
// wakes it here any more, and so nothing that has just begun is cut off.
func (r *Run) Finish(ctx context.Context) error {
	for {
		if err := r.engine.hub.Wait(ctx, r.Root); err != nil {
			return err
		}
		if left, err := r.engine.leave(ctx, r.Root); left || err != nil {
			return err
		}
	}
}

// Stop ends the tree's run in good order: what is under way is cancelled, every call gets
// its result, and all of it can be resumed.
func (r *Run) Stop(ctx context.Context) error {
	return r.app.Stop(ctx, r.Root, wire.Stop{Now: true, Tree: true})
}

// Follow follows the run's tree from where this run began.
func (r *Run) Follow() *Follower { return r.app.follow(r.Root, true, r.cursors) }

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

func promptID() (troupe.MailID, error) {
	var b [12]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("draw an id: %w", err)
	}
	return troupe.MailID("prompt:" + hex.EncodeToString(b[:])), nil
}
