package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Problem is something about a configuration that its author should know.
type Problem struct {
	Text string
	// Note: nothing is lost by it.
	Note bool
}

// Read reads the value of "hooks". What cannot be read of a hook leaves one that fails, so that a guard that was
// written wrongly is not taken for one that is missing.
func Read(raw []byte, from Origin) ([]Hook, []Problem) {
	r := reader{from: from}
	events, err := members(raw)
	if err != nil {
		r.problem("its hooks cannot be read: %v", err)
		r.broken(troupe.HookPreToolUse, "", "the hooks of "+from.Source+" cannot be read: "+err.Error())
		return r.hooks, r.problems
	}
	for _, e := range events {
		event := troupe.HookEvent(e.key)
		if !slices.Contains(troupe.HookEvents(), event) {
			if !strings.HasPrefix(e.key, "$") {
				r.problems = append(r.problems, noMoment(e.key))
			}
			continue
		}
		r.event(event, e.value)
	}
	return r.hooks, r.problems
}

// noMoment says that hooks never run. A name that is nearly that of a moment was meant to be it, and what was to guard
// something does not.
func noMoment(name string) Problem {
	known := make([]string, 0, len(troupe.HookEvents()))
	for _, e := range troupe.HookEvents() {
		known = append(known, string(e))
	}
	text := fmt.Sprintf("there is no moment %q here, so its hooks never run", name)
	if near := troupe.Nearest(name, known); near != "" {
		return Problem{Text: text + "; did you mean " + near + "?"}
	}
	return Problem{Text: text, Note: true}
}

type reader struct {
	from     Origin
	hooks    []Hook
	problems []Problem
}

func (r *reader) problem(format string, args ...any) {
	r.problems = append(r.problems, Problem{Text: fmt.Sprintf(format, args...)})
}

func (r *reader) broken(event troupe.HookEvent, matcher, why string) {
	r.hooks = append(r.hooks, Hook{Event: event, Matcher: matcher, Kind: Command, Origin: r.from, Broken: why})
}

// event reads what stands after the name of a moment: a list of groups, one group, or a command.
func (r *reader) event(event troupe.HookEvent, raw json.RawMessage) {
	var text string
	var list []json.RawMessage
	switch {
	case json.Unmarshal(raw, &text) == nil && text != "":
		r.add(Hook{Event: event, Kind: Command, Run: text, Origin: r.from})
	case bytes.Equal(bytes.TrimSpace(raw), []byte("null")):
	case json.Unmarshal(raw, &list) == nil:
		for _, item := range list {
			r.group(event, item)
		}
	default:
		r.group(event, raw)
	}
}

// group is a matcher with its hooks.
func (r *reader) group(event troupe.HookEvent, raw json.RawMessage) {
	fields, err := members(raw)
	if err != nil {
		r.unreadable(event, "", "a group of hooks", err)
		return
	}
	var matcher *string
	var hooks []json.RawMessage
	direct := false
	for _, f := range fields {
		switch f.key {
		case "matcher":
			if err := json.Unmarshal(f.value, &matcher); err != nil {
				// Which calls were meant is not known, so all are.
				r.problem("a matcher of %s is not a text; its hooks run for all", event)
				matcher = nil
			}
		case "hooks":
			var list []json.RawMessage
			if err := json.Unmarshal(f.value, &list); err != nil {
				list = []json.RawMessage{f.value}
			}
			hooks = append(hooks, list...)
		case "command", "url", "prompt":
			direct = true
		}
	}
	if direct && len(hooks) == 0 {
		hooks = []json.RawMessage{raw}
	}
	text := ""
	if matcher != nil {
		text = *matcher
	}
	if err := unknownPattern(text); err != nil {
		r.problem("the matcher %q of %s is no regular expression that is known here (%v); its hooks run for all", text,
			event, err)
	}
	for _, h := range hooks {
		r.hook(event, text, h)
	}
}

// unknownPattern says what is wrong with a matcher that is meant as a regular expression.
func unknownPattern(matcher string) error {
	if matcher == "*" || !strings.ContainsFunc(matcher, func(c rune) bool { return !plain(c) }) {
		return nil
	}
	_, err := regexp.Compile(matcher)
	return err
}

func (r *reader) unreadable(event troupe.HookEvent, matcher, what string, err error) {
	r.problem("%s of %s cannot be read: %v", what, event, err)
	r.broken(event, matcher, fmt.Sprintf("%s of %s cannot be read: %v", what, event, err))
}

