package app

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/anthropic"
	"github.com/troupe-dev/troupe/internal/model/openai"
	"github.com/troupe-dev/troupe/internal/model/script"
	"github.com/troupe-dev/troupe/internal/model/workflow"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/wire"
)

// scriptPrefix makes a file of replies a model: --model script:FILE.
const scriptPrefix = "script:"

// inheritModel is the alias for the parent's model.
const inheritModel = "inherit"

// defaultModel is what runs when nobody chose.
const defaultModel = "sonnet"

// defaultOpenAI is what runs for somebody who has a key of OpenAI's alone.
const defaultOpenAI = "openai/gpt-5.6-terra"

// defaultMaxOutput bounds one reply of a model whose own bound is not known.
const defaultMaxOutput = 8192

// models knows providers and what their models cost. Providers and the catalog are made
// when they are first asked for, because most commands need neither.
type models struct {
	env      Env
	settings config.Settings
	file     string  // the user's models.yaml
	player   *Player // stands in for every provider; set before the first is asked for

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
	override, err := disk.Read(m.file, disk.Most)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &troupe.UserError{
			Problem: "the table of models cannot be read: " + err.Error(),
			Hint:    "make " + m.file + " a file you can read, or take it away.", Code: troupe.ExitUsage, Err: err,
		}
	}
	if m.catalog, err = model.LoadCatalog(override, m.file); err != nil {
		return nil, err
	}
	return m.catalog, nil
}

// Default resolves the model of a new root: the flag, the environment, what the folder's settings
// say, or Troupe's own choice for whoever has a key, whichever speaks first.
func (m *models) Default(flag, setting, cwd string) (string, error) {
	name := flag
	if name == "" {
		name, _ = m.env.Lookup("TROUPE_MODEL")
	}
	if name == "" {
		name = setting
	}
	if name == "" {
		var err error
		if name, err = m.choose(); err != nil {
			return "", err
		}
	}
	return m.Resolve(name, "", cwd)
}

// choose picks the model of somebody who has said nothing.
func (m *models) choose() (string, error) {
	switch base, _ := m.env.Lookup("OPENAI_BASE_URL"); {
	case m.set("ANTHROPIC_API_KEY"):
		return defaultModel, nil
	case base != "":
		return "", &troupe.UserError{
			Problem: "Which model? The server at " + base + " may have several.",
			Hint: "Choose one: troupe -p --model openai/NAME (`troupe models` lists what the server has),\nor " +
				"once and for all: export TROUPE_MODEL=openai/NAME", Code: troupe.ExitUsage,
		}
	case m.set("OPENAI_API_KEY"):
		return defaultOpenAI, nil
	case len(m.servers()) > 0:
		names := m.servers()
		return "", &troupe.UserError{
			Problem: "Which model? The settings name " + strings.Join(names, ", ") + ", which may have several.",
			Hint: "Choose one: troupe -p --model " + names[0] + "/NAME (`troupe models` lists what the server " +
				"has),\nor once and for all: \"model\": \"" + names[0] + "/NAME\" in the settings",
			Code: troupe.ExitUsage,
		}
	}
	return defaultModel, nil // what is missing is said when it is opened
}

func (m *models) set(name string) bool {
	v, _ := m.env.Lookup(name)
	return strings.TrimSpace(v) != ""
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
		provider = services()[0].name
	}
	full, err := c.Resolve(name, provider)
	if parent == "" || err != nil {
		return full, err
	}
	// A model that an agent type prefers may be one that is not to be had here: then its
	// parent's will do.
	if other, _, _ := strings.Cut(full, "/"); other != provider && !m.configured(other) {
		return parent, nil
	}
	return full, nil
}

