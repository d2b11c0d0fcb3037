package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/chat/render"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Bounds of what is shown of a tree that goes on, besides the screen's. The main agent's log is read whole: its
// tasks, and how much came before, are folds of all of it. Of the other agents no more is read than stands here.
const (
	pastExchanges = 20
	pastAgents    = 100 // of those that were at work in that time, the last ones
	pastEvents    = 300 // of each of them
	usualHeight   = 24  // of a screen that does not tell
)

// recall shows where a conversation stands that goes on: the last exchanges as they were shown live, and
// how much came before them.
func recall(ctx context.Context, v *conversation) error {
	t := v.tree
	main := t.before[0]
	with := ""
	if main.Model != "" {
		with = " · " + console.Model(main.Model)
	}
	v.say(fmt.Sprintf("Going on with %s: %s (%s)%s", main.ID, console.Line(main.Title, 60),
		console.EndWord(string(main.Status)), with))
	all, err := t.logged(ctx, main)
	if err != nil {
		return err
	}
	var cost troupe.Money
	for _, s := range t.before {
		cost += troupe.Dollars(s.CostUSD)
	}
	for _, e := range all {
		v.board.work.Event(e)
	}
	from, earlier := lastExchanges(all)
	children, err := t.loggedSince(ctx, from)
	if err != nil {
		return err
	}
	for _, e := range children {
		v.board.work.Event(e)
	}
	if tasks, err := v.trees.api.Tasks(ctx, t.root); err == nil { // else they are shown until their ends are read
		v.board.work.Ended(tasks)
	}
	v.board.work.Spent(cost) // what the events above told of it is a part of this
	for _, r := range v.board.work.Granted() {
		v.say("Still allowed for this session: " + console.Visible(console.Line(r.Text, 0)))
	}
	events := slices.Concat(all[from.at:], children)
	console.Arrange(events)
	shown, hidden := replay(v.view, events, pastRows(v.s.Height()))
	if note := hidden.add(earlier).text(main.ID); note != "" {
		v.say(note)
	}
	v.flow(strings.Join(shown, ""))
	return nil
}

// pastRows is how many rows the last exchanges may take: with them, what is said of them and the prompt
// fit on the screen.
func pastRows(height int) int {
	if height <= 0 {
		height = usualHeight
	}
	return max(height-6, 8)
}

// logged reads the main agent's log, as far as it is not followed.
func (t *tree) logged(ctx context.Context, main wire.Session) ([]troupe.Event, error) {
	events, err := t.api.Events(ctx, main.ID, 0, 0)
	return t.unfollowed(events), err
}

// unfollowed leaves out what the stream will bring.
func (t *tree) unfollowed(events []troupe.Event) []troupe.Event {
	return slices.DeleteFunc(events, func(e troupe.Event) bool { return e.Seq > t.seen[e.Session] })
}

// since is a place in the main agent's log, and its time.
type since struct {
	at   int
	time time.Time
}

// lastExchanges finds where the last exchanges begin, and how many came before.
func lastExchanges(main []troupe.Event) (from since, earlier int) {
	var prompts []int
	for i, e := range main {
		if isPrompt(e) {
			prompts = append(prompts, i)
		}
	}
	earlier = max(0, len(prompts)-pastExchanges)
	if earlier > 0 {
		from.at = prompts[earlier]
	}
	if from.at < len(main) {
		from.time = main[from.at].At
	}
	return from, earlier
}

// isPrompt reports whether an event brings the main agent the words of a person.
func isPrompt(e troupe.Event) bool {
	b, ok := e.Body.(troupe.MailDelivered)
	return ok && e.Session == e.Root && slices.ContainsFunc(b.Mail, troupe.Mail.PersonsPrompt)
}

// loggedSince reads what sub-agents did in a time.
func (t *tree) loggedSince(ctx context.Context, from since) ([]troupe.Event, error) {
	var out []troupe.Event
	left := pastAgents
	for _, s := range slices.Backward(t.before[1:]) {
		if left == 0 || !s.EndedAt.IsZero() && s.EndedAt.Before(from.time) {
			continue
		}
		left--
		seq := t.seen[s.ID]
		events, err := t.api.Events(ctx, s.ID, max(0, seq-pastEvents), pastEvents)
		if err != nil {
			return nil, err
		}
		for _, e := range t.unfollowed(events) {
			if !e.At.Before(from.time) {
				out = append(out, e)
			}
		}
	}
	return out, nil
}

// leftOut is what is not shown of the past.
type leftOut struct{ prompts, rows int }

func (l leftOut) add(prompts int) leftOut { return leftOut{l.prompts + prompts, l.rows} }

// text says what is not shown, and what shows it.
func (l leftOut) text(id troupe.SessionID) string {
	what := ""
	switch {
	case l.prompts > 0 && l.rows > 0:
		what = fmt.Sprintf("%s and %s are", console.Count(l.prompts, "earlier prompt"), console.Count(l.rows, "row"))
	case l.prompts > 1:
		what = fmt.Sprintf("%d earlier prompts are", l.prompts)
	case l.prompts == 1:
		what = "1 earlier prompt is"
	case l.rows > 0:
		what = fmt.Sprintf("%d earlier rows are", l.rows)
	default:
		return ""
	}
	return fmt.Sprintf("… %s not shown here: /log, or troupe log %s", what, id)
}

// replay shows events that happened before, through the view that goes on with what follows, and returns
// the last exchanges that fit, a string for each row.
func replay(view *render.View, events []troupe.Event, most int) ([]string, leftOut) {
	view.Past(true)
	defer view.Past(false)
	var exchanges [][]string
	for _, e := range events {
		if n := len(exchanges); n == 0 || isPrompt(e) && len(exchanges[n-1]) > 0 {
			exchanges = append(exchanges, nil)
		}
		view.Event(e)
		view.Flush()
		text, _ := view.Take()
		last := &exchanges[len(exchanges)-1]
		*last = slices.AppendSeq(*last, strings.Lines(text))
	}
	return fitting(exchanges, most)
}

// fitting is the last exchanges that have room, or else the end of the last one, below its prompt.
func fitting(exchanges [][]string, most int) (rows []string, out leftOut) {
	for i, x := range slices.Backward(exchanges) {
		if len(rows)+len(x) <= most {
			rows = slices.Concat(x, rows)
			continue
		}
		prompts := i + 1
		if len(rows) == 0 {
			over := len(x) - most
			rows = slices.Concat(x[:1], x[1+over:])
			prompts, out.rows = i, over
		}
		out.prompts = prompts
		break
	}
	return rows, out
}
