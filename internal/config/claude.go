package config

import (
	"slices"
	"strings"
)

// theirs reads a file of Claude Code's. It holds much that concerns that program alone, so a
// key that is not read here is no mistake; what is read is read as strictly as our own.
func (p *parser) theirs(root node) Settings {
	s := defaults()
	s.Path = p.path
	p.foreign, p.lenient = true, true
	var managedOnly, enabled bool
	var box foreignSandbox
	p.object(root, "", map[string]func(node){
		"permissions": func(n node) {
			t := &s.Permissions
			p.object(n, "permissions.", map[string]func(node){
				"defaultMode":                  func(n node) { p.mode(n, &t.DefaultMode) },
				"allow":                        func(n node) { p.strings(n, &t.Allow) },
				"deny":                         func(n node) { p.strings(n, &t.Deny) },
				"ask":                          func(n node) { p.strings(n, &t.Ask) },
				"additionalDirectories":        func(n node) { p.paths(n, &t.Directories) },
				"disableBypassPermissionsMode": func(n node) { p.noBypass(n, &t.NoBypass) },
			})
		},
		"worktree":                        func(n node) { worktreeOf(p, n, &s.Worktree) },
		"outputStyle":                     func(n node) { p.str(n, &s.Style) },
		"hooks":                           func(n node) { p.hooks(n, &s.Hooks.Raw) },
		"statusLine":                      func(n node) { p.hooks(n, &s.Hooks.Line) },
		"teammateMode":                    func(n node) { teammatesOf(p, n, &s.Teammates) },
		"disableAllHooks":                 func(n node) { p.boolean(n, &s.Hooks.Disable) },
		"allowManagedHooksOnly":           func(n node) { p.boolean(n, &s.Hooks.ManagedOnly) },
		"allowedHttpHookUrls":             func(n node) { s.Hooks.addresses(p, n) },
		"allowManagedPermissionRulesOnly": func(n node) { p.boolean(n, &managedOnly) },
		"mcpServers":                      func(n node) { p.servers(n, &s.MCP) },
		"disabledMcpjsonServers":          func(n node) { p.strings(n, &s.MCP.Disabled) },
		"enabledPlugins":                  func(n node) { p.plugins(n, &s.Plugins) },
		"extraKnownMarketplaces":          func(n node) { markets(p, n, &s.Plugins) },
		"deniedMcpServers":                func(n node) { p.serverNames(n, &s.MCP.Denied) },
		"allowedMcpServers": func(n node) {
			s.MCP.Allowed = []string{}
			p.serverNames(n, &s.MCP.Allowed)
		},
		"sandbox": func(n node) {
			p.object(n, "sandbox.", map[string]func(node){
				"enabled": func(n node) { p.boolean(n, &enabled) },
				"filesystem": func(n node) {
					p.object(n, "sandbox.filesystem.", map[string]func(node){
						"denyRead":   func(n node) { p.paths(n, &box.denyRead) },
						"denyWrite":  func(n node) { p.paths(n, &box.denyWrite) },
						"allowRead":  func(n node) { p.paths(n, &box.allowRead) },
						"allowWrite": func(n node) { p.paths(n, &box.write) },
					})
				},
				"network": func(n node) {
					p.object(n, "sandbox.network.", map[string]func(node){
						"allowedDomains":          func(n node) { p.domains(n, &box.allowed) },
						"deniedDomains":           func(n node) { box.unclear = p.domains(n, &box.denied) },
						"allowManagedDomainsOnly": func(n node) { p.boolean(n, &box.managed) },
					})
				},
			})
		},
	})
	s.Permissions.ManagedOnly = managedOnly
	box.into(&s.Sandbox, enabled)
	return s
}

// foreignSandbox is their "sandbox" part.
type foreignSandbox struct {
	denyRead, denyWrite, allowRead, write, allowed, denied []string
	managed, unclear                                       bool // unclear: a denied host could not be read
}

// into takes over what means something here. What they allow counts only where their sandbox
// is turned on, for it was written for that; what they deny counts always.
func (b foreignSandbox) into(to *Sandbox, enabled bool) {
	to.DenyRead, to.DenyWrite = theirPaths(b.denyRead, true), theirPaths(b.denyWrite, true)
	to.DeniedHosts, to.HostsManaged = b.denied, b.managed
	if enabled {
		to.Offline = b.unclear
		to.AllowRead, to.Write, to.AllowedHosts = theirPaths(b.allowRead, false), theirPaths(b.write, false), b.allowed
	}
}

// theirPaths writes their paths as ours. They have // for the root of the disk; a single slash
// has meant the root in some versions and the project in others, so what is denied is denied in
// both places, and what is allowed is the one that its text names.
func theirPaths(paths []string, deny bool) []string {
	var out []string
	for _, path := range paths {
		switch {
		case strings.HasPrefix(path, "//"):
			out = append(out, path[1:])
		case strings.HasPrefix(path, "/") && deny && path != "/":
			out = append(out, path, "."+path)
		default:
			out = append(out, path)
		}
	}
	return out
}

// domains reads a list of hosts. What is none here is left out, which for those that are denied
// is not enough: they may have meant anybody.
func (p *parser) domains(n node, to *[]string) (unclear bool) {
	p.strings(n, to)
	kept := (*to)[:0]
	for i, text := range *to {
		if host, problem := hostName(text); problem == "" {
			kept = append(kept, host)
		} else if p.err == nil {
			unclear = true
			p.warn(n.items[i].at, p.key, quote(p.key)+" has "+quote(text)+", which "+problem+
				"; it is left out, and if it was to be denied, all are")
		}
	}
	*to = kept
	return unclear
}

// leftOut notes what else stands in a file of theirs, in one line.
func (p *parser) leftOut(but func(key string) bool) {
	var keys []string
	for _, key := range p.others {
		if key != "$schema" && !but(key) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return
	}
	slices.Sort(keys)
	const most = 12
	text := p.path + ": not followed here: " + strings.Join(keys[:min(len(keys), most)], ", ")
	if len(keys) > most {
		text += ", …"
	}
	p.warnings = append(p.warnings, Warning{Path: p.path, Text: text, Note: true})
}

// dangerous are keys of theirs by which a repository would run something, send the user's key
// somewhere, or turn a question off. Nothing of Troupe's reads them; a person who opens the
// folder should know that they are there.
func dangerous(key string) bool {
	switch key {
	case "sandbox.failIfUnavailable":
		return false // these only forbid
	case "env", "apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "otelHeadersHelper",
		"fileSuggestion", "enableAllProjectMcpServers", "enabledMcpjsonServers", "forceLoginMethod",
		"forceLoginOrgUUID", "skipDangerousModePermissionPrompt",
		"permissions.skipDangerousModePermissionPrompt", "skipAutoPermissionPrompt", "allowedHttpHookUrls":
		return true
	}
	return strings.HasPrefix(key, "disable") || strings.HasPrefix(key, "sandbox.") ||
		strings.HasPrefix(key, "allowManaged")
}
