package entry

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// Keys, in the one spelling of the several that count (see plain).
const (
	keyCommand = "command"
	keyURL     = "url"
)

// plain is a key in one spelling: programs write the same ones with other letters and separators.
func plain(key string) string {
	separator := func(r rune) rune {
		if r == '-' || r == '_' || r == '.' {
			return -1
		}
		return r
	}
	switch k := strings.ToLower(strings.Map(separator, key)); k {
	case "cmd":
		return keyCommand
	case "serverurl", "httpurl", "endpoint", "uri", "baseurl":
		return keyURL
	case "arguments":
		return "args"
	case "environment", "envvars":
		return "env"
	case "workingdirectory", "workingdir", "workdir", "dir":
		return "cwd"
	case "transport", "transporttype", "kind":
		return "type"
	case "httpheaders", "requestheaders":
		return "headers"
	case "excludetools", "excludedtools", "disallowedtools":
		return "disabledtools"
	case "includetools", "includedtools", "allowedtools", "tools":
		return "enabledtools"
	case "startuptimeout", "connecttimeout", "connectiontimeout", "inittimeout", "startuptimeoutms":
		return "starttimeout"
	case "calltimeout", "tooltimeout", "requesttimeout", "timeoutms":
		return "timeout"
	default:
		return k
	}
}

// builder makes one entry.
type builder struct {
	e        Entry
	problems []Problem
	written  string // the type, as it is written
	split    bool   // the command brings its arguments
}

func (b *builder) say(format string, args ...any) {
	b.problems = append(b.problems, Problem{Server: b.e.Name, Text: fmt.Sprintf(format, args...)})
}

func (b *builder) bad(format string, args ...any) {
	b.problems = append(b.problems, Problem{Server: b.e.Name, Text: fmt.Sprintf(format, args...), Unusable: true})
}

// one reads one server.
func one(name string, raw json.RawMessage) (Entry, []Problem) {
	b := builder{e: Entry{Name: name}}
	if problem := badName(name); problem != "" {
		b.bad("its name %s, so it is left out", problem)
		return b.e, b.problems
	}
	all, err := members(raw)
	if err != nil {
		b.bad("it is not an object with a command or a url, so it is left out")
		return b.e, b.problems
	}
	for _, m := range all {
		b.field(m.key, m.raw)
	}
	if !slices.ContainsFunc(b.problems, func(p Problem) bool { return p.Unusable }) {
		b.settle()
	}
	return b.e, b.problems
}

// badName says what is wrong with the name of a server; "" if it can be had.
func badName(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "is empty"
	case len(name) > 200:
		return "is longer than 200 bytes"
	case strings.ContainsFunc(name, func(r rune) bool { return troupe.Unseen(r) && r != ' ' }):
		return "has characters that cannot be seen"
	case Safe(name) == "":
		return "has no letter or digit of the English alphabet, so that no tool could be named after it"
	}
	return ""
}

// field reads one key. Of one that stands twice the last counts, and of what limits the server both.
func (b *builder) field(key string, raw json.RawMessage) {
	switch k := plain(key); k {
	case keyCommand:
		b.command(raw)
	case "args":
		b.args(raw)
	case "env":
		b.e.Env = b.texts("env", raw)
	case "headers":
		b.e.Headers = b.texts("headers", raw)
	case keyURL:
		b.text(key, raw, &b.e.URL)
	case "cwd":
		b.text(key, raw, &b.e.Cwd)
	case "type":
		b.text(key, raw, &b.written)
	case "timeout", "starttimeout", "timeoutsec", "tooltimeoutsec", "startuptimeoutsec":
		b.timeout(k, key, raw)
	case "disabled", "enabled":
		b.switched(k == "disabled", key, raw)
	case "enabledtools", "disabledtools":
		b.tools(k == "disabledtools", key, raw)
	case "sandbox":
		b.sandbox(raw)
	case "description", "name", "title", "comment", "note", "notes", "version", "icon", "id", "author", "homepage",
		"$schema", "tags", "category", "":
	case "autoapprove", "alwaysallow", "trust", "autoallow", "approved", "autostart":
		b.say("%s gives nothing here: calls are asked about unless a permission rule allows them", visible(key))
	case "oauth", "auth":
		b.oauth(key, raw)
	case "envfile", "headershelper", "authorization", "scopes":
		b.say("%s is not followed here", visible(key))
	default:
		b.say("%s means nothing here", visible(key))
	}
}

func (b *builder) text(key string, raw json.RawMessage, to *string) {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		if string(raw) != "null" {
			b.bad("%s must be a text, so the server is left out", visible(key))
		}
		return
	}
	if strings.IndexByte(s, 0) >= 0 {
		b.bad("%s has a null byte, so the server is left out", visible(key))
		return
	}
	*to = strings.TrimSpace(s)
}

// command is a program, or a list of it and its arguments.
func (b *builder) command(raw json.RawMessage) {
	var list []string
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		b.e.Command, b.e.Args, b.split = list[0], append(list[1:], b.e.Args...), true
		return
	}
	b.text("command", raw, &b.e.Command)
}

func (b *builder) args(raw json.RawMessage) {
	var list []any
	var line string
	switch {
	case string(raw) == "null":
		return
	case json.Unmarshal(raw, &line) == nil:
		b.say("args is one text and not a list; it is taken apart at its blanks")
		b.e.Args = append(b.e.Args, strings.Fields(line)...)
		return
	case json.Unmarshal(raw, &list) != nil:
		b.bad("args must be a list of texts, so the server is left out")
		return
	}
	if !b.split {
		b.e.Args = nil
	}
	for _, v := range list {
		s, ok := scalar(v)
		if !ok || strings.IndexByte(s, 0) >= 0 {
			b.bad("args has something that is not a text, so the server is left out")
			return
		}
		b.e.Args = append(b.e.Args, s)
	}
}

