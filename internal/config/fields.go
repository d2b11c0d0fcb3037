package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/troupe-dev/troupe"
)

// Parse reads the contents of a settings file; path is for messages.
func Parse(path string, data []byte) (s Settings, warnings []string, err error) {
	p := parser{path: path, data: data}
	root, err := p.parse()
	if err != nil {
		return Settings{}, nil, err
	}
	s = p.ours(root)
	if p.err != nil {
		return Settings{}, nil, p.err
	}
	for _, w := range p.warnings {
		warnings = append(warnings, w.Text)
	}
	return s, warnings, nil
}

// ours reads a file in our own dialect.
func (p *parser) ours(root node) Settings {
	s := defaults()
	s.Path = p.path
	p.object(root, "", map[string]func(node){
		"model":          func(n node) { p.str(n, &s.Model) },
		"effort":         func(n node) { effortOf(p, n, &s.Effort) },
		"fallback_model": func(n node) { p.str(n, &s.Fallback) },
		"outputStyle":    func(n node) { p.str(n, &s.Style) },
		"retry_seconds":  func(n node) { p.integer(n, &s.RetrySeconds, maxSeconds) },
		"providers":      func(n node) { p.providers(n, &s) },
		"permissions":    func(n node) { p.permissions(n, &s.Permissions) },
		"sandbox":        func(n node) { p.sandbox(n, &s.Sandbox) },
		"hooks":          func(n node) { p.hooks(n, &s.Hooks.Raw) },
		"statusLine":     func(n node) { p.hooks(n, &s.Hooks.Line) },

		"disableAllHooks":       func(n node) { p.boolean(n, &s.Hooks.Disable) },
		"allowManagedHooksOnly": func(n node) { p.boolean(n, &s.Hooks.ManagedOnly) },
		"allowedHttpHookUrls":   func(n node) { s.Hooks.addresses(p, n) },

		"mcpServers":             func(n node) { p.servers(n, &s.MCP) },
		"disabledMcpjsonServers": func(n node) { p.strings(n, &s.MCP.Disabled) },
		"deniedMcpServers":       func(n node) { p.serverNames(n, &s.MCP.Denied) },

		"worktree": func(n node) { worktreeOf(p, n, &s.Worktree) },
		"teams":    func(n node) { teamsOf(p, n, &s.Teams) },

		"teammate_mode": func(n node) { teammatesOf(p, n, &s.Teammates) },
		"fetch": func(n node) {
			p.object(n, "fetch.", map[string]func(node){
				"local_hosts": func(n node) { p.localHosts(n, &s.LocalHosts) },
			})
		},
		"notify": func(n node) {
			p.object(n, "notify.", map[string]func(node){
				"local_hosts": func(n node) { p.localHosts(n, &s.Home.NotifyHosts) },
			})
		},
		"handoff": func(n node) {
			p.object(n, "handoff.", map[string]func(node){
				"model": func(n node) { p.str(n, &s.HandoffModel) },
			})
		},
		"sessions": func(n node) {
			p.object(n, "sessions.", map[string]func(node){
				"keep_days": func(n node) { p.count(n, &s.Home.KeepDays) },
			})
		},
		"search": func(n node) {
			p.object(n, "search.", map[string]func(node){
				"url":     func(n node) { p.searchURL(n, &s.Search.URL) },
				"key_env": func(n node) { p.name(n, &s.Search.KeyEnv) },
				"header":  func(n node) { p.header(n, &s.Search.Header) },
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
				"max_turns":          func(n node) { p.integer(n, &a.MaxTurns, math.MaxInt64) },
				"each_max_turns":     func(n node) { p.count(n, &a.EachTurns) },
				"each_max_tokens":    func(n node) { p.integer(n, &a.EachTokens, math.MaxInt64) },
				"each_max_cost_usd":  func(n node) { p.dollars(n, &a.EachCostUSD) },
				"each_max_seconds":   func(n node) { p.integer(n, &a.EachSeconds, maxSeconds) },
				"max_seconds":        func(n node) { p.integer(n, &a.MaxSeconds, maxSeconds) },
				"background_seconds": func(n node) { p.integer(n, &a.BackgroundSeconds, maxSeconds) },
				"ask_above_usd":      func(n node) { p.dollars(n, &a.AskAboveUSD) },
				"wait_above_usd":     func(n node) { p.dollars(n, &a.WaitAboveUSD) },
				"max_messages":       func(n node) { p.count(n, &a.MaxMessages) },
				"fork":               func(n node) { p.boolean(n, &a.Fork) },
			})
		},
	})
	return s
}

func worktreeOf(p *parser, n node, to *Worktree) {
	p.object(n, "worktree.", map[string]func(node){
		"symlinkDirectories": func(n node) {
			to.Link = []string{}
			p.strings(n, &to.Link)
		},
	})
}

func (p *parser) permissions(n node, to *Permissions) {
	p.object(n, "permissions.", map[string]func(node){
		"defaultMode":                  func(n node) { p.mode(n, &to.DefaultMode) },
		"allow":                        func(n node) { p.strings(n, &to.Allow) },
		"deny":                         func(n node) { p.strings(n, &to.Deny) },
		"ask":                          func(n node) { p.strings(n, &to.Ask) },
		"auto_model":                   func(n node) { p.str(n, &to.AutoModel) },
		"ask_seconds":                  func(n node) { p.integer(n, &to.AskSeconds, maxSeconds) },
		"additionalDirectories":        func(n node) { p.paths(n, &to.Directories) },
		"disableBypassPermissionsMode": func(n node) { p.noBypass(n, &to.NoBypass) },
		"managed_rules_only":           func(n node) { p.boolean(n, &to.ManagedOnly) },
	})
}

