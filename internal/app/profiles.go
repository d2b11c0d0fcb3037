package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/servers"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/hook"
	"github.com/troupe-dev/troupe/internal/model/workflow"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/schema"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/skill"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/wire"
)

// defaultChildTurns bounds a run of a child that nobody bounded: enough for a long job, few
// enough that one that goes round in circles ends.
const defaultChildTurns = 200

// roles opens what trees keep of the types of their agents.
type roles struct {
	tools   *toolbox
	models  *models
	runner  *hook.Runner      // nil: no hooks run
	servers *servers.Registry // nil: there are none
	dirs    config.Dirs
	look    lookForAgents // nil: what people change counts for the next run
	made    *madeDefinitions
}

// document is how a tree keeps them.
func (d *definitions) document() (fleet.Document, error) {
	rest, err := json.Marshal(struct {
		Types any `json:"types,omitempty"` // in the place of the set
		definitions
	}{nil, *d})
	var body []byte
	if err == nil { // the small first: what is appended to a megabyte may have it moved
		body, err = d.Types.AppendJSON(append(rest[:len(rest)-1], `,"types":`...))
	}
	if err != nil {
		return fleet.Document{}, fmt.Errorf("write the definitions of agents: %w", err)
	}
	body = append(body, '}')
	return fleet.Document{Hash: tool.Hash(body), Body: body}, nil
}

// madeDefinitions are those that this process made a document of last, until they are opened: with many agents, to
// read them from the document takes longer than all else of that.
type madeDefinitions struct {
	mu   sync.Mutex
	body []byte
	definitions
	seen string // the signature of the files that they were read from
}

func (m *madeDefinitions) put(body []byte, d definitions, seen string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.body, m.definitions, m.seen = body, d, seen
}

