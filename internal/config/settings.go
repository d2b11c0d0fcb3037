package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/troupe-dev/troupe"
)

// Settings are the user's own. A project's settings are not read.
type Settings struct {
	Path        string // the file; "" if there was none
	Model       string // alias or full name; "" leaves the choice to Troupe
	Fallback    string // the model to go on with when the chosen one is not to be had; "" is none
	Permissions Permissions
	Agents      Agents
	// Providers are model servers by the name that stands before the slash in a model's.
	Providers map[string]Provider
}

// Provider is one model server.
type Provider struct {
	// BaseURL is where it speaks OpenAI's API; "" for the providers that are built in.
	BaseURL string
	// KeyEnv names the environment variable with its key; "" if it needs none.
	KeyEnv string
	// Window is how many tokens its models take if nothing else is known of them.
	Window int
	// MaxRequests is how many calls may be under way at once; 0: as many as it allows.
	MaxRequests int
}

// Permissions are the "permissions" part.
type Permissions struct {
	DefaultMode troupe.Mode
	Allow       []string
	Deny        []string
	Ask         []string
	// AskSeconds is how long a request waits for somebody's answer where somebody is there.
	AskSeconds int64
}

// Agents are the "agents" part: what bounds a tree.
type Agents struct {
	MaxDepth   int
	MaxActive  int
	MaxTotal   int
	MaxTokens  int64
	MaxCostUSD float64
	// Each bounds every sub-agent: tokens and money over its life, seconds for each run.
	EachTokens  int64
	EachCostUSD float64
	EachSeconds int64
	// MaxSeconds bounds each run of a main agent, by the clock; 0: no limit.
	MaxSeconds int64
	// BackgroundSeconds is how long an agent waits for one that it started before that goes
	// on in the background; 0: for ever.
	BackgroundSeconds int64
	// AskAboveUSD is the expected cost above which starting several agents at once is asked
	// about; 0: never.
	AskAboveUSD float64
}

// Defaults are the settings of a user who has written none.
func Defaults() Settings {
	return Settings{
		// A day: long enough for a night and a train, and no wait is for ever.
		Permissions: Permissions{DefaultMode: troupe.ModeDefault, AskSeconds: 86_400},
		Agents: Agents{
			// One level: the agent one talks to has helpers, and helpers have none. Who
			// wants more should mean it, for trees grow with the power of their depth.
			MaxDepth: 1,
			// As many at once as providers let one key ask and a small machine can run
			// commands for. More are not refused; they wait.
			MaxActive: 16,
			// More than honest work has been seen to need, and few enough that a model
			// which starts agents in a loop is stopped within minutes.
			MaxTotal: 200,
			// Tokens and money have no limit until the user sets one: any number here
			// would be wrong for most.
			//
			// Two minutes, as in the tools this one learned from: what takes longer need not
			// keep its parent from other work.
			BackgroundSeconds: 120,
		},
	}
}

// Caps are the agents' settings as the tree's caps.
func (s Settings) Caps() troupe.Caps {
	a := s.Agents
	return troupe.Caps{
		MaxDepth: a.MaxDepth, MaxActive: a.MaxActive, MaxTotal: a.MaxTotal,
		MaxTokens: a.MaxTokens, MaxCost: troupe.Dollars(a.MaxCostUSD), AskAbove: troupe.Dollars(a.AskAboveUSD),
	}
}

// Limits bound each sub-agent, besides its turns.
func (a Agents) Limits() troupe.Limits {
	return troupe.Limits{MaxTokens: a.EachTokens, MaxCost: troupe.Dollars(a.EachCostUSD), MaxTime: time.Duration(a.EachSeconds) * time.Second}
}

// Rules are the permission rules as written, with the file as their source.
func (s Settings) Rules() []troupe.Rule {
	var out []troupe.Rule
	for _, list := range []struct {
		effect troupe.Effect
		texts  []string
	}{{troupe.Deny, s.Permissions.Deny}, {troupe.Ask, s.Permissions.Ask}, {troupe.Allow, s.Permissions.Allow}} {
		for _, text := range list.texts {
			out = append(out, troupe.Rule{Effect: list.effect, Text: text, Source: s.Path})
		}
	}
	return out
}

// maxSettings is far more than anybody writes by hand.
const maxSettings = 1 << 20

// Load reads a settings file; one that does not exist gives the defaults. Warnings are for
// people and name keys that mean nothing here. An error (a *troupe.UserError) means that
// the file cannot be followed as written: nothing should run then, for what it says about
// permissions would be lost.
func Load(path string) (s Settings, warnings []string, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Defaults(), nil, nil
	}
	if err != nil {
		return Settings{}, nil, unreadable(path, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return Settings{}, nil, unreadable(path, err)
	}
	return Parse(path, data)
}

func unreadable(path string, err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return &troupe.UserError{
			Problem: filepath.Dir(path) + " is to be a folder of Troupe's, and it, or something above it, is a file",
			Hint:    "set TROUPE_HOME (or XDG_CONFIG_HOME) to a folder, or move the file away", Code: 2, Err: err,
		}
	}
	return &troupe.UserError{
		Problem: "the settings cannot be read: " + err.Error(),
		Hint:    "make " + path + " a file you can read, or take it away to go on with the defaults", Code: 2, Err: err,
	}
}

