package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/all"
	"github.com/troupe-dev/troupe/internal/wire"
)

func knownTools() *toolbox {
	set := all.Known()
	return &toolbox{set, gate.NewTools(set.Facts())}
}

func unmasked(s string) string { return s }

// TestClientTools: what tools a client may bring, and what is said of others.
func TestClientTools(t *testing.T) {
	t.Parallel()
	known := knownTools()
	mask := func(s string) string { return strings.ReplaceAll(s, "sk-secret", "‹masked›") }
	one := func(change func(*wire.ClientTool)) []wire.ClientTool {
		c := wire.ClientTool{Name: "weather", Description: "Says how the weather is"}
		change(&c)
		return []wire.ClientTool{c}
	}
	named := func(name string) []wire.ClientTool { return one(func(c *wire.ClientTool) { c.Name = name }) }
	schema := func(s string) []wire.ClientTool {
		return one(func(c *wire.ClientTool) { c.InputSchema = json.RawMessage(s) })
	}
	many := func(n, size int) (out []wire.ClientTool) {
		for i := range n {
			out = append(out, wire.ClientTool{Name: fmt.Sprintf("t%d", i), Description: strings.Repeat("x", size)})
		}
		return out
	}
	for _, c := range []struct {
		list    []wire.ClientTool
		kind    error
		problem string
	}{
		{nil, nil, ""}, {named("weather"), nil, ""}, {named("get_weather-2"), nil, ""},
		{named(strings.Repeat("w", 64)), nil, ""}, {many(64, 100), nil, ""}, {schema(`null`), nil, ""},
		{schema(`{"type": "object", "properties": {"a": {"type": "string"}}}`), nil, ""},
		{one(func(c *wire.ClientTool) { c.DeadlineSeconds = 86_400 }), nil, ""},
		{named(""), nil, "cannot have the name"}, {named("1a"), nil, "cannot have the name"},
		{named("a.b"), nil, "cannot have the name"}, {named("wetter\u202e"), nil, "cannot have the name"},
		{named(strings.Repeat("w", 65)), nil, "cannot have the name"}, {named("a\n"), nil, "cannot have the name"},
		{named("Bash"), troupe.ErrExists, "the tool Bash of Troupe"}, {named("bash"), troupe.ErrExists, "of Troupe"},
		{named("Task"), troupe.ErrExists, "of Troupe"}, {named("spawn_subagent"), troupe.ErrExists, "of Troupe"},
		{named("SyntheticOutput"), troupe.ErrExists, "of Troupe"}, {named("ToolSearch"), troupe.ErrExists, "of Troupe"},
		{named("CronCreate"), troupe.ErrExists, "of Troupe"},
		{named("mcp__a__b"), troupe.ErrExists, "an MCP server"}, {named("MCP__a"), troupe.ErrExists, "an MCP server"},
		{named("Bassh"), troupe.ErrExists, "a rule about it"}, {named("ReadTool"), troupe.ErrExists, "a rule about it"},
		{append(named("weather"), named("Weather")...), troupe.ErrExists, "another one of the client"},
		{one(func(c *wire.ClientTool) { c.Description = " " }), nil, "no description"},
		{one(func(c *wire.ClientTool) { c.Description = strings.Repeat("x", 8001) }), nil, "8001 bytes"},
		{one(func(c *wire.ClientTool) { c.DeadlineSeconds = -1 }), nil, "deadline of -1"},
		{one(func(c *wire.ClientTool) { c.DeadlineSeconds = 86_401 }), nil, "deadline of 86401"},
		{schema(`{"type": "string"}`), nil, "must describe an object"}, {schema(`[]`), nil, "no JSON schema"},
		{schema(`{"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1/x"}}}`), nil, "schema"},
		{schema(`{"type": "object", "description": "` + strings.Repeat("x", 17<<10) + `"}`), nil, "the most is"},
		{schema(`{"type": "object", "description": "sk-secret"}`), nil, "secret"},
		{many(65, 1), nil, "65 tools are too many"}, {many(20, 7000), nil, "too large"},
	} {
		got, err := clientTools(known, mask, c.list)
		var user *troupe.UserError
		switch {
		case c.problem == "" && (err != nil || len(got) != len(c.list)):
			t.Errorf("%.100v: %v", c.list, err)
		case c.problem != "" && (!errors.As(err, &user) || !strings.Contains(user.Problem, c.problem) ||
			user.Hint == "" ||
			user.Code != troupe.ExitUsage || !errors.Is(err, c.kind) && c.kind != nil ||
			c.kind == nil && user.Err != nil):
			t.Errorf("%.100v: %v, want %q", c.list, err, c.problem)
		}
	}
	got, err := clientTools(known, mask, one(func(c *wire.ClientTool) { c.Description = " has sk-secret " }))
	if err != nil || got[0].Description != "has ‹masked›" || got[0].Deadline != troupe.ClientDeadline {
		t.Errorf("kept is %+v, %v", got, err)
	}
}

