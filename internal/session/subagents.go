package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// maxNested is the depth from which on sessions with this vocabulary start no agents: a main agent has subagents, and
// those that opt in have some of their own.
const maxNested = 2

// hasSubagents reports whether the session deals with agents of its own in the words of troupe.VocabularySubagents.
func hasSubagents(a *actor) bool { return a.st.Profile.Vocabulary == troupe.VocabularySubagents }

// inWordsOf is an end as the session is told of it.
func inWordsOf(a *actor, o *troupe.Outcome) *troupe.Outcome {
	if o == nil || !o.Kind.OfSession() || o.Team != "" || !hasSubagents(a) {
		return o
	}
	told := *o
	told.Vocabulary = troupe.VocabularySubagents
	return &told
}

// messaged has the result of a message say whom it reached, and as what: one that had ended is at work again, unless
// nothing was sent to it.
func messaged(out *troupe.ToolFinished, l *letter) {
	to := l.to[0]
	status := to.Status
	if len(l.mail) > 0 && status.Ended() {
		status = troupe.Running
	}
	out.Result.Blocks = []troupe.Block{troupe.Text(turn.RenderSubagent(to, status))}
}

// getSubagents answers get_subagents: the list, or all about one. Asked for one whose end the session was not told yet,
// it tells that; a list says of it that it runs.
func getSubagents(ctx context.Context, ts *tasks, c turn.Call, in troupe.TaskQuery) error {
	var kids []troupe.Session
	err := ts.a.h.d.Store.View(context.WithoutCancel(ctx), func(r store.Reader) (err error) {
		kids, err = r.Sessions(store.Filter{Root: ts.a.root, Parent: ts.a.id})
		return err
	})
	if err != nil {
		return fmt.Errorf("list the agents of session %s: %w", ts.a.id, err)
	}
	rows := slices.Clone(kids)
	for i := range kids {
		if t, ok := ts.a.st.Task(string(kids[i].ID)); ok && t.Status == troupe.TaskRunning && kids[i].Status.Ended() {
			kids[i].Status = troupe.Running // as far as the session was told
		}
	}
	if in.Task == "" {
		kids = slices.DeleteFunc(kids, func(s troupe.Session) bool { return !in.Only.Meets(s.Status) })
		return ts.a.stage(resultOf(c, turn.RenderSubagents(kids), false))
	}
	i := slices.IndexFunc(kids, func(s troupe.Session) bool {
		return string(s.ID) == in.Task || strings.EqualFold(s.Name, in.Task)
	})
	if i < 0 {
		return ts.a.stage(resultOf(c, ts.noSuchAgent(in.Task), true))
	}
	s := kids[i]
	if m, ok := unreadEnd(ts, c, troupe.TaskID(s.ID)); ok {
		return readEnd(ctx, ts, m, resultOf(c, turn.RenderSubagentInFull(rows[i], m.Ended), false))
	}
	var end *troupe.Outcome
	if t, ok := ts.a.st.Task(string(s.ID)); ok && t.Status != troupe.TaskRunning && s.Status.Ended() {
		if end, err = endOf(ctx, ts, t); err != nil {
			return err
		}
	}
	return ts.a.stage(resultOf(c, turn.RenderSubagentInFull(s, end), false))
}
