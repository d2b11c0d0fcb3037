// Package hook runs what people set to run at certain moments of a session: before and after calls, when words
// come, when agents begin and end. It reads the public configuration, compares matchers, starts commands, posts
// to addresses, asks a small model, and makes one word of what several hooks say: the strictest counts.
//
// One rule holds for a hook that hangs, crashes or says what cannot be read. Before a call it denies the call, for a
// guard that has fallen over guards nothing; at every other moment the session goes on. Both is told.
//
// The hooks of a moment run side by side, each on a goroutine that Run waits for. A hook ends with its context, and
// with it the processes of its group. Nothing outlives Run but what a command has detached from itself on purpose.
package hook

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Kind is how a hook is run.
type Kind string

// Kinds of hooks.
const (
	Command Kind = "command" // by the shell
	HTTP    Kind = "http"    // posted to an address
	Prompt  Kind = "prompt"  // put to a small model
)

// Hook is one that is set.
type Hook struct {
	Event   troupe.HookEvent `json:"event"`
	Matcher string           `json:"matcher,omitempty"`
	// If is a permission rule: of the calls that the matcher covers it runs for those that the rule speaks of.
	If   string `json:"if,omitempty"`
	Kind Kind   `json:"type"`
	// Run is the command, the address or the prompt.
	Run string `json:"run"`
	// Headers are sent to the address. In them the variables in Env are replaced by their values.
	Headers map[string]string `json:"headers,omitempty"`
	Env     []string          `json:"env,omitempty"`
	// Seconds is how long it may take; 0: as long as its kind and moment allow.
	Seconds float64 `json:"seconds,omitempty"`
	Async   bool    `json:"async,omitempty"` // nothing waits for it
	Origin
	// Broken says why it cannot be run. Such a hook fails each time it is due.
	Broken string `json:"broken,omitempty"`
	// Files are the files of the project that the command runs, as far as its text shows, with the hash of each.
	// One that an agent has changed since is not run.
	Files map[string]string `json:"files,omitempty"`
}

// Origin is where a hook was set.
type Origin struct {
	Source string `json:"source"` // a file
	Scope  string `json:"scope"`  // whose it is, for people
	// Folder is the project's, for a file of a project.
	Folder string `json:"folder,omitempty"`
	// Plugin is the folder of the plugin that brings it.
	Plugin string `json:"plugin,omitempty"`
	// Agent is the type of agent in whose definition it stands: it holds for that agent and for all below it.
	Agent string `json:"agent,omitempty"`
	// Skill is the name of the skill whose file Source is: it holds for an agent that has used it, and for all below.
	Skill string `json:"skill,omitempty"`
}

// Label names the hook for people, in one line.
func (h *Hook) Label() string {
	text, more := cut(strings.Join(strings.Fields(h.Run), " "), 80)
	if more {
		text += "…"
	}
	return text
}

// brokenShown is how many bytes are shown of a hook that does not run.
const brokenShown = 400

// Line is all of the hook that decides what it does, for a person who is asked whether it may run. Of one that does not
// run it is the beginning.
func (h *Hook) Line() string {
	var b strings.Builder
	if h.Event == troupe.HookStatus {
		b.WriteString("the status line")
	} else {
		b.WriteString("on " + string(h.Event))
	}
	if h.Matcher != "" {
		b.WriteString(" (" + h.Matcher + ")")
	}
	if h.If != "" {
		b.WriteString(" if " + h.If)
	}
	if h.Broken != "" {
		b.WriteString(", does not run (" + h.Broken + ")")
	}
	b.WriteString(": ")
	if h.Kind == Prompt && h.Broken == "" {
		b.WriteString("asks a model: ")
	}
	b.WriteString(h.Run)
	for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
		b.WriteString(", with the header " + name + ": " + h.Headers[name])
	}
	if len(h.Env) > 0 {
		b.WriteString(", with the values of " + strings.Join(h.Env, ", "))
	}
	if text, more := cut(b.String(), brokenShown); more && h.Broken != "" {
		return text + "…"
	}
	return b.String()
}

// Set is hooks in the order in which they were set, the weakest source first. It does not change.
type Set struct {
	hooks    []Hook
	matchers []matcher
	ifs      []func(troupe.HookMoment) bool // nil: it has no rule that can be read
}

// Rules reads the permission rule of a hook: of which calls it speaks, in doubt of more, or why it cannot be read. A
// rule's paths begin in folder, or in that of the session if there is none.
type Rules func(rule, folder string) (speaks func(m troupe.HookMoment) bool, err error)

// NewSet makes a set. A hook with a rule that cannot be read runs for all that its matcher covers: a guard that looks
// at too much is better than one that looks away.
func NewSet(hooks []Hook, rules Rules) *Set {
	s := &Set{hooks: hooks, matchers: make([]matcher, len(hooks)),
		ifs: make([]func(troupe.HookMoment) bool, len(hooks))}
	for i := range hooks {
		h := &hooks[i]
		s.matchers[i] = newMatcher(h.Matcher)
		if h.If != "" && rules != nil {
			s.ifs[i], _ = rules(h.If, h.Folder) // why not was said where it was read
		}
	}
	return s
}

