package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestNamesAddress: a star is any text, and yet no path passes for a host and no host for another one.
func TestNamesAddress(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, address string
		want             bool
	}{
		{"https://hooks.example.com/*", "https://hooks.example.com/a/b?c=d", true},
		{"https://hooks.example.com/*", "HTTPS://Hooks.Example.com/", true},
		{"https://hooks.example.com/*", "https://hooks.example.com", true},
		{"https://hooks.example.com/*", "http://hooks.example.com/", false},
		{"https://hooks.example.com/*", "https://hooks.example.com.evil.example/x", false},
		{"https://hooks.example.com/*", "https://hooks.example.com@evil.example/x", false},
		{"https://hooks.example.com/*", "https://evil.example/?https://hooks.example.com/", false},
		{"https://hooks.example.com", "https://hooks.example.com/", true},
		{"https://hooks.example.com", "https://hooks.example.com/x", false},
		{"https://hooks.example.com*", "https://hooks.example.com/x", true},
		{"https://hooks.example.com*", "https://hooks.example.com.evil.example/", false},
		{"https://*.example.com/*", "https://a.b.example.com/x", true},
		{"https://*.example.com/*", "https://evil.example/x.example.com/", false},
		{"https://*.example.com/*", "https://evil.example?x.example.com/", false},
		{"http://localhost:*", "http://localhost:9876/hook", true},
		{"http://localhost:*/hook", "http://localhost:9876/other", false},
		{"http://127.0.0.1:7777/*", "http://127.0.0.1:7777/x", true},
		{"*://a.example/x", "http://a.example/x", true},
		{"*", "http://a.example/x", true}, {"", "http://a.example/x", false}, {"a.example", "http://a.example", false},
	} {
		if got := namesAddress(tt.pattern, tt.address); got != tt.want {
			t.Errorf("%q of %q: %v", tt.pattern, tt.address, got)
		}
	}
}

// TestHookAway: each scope that has a list has to name an address, down to the hook's own; a project's binds no hook
// of the user's, and adds nothing.
func TestHookAway(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	away := func(scope Scope, address string) string { return h.read().HookAway(scope, address) }
	if why := away(ScopeProject, "https://b.example/"); why != "" {
		t.Errorf("without a list: %s", why)
	}
	h.write(filepath.Join(h.home, ".claude/settings.json"), `{"allowedHttpHookUrls": ["https://a.example/*"]}`)
	h.project(".claude/settings.json", `{"allowedHttpHookUrls": ["https://b.example/*", "https://a.example/x"]}`)
	for _, tt := range []struct {
		scope   Scope
		address string
		ok      bool
	}{
		{ScopeManaged, "https://b.example/", true}, {ScopeUser, "https://b.example/", false},
		{ScopeUser, "https://a.example/", true}, {ScopeProject, "https://a.example/x", true},
		{ScopeProject, "https://a.example/y", false}, {ScopeProject, "https://b.example/", false},
	} {
		if why := away(tt.scope, tt.address); (why == "") != tt.ok {
			t.Errorf("%s, %s: %q", tt.scope, tt.address, why)
		} else if !tt.ok && !strings.Contains(why, filepath.Join(".claude", "settings.json")) {
			t.Errorf("%s, %s does not say where: %q", tt.scope, tt.address, why)
		}
	}
	h.write(filepath.Join(h.home, ".claude/settings.json"), `{"allowedHttpHookUrls": []}`)
	if why := away(ScopeUser, "https://a.example/"); why == "" {
		t.Error("an empty list names an address")
	}
}
