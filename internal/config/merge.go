package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// All is every setting that holds for a session, from all files. It does not change.
//
// What takes the word trusted has two answers: with what the project allows, and without. The
// second is never more open than it would be if the project had no settings.
type All struct {
	// Folders are those whose settings hold: from the root of the repository down to the
	// session's folder. The project's part counts if every one of them is trusted.
	Folders []string
	places  Places
	layers  []layer
}

// Sources are the files that were found, the weakest first.
func (a All) Sources() []Source {
	out := make([]Source, len(a.layers))
	for i := range a.layers {
		out[i] = a.layers[i].Source
	}
	return out
}

// Read are the project's files that can be followed, with the hash of what was read: what has to
// be trusted for them to count (see trust.Store.Look).
func (a All) Read() map[string]string {
	out := map[string]string{}
	for i := range a.layers {
		if l := &a.layers[i]; !l.Scope.trusted() && !l.Broken {
			out[l.Path] = l.Hash
		}
	}
	return out
}

// Source is the file that a rule came from; false if it came from none.
func (a All) Source(path string) (Source, bool) {
	for i := range a.layers {
		if a.layers[i].Path == path {
			return a.layers[i].Source, true
		}
	}
	return Source{}, false
}

// counts: what a layer allows counts.
func (l *layer) counts(trusted bool) bool { return !l.Broken && (trusted || l.Scope.trusted()) }

// Rules are the permission rules, each with its file as the source. What forbids or asks always
// counts, whoever wrote it.
func (a All) Rules(trusted bool) []troupe.Rule {
	managedOnly := false
	for i := range a.layers {
		managedOnly = managedOnly || a.layers[i].Scope == ScopeManaged && a.layers[i].settings.Permissions.ManagedOnly
	}
	var out []troupe.Rule
	for i := range a.layers {
		l := &a.layers[i]
		for _, rule := range l.settings.Rules() {
			if rule.Effect == troupe.Allow && (!l.counts(trusted) || managedOnly && l.Scope != ScopeManaged) {
				continue
			}
			out = append(out, rule)
		}
	}
	return out
}

// openness orders the modes from the closest to the most open: each does what those before it do. The
// gate gives them their meaning, and a test there holds them to this order.
func openness(m troupe.Mode) int {
	return slices.Index([]troupe.Mode{
		troupe.ModePlan, troupe.ModeDontAsk, troupe.ModeDefault, troupe.ModeAuto, troupe.ModeAcceptEdits,
		troupe.ModeBypass,
	}, m)
}

// Closer is the mode that does what both do: of any two the one that does less. Auto and acceptEdits each do what the
// other does not, and share what the default does.
func Closer(a, b troupe.Mode) troupe.Mode {
	if a == troupe.ModeAuto && b == troupe.ModeAcceptEdits || a == troupe.ModeAcceptEdits && b == troupe.ModeAuto {
		return troupe.ModeDefault
	}
	if openness(b) < openness(a) {
		return b
	}
	return a
}

// AtMost is a mode, or the most open one where it is more open than that.
func AtMost(m, most troupe.Mode) troupe.Mode {
	if openness(m) > openness(most) {
		return most
	}
	return m
}

// Most is the most open mode that may be chosen by anybody, flags included.
func (a All) Most() troupe.Mode {
	for i := range a.layers {
		if l := &a.layers[i]; l.settings.Permissions.NoBypass {
			return troupe.ModeAcceptEdits
		}
	}
	return troupe.ModeBypass
}