// fields is a hook as it is written.
type fields struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	URL     string            `json:"url"`
	Prompt  string            `json:"prompt"`
	Headers map[string]string `json:"headers"`
	Env     []string          `json:"allowedEnvVars"`
	Timeout *float64          `json:"timeout"`
	Async   bool              `json:"async"`
	Rewake  bool              `json:"asyncRewake"`
	If      string            `json:"if"`
}

// mostSeconds is a day: what takes longer is no hook.
const mostSeconds = 86_400

func (r *reader) hook(event troupe.HookEvent, matcher string, raw json.RawMessage) {
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" {
		r.add(Hook{Event: event, Matcher: matcher, Kind: Command, Run: text, Origin: r.from})
		return
	}
	f, err := r.fields(event, raw)
	if err != nil {
		r.unreadable(event, matcher, "a hook", err)
		return
	}
	h := Hook{Event: event, Matcher: matcher, Kind: Kind(f.Type), Headers: f.Headers, Env: f.Env,
		Async: f.Async || f.Rewake, Origin: r.from}
	if f.Type == "" {
		h.Kind = f.guess()
	}
	switch h.Kind {
	case Command:
		h.Run = strings.Join(append([]string{f.Command}, quoted(f.Args, r.from.Plugin)...), " ")
	case HTTP:
		h.Run = f.URL
	case Prompt:
		h.Run = f.Prompt
	default:
		h.Kind, h.Broken = Command, fmt.Sprintf("hooks of the type %q cannot be run here", f.Type)
		h.Run = f.Command + f.URL + f.Prompt
		r.problem("a hook of %s has the type %q, which cannot be run here", event, f.Type)
	}
	if strings.TrimSpace(h.Run) == "" && h.Broken == "" {
		h.Broken = "it says nothing to run"
		r.problem("a hook of %s says nothing to run", event)
	}
	if h.If = strings.TrimSpace(f.If); h.If != "" && !h.ofCalls() {
		r.problem("a hook of %s has the \"if\" %q, which is about calls, and so it never runs", event, h.If)
	}
	if f.Timeout != nil {
		if h.Seconds = *f.Timeout; h.Seconds <= 0 || h.Seconds > mostSeconds {
			r.problem("a hook of %s has the timeout %v, which is not between 0 and %d seconds", event, h.Seconds,
				mostSeconds)
			h.Seconds = 0
		}
	}
	r.add(h)
}

// add keeps a hook. One of a project or a plugin that is too long to be shown whole, where trust is asked for, is not
// run.
func (r *reader) add(h Hook) {
	strangers := h.Folder != "" || h.Scope == "project" || h.Scope == "local" || h.Plugin != ""
	if why := troupe.TooLong(h.Line()); strangers && h.Broken == "" && why != "" {
		h.Broken = why
		r.problem("a hook of %s does not run: %s", h.Event, why)
	}
	r.hooks = append(r.hooks, h)
}

// fields reads a hook by its keys as they are documented. Another case is another key: what a person is shown and what
// runs must not depend on which of two is taken.
func (r *reader) fields(event troupe.HookEvent, raw json.RawMessage) (f fields, err error) {
	all, err := members(raw)
	if err != nil {
		return f, err
	}
	names := strings.Fields("type command args url prompt headers allowedEnvVars timeout async asyncRewake if")
	known, plain := make(map[string]json.RawMessage, len(all)), true
	for _, m := range all {
		i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, m.key) })
		switch {
		case i >= 0 && names[i] == m.key:
			plain = plain && known[m.key] == nil
			known[m.key] = m.value
		case i >= 0:
			plain = false
			r.problem("a hook of %s has the key %q, which counts for nothing; it is written %q", event, m.key,
				names[i])
		}
	}
	if plain { // each key once, as it is written
		return f, json.Unmarshal(raw, &f)
	}
	strict, err := json.Marshal(known)
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(strict, &f)
}

// guess is the kind of a hook that does not say it.
func (f *fields) guess() Kind {
	switch {
	case f.Command != "":
		return Command
	case f.URL != "":
		return HTTP
	case f.Prompt != "":
		return Prompt
	}
	return Command
}

// quoted writes arguments for the shell. It would not look for a variable in them, so the plugin's folder is put in.
func quoted(args []string, plugin string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		if plugin != "" {
			a = strings.ReplaceAll(a, "${CLAUDE_PLUGIN_ROOT}", plugin)
		}
		out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	return out
}

type member struct {
	key   string
	value json.RawMessage
}

var errNotObject = errors.New("it is not an object in braces")

// members are the parts of an object in their order. A key that stands twice is there twice: of two guards neither is
// lost.
func members(raw []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errNotObject
	}
	var out []member
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := member{}
		m.key, _ = t.(string)
		if err := dec.Decode(&m.value); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	_, err := dec.Token()
	return out, err
}
