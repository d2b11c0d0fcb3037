package app

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/sandbox"
)

// Check is what `troupe doctor` found. It says whether a key is there, never which.
type Check struct {
	Version  string         `json:"version"`
	Config   string         `json:"config_dir"`
	Data     string         `json:"data_dir"`
	Database Database       `json:"database"`
	Model    string         `json:"model"`
	Provider ProviderCheck  `json:"provider"`
	Programs []Program      `json:"programs"`
	Kernel   sandbox.Report `json:"kernel"`
	Agents   []AgentFile    `json:"agents"`
	Problems []string       `json:"problems"`
}

// Database describes the file that holds everything.
type Database struct {
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"`
	Version int    `json:"schema_version"`
}

// ProviderCheck says whether a model is to be had, without asking the provider.
type ProviderCheck struct {
	Name    string `json:"name"`
	BaseURL string `json:"base_url,omitempty"`
	Key     bool   `json:"key_present"`
	Ready   bool   `json:"ready"`
}

// Program is a helper that Troupe uses when it is there.
type Program struct {
	Name  string `json:"name"`
	Found bool   `json:"found"`
	Text  string `json:"version,omitempty"`
	For   string `json:"for"`
}

// AgentFile is one type of agent that can be started here.
type AgentFile struct {
	Name   string   `json:"name"`
	Source string   `json:"source"`
	Model  string   `json:"model"`
	Tools  []string `json:"tools"`
}

// Doctor looks at everything a run in cwd would need. It changes nothing and calls nobody.
func (a *App) Doctor(ctx context.Context, cwd string) (Check, error) {
	c := Check{Version: a.env.Version, Config: a.dirs.Config, Data: a.dirs.Data, Kernel: sandbox.Probe(ctx), Problems: a.warnings}
	st, err := a.db.Stats()
	if err != nil {
		return c, fmt.Errorf("look at the database: %w", err)
	}
	c.Database = Database{st.Path, st.Bytes, st.Version}
	a.checkModel(&c, cwd)
	for _, p := range [...]Program{
		{Name: "git", For: "the state of the repository"},
		{Name: "rg", For: "faster searches"},
		{Name: "bash", For: "commands"},
		{Name: "pdftotext", For: "reading PDF files"},
	} {
		c.Programs = append(c.Programs, lookUp(ctx, p))
	}
	tools := newToolbox()
	set, problems := profile.Load(profile.Sources{User: a.dirs.UserAgents(), Project: cwd, Tools: tools.names()})
	for _, p := range problems {
		c.Problems = append(c.Problems, p.String())
	}
	_, warnings := a.authority(Request{}, nil)
	c.Problems = append(c.Problems, warnings...)
	for _, d := range set.List() {
		p, err := d.Resolve(profile.Place{Offer: tools.names(), Model: c.Model, Named: func(n string) (string, error) { return a.models.Resolve(n, c.Model, cwd) }}, troupe.Spawn{})
		if err != nil {
			c.Problems = append(c.Problems, err.Error())
			continue
		}
		c.Agents = append(c.Agents, AgentFile{d.Name, d.Source, p.Model, p.Tools})
	}
	return c, nil
}

func (a *App) checkModel(c *Check, cwd string) {
	full, err := a.models.Default("", cwd)
	if err != nil {
		c.Problems = append(c.Problems, err.Error())
		return
	}
	c.Model = full
	c.Provider.Name, _, _ = strings.Cut(full, "/")
	if c.Provider.Name == "anthropic" {
		key, _ := a.env.Lookup("ANTHROPIC_API_KEY")
		c.Provider.Key = strings.TrimSpace(key) != ""
		c.Provider.BaseURL, _ = a.env.Lookup("ANTHROPIC_BASE_URL")
	}
	if _, _, err := a.models.Provider(full); err != nil {
		c.Problems = append(c.Problems, err.Error())
		return
	}
	c.Provider.Ready = true
}

// lookUp finds a program and asks it for its version. Only programs of the user's PATH are
// asked, from the root folder, so that nothing of the project can answer.
func lookUp(ctx context.Context, p Program) Program {
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
