package app

import (
	"fmt"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/tool/agent"
)

// defaultChildTurns bounds a run of a child that nobody bounded: enough for a long job, few
// enough that one that goes round in circles ends.
const defaultChildTurns = 200

// roles resolves the roles of children for every tree of this process, each with the
// definitions that held where and when its run began.
type roles struct {
	mu    sync.Mutex
	trees map[troupe.SessionID]*profiles
}

func (r *roles) set(root troupe.SessionID, p *profiles) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trees == nil {
		r.trees = make(map[troupe.SessionID]*profiles)
	}
	r.trees[root] = p
}

// Resolve implements session.Profiles.
func (r *roles) Resolve(parent troupe.Session, sp troupe.Spawn) (troupe.Profile, error) {
	r.mu.Lock()
	p := r.trees[parent.Root]
	r.mu.Unlock()
	if p == nil {
		return troupe.Profile{}, fmt.Errorf("no agent definitions were read for session %s", parent.Root)
	}
	return p.resolve(parent, sp)
}

// profiles resolves the roles of one tree.
type profiles struct {
	definitions profile.Set
	tools       *toolbox
	models      *models
	depth       int           // how deep the tree may grow
	limits      troupe.Limits // of a child
	most        int           // model replies of a child in a run, whatever anybody says; 0: nothing does
}

// newProfiles reads every agent definition that holds in the request's folder. What is
// wrong with one is told; notes on what is not used yet go to the debug log.
func newProfiles(a *App, tools *toolbox, p *policy, r Request) (*profiles, []string, error) {
	set, problems := profile.Load(profile.Sources{
		User: a.dirs.UserAgents(), Project: r.Cwd, Flag: r.Agents, Tools: tools.Here(), Skip: p.untrustedAgents(),
	})
	var told []string
	for _, p := range problems {
		if p.Path == profile.FlagName && !p.Note {
			return nil, nil, &troupe.UserError{Problem: p.String(), Hint: `The form is {"name": {"description": "…", "prompt": "…", "tools": ["Read"], "model": "haiku"}}.`, Code: 2}
		}
		if p.Note {
			a.env.Log.Info("agent definition", "note", p.String())
			continue
		}
		told = append(told, p.String())
	}
	limits := a.settings.Agents.Limits()
	limits.MaxTurns = defaultChildTurns
	return &profiles{definitions: set, tools: tools, models: a.models, depth: a.settings.Agents.MaxDepth, limits: limits, most: a.settings.Agents.EachTurns}, told, nil
}

// main is the profile of a new root.
func (p *profiles) main(r Request, model string) (troupe.Profile, error) {
	out, err := p.definitions.Main().Resolve(profile.Place{
		Offer: p.tools.Here(), Model: model, Mode: troupe.Mode(r.Mode),
		Named:  func(name string) (string, error) { return p.models.Resolve(name, model, r.Cwd) },
		Limits: troupe.Limits{MaxTurns: r.MaxTurns, MaxTime: r.MaxTime},
	}, troupe.Spawn{})
	if r.AppendText != "" {
		out.Prompt += "\n\n" + r.AppendText
	}
	return out, err
}

// resolve makes the profile of a child. One without a mode of its own works in its parent's.
func (p *profiles) resolve(parent troupe.Session, sp troupe.Spawn) (troupe.Profile, error) {
	d, err := p.definitions.Lookup(sp.Type)
	if err != nil {
		return troupe.Profile{}, err
	}
	return d.Resolve(profile.Place{
		Offer: p.tools.offer(parent.Depth+1 < p.depth), Model: parent.Model,
		Named:  func(name string) (string, error) { return p.models.Resolve(name, parent.Model, parent.Cwd) },
		Limits: p.limits, MostTurns: p.most,
	}, sp)
}

// describe lists the types that a root may start, for its first message.
func (p *profiles) describe(main troupe.Profile, authority troupe.Authority, caps troupe.Caps) string {
	if caps.MaxDepth == 0 {
		return ""
	}
	l := gate.Layer{Agent: "main", Mode: authority.Mode, Offered: main.Tools}
	for _, r := range authority.Rules {
		rule, _ := p.tools.gate.ParseRule(r) // a malformed rule comes back as its safe reading
		l.Rules = append(l.Rules, rule)
	}
	return profile.Describe(p.definitions, func(name string) bool {
		d := p.tools.gate.Decide(gate.Query{
			Tool: agent.Name, Access: troupe.Access{Class: troupe.ClassRead, Agent: name}, Chain: []gate.Layer{l},
		})
		return d.Effect != troupe.Deny
	})
}