// Mode is the mode that settings choose. Without trust, a project can only make it closer; with
// it, it can choose any but the one that never asks and the one in which a model is asked first.
func (a All) Mode(trusted bool) troupe.Mode {
	mode, most := troupe.ModeDefault, a.Most()
	for i := range a.layers {
		l := &a.layers[i]
		if l.Broken {
			most = Closer(most, troupe.ModeDefault)
		}
		if !l.has("permissions.defaultMode") {
			continue
		}
		switch chosen := l.settings.Permissions.DefaultMode; {
		case l.Scope.trusted():
			mode = chosen
		case chosen == troupe.ModeBypass, chosen == troupe.ModeAuto: // a person is asked unless the user says otherwise
		case trusted:
			mode = chosen
		default:
			mode = Closer(mode, chosen)
		}
	}
	if openness(mode) > openness(most) && most == troupe.ModeAcceptEdits {
		return troupe.ModeDefault // who forbids one mode has not chosen the next
	}
	return AtMost(mode, most)
}

// Directories are the folders that count as the session's own besides its own: absolute,
// resolved, and there.
func (a All) Directories(trusted bool) []string {
	var out []string
	for i := range a.layers {
		l := &a.layers[i]
		if !l.counts(trusted) {
			continue
		}
		for _, text := range l.settings.Permissions.Directories {
			dir, err := filepath.EvalSymlinks(a.place(l, text))
			if err != nil || !filepath.IsAbs(dir) || slices.Contains(out, dir) || !l.Scope.trusted() && a.tooWide(dir) {
				continue
			}
			out = append(out, dir)
		}
	}
	return out
}

// tooWide: a folder that no project may open. It is the whole disk, the user's home, or holds it.
func (a All) tooWide(dir string) bool {
	home := a.places.Dirs.Home
	if dir == "/" || home != "" && troupe.Within(home, dir) {
		return true
	}
	resolved, err := filepath.EvalSymlinks(home)
	return err == nil && home != "" && troupe.Within(resolved, dir)
}

// place makes a path that stands in a file absolute; "" if it begins at a home that there is not.
func (a All) place(l *layer, text string) string {
	base := l.Folder
	if base == "" {
		base = a.places.Folder
	}
	switch {
	case text == "~" || strings.HasPrefix(text, "~/"):
		if a.places.Dirs.Home == "" {
			return ""
		}
		return filepath.Join(a.places.Dirs.Home, text[1:])
	case filepath.IsAbs(text):
		return filepath.Clean(text)
	default:
		return filepath.Join(base, text)
	}
}

// Settings are all the rest as one. A project can lower a limit, and once it is trusted choose
// the model. Permissions are those of the user's own file but for the mode; see Rules.
func (a All) Settings(trusted bool) Settings {
	out := defaults()
	all := bounds()
	for i := range a.layers {
		l := &a.layers[i]
		if l.Scope.trusted() {
			l.onto(&out, all)
		}
		if l.counts(trusted) {
			l.chooses(&out)
		}
		// Whoever names one, it is among the user's own and an administrator's that it is looked for.
		if l.has("outputStyle") && !l.Broken {
			out.Style = l.settings.Style
		}
		if l.has("worktree.symlinkDirectories") && !l.Broken { // links lead into the project alone, whoever names them
			out.Worktree = l.settings.Worktree
		}
	}
	// Last, for what bounds holds whatever stands elsewhere.
	for i := range a.layers {
		if l := &a.layers[i]; l.Scope != ScopeUser && !l.Broken {
			for _, b := range all {
				if l.has(b.key) {
					b.lower(&out, &l.settings)
				}
			}
		}
	}
	limits := out.Sandbox.Limits
	out.Sandbox = a.sandbox()
	out.Sandbox.Limits = limits
	out.Permissions.DefaultMode = a.Mode(trusted)
	return out
}