// take returns the definitions of a document, if they are these.
func (m *madeDefinitions) take(document []byte) (d definitions, seen string, ok bool) {
	if m == nil {
		return d, "", false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.body == nil || !bytes.Equal(m.body, document) {
		return d, "", false
	}
	d, seen = m.definitions, m.seen
	m.body, m.definitions = nil, definitions{}
	return d, seen, true
}

// profiles resolves the roles of one tree. Its definitions are those that held where and when
// its run began.
type profiles struct {
	roles
	definitions
	set  *hook.Set // nil: there are no hooks
	runs []string  // files that hooks name, where they were read from files
	// skills are the files of those that hold where its run begins.
	skills *skill.Files
	tree   troupe.SessionID // that is about to be born; "" if none is
	// style is the output style that was chosen for the main agent.
	style styleText
	// effort is what settings choose for a main agent whose definition says nothing of it.
	effort troupe.Effort
	renewals
}

// definitions are what a tree keeps of the types of its agents, as a document.
type definitions struct {
	Types  profile.Set   `json:"types"`
	Depth  int           `json:"depth"`  // how deep the tree may grow
	Limits troupe.Limits `json:"limits"` // of a child
	// model replies of a child in a run, whatever asks for more; 0: nothing does
	Most int `json:"most_turns,omitempty"`
	// Hooks are those that counted when the run began.
	Hooks  []hook.Hook    `json:"hooks,omitempty"`
	Former []formerServer `json:"former,omitempty"`
	// Cwd is the folder whose MCP servers hold.
	Cwd string `json:"cwd,omitempty"`
	// Clients are the tools that the client carries out which began the tree.
	Clients []troupe.ClientTool `json:"clients,omitempty"`
	// Workflows are those that agents may start.
	Workflows []keptWorkflow `json:"workflows,omitempty"`
}

// Open implements session.Profiles. Without definitions there are the types that are built in.
func (r roles) Open(document []byte) (session.Roles, error) {
	p := &profiles{roles: r}
	if document == nil {
		p.Types, _ = profile.Load(profile.Sources{})
		p.Depth, p.Limits.MaxTurns = 1, defaultChildTurns
		return p.withServers(), nil
	}
	if made, seen, ok := r.made.take(document); ok {
		p.definitions, p.seen = made, seen
	} else if err := json.Unmarshal(document, &p.definitions); err != nil {
		return nil, fmt.Errorf("read the definitions of agents: %w", err)
	}
	if len(p.definitions.Hooks) > 0 {
		p.set = hook.NewSet(p.definitions.Hooks, hookRules(r.tools.gate, r.dirs.Home))
	}
	return p.withServers(), nil
}

// runSettings are what a run with these profiles is started with; a fallback that is not named stays as
// it was before.
func (a runs) runSettings(b wire.Begin, from config.Settings, p *profiles, before troupe.Settings) (*troupe.Settings,
	fleet.Document, error) {
	fallback, err := a.app.fallback(b, from)
	if err != nil {
		return nil, fleet.Document{}, err
	}
	doc, err := p.document()
	if err != nil {
		return nil, fleet.Document{}, err
	}
	a.app.defined.made.put(doc.Body, p.definitions, p.seen)
	ask := time.Duration(b.AskMS) * time.Millisecond
	if b.Attended && ask == 0 {
		ask = time.Duration(from.Permissions.AskSeconds) * time.Second
	}
	s := &troupe.Settings{AskFor: ask, Attended: b.Attended, Fallback: fallback, Definitions: doc.Hash,
		Fork:   from.Agents.Fork,
		Policy: troupe.DefaultPolicy(), Given: given(b, before.Given)}
	used, _ := a.app.models.Default(b.Model, from.Model, b.Cwd) // without one the run says so elsewhere
	if strings.HasPrefix(before.HandoffModel, "script/") && b.Model == "" {
		used = before.HandoffModel
	}
	s.HandoffModel = checkerOf(a.app, from, used, b.Cwd)
	s.Policy.MaxAttempts = 0 // patience alone ends what fails again and again
	if !b.Attended {
		s.Policy.Patience = time.Duration(from.RetrySeconds) * time.Second
	}
	s.Policy.MaxMessages = from.Agents.MaxMessages
	s.Policy.WaitAbove = troupe.Dollars(from.Agents.WaitAboveUSD)
	s.Policy.AutoBackground = time.Duration(from.Agents.BackgroundSeconds) * time.Second
	if s.Fallback == "" {
		s.Fallback = before.Fallback
	}
	return s, doc, nil
}

// recall adds what a tree was begun with and that is not defined any more, see remember.
func (p *profiles) recall(ctx context.Context, st store.Store, root troupe.SessionID, hash string,
	trusted bool) error {
	if hash == "" {
		return nil
	}
	var before definitions
	err := st.View(ctx, func(r store.Reader) error {
		body, err := r.Document(root, hash)
		if errors.Is(err, troupe.ErrNotFound) { // it was lost with a damaged database
			return nil
		}
		if err == nil {
			if err = json.Unmarshal(body, &before); err != nil {
				err = fmt.Errorf("%w: %w", troupe.ErrDamaged, err)
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read the definitions of agents that session %s has: %w", root, err)
	}
	p.remember(before, trusted)
	return nil
}

// newProfiles reads every agent definition that holds in the request's folder. What is
// wrong with one is told; notes on what is not used yet go to the debug log.
func newProfiles(a *App, tools *toolbox, p *policy, b wire.Begin, ahead *ahead) (*profiles, []string, error) {
	files := ahead.read()
	if files.err != nil {
		return nil, nil, files.err
	}
	from := agentSources(a, tools, p, b.Cwd, b.Agents)
	from.Files = files.agents
	load := func(a *App, cwd string, from profile.Sources) (readAgents, []profile.Problem) {
		return a.defined.read(cwd, from, files.signature)
	}
	if b.Trust { // what is only supposed to be trusted is kept for nothing else
		load = func(_ *App, _ string, from profile.Sources) (readAgents, []profile.Problem) {
			set, problems := profile.Load(from)
			return readAgents{set: set}, problems
		}
	}
	read, problems := load(a, b.Cwd, from)
	set := read.set
	told, err := tellProblems(a, p.toTell(problems))
	if err != nil {
		return nil, nil, err
	}
	clients, err := clientTools(tools, a.Mask, b.Tools)
	if err != nil {
		return nil, nil, err
	}
	hooks, odd := p.hooksIn(b.Cwd, set, p.hookedSkills(files.skills))
	for _, o := range odd {
		if o.Note {
			a.env.Log.Info("hook", "note", o.Text)
			continue
		}
		told = append(told, o.Text)
	}
	counts := slices.DeleteFunc(slices.Clone(hooks), func(h setHook) bool { return h.off != "" })
	told = append(told, idleHooks(counts, tools.Set, hookRules(tools.gate, a.dirs.Home))...)
	limits := p.settings.Agents.Limits()
	limits.MaxTurns = defaultChildTurns
	var style styleText
	if p.settings.Style != "" {
		found, missing := stylesOf(a, p, b.Cwd), ""
		found.tell(a)
		if style, missing = found.named(p.settings.Style); missing != "" {
			told = append(told, missing)
		}
	}
	return &profiles{
		roles: roles{tools: tools, models: a.models, dirs: a.dirs}, style: style,
		runs: p.filesOf(a, b.Cwd, hooks, set), skills: files.skills, renewals: renewals{seen: read.signature},
		effort: p.settings.Effort,
		definitions: definitions{Types: set, Depth: p.settings.Agents.MaxDepth, Limits: limits,
			Most: p.settings.Agents.EachTurns, Hooks: thatCount(hooks), Cwd: b.Cwd,
			Workflows: keptWorkflows(a.dirs, b.Cwd), Clients: clients},
	}, told, nil
}

// userAgents are where the user's own definitions lie.
func userAgents(dirs config.Dirs) []profile.Folder {
	var out []profile.Folder
	if dirs.Home != "" {
		out = append(out, profile.Folder{Path: filepath.Join(dirs.Home, ".claude", "agents"), Scope: profile.ScopeUser})
	}
	return append(out, profile.Folder{Path: filepath.Join(dirs.Config, "agents"), Scope: profile.ScopeUser})
}

// mostTold is how many definitions that cannot be used a run names by itself; `troupe agents check` says all.
const mostTold = 3

// tellProblems is what a run says about definitions of agents. One on the command line that cannot be followed
// ends it.
func tellProblems(a *App, problems []profile.Problem) (told []string, err error) {
	more, first := 0, ""
	for _, p := range problems {
		switch {
		case p.Path == profile.FlagName && !p.Note:
			return nil, &troupe.UserError{Problem: p.String(),
				Hint: `The form is {"name": {"description": "…", "prompt": "…", "tools": ["Read"], "model": "haiku"}}.`,
				Code: troupe.ExitUsage}
		case p.Note:
			a.env.Log.Info("agent definition", "note", p.String())
		case p.Unusable && len(told) < mostTold:
			told = append(told, p.String())
		default:
			more++
			first = cmp.Or(first, p.String())
		}
	}
	switch {
	case more == 1:
		told = append(told, first)
	case more > 1:
		told = append(told, fmt.Sprintf("%s (and %d more: troupe agents check)", first, more-1))
	}
	return told, nil
}

// agentFolders are where definitions of agents lie that hold in a folder: the user's, those of the project from its
// repository's root down to the folder, and an administrator's.
func agentFolders(dirs config.Dirs, cwd string) []profile.Folder {
	out := userAgents(dirs)
	add := func(dir, root string, scope profile.Scope) {
		out = append(out, profile.Folder{Path: dir, Root: root, Scope: scope})
	}
	folders := config.Folders(cwd)
	for _, dir := range folders {
		for _, name := range profile.ProjectFolders() {
			add(filepath.Join(dir, filepath.FromSlash(name)), folders[0], profile.ScopeProject)
		}
	}
	for _, m := range config.ManagedFiles(runtime.GOOS) {
		add(filepath.Join(filepath.Dir(m.Path), "agents"), "", profile.ScopeManaged)
	}
	return out
}

func names(set profile.Set) []string {
	var out []string
	for _, d := range set.List() {
		out = append(out, d.Name)
	}
	return out
}

// main is the profile of a new root: of the main agent, or of the type that was chosen for it.
func (p *profiles) main(b wire.Begin, model string) (troupe.Profile, error) {
	d := p.Types.Main()
	if b.Agent != "" && !strings.EqualFold(b.Agent, profile.Main) {
		var err error
		if d, err = p.Types.Lookup(b.Agent); err != nil {
			return troupe.Profile{}, p.noSuchAgent(b.Agent, err)
		}
	}
	if b.Model != "" {
		d.Model = "" // it was chosen for this session
	}
	if p.style.alone {
		d = d.NotCoding()
	}
	if b.OutputSchema != nil {
		if _, err := schema.Parse(b.OutputSchema); err != nil {
			return troupe.Profile{}, &troupe.UserError{Problem: "the schema of the output " + err.Error(),
				Code: troupe.ExitUsage, Err: err}
		}
	}
	more, err := p.ofTree(d)
	if err != nil {
		return troupe.Profile{}, &troupe.UserError{Problem: err.Error(), Code: troupe.ExitUsage, Err: err}
	}
	find := p.memories(p.tree, b.Cwd)
	if b.Memory != "" {
		if d, find, err = p.remembers(d, b.Memory, find); err != nil {
			return troupe.Profile{}, err
		}
	}
	out, err := d.Resolve(profile.Place{
		Offer: slices.Concat(p.tools.Callable(), more), Model: model,
		Named:  p.models.namedFor(d, "", model, b.Cwd),
		Limits: troupe.Limits{MaxTurns: b.MaxTurns, MaxTime: time.Duration(b.MaxMS) * time.Millisecond},
		Memory: find,
	}, troupe.Spawn{MaxTurns: b.MaxTurns, Effort: b.Effort, Schema: string(b.OutputSchema)})
	out.Effort = cmp.Or(out.Effort, p.effort)
	if d.IsWorkflow() {
		out.Model, out.Workflow = workflow.Over(out.Model), true
	}
	if d.Name == profile.Main && p.style.text != "" {
		out.Prompt += "\n\n" + p.style.text
	}
	if b.AppendText != "" {
		out.Prompt += "\n\n" + b.AppendText
	}
	return p.settle(d, out, err)
}

// noSuchAgent says that there is no agent of this name.
func (p *profiles) noSuchAgent(name string, err error) error {
	names := names(p.Types)
	out := &troupe.UserError{Problem: fmt.Sprintf("there is no agent %q", name),
		Hint: "There are: main, " + strings.Join(names, ", ") + ".", Code: troupe.ExitUsage, Err: err}
	switch near := troupe.Nearest(name, names); {
	case p.Types.Broken(name):
		out.Problem = err.Error()
	case near != "":
		out.Hint = "Did you mean " + near + "? " + out.Hint
	}
	return out
}

// boundBy is a mode as far as the type of agent that a root runs as leaves it. The main agent has no mode of
// its own: what its profile holds is what it began with.
func boundBy(p troupe.Profile, mode troupe.Mode) troupe.Mode {
	if p.Type == profile.Main || p.Mode == "" {
		return mode
	}
	return config.Closer(mode, p.Mode)
}

// boundOf is boundBy for the first event of a root.
func boundOf(first troupe.Event, mode troupe.Mode) troupe.Mode {
	if b, ok := first.Body.(troupe.Created); ok {
		return boundBy(b.Profile, mode)
	}
	return mode
}

// Resolve implements session.Roles. A child without a mode of its own works in its parent's.
func (p *profiles) Resolve(parent troupe.Session, sp troupe.Spawn) (troupe.Profile, error) {
	ofWorkflow := workflow.Follows(parent.Model)
	parent.Model = workflow.Under(parent.Model)
	d, err := p.kinds().Lookup(sp.Type)
	if err != nil {
		return troupe.Profile{}, err
	}
	if d.Documented() {
		if d, err = withDocuments(p.dirs, d); err != nil {
			return troupe.Profile{}, err
		}
	}
	more, err := p.ofTree(d)
	if err != nil {
		return troupe.Profile{}, err
	}
	free := freeLevels(parent, sp, d.IsWorkflow() || ofWorkflow && parent.Depth > 0)
	out, err := d.Resolve(profile.Place{
		Offer:  slices.Concat(p.tools.offer(parent.Depth+1-free < p.Depth, sp.Team != ""), more),
		Model:  parent.Model,
		Named:  p.models.namedFor(d, sp.Model, parent.Model, parent.Cwd),
		Limits: p.Limits, MostTurns: p.Most, Child: true, Memory: p.memories(parent.Root, parent.Cwd),
	}, sp)
	if d.IsWorkflow() && err == nil {
		err = p.follows(&out, sp, ofWorkflow)
	}
	return p.settle(d, out, err)
}

// freeLevels are those that the cap on depth does not count: a member of a team stands where its lead does, and so does
// a workflow that an agent starts.
func freeLevels(parent troupe.Session, sp troupe.Spawn, workflow bool) int {
	if parent.Team != "" || sp.Team != "" || workflow {
		return 1
	}
	return 0
}

// Fork implements session.Roles. What a definition says for the beginning of an agent does not hold for a fork, which
// is at work already.
func (p *profiles) Fork(of troupe.Profile, sp troupe.Spawn) troupe.Profile {
	of.Beginning, of.Mode = troupe.Beginning{Fork: true}, ""
	of.Limits = p.Limits
	of.Limits.MaxTurns = troupe.MaxForkTurns
	for _, most := range []int{sp.MaxTurns, p.Most} {
		if most > 0 && most < of.Limits.MaxTurns {
			of.Limits.MaxTurns = most
		}
	}
	return of
}

// Workers implements session.Roles.
func (p *profiles) Workers(allowed func(kind string) bool) string {
	own := p.tools.offer(false, false)
	return profile.Workers(p.kinds(), func(d profile.Definition) []troupe.ToolFacts {
		more, err := p.ofTree(d)
		if err != nil {
			return own // it is not to be had, and says so when it is started
		}
		return slices.Concat(own, more)
	}, allowed)
}

// Describe implements session.Roles.
func (p *profiles) Describe(v troupe.Vocabulary, allowed func(kind string) bool, room int) string {
	return profile.Describe(p.kinds(), v, allowed, room) + p.workflows(allowed)
}
