package app

import (
	"cmp"
	"context"
	"crypto/rand"
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
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/skill"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace"
)

// Begin begins or resumes a run and returns at once.
func (a runs) Begin(ctx context.Context, b wire.Begin) (wire.Begun, error) {
	resumes := b.Resume != "" || b.Continue
	if err := refuseRepository(b, resumes); err != nil {
		return wire.Begun{}, err
	}
	b, err := beginnable(a.app, b, resumes)
	if err != nil {
		return wire.Begun{}, err
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

// beginnable is what is to begin with its folder by its real name and without secrets. What cannot begin is refused.
func beginnable(a *App, b wire.Begin, resumes bool) (wire.Begin, error) {
	cwd, err := folderOf(a, b.Cwd)
	if resumes {
		cwd, err = workspace.Resolve("/", b.Cwd) // it has its folder
	}
	if err != nil {
		return b, err
	}
	b.Cwd = cwd
	if err := checkBegin(b, resumes); err != nil {
		return b, err
	}
	b.Prompt = a.Mask(b.Prompt)
	if b.Mode != "" {
		if _, err := troupe.ParseMode(string(b.Mode)); err != nil {
			return b, err
		}
	}
	if b.Effort != "" {
		b.Effort, err = troupe.ParseEffort(string(b.Effort))
	}
	return b, err
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
	case b.Worktree != nil && b.Workspace != "" && b.Workspace != troupe.WorkspaceTree &&
		b.Workspace != troupe.WorkspaceIsolated:
		problem = fmt.Sprintf("a worktree and the workspace %q contradict each other", b.Workspace)
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

// surroundings are what a session is told of the folder it begins in.
// Problems are for people: what of the instructions is left out.
func (e *engine) surroundings(a *App, cwd string, p *policy, files *skill.Files, look *Look) (s session.Surroundings,
	problems []string) {
	found := e.instructions.load(a, e.guard, cwd, true)
	set, wrong := files.Load(skills{a, e.guard}.sources(p, cwd))
	s.Skills = toldSkills{set}
	s.Folder, s.Place = cwd, look.wait()
	s.Instructions, problems = a.blocks(found.Files), found.Problems
	if more := len(problems) - mostTold; more > 1 {
		problems = append(slices.Clip(problems[:mostTold]), fmt.Sprintf("%d more things about instructions: they are "+
			"in the log that --debug writes", more))
		for _, p := range found.Problems {
			a.env.Log.Info("instructions", "note", p)
		}
	}
	return s, append(problems, tellSkills(a.env.Log, wrong)...)
}

func (a runs) begin(ctx context.Context, b wire.Begin) (begun wire.Begun, err error) {
	if err := checkName(b.Name); err != nil {
		return begun, err
	}
	p, err := readPolicy(a.app, b.Cwd, b.Trust)
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
	look := lookOf(ctx, a.app.env, b.Cwd)
	files := p.readAhead(ctx, a.app, b.Cwd)
	defer files.read()
	e, err := a.app.start(ctx)
	if err != nil {
		return begun, err
	}
	e.guard.sweepFolder(b.Cwd)
	profiles, problems, err := newProfiles(a.app, e.tools, p, b, files)
	if err != nil {
		return begun, err
	}
	e.guard.meet(b.Cwd, p, profiles.runs)
	id, err := newRoot(a.app.models.player, b.Root, rand.Reader)
	if err != nil {
		return begun, err
	}
	profiles.tree = id
	authority, warnings, err := authorityFor(a.bound, e.tools.gate, b, p, nil, profiles.clientNames()...)
	if err != nil {
		return begun, err
	}
	warnings = append(warnings, e.lookAtServers(ctx, a.app, profiles, p, id, b.Cwd,
		cmp.Or(b.Agent, profile.Main), authority)...)
	main, err := a.mainProfile(profiles, p, b, model)
	if err != nil {
		return begun, err
	}
	if err := profiles.hasClients(main); err != nil {
		return begun, err
	}
	name := title(b.Prompt)
	caps := askedCaps(p.settings.Caps(), given(b, troupe.Given{}), troupe.Caps{})
	if authority.Mode = boundBy(main, authority.Mode); main.Type == profile.Main {
		main.Mode = authority.Mode
	}
	if err := mayBypass(a.caller, authority.Mode); err != nil {
		return begun, err
	}
	if usual := boundBy(main, config.AtMost(p.all.Mode(p.trusted()), p.all.Most())); main.Type == profile.Main ||
		usual != troupe.ModePlan {
		authority = plansOf(a.app).planned(authority, nil, usual,
			troupe.Session{ID: id, Name: b.Name, Title: name})
	}
	said, err := a.heard(ctx, b, speaking{skills: skills{a.app, e.guard}, policy: p, hub: e.hub,
		at: session.Aside{Session: troupe.Session{ID: id, Root: id, Type: main.Type, Model: main.Model, Cwd: b.Cwd},
			Roles: profiles, Line: []gate.Layer{e.tools.gate.LayerOf(profile.Main, main, authority,
				p.settings.Agents.MaxDepth > 0, false)}}})
	if err != nil {
		return begun, err
	}
	if main.InitialPrompt != "" {
		said = said.amid(strings.TrimSpace(main.InitialPrompt + "\n\n" + said.text))
	}
	settings, document, err := a.runSettings(b, p.settings, profiles, troupe.Settings{})
	if err != nil {
		return begun, err
	}
	work, err := e.places.ofRoot(b, main, profiles, name)
	if err != nil {
		return begun, err
	}
	team, members, err := newTeam(b, p.settings, main)
	if err != nil {
		return begun, err
	}
	around, left := e.surroundings(a.app, b.Cwd, p, profiles.skills, look)
	e.hub.Seen(b.Cwd, around, look.at)
	err = e.hub.Begin(ctx, fleet.Birth{
		Root: id, ID: id, Name: b.Name, Title: name, Cwd: b.Cwd, Manner: fleet.Manner{Workspace: work, Team: team},
		Profile: main, Authority: authority, Caps: &caps, Settings: settings, Definitions: document,
		Prompt: words(said.text, b.Images), Spoken: fleet.Spoken{Uses: said.uses, Typed: said.typed, Read: said.read},
		Caller: &a.caller,
	}, members...)
	if err != nil {
		return begun, nameTaken(b.Name, err)
	}
	if err := a.followRecording(ctx, e, id); err != nil {
		return begun, err
	}
	return wire.Begun{Root: id, Warnings: slices.Concat(problems, main.Notes, left, warnings)}, nil
}

// lookOf looks at a folder, unless it is the one that is looked at since the process began.
func lookOf(ctx context.Context, env Env, cwd string) *Look {
	if look := env.Look; look != nil && look.folder == cwd {
		return look
	}
	return LookAt(ctx, cwd, env.Environ, env.Now)
}

// mainProfile is what a root is born with. Its model can be asked, and has a price if there is a limit in money.
func (a runs) mainProfile(profiles *profiles, p *policy, b wire.Begin, model string) (troupe.Profile, error) {
	main, err := profiles.main(b, model)
	if err != nil {
		return main, err
	}
	if _, _, err := a.app.models.Provider(main.Model); err != nil {
		return main, err
	}
	if main.Limits.MaxTime == 0 {
		main.Limits.MaxTime = time.Duration(p.settings.Agents.MaxSeconds) * time.Second
	}
	return main, a.checkPrice(b, main.Model)
}

// checkName refuses what no session can be named.
func checkName(name string) error {
	var problem string
	if strings.EqualFold(name, "main") {
		problem = `no session can be named "main": that means the newest one of a folder`
	} else if name != "" {
		if err := fleet.CheckName(name); err != nil {
			problem = err.Error()
		}
	}
	if problem == "" {
		return nil
	}
	return &troupe.UserError{Problem: problem, Hint: "Choose another name.", Code: troupe.ExitUsage}
}

// nameTaken says what to do where a session of this name is there already. Other errors stay as they are.
func nameTaken(name string, err error) error {
	if !errors.Is(err, troupe.ErrExists) {
		return err
	}
	return &troupe.UserError{
		Problem: fmt.Sprintf("there is a session named %q already", name),
		Hint:    fmt.Sprintf("Go on with it: troupe -p --resume %q; or choose another name.", name),
		Code:    troupe.ExitUsage, Err: err,
	}
}

// given are the limits that were asked for with flags, now or before.
func given(b wire.Begin, before troupe.Given) troupe.Given {
	return troupe.Given{
		MaxTotal: cmp.Or(b.MaxAgents, before.MaxTotal), MaxTokens: cmp.Or(b.MaxTokens, before.MaxTokens),
		MaxCost: cmp.Or(troupe.Dollars(b.MaxUSD), before.MaxCost),
	}
}

// askedCaps are a tree's caps: what the settings say now, with what was asked for in its place. A limit in money
// or tokens that the tree has had is raised only by what was asked for.
func askedCaps(caps troupe.Caps, asked troupe.Given, had troupe.Caps) troupe.Caps {
	switch {
	case asked.MaxCost > 0:
		caps.MaxCost = asked.MaxCost
	case had.MaxCost > 0 && (caps.MaxCost == 0 || had.MaxCost < caps.MaxCost):
		caps.MaxCost = had.MaxCost
	}
	switch {
	case asked.MaxTokens > 0:
		caps.MaxTokens = asked.MaxTokens
	case had.MaxTokens > 0 && (caps.MaxTokens == 0 || had.MaxTokens < caps.MaxTokens):
		caps.MaxTokens = had.MaxTokens
	}
	caps.MaxTotal = cmp.Or(asked.MaxTotal, caps.MaxTotal)
	return caps
}

// followRecording has a run of a recording, if this is one, get the recorded mail and end where that ends.
func (a runs) followRecording(ctx context.Context, e *engine, id troupe.SessionID) error {
	player := a.app.models.player
	if player == nil {
		return nil
	}
	if err := a.replayMail(ctx, player); err != nil {
		return err
	}
	stop := func(ctx context.Context) error {
		return steering(a).Stop(ctx, id, wire.Stop{Now: true, Tree: true})
	}
	stopReplay(e.pool, player, stop, a.app.env.Log)
	return nil
}

// checkPrice refuses a limit in money that could not hold.
func (a runs) checkPrice(b wire.Begin, model string) error {
	if _, priced := a.app.models.Cost(model, troupe.Usage{}); b.MaxUSD == 0 || priced {
		return nil
	}
	return &troupe.UserError{
		Problem: fmt.Sprintf("no price is known for %s, so a limit of cost could not hold", model),
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

// promptID is the id of words from a caller. With a key they are known again when they come again.
func promptID(c troupe.Caller, once string) troupe.MailID {
	if once == "" {
		return troupe.MailID("prompt:" + rand.Text())
	}
	return troupe.MailID("prompt:" + c.Key(once))
}