// named is Resolve for the model that a definition names: where its parent's has to do, that is a profile.Elsewhere.
func (m *models) named(name, parent, cwd string) (string, error) {
	full, err := m.Resolve(name, parent, cwd)
	if err != nil || full != parent || parent == "" || strings.HasPrefix(parent, "script/") ||
		strings.EqualFold(name, inheritModel) {
		return full, err
	}
	wanted, err := m.Resolve(name, "", cwd)
	other, _, _ := strings.Cut(wanted, "/")
	if err != nil || wanted == parent || m.configured(other) {
		return full, nil //nolint:nilerr // it is known by its parent's provider alone
	}
	why := "no provider " + other + " is set up"
	if key := m.keyOf(other); key != "" {
		why = key + " is not set"
	}
	return full, &profile.Elsewhere{Why: why}
}

// namedFor is named for what a call wishes, or else a definition names. A file is read as a model for people and for
// what they have set up alone: the names that agents and strangers' files give could be those of hidden ones.
func (m *models) namedFor(d profile.Definition, wish, parent, cwd string) func(name string) (string, error) {
	theirs := d.Scope == profile.ScopeUser || d.Scope == profile.ScopeFlag || d.Scope == profile.ScopeManaged
	return func(name string) (string, error) {
		if wire.NamesFile(name) && (wish != "" || !theirs) {
			return "", errNoFile
		}
		return m.named(name, parent, cwd)
	}
}

// errNoFile is the refusal of a file as a model.
var errNoFile = &troupe.UserError{Problem: "a file is a model only where a person or what they have set up names it",
	Hint: "Name a model, or leave it out.", Code: troupe.ExitUsage}

// unknown reports whether a public service is asked for a model that the table does not have.
func (m *models) unknown(full string) bool {
	name, _, _ := strings.Cut(full, "/")
	_, known := serviceOf(name)
	return known && !m.own(name) && !m.listed(full)
}

// configured reports whether a provider could be asked.
func (m *models) configured(name string) bool {
	if m.player != nil {
		return m.player.Knows(name)
	}
	if s := m.settings.Providers[name]; s.BaseURL != "" {
		return s.KeyEnv == "" || m.set(s.KeyEnv)
	}
	s, known := serviceOf(name)
	return known && (m.set(s.keyEnv) || s.openAI && m.set(s.baseEnv))
}

// servers are the providers that the settings name, sorted.
func (m *models) servers() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(m.settings.Providers)) {
		if m.settings.Providers[name].BaseURL != "" {
			out = append(out, name)
		}
	}
	return out
}

// keyOf is the variable that holds a provider's key; "" if it has none. A server of one's own
// needs one only if its settings say so, or somebody has set it.
func (m *models) keyOf(name string) string {
	if s := m.settings.Providers[name]; s.BaseURL != "" {
		return s.KeyEnv
	}
	if s, known := serviceOf(name); known && (!s.openAI || m.set(s.keyEnv) || !m.set(s.baseEnv)) {
		return s.keyEnv
	}
	return ""
}

// suspects asks what has to be right for a model to be had.
func (m *models) suspects(full string) string {
	name, id, _ := strings.Cut(full, "/")
	if name == "script" || m.player != nil {
		return ""
	}
	has := fmt.Sprintf("has %s a model %q?", name, id)
	s, known := serviceOf(name)
	switch key := m.keyOf(name); {
	case key != "":
		return "is " + key + " right, and " + has
	case m.own(name) && !known:
		return has[:len(has)-1] + ", or does it want a key (\"key_env\" of providers." + name + " in the settings)?"
	case m.own(name):
		return has[:len(has)-1] + ", or does it want a key (" + s.keyEnv + ")?"
	}
	return has
}

