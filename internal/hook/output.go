package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/troupe-dev/troupe"
)

// word is what one run of a hook says.
type word struct {
	effect  troupe.Effect
	why     string
	input   string // another input for the call
	context string // for the model
	message string // for the person
	stop    bool   // end the run
	stopWhy string
	path    string // of the folder that it made
	failed  string // what went wrong with it
}

// output is what a hook may print, as public configurations have it.
type output struct {
	Continue       *bool           `json:"continue"`
	StopReason     string          `json:"stopReason"`
	SystemMessage  string          `json:"systemMessage"`
	Decision       json.RawMessage `json:"decision"`
	Reason         string          `json:"reason"`
	Context        string          `json:"additionalContext"`
	SuppressOutput bool            `json:"suppressOutput"`
	Specific       *specific       `json:"hookSpecificOutput"`
	// OK is what a model answers that was asked.
	OK *bool `json:"ok"`
}

type specific struct {
	Event    string          `json:"hookEventName"`
	Decision json.RawMessage `json:"decision"`
	Says     string          `json:"permissionDecision"`
	Why      string          `json:"permissionDecisionReason"`
	Input    json.RawMessage `json:"updatedInput"`
	Context  string          `json:"additionalContext"`
	Path     string          `json:"worktreePath"`
}

// behaviour is how a decision about a request is written.
type behaviour struct {
	Behavior  string          `json:"behavior"`
	Message   string          `json:"message"`
	Input     json.RawMessage `json:"updatedInput"`
	Interrupt bool            `json:"interrupt"`
}

// blocks is the exit code that refuses.
const blocks = 2

// read makes a word of how a command ended and what it printed.
func read(event troupe.HookEvent, exit int, stdout, stderr string) word {
	var w word
	text := strings.TrimSpace(stdout)
	switch {
	case exit == blocks:
		w.effect, w.why = troupe.Deny, strings.TrimSpace(stderr)
		if w.why == "" {
			w.why = text
		}
	case exit != 0:
		line, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
		w.failed = fmt.Sprintf("it ended with exit code %d", exit)
		if line != "" {
			w.failed += ": " + line
		}
	case strings.HasPrefix(text, "{"):
		w = parse(event, []byte(text))
	case plainCounts(event):
		w.context = text
	case event == troupe.HookWorktreeCreate:
		w.path = text
	}
	return w.within(event)
}

// plainCounts: what is printed without JSON is meant for the model.
func plainCounts(event troupe.HookEvent) bool {
	return event == troupe.HookPrompt || event == troupe.HookSessionStart || event == troupe.HookPreCompact ||
		event == troupe.HookSubagentStart
}

// parse reads what a hook printed as JSON. What does not fit is a failure: half an answer may be the half that allows.
func parse(event troupe.HookEvent, data []byte) (w word) {
	var o output
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&o); err != nil {
		return word{failed: "what it printed cannot be read: " + err.Error()}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return word{failed: "what it printed goes on behind its JSON"}
	}
	w.message, w.context, w.why = o.SystemMessage, o.Context, o.Reason
	if o.Continue != nil && !*o.Continue {
		w.stop, w.stopWhy = true, o.StopReason
	}
	var err error
	if len(o.Decision) > 0 {
		err = w.decide(o.Decision)
	}
	if s := o.Specific; s != nil && err == nil {
		err = w.specific(event, s)
	}
	if o.OK != nil && !*o.OK {
		w.effect = troupe.Deny
	}
	if err != nil {
		return word{failed: err.Error(), message: o.SystemMessage, stop: w.stop, stopWhy: w.stopWhy}
	}
	return w
}

func (w *word) specific(event troupe.HookEvent, s *specific) error {
	if s.Event != "" && s.Event != string(event) {
		return fmt.Errorf("it answers for %s, and was asked about %s", oneLine(s.Event), event)
	}
	if err := w.says(s.Says); err != nil {
		return err
	}
	if s.Why != "" {
		w.why = s.Why
	}
	if s.Context != "" {
		w.context = strings.TrimSpace(w.context + "\n" + s.Context)
	}
	if event == troupe.HookWorktreeCreate {
		w.path = s.Path
	}
	if len(s.Decision) > 0 {
		if err := w.decide(s.Decision); err != nil {
			return err
		}
	}
	return w.replace(s.Input)
}

// decide reads a decision: a word, or an object about a request.
func (w *word) decide(raw json.RawMessage) error {
	var b behaviour
	if json.Unmarshal(raw, &b.Behavior) != nil {
		if err := json.Unmarshal(raw, &b); err != nil {
			return errors.New("its decision cannot be read")
		}
		if b.Message != "" {
			w.why = b.Message
		}
		w.stop = w.stop || b.Interrupt
		if err := w.replace(b.Input); err != nil {
			return err
		}
	}
	return w.says(b.Behavior)
}

// says takes over an effect, if it is stricter than what was said before.
func (w *word) says(text string) error {
	var e troupe.Effect
	switch text {
	case "", "defer":
		return nil
	case "deny", "block":
		e = troupe.Deny
	case "ask":
		e = troupe.Ask
	case "allow", "approve":
		e = troupe.Allow
	default:
		return fmt.Errorf("it says %q, which is none of allow, deny and ask", oneLine(text))
	}
	w.effect = stricter(w.effect, e)
	return nil
}

// replace takes over another input.
func (w *word) replace(raw json.RawMessage) error {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil
	}
	var out bytes.Buffer
	if raw[0] != '{' || json.Compact(&out, raw) != nil {
		return errors.New("its updatedInput is not an object")
	}
	w.input = out.String()
	return nil
}

// within leaves of a word what has a meaning at the moment.
func (w word) within(event troupe.HookEvent) word {
	judges := event == troupe.HookPreToolUse || event == troupe.HookPermissionRequest
	if !judges {
		w.input = ""
		if w.effect != troupe.Deny {
			w.effect = ""
		}
	}
	if w.effect == troupe.Deny && !refusable(event) {
		w.effect = ""
		if w.message == "" {
			w.message = w.why
		}
	}
	if event == troupe.HookPermissionRequest && w.effect == troupe.Ask {
		w.effect = "" // it is asked about
	}
	if w.effect == troupe.Deny {
		w.input = ""
	}
	return w
}

// refusable: a hook can refuse what the moment is about.
func refusable(event troupe.HookEvent) bool {
	switch event {
	case troupe.HookPreToolUse, troupe.HookPermissionRequest, troupe.HookPostToolUse, troupe.HookPostFailure,
		troupe.HookPrompt, troupe.HookStop, troupe.HookSubagentStop:
		return true
	case troupe.HookStatus, troupe.HookTaskCreated, troupe.HookTaskCompleted, troupe.HookTeammateIdle,
		troupe.HookSubagentStart,
		troupe.HookSessionStart, troupe.HookSessionEnd, troupe.HookNotification,
		troupe.HookPreCompact, troupe.HookPostCompact, troupe.HookWorktreeCreate, troupe.HookWorktreeRemove:
	}
	return false
}

func strictness(e troupe.Effect) int {
	switch e {
	case troupe.Deny:
		return 3
	case troupe.Ask:
		return 2
	case troupe.Allow:
		return 1
	}
	return 0
}

func stricter(a, b troupe.Effect) troupe.Effect {
	if strictness(b) > strictness(a) {
		return b
	}
	return a
}

func oneLine(s string) string {
	s, _ = cut(strings.Join(strings.Fields(s), " "), 80)
	return s
}
