package app

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/model/openai"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/sandbox"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/postgres"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// Doctor looks at everything a run in cwd would need. It changes nothing, and calls nobody but
// a model server of the user's own, whose window it tests.
func (a machine) Doctor(ctx context.Context, cwd string) (wire.Diagnosis, error) {
	c := wire.Diagnosis{Version: a.app.env.Version, Config: a.app.dirs.Config, Data: a.app.dirs.Data,
		Problems: []string{},
		Waiting:  []wire.WaitingSession{}}
	if a.app.db == nil {
		c.Database.Path = a.app.dirs.Database()
	} else if server, ok := a.app.db.(*postgres.Store); ok {
		st, err := server.Stats(ctx)
		c.Database = wire.Database{Path: st.Address, Bytes: st.Bytes, Version: st.Version, Checked: err == nil}
		if err != nil {
			c.Problems = append(c.Problems, fmt.Sprintf("look at the database: %v", err))
		}
	} else if st, err := a.app.file.Stats(); err != nil {
		c.Problems = append(c.Problems, fmt.Sprintf("look at the database: %v", err))
	} else {
		c.Database = wire.Database{Path: st.Path, Bytes: st.Bytes, Version: st.Version}
		if err := a.checkDatabase(ctx, &c); err != nil {
			c.Problems = append(c.Problems, fmt.Sprintf("check the database: %v", err))
		}
	}
	a.checkModel(&c, cwd)
	checkPrograms(ctx, &c)
	err := a.checkFolder(ctx, &c, cwd)
	return c, err
}

// DoctorWithoutHome is Doctor for a home that could not be opened: cause is the first problem, and all that
// needs no database is looked at none the less.
func DoctorWithoutHome(ctx context.Context, env Env, cwd string, cause error) (wire.Diagnosis, error) {
	a := newApp(env)
	c := wire.Diagnosis{Version: env.Version, Programs: []wire.Program{}, Environment: []string{},
		Agents: []wire.AgentFile{}, Waiting: []wire.WaitingSession{}, Problems: []string{cause.Error()},
		Kernel: sandbox.Probe(ctx)}
	var err error
	if a.dirs, err = config.FindDirs(env.Lookup); err != nil {
		checkPrograms(ctx, &c)
		return c, nil //nolint:nilerr // it is the cause, or like it: without folders there are no settings
	}
	c.Config, c.Data, c.Database.Path = a.dirs.Config, a.dirs.Data, a.dirs.Database()
	p, err := a.policyOf("")
	if err != nil {
		checkPrograms(ctx, &c)
		return c, nil //nolint:nilerr // it is the cause, or like it: without settings nothing of theirs can be checked
	}
	a.settings, a.warnings = p.settings, p.warnings
	a.models = newModels(env, a.dirs, a.settings)
	defer a.models.close()
	found, err := machine{bound{app: a}}.Doctor(ctx, cwd)
	found.Problems = append(c.Problems, found.Problems...)
	if err != nil {
		found.Problems = append(found.Problems, err.Error())
	}
	return found, nil
}

func checkPrograms(ctx context.Context, c *wire.Diagnosis) {
	for _, p := range [...]wire.Program{
		{Name: "git", For: "the state of the repository"},
		{Name: "rg", For: "faster searches"},
		{Name: "bash", For: "commands"},
		{Name: "pdftotext", For: "reading PDF files"},
	} {
		p = tryProgram(ctx, p)
		c.Programs = append(c.Programs, p)
		if p.Name == "git" && p.Text != "" {
			if old := worktree.TooOld(p.Text); old != "" {
				c.Problems = append(c.Problems, "worktrees of agents cannot be merged by troupe: "+old)
			}
		}
	}
}