// onto lays what an administrator or the user wrote over what stands there.
func (l *layer) onto(out *Settings, all []bound) {
	for _, b := range all {
		if l.has(b.key) {
			b.take(out, &l.settings)
		}
	}
	if l.has("agents.background_seconds") {
		out.Agents.BackgroundSeconds = l.settings.Agents.BackgroundSeconds
	}
	if l.has("agents.wait_above_usd") {
		out.Agents.WaitAboveUSD = l.settings.Agents.WaitAboveUSD
	}
	if l.has("agents.max_messages") {
		out.Agents.MaxMessages = l.settings.Agents.MaxMessages
	}
	if l.has("agents.fork") {
		out.Agents.Fork = l.settings.Agents.Fork
	}
	if l.has("permissions.ask_seconds") {
		out.Permissions.AskSeconds = l.settings.Permissions.AskSeconds
	}
	if l.has("permissions.auto_model") {
		out.Permissions.AutoModel = l.settings.Permissions.AutoModel
	}
	if l.has("handoff.model") {
		out.HandoffModel = l.settings.HandoffModel
	}
	if l.has("teammate_mode") || l.has("teammateMode") {
		out.Teammates = l.settings.Teammates
	}
	if l.has("retry_seconds") {
		out.RetrySeconds = l.settings.RetrySeconds
	}
	if l.has("sessions.keep_days") {
		out.Home.KeepDays = l.settings.Home.KeepDays
	}
	if l.has("fetch.local_hosts") {
		out.LocalHosts = l.settings.LocalHosts
	}
	if l.has("notify.local_hosts") {
		out.Home.NotifyHosts = l.settings.Home.NotifyHosts
	}
	if l.has("search.url") {
		out.Search = l.settings.Search
	}
	if len(l.settings.Providers) > 0 {
		merged := maps.Clone(out.Providers)
		if merged == nil {
			merged = map[string]Provider{}
		}
		maps.Copy(merged, l.settings.Providers)
		out.Providers = merged
	}
	if len(l.settings.Teams) > 0 {
		merged := maps.Clone(out.Teams)
		if merged == nil {
			merged = map[string]Team{}
		}
		maps.Copy(merged, l.settings.Teams)
		out.Teams = merged
	}
	if l.Scope == ScopeUser && !l.claude {
		out.Path = l.Path
		own := l.settings.Permissions
		out.Permissions.Allow, out.Permissions.Deny, out.Permissions.Ask = own.Allow, own.Deny, own.Ask
	}
}

func (l *layer) chooses(out *Settings) {
	if l.has("model") {
		out.Model = l.settings.Model
	}
	if l.has("effort") {
		out.Effort = l.settings.Effort
	}
	if l.has("fallback_model") {
		out.Fallback = l.settings.Fallback
	}
}

// bound is a setting that is a limit.
type bound struct {
	key  string
	take func(to, from *Settings)
	// lower takes the value over if it is the stricter one, and reports whether nothing looser
	// was asked for.
	lower func(to, from *Settings) bool
}

// limit describes one. none: 0 is no limit.
func limit[T int | int64 | float64](key string, none bool, field func(*Settings) *T) bound {
	return bound{
		key,
		func(to, from *Settings) { *field(to) = *field(from) },
		func(to, from *Settings) bool {
			old, v := field(to), *field(from)
			switch {
			case v == *old:
				return true
			case none && v == 0, v > *old && !(none && *old == 0):
				return false
			}
			*old = v
			return true
		},
	}
}

func bounds() []bound {
	return []bound{
		limit("agents.max_depth", false, func(s *Settings) *int { return &s.Agents.MaxDepth }),
		limit("agents.max_active", true, func(s *Settings) *int { return &s.Agents.MaxActive }),
		limit("agents.max_total", true, func(s *Settings) *int { return &s.Agents.MaxTotal }),
		limit("agents.max_tokens", true, func(s *Settings) *int64 { return &s.Agents.MaxTokens }),
		limit("agents.max_cost_usd", true, func(s *Settings) *float64 { return &s.Agents.MaxCostUSD }),
		limit("agents.max_turns", true, func(s *Settings) *int64 { return &s.Agents.MaxTurns }),
		limit("agents.each_max_turns", true, func(s *Settings) *int { return &s.Agents.EachTurns }),
		limit("agents.each_max_tokens", true, func(s *Settings) *int64 { return &s.Agents.EachTokens }),
		limit("agents.each_max_cost_usd", true, func(s *Settings) *float64 { return &s.Agents.EachCostUSD }),
		limit("agents.each_max_seconds", true, func(s *Settings) *int64 { return &s.Agents.EachSeconds }),
		limit("agents.max_seconds", true, func(s *Settings) *int64 { return &s.Agents.MaxSeconds }),
		limit("agents.ask_above_usd", true, func(s *Settings) *float64 { return &s.Agents.AskAboveUSD }),
		limit("sandbox.limits.processes", true, func(s *Settings) *int { return &s.Sandbox.Limits.Processes }),
		limit("sandbox.limits.memory_mb", true, func(s *Settings) *int64 { return &s.Sandbox.Limits.MemoryMB }),
		limit("sandbox.limits.file_mb", true, func(s *Settings) *int64 { return &s.Sandbox.Limits.FileMB }),
	}
}

