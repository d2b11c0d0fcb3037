package session

import (
	"context"
	"log/slog"

	"github.com/troupe-dev/troupe"
)

// debug writes what was committed to the debug log: what happened, how long it took and what
// went wrong, for whoever has to find out why. Words and inputs are not in it; the session's
// own log has those.
func (h *Hub) debug(ctx context.Context, events []troupe.Event) {
	if !h.d.Log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	for _, e := range events {
		attrs := append([]slog.Attr{slog.String("session", string(e.Session)), slog.Int64("seq", e.Seq)},
			describe(e.Body)...)
		h.d.Log.LogAttrs(ctx, slog.LevelDebug, string(e.Body.Kind()), attrs...)
	}
}

func describe(body troupe.Body) []slog.Attr {
	switch b := body.(type) {
	case troupe.Created:
		return []slog.Attr{slog.String("type", b.Profile.Kind()), slog.String("model", b.Profile.Model),
			slog.String("mode", string(b.Authority.Mode)), slog.String("parent", string(b.Parent))}
	case troupe.Started:
		return []slog.Attr{slog.Int("run", b.Run)}
	case troupe.CallSealed:
		return []slog.Attr{slog.Int("reply", b.Reply), slog.Int("generation", b.Generation),
			slog.String("chain", b.Chain), slog.String("because", b.Because)}
	case troupe.Replied:
		return []slog.Attr{slog.Int("reply", b.Reply), slog.String("stop", string(b.Stop)),
			slog.Int64("ms", b.DurationMS), slog.Int64("tokens", b.Usage.Total()), slog.String("request", b.RequestID)}
	case troupe.ModelFailed:
		return []slog.Attr{slog.Int("reply", b.Reply), slog.Int("attempt", b.Attempt),
			slog.String("fault", string(b.Fault)), slog.String("message", b.Message), slog.Time("retry_at", b.RetryAt)}
	case troupe.ToolStarted:
		return []slog.Attr{slog.Int("reply", b.Reply), slog.Int("call", b.Call), slog.String("tool", b.Name),
			slog.String("by", string(b.Decision.Step)), slog.String("child", string(b.Child))}
	case troupe.ToolFinished:
		return []slog.Attr{slog.Int("reply", b.Result.Reply), slog.Int("call", b.Result.Call),
			slog.String("tool", b.Name), slog.Int64("ms", b.DurationMS), slog.Bool("error", b.Result.IsError),
			slog.Bool("denied", b.Denied != nil)}
	case troupe.Ended:
		return []slog.Attr{slog.Int("run", b.Outcome.Run), slog.String("status", string(b.Outcome.Status)),
			slog.String("cause", string(b.Outcome.Cause)), slog.String("error", b.Outcome.Error)}
	}
	return nil
}