// TestClientToolDecodes: what does not follow the schema reaches no client, and what does is one JSON object.
func TestClientToolDecodes(t *testing.T) {
	t.Parallel()
	set := withClients(all.Known(), []troupe.ClientTool{{Name: "weather", Deadline: time.Minute,
		Schema: json.RawMessage(
			`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)},
		{Name: "Read", Schema: json.RawMessage(`{"type":"object"}`)}})
	d, ok := set.Find("weather")
	if r, _ := set.Find("Read"); !ok || r.Client || set.Stamp() == all.Known().Stamp() {
		t.Fatalf("found are %+v and %+v", d.ToolFacts, r.ToolFacts)
	}
	for input, want := range map[string]string{`{"city": "Oslo"}`: `{"city":"Oslo"}`, `{}`: "", ``: "", `[]`: "",
		`{"city": 1}`: "", `{"city": "a"} {}`: "", `null`: "", `{`: ""} {
		in, err := d.Intent(input)
		asks, _ := in.(troupe.AskClient)
		var wrong *tool.InputError
		if (err == nil) != (want != "") || string(asks.Input) != want || err == nil && asks.Deadline != time.Minute ||
			err != nil && !errors.As(err, &wrong) {
			t.Errorf("%q: %+v, %v", input, in, err)
		}
	}
}

// FuzzClientTools: whatever a client sends as its tools is refused, or makes a set in which each has its own name, that
// a rule names, and decodes what it is called with.
func FuzzClientTools(f *testing.F) {
	f.Add(`[{"name": "weather", "description": "d", "input_schema": {"type": "object"}}]`, `{}`)
	f.Add(`[{"name": "Read", "description": "d"}, {"name": "a"}]`, `{"a": 1}`)
	f.Add(`[{"name": "a", "description": "d"}, {"name": "A", "description": "d", "deadline_seconds": 1}]`, `[`)
	known := knownTools()
	f.Fuzz(func(t *testing.T, text, input string) {
		var list []wire.ClientTool
		if json.Unmarshal([]byte(text), &list) != nil {
			return
		}
		got, err := clientTools(known, unmasked, list)
		if err != nil {
			return
		}
		set := withClients(known.Set, got)
		for _, c := range got {
			d, ok := set.Find(c.Name)
			if !ok || !d.Client || !json.Valid(c.Schema) || c.Deadline <= 0 || c.Deadline > troupe.MaxClientDeadline {
				t.Fatalf("made is %+v of %+v", d.ToolFacts, c)
			}
			deny := troupe.Authority{Rules: []troupe.Rule{{Effect: troupe.Deny, Text: c.Name}}}
			l := known.gate.LayerOf("main", troupe.Profile{Tools: []string{c.Name}}, deny, false, false)
			if d := known.gate.Decide(gate.Query{Tool: c.Name, Access: d.Intended(troupe.AskClient{}),
				Chain: []gate.Layer{l}}); d.Effect != troupe.Deny {
				t.Fatalf("a rule that denies %s says %+v", c.Name, d)
			}
			in, err := d.Intent(input)
			if asks, ok := in.(troupe.AskClient); err == nil && (!ok || !json.Valid(asks.Input)) {
				t.Fatalf("%q is decoded to %+v", input, in)
			}
		}
	})
}

// TestClientAnswers: a call that a client carries out is answered in time, with what came of it, once; the same answer
// with its key counts as the first one did.
func TestClientAnswers(t *testing.T) {
	t.Parallel()
	a := requestHome(t)
	now := a.env.Now()
	a.env.Now = func() time.Time { return now }
	ada, bob := a.As(troupe.Caller{Name: "ada", Right: troupe.RightOperator}),
		a.As(troupe.Caller{Name: "bob", Right: troupe.RightOperator})
	open := func(n int) string {
		return string(waitingFor(t, a, rootNo(n), troupe.RequestBody{Kind: troupe.RequestTool, Tool: "weather",
			Input: json.RawMessage(`{"city":"Oslo"}`)}))
	}
	says := func(text, key string) wire.Answer {
		return wire.Answer{Result: &troupe.Carried{Text: text}, Once: key}
	}
	refused := func(err error, code int, words string) {
		t.Helper()
		var user *troupe.UserError
		if !errors.As(err, &user) || user.Code != code || !strings.Contains(user.Problem, words) || user.Hint == "" {
			t.Errorf("it is %v, want %q", err, words)
		}
	}
	id := open(1)
	if r, err := ada.Request(t.Context(), id); err != nil || string(r.Input) != `{"city":"Oslo"}` || r.Call.Reply != 1 {
		t.Errorf("it is shown as %+v, %v", r, err)
	}
	refused(ada.Answer(t.Context(), id, wire.Answer{Allow: true}), 2, "does not say it")
	refused(ada.Answer(t.Context(), id, says(strings.Repeat("x", troupe.MaxCarried+1), "")), 2, "the most is 30720")
	for range 2 {
		if err := ada.Answer(t.Context(), id, says("cold", "k")); err != nil {
			t.Fatal(err)
		}
	}
	refused(ada.Answer(t.Context(), id, says("warm", "k2")), 0, "was answered by ada")
	refused(bob.Answer(t.Context(), id, says("cold", "k")), 0, "was answered by ada")
	refused(bob.Answer(t.Context(), id, wire.Answer{}), 0, "was answered by ada")
	var mail []troupe.Mail
	err := a.trees.store.View(t.Context(), func(r store.Reader) (err error) {
		mail,
			err = r.Unread(rootNo(1))
		return err
	})
	if n := slices.IndexFunc(mail, func(m troupe.Mail) bool { return m.Answer != nil }); err != nil || n < 0 ||
		mail[n].Answer.Result.Text != "cold" || mail[n].Answer.Effect != troupe.Allow || mail[n].Caller.Name != "ada" {
		t.Errorf("the mail is %+v, %v", mail, err)
	}
	// Nobody has noticed yet that it is over.
	late := open(2)
	now = now.Add(2 * time.Hour)
	refused(ada.Answer(t.Context(), late, says("cold", "")), 0, "the time to carry out weather passed at ")
	refused(ada.Answer(t.Context(), string(waiting(t, a, rootNo(3))), says("cold", "")), 2, "no result of a tool")
	// Other requests take keys too.
	other := string(waiting(t, a, rootNo(4)))
	for range 2 {
		if err := ada.Answer(t.Context(), other, wire.Answer{Once: "k"}); err != nil {
			t.Error(err)
		}
	}
	if err := ada.Answer(t.Context(), other, wire.Answer{Once: "k2"}); !errors.Is(err, troupe.ErrNotFound) {
		t.Errorf("another answer: %v", err)
	}
}
