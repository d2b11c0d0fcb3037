package hook

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
)

// TestOutput: what public examples print means what it means there.
func TestOutput(t *testing.T) {
	t.Parallel()
	const pre, stop, prompt = troupe.HookPreToolUse, troupe.HookStop, troupe.HookPrompt
	for name, tt := range map[string]struct {
		event          troupe.HookEvent
		exit           int
		stdout, stderr string
		want           word
	}{
		"silence":           {event: pre},
		"exit 2":            {event: pre, exit: 2, stderr: "no\n", want: word{effect: troupe.Deny, why: "no"}},
		"exit 2, on stdout": {event: pre, exit: 2, stdout: "no", want: word{effect: troupe.Deny, why: "no"}},
		"exit 1":            {event: pre, exit: 1, stderr: "a\nb", want: word{failed: "it ended with exit code 1: a"}},
		"deny": {event: pre, stdout: `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
			"permissionDecisionReason": "not that"}}`, want: word{effect: troupe.Deny, why: "not that"}},
		"allow with another input": {event: pre, stdout: `{"hookSpecificOutput": {"permissionDecision": "allow",
			"updatedInput": {"command": "ls"}, "additionalContext": "c"}}`,
			want: word{effect: troupe.Allow, input: `{"command":"ls"}`, context: "c"}},
		"the older form": {event: pre, stdout: `{"decision": "block", "reason": "r"}`,
			want: word{effect: troupe.Deny, why: "r"}},
		"the older yes": {event: pre, stdout: `{"decision": "approve"}`, want: word{effect: troupe.Allow}},
		"both, the stricter": {event: pre,
			stdout: `{"decision": "approve", "hookSpecificOutput": {"permissionDecision": "ask"}}`,
			want:   word{effect: troupe.Ask}},
		"defer": {event: pre,
			stdout: `{"hookSpecificOutput": {"permissionDecision": "defer"}}`},
		"the end of all": {event: pre, stdout: `{"continue": false, "stopReason": "enough"}`,
			want: word{stop: true, stopWhy: "enough"}},
		"for the person": {event: stop,
			stdout: `{"systemMessage": "hello", "suppressOutput": true}`, want: word{message: "hello"}},
		"plain words for the model": {event: prompt, stdout: "it is Friday\n",
			want: word{context: "it is Friday"}},
		"plain words for nobody": {event: pre, stdout: "looks good"},
		"an end that is refused": {event: stop, stdout: `{"decision": "block", "reason": "test it"}`,
			want: word{effect: troupe.Deny, why: "test it"}},
		"a yes where there is nothing to allow": {event: stop, stdout: `{"decision": "approve"}`},
		"a refusal where nothing can be refused": {event: troupe.HookSessionEnd, exit: 2, stderr: "stay",
			want: word{why: "stay", message: "stay"}},
		"about a request": {event: troupe.HookPermissionRequest, stdout: `{"hookSpecificOutput": {"hookEventName":
			"PermissionRequest", "decision": {"behavior": "deny", "message": "m", "interrupt": true}}}`,
			want: word{effect: troupe.Deny, why: "m", stop: true}},
		"a model's no": {event: stop, stdout: `{"ok": false, "reason": "r"}`,
			want: word{effect: troupe.Deny, why: "r"}},
		"a model's yes": {event: stop, stdout: `{"ok": true}`},
	} {
		if diff := cmp.Diff(tt.want, read(tt.event, tt.exit, tt.stdout, tt.stderr),
			cmp.AllowUnexported(word{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, rubbish := range []string{`{`, `{"decision": 7}`, `{"decision": "perhaps"}`, `{} {}`, `{"continue": "no"}`,
		`{"hookSpecificOutput": {"permissionDecision": "Deny"}}`, `{"hookSpecificOutput": []}`,
		`{"hookSpecificOutput": {"updatedInput": "ls"}}`, `{"hookSpecificOutput": {"hookEventName": "Stop"}}`} {
		if w := read(pre, 0, rubbish, ""); w.failed == "" || w.effect == troupe.Allow {
			t.Errorf("%s: %+v", rubbish, w)
		}
	}
}

// FuzzOutput: whatever a hook prints, it is read or it has failed, and never says more than its moment lets it.
func FuzzOutput(f *testing.F) {
	for _, seed := range []string{``, `{}`, `{"decision": "block"}`, `{"hookSpecificOutput": {"permissionDecision": "allow",
		"updatedInput": {"a": 1}}}`, `{"continue": false}`, "plain", `{"hookSpecificOutput": {"decision": {"behavior": "allow"}}}`} {
		f.Add(0, seed, "no")
		f.Add(2, seed, seed)
	}
	f.Fuzz(func(t *testing.T, exit int, stdout, stderr string) {
		for _, event := range troupe.HookEvents() {
			w := read(event, exit, stdout, stderr)
			switch {
			case w.failed != "" && (w.effect != "" || w.input != "" || w.context != ""):
				t.Errorf("%s: it failed and says %+v", event, w)
			case exit != 0 && (w.effect == troupe.Allow || w.input != ""):
				t.Errorf("%s: exit %d allows: %+v", event, exit, w)
			case exit != 0 && exit != blocks && w.failed == "":
				t.Errorf("%s: exit %d is no failure", event, exit)
			case w.effect == troupe.Deny && (!refusable(event) || w.input != ""):
				t.Errorf("%s: it refuses: %+v", event, w)
			}
			if judges := event == troupe.HookPreToolUse || event == troupe.HookPermissionRequest; !judges &&
				(w.effect == troupe.Allow || w.effect == troupe.Ask || w.input != "") {
				t.Errorf("%s: it judges: %+v", event, w)
			}
			due := []Hook{{Event: event}}
			said := together(due,
				[]word{runner(t).settle(&due[0], troupe.HookMoment{Event: event}, w)}, make([]troupe.HookRan, 1))
			if event == troupe.HookPreToolUse && w.failed != "" && said.Effect != troupe.Deny {
				t.Errorf("a guard that failed says %+v", said)
			}
		}
	})
}
