package app

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/session"
)

//go:embed handoff.md
var handoffPrompt string

const (
	// handoffType is how calls of the model that checks results are named to a script.
	handoffType = "handoff"
	// handoffWithin is how long a result waits for it.
	handoffWithin = 30 * time.Second
	// mostResult bounds what of a result it is told, in bytes; a longer one it is not asked about.
	mostResult = 64_000
)

// handoffModel asks the model that checks results.
type handoffModel struct{ opinions }

// Check implements session.HandoffModel.
func (h handoffModel) Check(ctx context.Context, q session.HandoffAsking) troupe.Verdict {
	tooLong := ""
	if len(q.Result) > mostResult {
		tooLong = "the result is too long to be judged by a part of it"
	}
	return h.of(ctx, question{Model: q.Model, Type: handoffType, ID: q.ID, Path: q.Path, System: handoffPrompt,
		Text: toldOfResult(q), Within: handoffWithin, TooLong: tooLong, Read: resultVerdict})
}

// toldOfResult is the message: parts between tags that no part can close.
func toldOfResult(q session.HandoffAsking) string {
	return strings.Join([]string{
		troupe.Quote("handoff-task", q.Task),
		troupe.Quote("handoff-transcript", q.Transcript),
		troupe.Quote("handoff-measured", q.Measured),
		troupe.Quote("handoff-result", q.Result),
		"Is the result of agent " + q.Path + " what it looks like? One line: \"pass: REASON\" or \"flag: REASON\".",
	}, "\n")
}

// resultVerdict reads an answer. What is not exactly one of the two is none.
func resultVerdict(text string) (effect troupe.Effect, why string, err error) {
	word, reason, ok := strings.Cut(strings.TrimSpace(text), ":")
	reason = strings.TrimSpace(reason)
	if !ok || reason == "" || strings.Contains(reason, "\n") {
		word = ""
	}
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "pass":
		return troupe.Allow, oneLine(reason), nil
	case "flag":
		return troupe.Ask, oneLine(reason), nil
	}
	return troupe.Ask, "", fmt.Errorf("its answer is neither \"pass: REASON\" nor \"flag: REASON\": %q", oneLine(text))
}

// checkerOf is the model that checks results where these settings hold, which the user named: a script that the session
// uses speaks for all models. "" if none was named. One that is not to be had stays, and each result says that it is
// not.
func checkerOf(a *App, from config.Settings, used, cwd string) string {
	parent := ""
	if strings.HasPrefix(used, "script/") {
		parent = used
	}
	if from.HandoffModel == "" {
		return ""
	}
	full, err := a.models.Resolve(from.HandoffModel, parent, cwd)
	if err != nil {
		return from.HandoffModel
	}
	return full
}