// Unread says what is wrong with the rule of a hook; "" if nothing is.
func (h *Hook) Unread(rules Rules) string {
	if h.If == "" || !h.ofCalls() {
		return ""
	}
	_, err := rules(h.If, h.Folder)
	if err == nil {
		return ""
	}
	return fmt.Sprintf("\"if\" of a hook of %s, %q, %v; the hook runs for all that its matcher covers", h.Event, h.If,
		err)
}

// ofCalls: its moments are about a call.
func (h *Hook) ofCalls() bool {
	return slices.Contains([]troupe.HookEvent{troupe.HookPreToolUse, troupe.HookPostToolUse, troupe.HookPostFailure,
		troupe.HookPermissionRequest}, h.Event)
}

// Of lists the hooks that are due at a moment.
func (s *Set) Of(m troupe.HookMoment, async bool) (out []Hook) {
	for i := range s.hooks {
		if h := &s.hooks[i]; h.Async == async && h.matches(m) && s.matchers[i].matches(m.Match) && s.speaks(i, m) {
			out = append(out, *h)
		}
	}
	return out
}

// speaks: the rule of a hook is about the call. Where there is no call no rule is about it.
func (s *Set) speaks(i int, m troupe.HookMoment) bool {
	if s.hooks[i].If == "" {
		return true
	}
	return m.Call != nil && (s.ifs[i] == nil || s.ifs[i](m))
}

// Meets reports whether the hook is for moments of an agent. The line are the types of all above it, and its own. Those
// of a session's beginning, end and prompts are the main agent's, and a skill's hooks are there while it is in use.
func (h *Hook) Meets(line []string) bool {
	switch h.Event {
	case troupe.HookPrompt, troupe.HookStop, troupe.HookSessionStart, troupe.HookSessionEnd, troupe.HookNotification:
		if h.Agent == "" && len(line) > 1 {
			return false
		}
	default:
	}
	return h.matches(troupe.HookMoment{Event: h.Event, Line: line})
}

// matches compares everything but the matcher and the rule.
func (h *Hook) matches(m troupe.HookMoment) bool {
	own := len(m.Line) > 0 && strings.EqualFold(m.Line[len(m.Line)-1], h.Agent)
	if h.Skill != "" {
		if h.Event == troupe.HookStop {
			return slices.Contains(m.Own, h.Source) && (m.Event == troupe.HookStop ||
				m.Event == troupe.HookSubagentStop)
		}
		return h.Event == m.Event && slices.Contains(m.Skills, h.Source)
	}
	switch {
	case h.Agent == "":
		return h.Event == m.Event
	case h.Event == troupe.HookStop:
		// In a definition this is the end of that very agent, whether or not another one started it.
		return own && (m.Event == troupe.HookStop || m.Event == troupe.HookSubagentStop)
	}
	return h.Event == m.Event &&
		slices.ContainsFunc(m.Line, func(kind string) bool { return strings.EqualFold(kind, h.Agent) })
}

// matcher is what a hook's matcher means.
type matcher struct {
	names []string       // exactly these
	re    *regexp.Regexp // or what this finds
}

// newMatcher reads a matcher: nothing, an empty text and a star cover all; names with bars or commas between them cover
// these; anything else is a regular expression, found anywhere. One that cannot be read covers all: a guard that looks
// at too much is better than one that looks away.
func newMatcher(text string) matcher {
	if text == "" || text == "*" {
		return matcher{}
	}
	if !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		var m matcher
		for name := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '|' || r == ',' }) {
			if name = strings.TrimSpace(name); name != "" {
				m.names = append(m.names, name)
			}
		}
		return m
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return matcher{}
	}
	return matcher{re: re}
}

// plain: a matcher of nothing but these is a list of names.
func plain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-|, ", r)
}

func (m matcher) matches(names []string) bool {
	if names == nil || m.names == nil && m.re == nil {
		return true
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return m.re != nil && m.re.MatchString(name) || slices.Contains(m.names, name) ||
			slices.ContainsFunc(m.names, func(server string) bool { return ofServer(server, name) })
	})
}

// ofServer: a server's name alone, as in mcp__memory, covers all its tools.
func ofServer(server, name string) bool {
	rest, ok := strings.CutPrefix(server, "mcp__")
	return ok && !strings.Contains(rest, "__") && strings.HasPrefix(name, server+"__")
}

// Idle says of a hook of calls that its matcher finds none of these tools, so that it never runs; "" if it finds one.
// Tools of servers are not known before these are started, so a matcher that speaks of them counts as one that finds.
func (h *Hook) Idle(tools []string) string {
	if !h.ofCalls() {
		return ""
	}
	m := newMatcher(h.Matcher)
	if m.matches(tools) || strings.Contains(h.Matcher, "mcp_") {
		return ""
	}
	return fmt.Sprintf("the matcher %q of %s finds no tool that there is, so its hook never runs; matchers are names "+
		"of tools in their case, such as Bash, and no rules", h.Matcher, h.Event)
}

// cut is the beginning of a text, at most n bytes of it, whole runes.
func cut(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n], true
}
