package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/handoff"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// checkHandoff looks at what an agent hands to its parent, before it is logged as the end of the run. What fires stands
// in that event, so it is the same for all who read the end later.
func checkHandoff(ctx context.Context, a *actor, o troupe.Outcome) (flags []troupe.Flag, err error) {
	if o.Result == "" {
		return nil, nil
	}
	r := handoff.Result{
		Text: a.h.d.Mask(o.Result), Evidence: o.Evidence, // as the parent reads it
		Delegated: slices.ContainsFunc(a.st.Tasks, func(t troupe.Task) bool {
			return t.Kind.OfSession() && t.ID != troupe.TaskID(turn.Checker(&a.st))
		}),
	}
	if a.st.Fork == nil { // what a fork has seen is in its parent's log, and its parent has seen it
		r.Saw = func(texts []string) []bool {
			var saw []bool
			saw, err = sawInLog(ctx, a, texts)
			return saw
		}
	}
	flags = a.h.handoff.Check(r)
	return flags, err
}

// logPage is how many events of a log are looked at at once.
const logPage = 200

// sawInLog reports which texts a session has been told, has read or has run: they stand in its log, but not in its own
// words alone.
func sawInLog(ctx context.Context, a *actor, texts []string) ([]bool, error) {
	saw := make([]bool, len(texts))
	look := func(events []troupe.Event) (all bool) {
		for _, e := range events {
			for _, s := range seenIn(e.Body) {
				for i, text := range texts {
					saw[i] = saw[i] || strings.Contains(s, text)
				}
			}
		}
		return !slices.Contains(saw, false)
	}
	if look(a.staged.events) {
		return saw, nil
	}
	err := a.h.d.Store.View(context.WithoutCancel(ctx), func(r store.Reader) error {
		for from := int64(0); ; {
			events, err := r.Events(a.id, from, logPage)
			if err != nil {
				return fmt.Errorf("read what session %s has seen: %w", a.id, err)
			}
			if len(events) == 0 || look(events) {
				return nil
			}
			from = events[len(events)-1].Seq
		}
	})
	return saw, err
}

// seenIn are the texts of an event that a session did not make up: what it was told, what came back from its tools, and
// what it ran.
func seenIn(b troupe.Body) (out []string) {
	add := func(blocks []troupe.Block) {
		for _, block := range blocks {
			out = append(out, block.Text)
			if block.Type == troupe.CallBlock && block.Call != nil {
				out = append(out, block.Call.Input)
			}
		}
	}
	switch b := b.(type) {
	case troupe.MailDelivered:
		for _, m := range b.Mail {
			add(m.Blocks)
		}
	case troupe.ToolFinished:
		add(b.Result.Blocks)
	case troupe.Replied:
		for _, block := range b.Blocks {
			if block.Type == troupe.CallBlock {
				add([]troupe.Block{block})
			}
		}
	case troupe.Compacted:
		add(b.Blocks)
	}
	return out
}