// noBypass reads a switch that others write as "disable". Whatever else stands there, somebody
// meant to turn that mode off.
func (p *parser) noBypass(n node, to *bool) {
	switch {
	case n.kind == kindBool:
		*to = n.text == "true"
	case n.kind == kindString && n.text == "disable":
		*to = true
	default:
		*to = true
		p.warn(n.at, p.key, quote(p.key)+` is read as "disable", the only value it has`)
	}
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
			p.fail(m.at, quote(m.key)+" cannot be the name of a provider: a name is one word without a slash, and "+
				"stands here once")
			return
		}
		var v Provider
		p.object(m.value, "providers."+m.key+".", map[string]func(node){
			"base_url":     func(n node) { p.str(n, &v.BaseURL) },
			"api":          func(n node) { p.api(n, &v.API) },
			"key_env":      func(n node) { p.str(n, &v.KeyEnv) },
			"window":       func(n node) { p.count(n, &v.Window) },
			"max_requests": func(n node) { p.count(n, &v.MaxRequests) },
		})
		s.Providers[m.key] = v
	}
}

// api reads which of OpenAI's two APIs a server is spoken to in.
func (p *parser) api(n node, to *string) {
	p.str(n, to)
	if p.err == nil && *to != "chat" && *to != "responses" {
		p.fail(n.at, quote(p.key)+" is "+quote(*to)+`, but it can only be "chat" (Chat Completions) or "responses" `+
			"(the Responses API)")
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
		case seen[m.key] && (known || !p.foreign):
			p.fail(m.at, fmt.Sprintf("%s stands here twice; only one of them could count", quote(prefix+m.key)))
		case known:
			p.key = prefix + m.key
			p.saw(p.key, m.at)
			read(m.value)
		case p.foreign:
			p.others = append(p.others, prefix+m.key)
		case m.key != "$schema":
			p.warn(m.at, prefix+m.key, quote(prefix+m.key)+" is not a setting"+suggest(m.key, readers))
		}
		seen[m.key] = true
	}
}

func (p *parser) saw(key string, at int) {
	if p.seen == nil {
		p.seen = map[string]int{}
	}
	p.seen[key] = at
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
	mode, err := troupe.ParseMode(n.text)
	if err == nil {
		*to = mode
		return
	}
	problem := fmt.Sprintf("%s is %s, but the modes are %s", quote(p.key), quote(n.text), troupe.ModeNames(", "))
	if !p.lenient {
		p.fail(n.at, problem)
		return
	}
	*to = troupe.ModeDefault
	p.warn(n.at, p.key, problem+"; default counts")
}

func effortOf(p *parser, n node, to *troupe.Effort) {
	if !p.want(n, kindString, "an effort in quotes") {
		return
	}
	effort, err := troupe.ParseEffort(n.text)
	if err == nil {
		*to = effort
		return
	}
	problem := fmt.Sprintf("%s is %s, but the levels are %s", quote(p.key), quote(n.text), troupe.EffortNames())
	if !p.lenient {
		p.fail(n.at, problem)
		return
	}
	p.warn(n.at, p.key, problem+"; it is left out")
}

func (p *parser) boolean(n node, to *bool) {
	if p.want(n, kindBool, "true or false") {
		*to = n.text == "true"
	}
}

// paths reads a list of files or folders.
func (p *parser) paths(n node, to *[]string) {
	p.strings(n, to)
	for _, item := range n.items {
		if item.kind == kindString && (item.text == "" || strings.ContainsFunc(item.text, unicode.IsControl)) {
			p.fail(item.at, fmt.Sprintf("%s has the path %s, which cannot be one", quote(p.key), quote(item.text)))
		}
	}
}

// header reads the name of a header of HTTP.
func (p *parser) header(n node, to *string) {
	bad := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) }
	if p.str(n, to); n.kind == kindString && (n.text == "" || strings.ContainsFunc(n.text, bad)) {
		p.fail(n.at, fmt.Sprintf("%s is %s, which cannot be the name of a header", quote(p.key), quote(n.text)))
	}
}

// name reads the name of an environment variable.
func (p *parser) name(n node, to *string) {
	if p.str(n, to); n.kind == kindString && n.text != "" && !variable(n.text) {
		p.fail(n.at, fmt.Sprintf("%s is %s, which cannot be the name of an environment variable", quote(p.key),
			quote(n.text)))
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
	if err == nil && v > 0 && troupe.Dollars(v) == 0 {
		p.fail(n.at, fmt.Sprintf("%s is %s, which is less than a billionth of a dollar; 0 stands for no limit",
			quote(p.key), n.text))
		return
	}
	if err != nil || !(v >= 0 && v <= most) {
		p.fail(n.at, fmt.Sprintf("%s is %s, but must be an amount in dollars from 0 to %d", quote(p.key), n.text, most))
		return
	}
	*to = v
}
