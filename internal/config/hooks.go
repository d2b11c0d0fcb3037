package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// HookSettings are what a file says about hooks.
type HookSettings struct {
	Raw json.RawMessage // the value of "hooks", as written
	// Line is the value of "statusLine". Its command runs as a hook's does, and is read and shown as one.
	Line json.RawMessage
	// Disable turns off the hooks of this file and of those that anybody with less of a say wrote.
	Disable bool
	// ManagedOnly, in a managed file: hooks of all other sources count for nothing.
	ManagedOnly bool
	// URLs are patterns of the addresses to which hooks of type http may go; nil: the file says nothing of that.
	URLs []string
}

// addresses reads the list. What cannot be read of it is a list all the same: it names no address.
func (h *HookSettings) addresses(p *parser, n node) {
	h.URLs = []string{}
	p.strings(n, &h.URLs)
}

// hooks keeps what is written: package hook reads it, so that one hook that is wrong does not take the others with it.
func (p *parser) hooks(n node, to *json.RawMessage) {
	if err := json.NewDecoder(bytes.NewReader(p.data[n.at:])).Decode(to); err != nil {
		p.fail(n.at, quote(p.key)+" cannot be read: "+err.Error())
	}
}

// HookSource is a file with hooks.
type HookSource struct {
	Source
	Raw json.RawMessage
	Off string // why they do not count; "": they do
	// Untrusted: it is because the folder is not trusted as it is.
	Untrusted bool
}

// Hooks are the files with hooks, the weakest first. What a project turns off is its own: an administrator's hooks and
// the user's guard against it.
func (a All) Hooks(trusted bool) []HookSource {
	return a.hookSources(trusted, func(h *HookSettings) json.RawMessage { return h.Raw })
}

// StatusLines are the files with a status line, the weakest first. The last one that counts is shown.
func (a All) StatusLines(trusted bool) []HookSource {
	return a.hookSources(trusted, func(h *HookSettings) json.RawMessage { return h.Line })
}

func (a All) hookSources(trusted bool, value func(*HookSettings) json.RawMessage) (out []HookSource) {
	for i := range a.layers {
		l := &a.layers[i]
		raw := value(&l.settings.Hooks)
		if len(raw) == 0 {
			continue
		}
		h := HookSource{Source: l.Source, Raw: raw, Off: a.HooksOff(l.Scope)}
		if h.Off == "" && !l.counts(trusted) {
			h.Off, h.Untrusted = "the folder is not trusted", true
		}
		out = append(out, h)
	}
	return out
}

// HooksOff says why hooks of a scope do not run whatever they are; "" if they may.
func (a All) HooksOff(scope Scope) string {
	managedOnly, off := false, ""
	strongest := ScopeLocal + 1
	for i := range a.layers {
		l := &a.layers[i]
		managedOnly = managedOnly || l.Scope == ScopeManaged && l.settings.Hooks.ManagedOnly
		if l.settings.Hooks.Disable && !l.Broken && l.Scope < strongest {
			strongest, off = l.Scope, l.Path
		}
	}
	switch {
	case scope >= min(strongest, ScopeProject) && off != "":
		return "disableAllHooks in " + off
	case managedOnly && scope != ScopeManaged:
		return "an administrator lets only managed hooks run (allowManagedHooksOnly)"
	}
	return ""
}

// HookAway says why a hook of a scope may not go to an address; "" if it may. Whoever has more of a say binds those
// with less: each scope with a list has to name the address, down to the hook's own.
func (a All) HookAway(scope Scope, address string) string {
	for s := ScopeManaged; s <= scope; s++ {
		var files []string
		named := false
		for i := range a.layers {
			if l := &a.layers[i]; l.Scope == s && l.settings.Hooks.URLs != nil {
				files = append(files, l.Path)
				named = named || slices.ContainsFunc(l.settings.Hooks.URLs, func(pattern string) bool {
					return namesAddress(pattern, address)
				})
			}
		}
		if len(files) > 0 && !named {
			return "allowedHttpHookUrls in " + strings.Join(files, ", ") + " does not name its address"
		}
	}
	return ""
}

// namesAddress compares an address with a pattern in which a star is any text. Scheme, host and the rest are compared
// each by itself, so that no path can pass for a host; in a host only a star at its beginning goes past a dot.
func namesAddress(pattern, address string) bool {
	if pattern = strings.TrimSpace(pattern); pattern == "*" {
		return true
	}
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	scheme, rest, ok := strings.Cut(pattern, "://")
	if !ok {
		return false
	}
	host, path, deep := strings.Cut(rest, "/")
	switch {
	case deep:
		path = "/" + path
	case strings.HasSuffix(host, "*"):
		path = "/*"
	default:
		path = "/"
	}
	above := ""
	if strings.HasPrefix(host, "*") {
		host, above = host[1:], "[^/]*"
	}
	there := cmp.Or(u.EscapedPath(), "/")
	if u.RawQuery != "" {
		there += "?" + u.RawQuery
	}
	pattern = "^" + expand(strings.ToLower(scheme), "[a-z]*") + "://" + above +
		expand(strings.ToLower(host), "[^./]*") +
		expand(path, ".*") + "$"
	re, err := regexp.Compile(pattern)
	return err == nil && re.MatchString(u.Scheme+"://"+strings.ToLower(u.Host)+there)
}

// expand is a regular expression for a text in which a star is what sense says.
func expand(text, sense string) string {
	return strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, sense)
}