// sandbox is what commands may touch. Whoever wrote it, what denies counts; what opens counts
// from an administrator and the user alone. Paths in it are absolute.
func (a All) sandbox() Sandbox {
	out := defaultSandbox()
	for i := range a.layers {
		out.HostsManaged = out.HostsManaged || a.layers[i].Scope == ScopeManaged &&
			a.layers[i].settings.Sandbox.HostsManaged
	}
	for i := range a.layers {
		l := &a.layers[i]
		s := &l.settings.Sandbox
		if l.Broken {
			continue
		}
		out.Offline = out.Offline || s.Offline
		out.DenyRead = a.patterns(out.DenyRead, l, s.DenyRead)
		out.DenyWrite = a.patterns(out.DenyWrite, l, s.DenyWrite)
		out.DeniedHosts = union(out.DeniedHosts, s.DeniedHosts)
		if !l.Scope.trusted() {
			continue
		}
		out.AllowRead = a.patterns(out.AllowRead, l, s.AllowRead)
		for _, text := range s.Read {
			out.Read = union(out.Read, []string{a.place(l, text)})
		}
		out.Write = union(out.Write, a.folders(l, s.Write))
		out.Keep = union(out.Keep, s.Keep)
		out.AllowedPorts = union(out.AllowedPorts, s.AllowedPorts)
		if !out.HostsManaged || l.Scope == ScopeManaged {
			out.AllowedHosts = union(out.AllowedHosts, s.AllowedHosts)
		}
		if l.has("sandbox.caches") {
			out.Caches = s.Caches
		}
	}
	return out.Without(nil)
}

// Without is the same with hosts that may not be reached; "*" is everybody. Who only says whom not to reach means that
// the others may be; a proxy has to sort them.
func (s Sandbox) Without(hosts []string) Sandbox {
	s.DeniedHosts = union(slices.Clip(s.DeniedHosts), hosts)
	s.Offline = s.Offline || slices.Contains(hosts, "*")
	if len(s.DeniedHosts) > 0 && len(s.AllowedHosts) == 0 {
		s.AllowedHosts = []string{"*"}
	}
	return s
}

func union[T comparable](to, from []T) []T {
	for _, v := range from {
		if !slices.Contains(to, v) {
			to = append(to, v)
		}
	}
	return to
}

// folders are the ones that may be written besides the session's. The whole disk is not one.
func (a All) folders(l *layer, texts []string) []string {
	var out []string
	for _, text := range texts {
		if dir := a.place(l, text); dir != "/" && filepath.IsAbs(dir) {
			out = append(out, dir)
		}
	}
	return out
}

// patterns makes globs absolute. A relative one without a slash is meant at any depth of the
// project, as in .gitignore.
func (a All) patterns(to []string, l *layer, texts []string) []string {
	base := l.Folder
	if base == "" && len(a.Folders) > 0 {
		base = a.Folders[0]
	}
	for _, text := range texts {
		var p string
		switch name := strings.TrimSuffix(text, "/"); {
		case text == "~" || strings.HasPrefix(text, "~/"):
			if a.places.Dirs.Home == "" {
				continue
			}
			p = disk.Pattern(a.places.Dirs.Home) + text[1:]
		case strings.HasPrefix(text, "/"):
			p = text
		case base == "":
			continue
		case !strings.Contains(name, "/") && name != "." && name != "..":
			p = disk.Pattern(base) + "/**/" + name
		default:
			p = disk.Pattern(base) + "/" + text
		}
		to = union(to, []string{cleanGlob(p)})
	}
	return to
}

