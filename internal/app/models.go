package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/anthropic"
	"github.com/troupe-dev/troupe/internal/model/script"
)

// scriptPrefix makes a file of replies a model: --model script:FILE.
const scriptPrefix = "script:"

// inheritModel is the alias for the parent's model.
const inheritModel = "inherit"

// defaultModel is what runs when nobody chose.
const defaultModel = "sonnet"

// defaultMaxOutput bounds one reply of a model whose own bound is not known.
const defaultMaxOutput = 8192

// models knows providers and what their models cost. Providers and the catalog are made
// when they are first asked for, because most commands need neither.
type models struct {
	env      Env
	settings config.Settings
	file     string // the user's models.yaml

	mu        sync.Mutex
	catalog   *model.Catalog
	providers map[string]model.Provider
}

func newModels(env Env, dirs config.Dirs, s config.Settings) *models {
	return &models{env: env, settings: s, file: dirs.Models(), providers: make(map[string]model.Provider)}
}

func (m *models) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.providers {
		if c, ok := p.(interface{ Close() }); ok {
			c.Close()
		}
	}
}

// load returns the catalog. It is called with m.mu held.
func (m *models) load() (*model.Catalog, error) {
	if m.catalog != nil {
		return m.catalog, nil
	}
	override, err := os.ReadFile(m.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &troupe.UserError{
			Problem: "the table of models cannot be read: " + err.Error(),
			Hint:    "make " + m.file + " a file you can read, or take it away.", Code: 2, Err: err,
		}
	}
	if m.catalog, err = model.LoadCatalog(override, m.file); err != nil {
		return nil, err
	}
	return m.catalog, nil
}

// Default resolves the model of a new root: the flag, the environment, the settings, or
// Troupe's own choice, whichever speaks first.
func (m *models) Default(flag, cwd string) (string, error) {
	name := flag
	if name == "" {
		name, _ = m.env.Lookup("TROUPE_MODEL")
	}
	if name == "" {
		name = m.settings.Model
	}
	if name == "" {
		name = defaultModel
	}
	return m.Resolve(name, "", cwd)
}

// Resolve turns a name that a person or a model wrote into a full one. parent is the full
// name of the parent's model, if there is a parent: "inherit" stands for it, and a script
// speaks for every alias that its agents ask for, so that a scripted tree stays offline.
func (m *models) Resolve(name, parent, cwd string) (string, error) {
	if file, ok := strings.CutPrefix(name, scriptPrefix); ok {
		if !filepath.IsAbs(file) {
			file = filepath.Join(cwd, file)
		}
		return "script/" + filepath.Clean(file), nil
	}
	if parent != "" && (name == "" || strings.EqualFold(name, inheritModel) || strings.HasPrefix(parent, "script/")) {
		return parent, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c, err := m.load()
	if err != nil {
		return "", err
	}
	provider, _, _ := strings.Cut(parent, "/")
	if provider == "" {
		provider = "anthropic"
	}
	return c.Resolve(name, provider)
}

// Provider implements session.Models.
func (m *models) Provider(full string) (model.Provider, string, error) {
	name, id, ok := strings.Cut(full, "/")
	if !ok {
		return nil, "", fmt.Errorf("%q is not a full model name", full)
	}
	key := name
	if name == "script" {
		key = full
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if p, ok := m.providers[key]; ok {
		return p, id, nil
	}
	p, err := m.open(name, id)
	if err != nil {
		return nil, "", err
	}
	m.providers[key] = p
	return p, id, nil
}

func (m *models) open(name, id string) (model.Provider, error) {
	switch name {
	case "anthropic":
		return m.openAnthropic()
	case "script":
		data, err := os.ReadFile(id)
		if err != nil {
			return nil, &troupe.UserError{Problem: "the script cannot be read: " + err.Error(), Hint: "docs/script-model.md says how to write one.", Code: 2, Err: err}
		}
		return script.New(id, data)
	default:
		return nil, &troupe.UserError{
			Problem: fmt.Sprintf("there is no model provider %q", name),
			Hint:    "Known are anthropic and script (--model script:FILE).", Code: 2,
		}
	}
}

func (m *models) openAnthropic() (model.Provider, error) {
	key, _ := m.env.Lookup("ANTHROPIC_API_KEY")
	base, _ := m.env.Lookup("ANTHROPIC_BASE_URL")
	if strings.TrimSpace(key) == "" {
		return nil, noProvider()
	}
	o := anthropic.Options{APIKey: key, BaseURL: base, UserAgent: "troupe/" + m.env.Version, Now: m.env.Now}
	if file, ok := m.env.Lookup("TROUPE_CA_FILE"); ok && file != "" {
		pool, err := anthropic.CertPool(file)
		if err != nil {
			return nil, &troupe.UserError{Problem: "TROUPE_CA_FILE: " + err.Error(), Hint: "Name a file of certificates in PEM form, or unset it.", Code: 2, Err: err}
		}
		o.RootCAs = pool
	}
	return anthropic.New(o), nil
}

func noProvider() error {
	return &troupe.UserError{
		Problem: "No model provider found.",
		Hint: `Give Troupe one of these:
  export ANTHROPIC_API_KEY=...        a key for Anthropic's models
  export ANTHROPIC_BASE_URL=...       besides the key: a gateway that speaks the same API
  troupe -p --model script:FILE "..." replies from a file, no key (docs/script-model.md)
  troupe demo                         see a whole run first, offline`,
		Code: 2,
	}
}

// info looks a model up. A script brings its own.
func (m *models) info(full string) (model.Info, bool) {
	if strings.HasPrefix(full, "script/") {
		if p, _, err := m.Provider(full); err == nil {
			if s, ok := p.(*script.Provider); ok {
				return s.Info(), true
			}
		}
		return model.Info{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c, err := m.load()
	if err != nil {
		return model.Info{}, false
	}
	return c.Lookup(full)
}

// Cost implements session.Models.
func (m *models) Cost(full string, u troupe.Usage) (troupe.Money, bool) {
	i, ok := m.info(full)
	return i.Cost(u), ok && i.Priced
}

// Window implements session.Models: what of a model's window the conversation may fill before
// it is shortened. Room is left for a reply, and for the request for a summary.
func (m *models) Window(full string) int64 {
	i, ok := m.info(full)
	if !ok || i.Window <= 0 {
		return 0
	}
	out := m.MaxOutput(full)
	room := i.Window - min(out, i.Window/4) - summaryReserve
	return int64(max(room, i.Window/2))
}

// summaryReserve is what the request for a summary takes, and what an estimate may be off by.
const summaryReserve = 3000

// maxRequests is how many calls of a provider the user allows at once.
func (m *models) maxRequests(provider string) int { return m.settings.Providers[provider].MaxRequests }

// MaxOutput implements session.Models.
func (m *models) MaxOutput(full string) int {
	if i, ok := m.info(full); ok && i.MaxOutput > 0 {
		return i.MaxOutput
	}
	return defaultMaxOutput
}