// Parse reads the contents of a settings file; path is for messages.
func Parse(path string, data []byte) (s Settings, warnings []string, err error) {
	p := parser{path: path, data: data}
	root, err := p.parse()
	if err != nil {
		return Settings{}, nil, err
	}
	s = Defaults()
	s.Path = path
	p.object(root, "", map[string]func(node){
		"model":          func(n node) { p.str(n, &s.Model) },
		"fallback_model": func(n node) { p.str(n, &s.Fallback) },
		"providers":      func(n node) { p.providers(n, &s) },
		"permissions": func(n node) {
			p.object(n, "permissions.", map[string]func(node){
				"defaultMode": func(n node) { p.mode(n, &s.Permissions.DefaultMode) },
				"allow":       func(n node) { p.strings(n, &s.Permissions.Allow) },
				"deny":        func(n node) { p.strings(n, &s.Permissions.Deny) },
				"ask":         func(n node) { p.strings(n, &s.Permissions.Ask) },
				"ask_seconds": func(n node) { p.integer(n, &s.Permissions.AskSeconds, maxSeconds) },
			})
		},
		"agents": func(n node) {
			a := &s.Agents
			p.object(n, "agents.", map[string]func(node){
				"max_depth":          func(n node) { p.count(n, &a.MaxDepth) },
				"max_active":         func(n node) { p.count(n, &a.MaxActive) },
				"max_total":          func(n node) { p.count(n, &a.MaxTotal) },
				"max_tokens":         func(n node) { p.integer(n, &a.MaxTokens, math.MaxInt64) },
				"max_cost_usd":       func(n node) { p.dollars(n, &a.MaxCostUSD) },
				"each_max_tokens":    func(n node) { p.integer(n, &a.EachTokens, math.MaxInt64) },
				"each_max_cost_usd":  func(n node) { p.dollars(n, &a.EachCostUSD) },
				"each_max_seconds":   func(n node) { p.integer(n, &a.EachSeconds, maxSeconds) },
				"max_seconds":        func(n node) { p.integer(n, &a.MaxSeconds, maxSeconds) },
				"background_seconds": func(n node) { p.integer(n, &a.BackgroundSeconds, maxSeconds) },
				"ask_above_usd":      func(n node) { p.dollars(n, &a.AskAboveUSD) },
			})
		},
	})
	if p.err != nil {
		return Settings{}, nil, p.err
	}
	return s, p.warnings, nil
}

// maxSeconds is a month: what is to wait for longer is forgotten.
const maxSeconds = 31 * 86_400

func (p *parser) providers(n node, s *Settings) {
	if !p.want(n, kindObject, "an object in braces") {
		return
	}
	s.Providers = make(map[string]Provider, len(n.members))
	for _, m := range n.members {
		if m.key == "" || strings.ContainsAny(m.key, "/ ") || s.Providers[m.key] != (Provider{}) {
			p.fail(m.at, quote(m.key)+" cannot be the name of a provider: a name is one word without a slash, and stands here once")
			return
		}
		var v Provider
		p.object(m.value, "providers."+m.key+".", map[string]func(node){
			"base_url":     func(n node) { p.str(n, &v.BaseURL) },
			"key_env":      func(n node) { p.str(n, &v.KeyEnv) },
			"window":       func(n node) { p.count(n, &v.Window) },
			"max_requests": func(n node) { p.count(n, &v.MaxRequests) },
		})
		s.Providers[m.key] = v
	}
}

// object hands each member to the reader of its key.
func (p *parser) object(n node, prefix string, readers map[string]func(node)) {
	if !p.want(n, kindObject, "an object in braces") {
		return
	}
	seen := make(map[string]bool, len(n.members))
	for _, m := range n.members {
		read, known := readers[m.key]
		switch {
		case seen[m.key]:
			p.fail(m.at, fmt.Sprintf("%s stands here twice; only one of them could count", quote(prefix+m.key)))
		case known:
			p.key = prefix + m.key
			read(m.value)
		case m.key != "$schema":
			p.warnings = append(p.warnings, p.at(m.at)+": "+quote(prefix+m.key)+" is not a setting"+suggest(m.key, readers))
		}
		seen[m.key] = true
	}
}

func (p *parser) str(n node, to *string) {
	if p.want(n, kindString, "a text in quotes") {
		*to = n.text
	}
}

func (p *parser) strings(n node, to *[]string) {
	if !p.want(n, kindArray, "a list of texts in brackets") {
		return
	}
	*to = make([]string, len(n.items))
	for i, item := range n.items {
		p.str(item, &(*to)[i])
	}
}

func (p *parser) mode(n node, to *troupe.Mode) {
	if !p.want(n, kindString, "a mode in quotes") {
		return
	}
	*to = troupe.Mode(n.text)
	if !slices.Contains(troupe.Modes(), *to) {
		var names []string
		for _, m := range troupe.Modes() {
			names = append(names, string(m))
		}
		p.fail(n.at, fmt.Sprintf("%s is %s, but the modes are %s", quote(p.key), quote(n.text), strings.Join(names, ", ")))
	}
}

func (p *parser) count(n node, to *int) {
	var v int64
	p.integer(n, &v, math.MaxInt32)
	*to = int(v)
}

func (p *parser) integer(n node, to *int64, most int64) {
	if !p.want(n, kindNumber, "a whole number") {
		return
	}
	v, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil || v < 0 || v > most {
		p.fail(n.at, fmt.Sprintf("%s is %s, but must be a whole number from 0 to %d", quote(p.key), n.text, most))
		return
	}
	*to = v
}

func (p *parser) dollars(n node, to *float64) {
	if !p.want(n, kindNumber, "an amount in dollars") {
		return
	}
	const most = 1_000_000_000
	v, err := strconv.ParseFloat(n.text, 64)
	if err != nil || v < 0 || v > most {
		p.fail(n.at, fmt.Sprintf("%s is %s, but must be an amount in dollars from 0 to %d", quote(p.key), n.text, most))
		return
	}
	*to = v
}
