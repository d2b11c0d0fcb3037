package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// Settings are one file of ours, or what becomes of several (see All).
type Settings struct {
	Path     string        // the file; "" if there was none
	Model    string        // alias or full name; "" leaves the choice to Troupe
	Effort   troupe.Effort // of the main agent's model; "" leaves it to the model
	Fallback string        // the model to go on with when the chosen one is not to be had; "" is none
	// HandoffModel is the model that checks what agents hand to their parents; "": rules alone do.
	HandoffModel string
	Style        string // the output style of the main agent; "" is none
	Permissions  Permissions
	Agents       Agents
	// Providers are model servers by the name that stands before the slash in a model's.
	Providers map[string]Provider
	Sandbox   Sandbox
	Search    SearchSettings
	// RetrySeconds is how long a run that nobody watches goes on trying to reach its model; 0: without end.
	RetrySeconds int64
	Home         Home
	// LocalHosts are hosts on this machine or in its network that WebFetch may read.
	LocalHosts []string
	Hooks      HookSettings
	// MCP is what it says of MCP servers.
	MCP     MCP
	Plugins PluginSettings
	// Worktree is how folders are made for agents.
	Worktree Worktree
	// Teams are those that can be begun by their names.
	Teams map[string]Team
	// Teammates says where members of a team are shown; "" is auto.
	Teammates troupe.TeammateMode
}

// Home is what holds for a whole home.
type Home struct {
	// KeepDays is how long a session is kept in which nothing happens; 0: for ever.
	KeepDays int
	// NotifyHosts are hosts on this machine or in its network that a server may tell what happens.
	NotifyHosts []string
}

// Worktree says how a folder of an agent's own is made.
type Worktree struct {
	// Link are names of ignored folders that lead to the caller's in it. Others are left out.
	Link []string
}

// SearchSettings are the provider that web searches go to. Without a URL there are none.
type SearchSettings struct {
	// URL is where it answers, with {query} where the words go: https, or http on this machine.
	URL string
	// Header is what the key is sent in; "" is as a bearer token.
	Header string
	// KeyEnv names the environment variable with its key; "" if it needs none.
	KeyEnv string
}

// Provider is one model server.
type Provider struct {
	// BaseURL is where it speaks OpenAI's API; "" for the providers that are built in.
	BaseURL string
	// API is which of OpenAI's APIs it is spoken to in, "chat" or "responses"; "": the one that suits the model.
	API string
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
	// AutoModel is the model that judges in mode auto, as one is named; "": that mode cannot be entered.
	AutoModel string
	// Directories are folders that count as the session's own besides its own, as written.
	Directories []string
	// NoBypass: nobody may choose the mode that never asks.
	NoBypass bool
	// ManagedOnly, in a managed file: allow rules of all other sources count for nothing.
	ManagedOnly bool
}

// Agents are the "agents" part: what bounds a tree.
type Agents struct {
	MaxDepth   int
	MaxActive  int
	MaxTotal   int
	MaxTokens  int64
	MaxCostUSD float64
	MaxTurns   int64 // model replies of all agents together
	// Each bounds every sub-agent: tokens and money over its life, seconds and model replies for
	// each run.
	EachTurns   int
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
	// WaitAboveUSD is what an agent has to save by it to wait for another to fill the provider's cache with what both
	// begin with; 0: none waits.
	WaitAboveUSD float64
	// MaxMessages is how many messages two agents of a team may write to each other before either does anything; 0:
	// however many.
	MaxMessages int
	// Fork: a call that starts an agent and names no type starts a fork.
	Fork bool
}

// defaults are the settings of a user who has written none.
func defaults() Settings {
	return Settings{
		// What installers made, which every build reads and none should write.
		Worktree: Worktree{Link: []string{"node_modules", ".venv"}},
		// A day: long enough for a night and a train, and no wait is for ever.
		Permissions: Permissions{DefaultMode: troupe.ModeDefault, AskSeconds: 86_400},
		// Most outages of providers are over by then, and a job that waits for longer should fail where it
		// can be seen.
		RetrySeconds: 1800,
		Agents: Agents{
			// One level: the agent one talks to has helpers, and helpers have none. Who
			// wants more should mean it, for trees grow with the power of their depth.
			MaxDepth: 1,
			// MaxActive has no default: how many model calls a provider serves at once the
			// governor learns, and commands wait for processors.
			//
			// More than honest work has been seen to need, and few enough that a model
			// which starts agents in a loop is stopped within minutes.
			MaxTotal: 200,
			// Tokens and money have no limit until the user sets one: any number here
			// would be wrong for most.
			//
			// Two minutes, as in the tools this one learned from: what takes longer need not
			// keep its parent from other work.
			BackgroundSeconds: 120,
			// Some 6,000 tokens of a middling model: below that the second until another one's first byte is
			// worth more.
			WaitAboveUSD: 0.02,
			MaxMessages:  20,
		},
		Sandbox: defaultSandbox(),
	}
}

// Caps are the agents' settings as the tree's caps.
func (s Settings) Caps() troupe.Caps {
	a := s.Agents
	return troupe.Caps{
		MaxDepth: a.MaxDepth, MaxActive: a.MaxActive, MaxTotal: a.MaxTotal,
		MaxTokens: a.MaxTokens, MaxCost: troupe.Dollars(a.MaxCostUSD), AskAbove: troupe.Dollars(a.AskAboveUSD),
		MaxTurns: a.MaxTurns,
	}
}

// Limits bound each sub-agent, besides its turns.
func (a Agents) Limits() troupe.Limits {
	return troupe.Limits{MaxTokens: a.EachTokens, MaxCost: troupe.Dollars(a.EachCostUSD),
		MaxTime: time.Duration(a.EachSeconds) * time.Second}
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

// readFile reads a file of settings, or the beginning of one that is larger.
func readFile(path string) ([]byte, fs.FileInfo, error) {
	f, err := os.OpenFile(path, disk.Flags, 0)
	if err != nil {
		return nil, nil, err
	}
	return readOpen(f)
}

func readOpen(f *os.File) (data []byte, info fs.FileInfo, err error) {
	if data, info, err = disk.ReadFrom(f, maxSettings); errors.Is(err, disk.ErrTooLarge) {
		err = nil // the parser says so, and keeps what it forbids
	}
	return data, info, err
}

func unreadable(path string, err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return &troupe.UserError{
			Problem: filepath.Dir(path) + " is to be a folder of Troupe's, and it, or something above it, is a file",
			Hint:    "set TROUPE_HOME (or XDG_CONFIG_HOME) to a folder, or move the file away", Code: troupe.ExitUsage,
			Err: err,
		}
	}
	return &troupe.UserError{
		Problem: "the settings cannot be read: " + err.Error(),
		Hint:    "make " + path + " a file you can read, or take it away to go on with the defaults",
		Code:    troupe.ExitUsage, Err: err,
	}
}