// checkFolder looks at what a run in cwd would get: sandbox, environment, agents, rules.
func (a machine) checkFolder(ctx context.Context, c *wire.Diagnosis, cwd string) error {
	guard := a.app.newGuard(ctx)
	defer guard.close() //nolint:errcheck // it has made nothing
	c.Kernel = guard.box.Support(ctx)
	tools, err := a.app.newToolbox(guard, merger{a.app, guard})
	if err != nil {
		return err
	}
	p, err := a.app.policyOf(cwd)
	if err != nil {
		return err
	}
	_, c.Environment = config.Environment(a.app.env.Environ, p.settings)
	c.Problems = append(c.Problems, guard.tryHidden(ctx, cwd)...)
	set, problems := profile.Load(profile.Sources{Folders: p.agentFolders(a.app.dirs, cwd), Tools: tools.Callable(),
		Skip: p.untrustedAgents()})
	for _, p := range problems {
		c.Problems = append(c.Problems, p.String())
	}
	_, odd := p.hooksIn(cwd, set, p.hookedSkills(p.skillFiles(a.app.dirs, cwd)))
	for _, o := range odd {
		c.Problems = append(c.Problems, o.Text)
	}
	if err := a.waiting(ctx, c); err != nil && len(c.Database.Damage) == 0 {
		return err
	}
	a.testWindow(ctx, c)
	known, err := a.app.known()
	if err != nil {
		return err
	}
	_, warnings, err := a.app.authority(gate.NewTools(known.Facts()), wire.Begin{Cwd: cwd}, p, nil, nil)
	if err != nil {
		return err
	}
	c.Problems = append(c.Problems, warnings...)
	for _, d := range set.List() {
		p, err := d.Resolve(profile.Place{Offer: tools.Callable(), Model: c.Model,
			Named: func(n string) (string, error) { return a.app.models.named(n, c.Model, cwd) }}, troupe.Spawn{})
		if err != nil {
			c.Problems = append(c.Problems, err.Error())
			continue
		}
		c.Agents = append(c.Agents, wire.AgentFile{Name: d.Name, Source: d.Source, Model: p.Model, Tools: p.Tools})
	}
	return nil
}

// windowPatience is how long the test of a window may take. A slow machine reads for minutes.
const windowPatience = 3 * time.Minute

func (a machine) testWindow(ctx context.Context, c *wire.Diagnosis) {
	if !c.Provider.Ready {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, windowPatience)
	defer cancel()
	w, tested, err := a.checkWindow(ctx, c.Model)
	if err != nil {
		c.Problems = append(c.Problems, err.Error())
		return
	}
	if tested {
		c.Window = &w
		if w.Verdict != string(openai.WindowHolds) {
			c.Problems = append(c.Problems, "the window of "+w.Model+": "+w.Advice)
		}
	}
}

// waiting lists the sessions, of any process, that wait to ask their model again.
func (a machine) waiting(ctx context.Context, c *wire.Diagnosis) error {
	if a.app.trees.store == nil {
		return nil
	}
	err := a.app.trees.store.View(ctx, func(r store.Reader) error {
		list, err := r.Sessions(store.Filter{Status: troupe.Waiting, Waiting: troupe.WaitModel})
		c.Waiting = []wire.WaitingSession{}
		for _, s := range list {
			if s.Error != "" && s.AsleepAt.IsZero() {
				c.Waiting = append(c.Waiting, wire.WaitingSession{ID: s.ID, Model: s.Model, Why: s.Error,
					Until: s.Until.UTC()})
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("look for sessions that wait: %w", err)
	}
	for i := range c.Waiting {
		w := &c.Waiting[i]
		t, err := a.app.tree(ctx, w.ID)
		if err != nil && !isNotFound(err) {
			return fmt.Errorf("look for sessions that wait: %w", err)
		}
		w.Left = !t.Running
	}
	return nil
}

func (a machine) checkModel(c *wire.Diagnosis, cwd string) {
	c.Providers = a.app.models.askable()
	full, err := a.app.defaultModel("", cwd)
	if err != nil {
		c.Problems = append(c.Problems, err.Error())
		return
	}
	c.Model = full
	c.Provider.Name, _, _ = strings.Cut(full, "/")
	c.Provider.KeyEnv = a.app.models.keyOf(c.Provider.Name)
	if s := a.app.settings.Providers[c.Provider.Name]; s.BaseURL != "" {
		c.Provider.BaseURL, c.Provider.Key = s.BaseURL, s.KeyEnv != "" && a.app.models.set(s.KeyEnv)
	} else if s, known := serviceOf(c.Provider.Name); known {
		c.Provider.Key = a.app.models.set(s.keyEnv)
		c.Provider.BaseURL, _ = a.app.env.Lookup(s.baseEnv)
	}
	if _, _, err := a.app.models.Provider(full); err != nil {
		c.Problems = append(c.Problems, err.Error())
		return
	}
	c.Provider.Ready = true
}

// tryProgram finds a program and asks it for its version. Only programs of the user's PATH are
// asked, from the root folder, so that nothing of the project can answer.
func tryProgram(ctx context.Context, p wire.Program) wire.Program {
	path, err := exec.LookPath(p.Name)
	if err != nil {
		return p
	}
	p.Found = true
	flag := "--version"
	if p.Name == "pdftotext" {
		flag = "-v"
	}
	cmd := exec.CommandContext(ctx, path, flag)
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	if err == nil {
		p.Text, _, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	}
	return p
}
