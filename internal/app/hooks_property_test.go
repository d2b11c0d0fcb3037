package app

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/hook"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/all"
)

// says answers every request with the same words.
type says string

func (s says) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(s))), Request: r}, nil
}

// genOutput is what a hook might print: the forms that count, mixed, and things that look like them.
func genOutput(t *rapid.T) string {
	word := rapid.SampledFrom([]string{"allow", "approve", "ALLOW", "ask", "deny", "block", "defer",
		"bypassPermissions",
		"", "true", "1"})
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{
		`"continue": true`, `"decision": "%s"`, `"ok": true`, `"permissionDecision": "%s"`, `"suppressOutput": true`,
		`"hookSpecificOutput": {"permissionDecision": "%s"}`, `"hookSpecificOutput": {"hookEventName": "PreToolUse",
			"permissionDecision": "%s", "updatedInput": {"command": "rm -rf /", "sandbox": "none"}}`,
		`"hookSpecificOutput": {"decision": {"behavior": "%s", "updatedPermissions": [{"type": "setMode", "mode":
			"bypassPermissions"}]}}`, `"additionalContext": "%s"`, `"mode": "bypassPermissions"`, `"rules": ["Bash"]`,
	}), 0, 4).Draw(t, "parts")
	for i, p := range parts {
		if strings.Contains(p, "%s") {
			parts[i] = fmt.Sprintf(p, word.Draw(t, "word"))
		}
	}
	return rapid.SampledFrom([]string{"", " ", "\n", "x"}).Draw(t, "before") + "{" + strings.Join(parts, ", ") + "}"
}

func genHookCall(t *rapid.T) (string, troupe.Access) {
	path := rapid.SampledFrom([]string{"/proj/a.go", "/etc/passwd", "/proj/.git/config", "/proj/.claude/settings.json"})
	switch name := rapid.SampledFrom([]string{"Bash", "Edit", "Read", "WebFetch", "Agent"}).Draw(t, "tool"); name {
	case "Bash":
		return name, troupe.Access{Class: troupe.ClassExec,
			Command: rapid.SampledFrom([]string{"ls", "make", "rm -r x", "echo x > .git/config", "curl a.b"}).Draw(t,
				"command")}
	case "Edit":
		return name, troupe.Access{Class: troupe.ClassEdit, Writes: []string{path.Draw(t, "path")}}
	case "Read":
		return name, troupe.Access{Reads: []string{path.Draw(t, "path")}}
	case "WebFetch":
		return name, troupe.Access{URL: "https://a.b/c"}
	default:
		return name, troupe.Access{Agent: "Explore"}
	}
}

func genHookLayer(t *rapid.T, tools *gate.Tools, name string) gate.Layer {
	auth := troupe.Authority{Mode: rapid.SampledFrom(troupe.Modes()).Draw(t, "mode")}
	for range rapid.IntRange(0, 3).Draw(t, "rules") {
		auth.Rules = append(auth.Rules, troupe.Rule{Source: "s", Managed: rapid.Bool().Draw(t, "managed"),
			Effect: rapid.SampledFrom([]troupe.Effect{troupe.Deny, troupe.Ask, troupe.Allow}).Draw(t, "effect"),
			Text: rapid.SampledFrom([]string{"Bash", "Bash(make:*)", "Bash(rm:*)", "Edit(/**)", "Edit",
				"Read(//etc/**)",
				"WebFetch", "Agent(Explore)"}).Draw(t, "rule")})
	}
	p := troupe.Profile{Sandbox: rapid.SampledFrom([]troupe.Level{"", troupe.LevelReadOnly,
		troupe.LevelWorkspace}).Draw(t, "sandbox")}
	p.Tools = []string{"Agent", "Bash", "Edit", "Read", "WebFetch"}
	return tools.LayerOf(name, p, auth, true, false)
}

// TestNoHookWidens: whatever a hook says, a call that rules or modes deny is denied, one that a rule wants asked about
// is not allowed, no protected file is opened, and no command runs with less of a sandbox than the workspace has.
func TestNoHookWidens(t *testing.T) {
	t.Parallel()
	list, err := all.Tools(all.Options{})
	if err != nil {
		t.Fatal(err)
	}
	facts := tool.NewSet(list...).Facts()
	tools := gate.NewTools(facts)
	rapid.Check(t, func(t *rapid.T) {
		r := &hook.Runner{Client: &http.Client{Transport: says(genOutput(t))}, Now: time.Now,
			Mask: func(s string) string { return s }}
		said := r.Run(t.Context(), []hook.Hook{{Event: troupe.HookPreToolUse, Kind: hook.HTTP, Run: "http://a.b"}},
			troupe.HookMoment{Event: troupe.HookPreToolUse, Call: &troupe.Call{Name: "Bash", Input: "{}"}})
		q := gate.Query{Roots: []string{"/proj"}, Home: "/home/u",
			Protected: []string{"/proj/.git/**", "/proj/.claude/**", "/proj/.git", "/proj/.claude"}}
		q.Tool, q.Access = genHookCall(t)
		if rapid.Bool().Draw(t, "sandboxes") {
			q.Levels = []troupe.Level{troupe.LevelReadOnly, troupe.LevelWorkspace}
		}
		q.Chain = append(q.Chain, genHookLayer(t, tools, "main"))
		if rapid.Bool().Draw(t, "child") {
			q.Chain = append(q.Chain, genHookLayer(t, tools, "main/x"))
		}
		before := tools.Decide(q)
		q.Judged = &troupe.Judgement{By: "hook", Effect: said.Effect}
		after := tools.Decide(q)
		protected := len(q.Access.Writes) > 0 && strings.HasPrefix(q.Access.Writes[0], "/proj/.")
		switch {
		case after.Effect != troupe.Allow:
		case before.Effect == troupe.Deny, before.Step == gate.StepAskRule,
			before.Effect == troupe.Ask && protected,
			before.Sandbox != troupe.LevelNone && before.Sandbox != "" && after.Sandbox == troupe.LevelNone:
			t.Fatalf("%s %+v, of which the hook said %q: %+v was %+v", q.Tool, q.Access, said.Effect, after, before)
		}
		if before.Effect == troupe.Deny && after.Effect != troupe.Deny {
			t.Fatalf("what was denied is %+v, for the hook said %q", after, said.Effect)
		}
	})
	// It does allow what would only have been asked about: else the above would hold of a hook that is not heard.
	q := gate.Query{Tool: "Bash", Access: troupe.Access{Class: troupe.ClassExec, Command: "frobnicate"},
		Chain: []gate.Layer{tools.LayerOf("main", troupe.Profile{}, troupe.Authority{Mode: troupe.ModeDefault}, true,
			false)}}
	if d := tools.Decide(q); d.Effect != troupe.Ask {
		t.Errorf("without a hook: %+v", d)
	}
	q.Judged = &troupe.Judgement{By: "hook", Effect: troupe.Allow}
	if d := tools.Decide(q); d.Effect != troupe.Allow {
		t.Errorf("with a hook that allows: %+v", d)
	}
}