// scalar is a text, number or truth value as a text.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case bool:
		return strconv.FormatBool(v), true
	default:
		return "", false
	}
}

// texts is an object of texts, or a list of NAME=value.
func (b *builder) texts(key string, raw json.RawMessage) map[string]string {
	out := map[string]string{}
	var object map[string]any
	var list []string
	switch {
	case json.Unmarshal(raw, &list) == nil:
		for _, item := range list {
			name, value, _ := strings.Cut(item, "=")
			out[name] = value
		}
	case json.Unmarshal(raw, &object) != nil:
		b.bad("%s must be an object of texts, so the server is left out", key)
	default:
		for name, v := range object {
			if v == nil {
				continue
			}
			value, ok := scalar(v)
			if !ok {
				b.bad("%s has something that is not a text at %s, so the server is left out", key, visible(name))
			}
			out[name] = value
		}
	}
	for name, value := range out {
		if name == "" || strings.ContainsAny(name, "=\x00\r\n") || strings.ContainsAny(value, "\x00") ||
			key == "headers" && strings.ContainsAny(value, "\r\n") {
			b.bad("%s has the name %q or its value, which cannot be set, so the server is left out", key, visible(name))
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// leastMillis is the least time that is meant in thousandths: a server that had fewer could not answer.
const leastMillis = 1000

func (b *builder) timeout(plain, key string, raw json.RawMessage) {
	const most = 24 * time.Hour
	var n float64
	if json.Unmarshal(raw, &n) != nil || n < 0 || n > most.Seconds()*1000 {
		b.say("%s must be a number of milliseconds; it is left out", visible(key))
		return
	}
	d := time.Duration(n * float64(time.Millisecond))
	switch {
	case strings.HasSuffix(plain, "sec"):
		d = time.Duration(n * float64(time.Second))
	case n > 0 && n < leastMillis:
		d = time.Duration(n * float64(time.Second))
		b.say("%s is %v, which is taken for seconds; milliseconds are meant from %d on", visible(key), n, leastMillis)
	}
	if strings.HasPrefix(plain, "start") {
		b.e.Start = min(d, most)
	} else {
		b.e.Timeout = min(d, most)
	}
}

// switched reads whether the server is used. In doubt it is not.
func (b *builder) switched(off bool, key string, raw json.RawMessage) {
	var on bool
	if json.Unmarshal(raw, &on) != nil {
		b.e.Off = true
		b.say("%s must be true or false; until it is, the server is not used", visible(key))
		return
	}
	b.e.Off = b.e.Off || on == off
}

// tools reads which tools it may offer. In doubt it offers none.
func (b *builder) tools(without bool, key string, raw json.RawMessage) {
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		b.e.Off = true
		b.say("%s must be a list of tools; until it is, the server is not used", visible(key))
		return
	}
	if without {
		b.e.Without = append(b.e.Without, list...)
		return
	}
	for _, name := range list {
		if name == "*" {
			return
		}
	}
	if b.e.Only == nil {
		b.e.Only = []string{}
	}
	b.e.Only = append(b.e.Only, list...)
}

func (b *builder) sandbox(raw json.RawMessage) {
	var s string
	_ = json.Unmarshal(raw, &s) // else it is none of the levels
	switch l := troupe.Level(s); l {
	case troupe.LevelReadOnly, troupe.LevelWorkspace, troupe.LevelNone:
		b.e.Sandbox = l
	default:
		b.e.Sandbox = troupe.LevelReadOnly
		b.say("sandbox must be read-only, workspace or none; until it is, the server only reads")
	}
}

// settle works out the type, and whether the entry has what that takes.
func (b *builder) settle() {
	e := &b.e
	switch t := plain(b.written); t {
	case "":
		e.Type = b.guess()
	case "stdio", "local", "command", "process":
		e.Type = Stdio
	case "http", "streamablehttp", "streamable", "remote", "https", "httpstream":
		e.Type = HTTP
	case "sse", "httpsse":
		e.Type = SSE
	default:
		e.Type = b.guess()
		if e.Type == "" || t == "ws" || t == "websocket" {
			b.bad("its type %q is none that Troupe speaks (stdio, http, sse), so it is left out", visible(b.written))
			return
		}
		b.say("its type %q is not known; it is taken for %s", visible(b.written), e.Type)
	}
	switch {
	case e.Type == "", e.Type == Stdio && e.Command == "", e.Type != Stdio && e.URL == "":
		b.bad("it has no command to start it and no url to reach it at, so it is left out")
	case e.Type == Stdio && e.URL != "":
		b.say("it has a command and a url; the command counts")
		e.URL, e.Headers, e.OAuth = "", nil, nil
	case e.Type != Stdio && e.Command != "":
		b.say("it has a url and a command; the url counts")
		e.Command, e.Args, e.Env = "", nil, nil
	}
	if e.Type == Stdio && len(e.Args) == 0 && strings.ContainsAny(e.Command, " \t") &&
		!strings.Contains(e.Command, "/ ") &&
		path.Base(e.Command) == e.Command {
		words := strings.Fields(e.Command)
		e.Command, e.Args = words[0], words[1:]
		b.say("its command has blanks and it has no args; what is behind the first blank is taken for them")
	}
}

// guess is the type of an entry that does not say.
func (b *builder) guess() Type {
	switch {
	case b.e.Command != "":
		return Stdio
	case b.e.URL == "":
		return ""
	case strings.HasSuffix(strings.TrimRight(strings.SplitN(b.e.URL, "?", 2)[0], "/"), "/sse"):
		return SSE
	default:
		return HTTP
	}
}