// Provider implements session.Models.
func (m *models) Provider(full string) (model.Provider, string, error) {
	if m.player != nil {
		return m.player, full, nil
	}
	name, id, ok := strings.Cut(full, "/")
	if !ok {
		return nil, "", fmt.Errorf("%q is not a full model name", full)
	}
	key := name
	switch s, known := serviceOf(name); {
	case name == "script":
		key = full
	case !known || s.openAI:
		key += " " + string(m.api(name, id)) // OpenAI's models differ in the API that they are best spoken to in
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
	if s, known := serviceOf(name); known {
		key, _ := m.env.Lookup(s.keyEnv)
		base, _ := m.env.Lookup(s.baseEnv)
		if strings.TrimSpace(key) == "" && !(s.openAI && base != "") {
			return nil, m.unconfigured(name+"/"+id, s.title, s.keyEnv)
		}
		return s.open(m, id, base, key)
	}
	if workflow.Follows(name + "/" + id) {
		return workflow.Provider{}, nil
	}
	if name == "script" {
		data, err := disk.Read(id, disk.Most)
		if err != nil {
			return nil, &troupe.UserError{Problem: "the script cannot be read: " + err.Error(),
				Code: troupe.ExitUsage, Err: err,
				Hint: "--model script:FILE plays the script in FILE; `troupe docs script-model` says how to write one."}
		}
		s, err := script.New(id, data)
		if err != nil && len(m.env.Folders) > 0 { // who asks need not be who may read it
			return nil, &troupe.UserError{Problem: id + " cannot be read as a script", Code: troupe.ExitUsage,
				Hint: "On the server's machine `troupe -p --model script:FILE` says what is wrong with it."}
		}
		return s, err
	}
	if s, ok := m.settings.Providers[name]; ok && s.BaseURL != "" {
		key := ""
		if s.KeyEnv != "" {
			if key, _ = m.env.Lookup(s.KeyEnv); strings.TrimSpace(key) == "" {
				return nil, &troupe.UserError{
					Problem: fmt.Sprintf("the provider %s needs a key, and %s is not set", name, s.KeyEnv),
					Hint:    "export " + s.KeyEnv + "=...", Code: troupe.ExitUsage,
				}
			}
		}
		return m.compatible(name, id, s.BaseURL, key)
	}
	known := append(serviceNames(), slices.Sorted(maps.Keys(m.settings.Providers))...)
	return nil, &troupe.UserError{
		Problem: fmt.Sprintf("there is no model provider %q", name),
		Hint: fmt.Sprintf("Known are %s and script (--model script:FILE). Another server is named in the "+
			"settings: \"providers\": {%q: {\"base_url\": \"http://…/v1\"}}.", strings.Join(known, ", "), name),
		Code: troupe.ExitUsage,
	}
}

// openOpenAI opens OpenAI's service, or what speaks its API at another address.
func (m *models) openOpenAI(id, base, key string) (model.Provider, error) {
	return m.compatible("openai", id, base, key)
}

// api is the one of OpenAI's APIs that a model is spoken to in: the one that the settings name, else the one that
// suits it.
func (m *models) api(name, id string) openai.API {
	s := m.settings.Providers[name]
	if s.API != "" {
		return openai.API(s.API)
	}
	base := s.BaseURL
	if s, known := serviceOf(name); known {
		base, _ = m.env.Lookup(s.baseEnv)
	}
	return openai.APIFor(base, id)
}

func (m *models) compatible(name, id, base, key string) (model.Provider, error) {
	pool, err := m.certificates()
	if err != nil {
		return nil, err
	}
	return openai.New(openai.Options{Name: name, API: m.api(name, id), APIKey: key, BaseURL: base, RootCAs: pool,
		UserAgent: "troupe/" + m.env.Version, Now: m.env.Now}), nil
}

// certificates reads the authorities that the user trusts besides the system's; nil if none.
func (m *models) certificates() (*x509.CertPool, error) {
	file, ok := m.env.Lookup("TROUPE_CA_FILE")
	if !ok || file == "" {
		return nil, nil
	}
	pool, err := model.CertPool(file)
	if err != nil {
		return nil, &troupe.UserError{Problem: "TROUPE_CA_FILE: " + err.Error(),
			Hint: "Name a file of certificates in PEM form, or unset it.", Code: troupe.ExitUsage, Err: err}
	}
	return pool, nil
}

func (m *models) openAnthropic(_, base, key string) (model.Provider, error) {
	pool, err := m.certificates()
	if err != nil {
		return nil, err
	}
	return anthropic.New(anthropic.Options{APIKey: key, BaseURL: base, RootCAs: pool,
		UserAgent: "troupe/" + m.env.Version, Now: m.env.Now}), nil
}

// unconfigured says what a model lacks: a key of its own provider's, if others are configured.
func (m *models) unconfigured(full, provider, key string) error {
	others := m.askable()
	switch {
	case len(m.env.Folders) > 0: // who asks has another environment, where a key counts for nothing
		return &troupe.UserError{Code: troupe.ExitUsage,
			Problem: fmt.Sprintf("the server has no key for %s's models, which %s needs", provider, full),
			Hint: "Who runs the server sets " + key + " where `troupe serve` or `troupe worker` begins. `troupe " +
				"models` " +
				"lists what it has."}
	case len(others) == 0:
		return noProvider()
	}
	return &troupe.UserError{
		Problem: fmt.Sprintf("%s needs a key for %s's models, and %s is not set.", full, provider, key),
		Hint: fmt.Sprintf("export %s=...\nOr choose a model of what is configured (%s is configured); "+
			"`troupe models` lists them.", key, strings.Join(others, ", ")),
		Code: troupe.ExitUsage,
	}
}

// HostWarnings lists what is odd in the settings of a process that hosts sessions, and whether it lacks the key of the
// model that they have where none is named.
func HostWarnings(a *App) []string {
	full, err := a.models.Default("", a.settings.Model, a.env.Folders[0])
	if err == nil {
		_, _, err = a.models.Provider(full)
	}
	if err == nil {
		return a.warnings
	}
	problem, _, _ := strings.Cut(err.Error(), "\n")
	return append(slices.Clip(a.warnings), "a session that names no model cannot begin: "+problem)
}

func noProvider() error {
	return &troupe.UserError{
		Problem: "No model provider found.",
		Hint: `Give Troupe one of these:
  export ANTHROPIC_API_KEY=...        a key for Anthropic's models
  export ANTHROPIC_BASE_URL=...       besides the key: a gateway that speaks the same API
  export OPENAI_API_KEY=...           a key for OpenAI's models
  export OPENAI_BASE_URL=...          any server that speaks that API (Ollama, vLLM, llama.cpp); no key needed
  troupe -p --model script:FILE "..." replies from a file, no key (see: troupe docs script-model)
  troupe demo                         see a whole run first, offline`,
		Code: troupe.ExitUsage,
	}
}

// info looks a model up. A script brings its own.
func (m *models) info(full string) (model.Info, bool) {
	if m.player != nil {
		return m.player.Info(full)
	}
	if workflow.Follows(full) {
		return model.Info{Priced: true}, true // it costs nothing, and no conversation is too long for it
	}
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
	i, ok := c.Lookup(full)
	if name, _, _ := strings.Cut(full, "/"); !ok && m.settings.Providers[name].Window > 0 {
		return model.Info{Window: m.settings.Providers[name].Window}, true
	}
	return i, ok
}

// listed reports whether the table of models, ours or the user's, says what is known of a model.
func (m *models) listed(full string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, err := m.load()
	if err != nil {
		return false
	}
	_, ok := c.Lookup(full)
	return ok
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

// Effort implements session.Models. A script, which stands for any model, is asked for whatever is wished.
func (m *models) Effort(full string, wished troupe.Effort) troupe.Effort {
	if strings.HasPrefix(full, "script/") {
		return wished
	}
	i, _ := m.info(full)
	return wished.Among(i.Efforts)
}

// lessEffort says that a model is not asked for the effort that was wished; "": it is.
func (m *models) lessEffort(full string, wished troupe.Effort) string {
	switch asked := m.Effort(full, wished); asked {
	case wished:
		return ""
	case "":
		return fmt.Sprintf("%s is not known to take an effort, so it is not asked for %s (\"efforts\" in %s says "+
			"which it takes)", full, wished, m.file)
	default:
		return fmt.Sprintf("%s does not take the effort %s, so it is asked for %s", full, wished, asked)
	}
}

// MaxOutput implements session.Models.
func (m *models) MaxOutput(full string) int {
	if i, ok := m.info(full); ok && i.MaxOutput > 0 {
		return i.MaxOutput
	}
	return defaultMaxOutput
}