// refuse warns of what stands in a project's file and is not a project's to decide.
func (r *reader) refuse(l *layer) {
	no := func(key, why string) {
		r.warnings = append(r.warnings, Warning{Path: l.Path, Key: key,
			Text: fmt.Sprintf("%s: %s %s", l.Path, quote(key), why)})
	}
	lowest := All{places: r.places, layers: r.layers}.beneath()
	limits := map[string]bound{}
	for _, b := range bounds() {
		limits[b.key] = b
	}
	for _, key := range slices.Sorted(maps.Keys(l.seen)) {
		s := &l.settings
		b, isLimit := limits[key]
		switch {
		case isLimit:
			if to := lowest; !b.lower(&to, s) {
				no(key, "would raise a limit, which a project cannot; it is ignored")
			}
		case key == "permissions.defaultMode" && s.Permissions.DefaultMode == troupe.ModeBypass:
			no(key, "chooses bypassPermissions, which a project cannot; it is ignored")
		case key == "permissions.defaultMode" && s.Permissions.DefaultMode == troupe.ModeAuto:
			no(key, "chooses auto, which a project cannot; it is ignored")
		case key == "permissions.additionalDirectories":
			for _, text := range s.Permissions.Directories {
				if dir := (All{places: r.places}).place(l, text); (All{places: r.places}).tooWide(dir) {
					no(key, "has "+quote(text)+", which is more than a project can open; it is ignored")
				}
			}
		case key == "disableAllHooks" && s.Hooks.Disable:
			no(key, "turns off what the project's own files set, and nothing of yours")
		case key == "sandbox.network" && !l.claude && !s.Sandbox.Offline:
			no(key, "cannot be turned on by a project; it is ignored")
		case !slices.Contains(projectKeys(), key) && !l.groups(key):
			no(key, "is not a project's to decide; it is ignored")
		}
	}
	var keys []string
	for _, key := range slices.Compact(slices.Sorted(slices.Values(l.others))) {
		if dangerous(key) {
			keys = append(keys, quote(key))
		}
	}
	if len(keys) > 0 { // in one line: many files in use have several
		r.warnings = append(r.warnings, Warning{Path: l.Path,
			Text: l.Path + ": not a project's to decide, and ignored: " + strings.Join(keys, ", ")})
	}
}

// beneath are the limits without the project's.
func (a All) beneath() Settings {
	a.layers = slices.DeleteFunc(slices.Clone(a.layers), func(l layer) bool { return !l.Scope.trusted() })
	return a.Settings(false)
}

// groups: other settings that are judged by themselves stand below this one.
func (l *layer) groups(key string) bool {
	for other := range l.seen {
		if strings.HasPrefix(other, key+".") {
			return true
		}
	}
	return false
}

// projectKeys are the settings that a project may have, in both dialects. What they allow still
// waits for trust.
func projectKeys() []string {
	return []string{
		"model", "effort", "fallback_model", "outputStyle",
		"permissions", "permissions.allow", "permissions.deny", "permissions.ask",
		"permissions.defaultMode", "permissions.additionalDirectories", "permissions.disableBypassPermissionsMode",
		"agents", "sandbox", "sandbox.deny_read", "sandbox.deny_write", "sandbox.denied_hosts", "sandbox.network",
		"sandbox.limits",
		"hooks", "statusLine", "disableAllHooks", "allowedHttpHookUrls", "sandbox.enabled", "sandbox.filesystem",
		"sandbox.filesystem.denyRead",
		"sandbox.filesystem.denyWrite",
		"sandbox.network.deniedDomains", "enabledPlugins", "extraKnownMarketplaces", "worktree",
		"worktree.symlinkDirectories",
	}
}
