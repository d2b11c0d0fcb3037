package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/live"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Work is what is at work in a tree, as its events tell it: who waits for a model and since when,
// which calls run, what is in the background, and which words wait to be read. It has no clock:
// who asks says what time it is. It is used by one goroutine.
type Work struct {
	view     *View // for the names of agents
	agents   []*worker
	byID     map[troupe.SessionID]*worker
	commands []*job
	queued   []queuedWords
	unread   []string      // of these, what came and no reply was asked for since
	left     []string      // the same, of a run that has ended
	granted  []troupe.Rule // what a person allowed the whole session
	attempts int           // how often one model call is tried; 0: until a person stops it
	model    string
	mode     troupe.Mode
	cost     troupe.Money
	beside   bool
	board    live.Board
}

// Standing is what the main agent works with, and what its tree has cost as far as events told it.
func (w *Work) Standing() (model string, mode troupe.Mode, cost troupe.Money) {
	return w.model, w.mode, w.cost
}

// Unanswered are the words sent to a run that ended before a reply was asked for. They are told once.
func (w *Work) Unanswered() []string {
	left := w.left
	w.left = nil
	return left
}

// Granted are the rules that a person's answers gave the whole session.
func (w *Work) Granted() []troupe.Rule { return w.granted }

// grant follows what Granted tells.
func (w *Work) grant(rules []troupe.Rule) {
	w.granted = slices.DeleteFunc(slices.Clone(rules), func(r troupe.Rule) bool {
		return r.For != "" || !r.Granted()
	})
}

// Spent says what was spent until now, whatever events told.
func (w *Work) Spent(m troupe.Money) { w.cost = m }

// stand follows what Standing tells.
func (w *Work) stand(e troupe.Event) {
	main := e.Session == w.view.root
	switch b := e.Body.(type) {
	case troupe.Created:
		if main {
			w.mode, w.model = b.Authority.Mode, cmp.Or(b.Profile.Model, w.model)
			w.grant(b.Authority.Rules)
		}
	case troupe.AuthorityChanged:
		if main {
			w.mode = b.Authority.Mode
			w.grant(b.Authority.Rules)
		}
	case troupe.CallSealed:
		if main {
			w.model, w.unread = b.Model, nil
		}
	case troupe.Ended:
		if main {
			if b.Outcome.Status != troupe.Completed {
				w.left = append(w.left, w.unread...)
			}
			w.unread = nil
		}
	case troupe.ModelChanged:
		if main {
			w.model = b.Model
		}
	case troupe.Replied:
		w.cost += b.Cost
	case troupe.ModelFailed:
		w.cost += b.Cost
	case troupe.HandoffJudged:
		w.cost += b.Cost
	case troupe.Compacted:
		w.cost += b.Cost
	case troupe.ToolFinished:
		w.cost += b.Cost
	}
}

// worker is an agent as far as it is at work.
type worker struct {
	id        troupe.SessionID
	name      string // of its model
	live      bool
	since     time.Time // of what it does now
	asked     bool      // a model call is under way
	answering bool      // and its reply has begun
	summary   bool      // and it is for a summary
	failed    *troupe.ModelFailed
	calls     []*job
	making    string       // how far its folder has come; "" if that is not known to be in the making
	ready     bool         // its folder is there
	behind    string       // what keeps its run from beginning; "": it has begun
	early     []wire.Delta // about calls of a reply whose event has not come yet
}

// job is a call or a command.
type job struct {
	at      troupe.Coord
	id      troupe.TaskID // of a command in the background
	text    string
	limit   time.Duration // 0: none is known
	since   time.Time
	started bool
	waits   bool // for a person
	order   order
	child   bool // it waits for an agent, which has a row of its own
	stage   troupe.Stage
	seen    bool // it has a row, whatever it is at
	tail    []string
}

// queuedWords were sent while the main agent was at work and have not reached it yet.
type queuedWords struct {
	id   troupe.MailID
	text string
}

// NewWork makes the board of one tree. The view names its agents.
func NewWork(v *View) *Work {
	return &Work{view: v, byID: make(map[troupe.SessionID]*worker), attempts: troupe.DefaultPolicy().MaxAttempts}
}

// Queued notes words that were sent while the main agent was at work.
func (w *Work) Queued(id troupe.MailID, text string) {
	w.queued = append(w.queued, queuedWords{id, text})
}

// Busy reports whether there is something that Rows would tell sooner or later.
func (w *Work) Busy() bool {
	return len(w.commands)+len(w.queued) > 0 || slices.ContainsFunc(w.agents, func(a *worker) bool { return a.live })
}

// Live reports whether an agent has a run under way.
func (w *Work) Live(id troupe.SessionID) bool {
	a := w.byID[id]
	return a != nil && a.live
}

// Waited reports whether the main agent waits for an agent or a command.
func (w *Work) Waited() bool {
	a := w.byID[w.view.root]
	return a != nil && slices.ContainsFunc(a.calls, func(c *job) bool { return c.child || c.limit > 0 })
}

// Delta notes that a reply has begun, what a command has printed, or what keeps it from running.
func (w *Work) Delta(d wire.Delta, at time.Time) {
	a := w.byID[d.Session]
	switch {
	case a == nil:
	case d.All > 0:
		a.making = console.Making(d.Done, d.All)
	case d.Stage != "" && a.call(d.Call) == nil:
		if len(a.early) == 0 || a.early[0].Call.Reply == d.Call.Reply {
			a.early = append(a.early, d)
		} else {
			a.early = []wire.Delta{d}
		}
	case d.Stage != "":
		c := a.call(d.Call)
		c.seen = c.seen || at.Sub(c.since) >= settled
		c.stage, c.since = d.Stage, at
	case d.Output == "":
		a.answering = a.asked
	default:
		if c := a.call(d.Call); c != nil {
			lines := strings.Split(strings.TrimRight(console.Clean(d.Output), "\n"), "\n")
			c.tail, c.stage = lines[max(0, len(lines)-tailRows):], troupe.StageRuns
		}
	}
}

func (w *Work) agent(id troupe.SessionID) *worker {
	a := w.byID[id]
	if a == nil {
		a = &worker{id: id}
		w.byID[id] = a
		w.agents = append(w.agents, a)
	}
	return a
}

// Event follows one event. Those of one session must come in order.
func (w *Work) Event(e troupe.Event) {
	a := w.agent(e.Session)
	a.making = "" // or it is told of again at once
	w.stand(e)
	switch b := e.Body.(type) {
	case troupe.Created:
		if b.Settings != nil {
			w.attempts = b.Settings.Policy.MaxAttempts
		}
	case troupe.SettingsChanged:
		w.attempts = b.Settings.Policy.MaxAttempts
	case troupe.Queued:
		a.behind, a.live, a.since = b.Why, b.Why != "", e.At
	case troupe.Started:
		a.live, a.since, a.ready, a.behind = true, e.At, false, ""
	case troupe.WorkspaceReady:
		a.ready = true
	case troupe.CallSealed:
		a.asked, a.answering, a.summary, a.failed, a.since = true, false, b.Compact, nil, e.At
		a.name = console.ShortModel(b.Model)
	case troupe.Replied:
		a.replied(b, e.At, w.view.o.Cwd)
	case troupe.Compacted:
		a.asked, a.failed, a.since = false, nil, e.At
	case troupe.ModelFailed:
		if a.asked, a.failed, a.since = false, nil, e.At; !b.RetryAt.IsZero() {
			a.failed = &b
		}
	case troupe.ToolStarted:
		if c := a.call(troupe.Coord{Reply: b.Reply, Call: b.Call}); c != nil {
			c.started, c.waits, c.child, c.since = true, false, b.Child != "", e.At
		}
	case troupe.ToolFinished:
		w.finished(a, b, e.At)
	case troupe.RequestOpened:
		a.waits(troupe.Coord{Reply: b.Reply, Call: b.Call}, true, e.At)
	case troupe.RequestAnswered:
		a.waits(troupe.Coord{Reply: b.Reply, Call: b.Call}, false, e.At)
	case troupe.MailDelivered:
		w.delivered(b)
	case troupe.BoardChanged:
		w.board.Take(b)
	case troupe.Ended:
		*a = worker{id: a.id}
	}
}

func (a *worker) call(at troupe.Coord) *job {
	if i := slices.IndexFunc(a.calls, func(c *job) bool { return c.at == at }); i >= 0 {
		return a.calls[i]
	}
	return nil
}

func (a *worker) waits(at troupe.Coord, on bool, since time.Time) {
	if c := a.call(at); c != nil {
		c.waits, c.since = on, since
	}
}

func (a *worker) replied(b troupe.Replied, at time.Time, cwd string) {
	a.asked, a.failed, a.since, a.calls = false, nil, at, nil
	for _, block := range b.Blocks {
		if c := block.Call; block.Type == troupe.CallBlock && c != nil {
			j := &job{at: troupe.Coord{Reply: c.Reply, Call: c.Index}, since: at, limit: limitOf(*c),
				order: orderOf(c.Name)}
			j.text = strings.TrimSpace(console.Line(c.Name, 40) + " " + console.Line(live.What(*c, cwd), 400))
			a.calls = append(a.calls, j)
		}
	}
	for _, d := range a.early {
		if c := a.call(d.Call); c != nil {
			c.stage = d.Stage
		}
	}
	a.early = nil
}

// limitOf is how long a command may take; 0 for a call that is none.
func limitOf(c troupe.Call) time.Duration {
	var in struct {
		Command    string `json:"command"`
		Timeout    int64  `json:"timeout"`
		Background bool   `json:"run_in_background"`
	}
	if json.Unmarshal([]byte(c.Input), &in) != nil || in.Command == "" || in.Background {
		return 0
	}
	if in.Timeout > 0 {
		return time.Duration(in.Timeout) * time.Millisecond
	}
	return usualLimit
}

// usualLimit is that of Bash.
const usualLimit = 2 * time.Minute

func (w *Work) finished(a *worker, b troupe.ToolFinished, at time.Time) {
	coord := troupe.Coord{Reply: b.Result.Reply, Call: b.Result.Call}
	c := a.call(coord)
	a.calls = slices.DeleteFunc(a.calls, func(c *job) bool { return c.at == coord })
	a.since = at
	if len(a.calls) > 0 && !a.calls[0].started && !a.calls[0].waits {
		a.calls[0].since = at // it may have waited for this one
	}
	if b.Task == nil || b.Task.Kind.OfSession() {
		return
	}
	text := b.Task.Name
	if c != nil {
		text = strings.TrimPrefix(c.text, "Bash ")
	}
	w.commands = append(w.commands, &job{id: b.Task.ID, text: text, since: at})
}

// Ended takes out commands and monitors that are over though no event has told it: their agent reads of the end of one
// that ended with its process in its next step.
func (w *Work) Ended(tasks []wire.Task) {
	w.commands = slices.DeleteFunc(w.commands, func(c *job) bool {
		return slices.ContainsFunc(tasks, func(t wire.Task) bool {
			return t.ID == c.id &&
				t.Status != troupe.TaskRunning
		})
	})
}

func (w *Work) delivered(b troupe.MailDelivered) {
	for _, m := range b.Mail {
		w.queued = slices.DeleteFunc(w.queued, func(q queuedWords) bool {
			if q.id == m.ID {
				w.unread = append(w.unread, q.text)
			}
			return q.id == m.ID
		})
		if o := m.Ended; o != nil && !o.Kind.OfSession() {
			w.commands = slices.DeleteFunc(w.commands, func(c *job) bool { return c.id == o.Task })
		}
	}
}

// Bounds of what is shown at once.
const (
	maxRows   = 8
	tailRows  = 3               // of a command's output
	boardRows = 6               // of the list of what is to be done
	settled   = 1 * time.Second // what takes no longer is not worth a row
	tailAfter = 3 * time.Second
)

// Rows are what is at work at a time, a line for each: what it is, for how long, and what ends it.
// With all set nothing is left out; else what has only begun is, and what is beyond a few rows.
func (w *Work) Rows(now time.Time, all bool) []string {
	var rows []string
	for _, a := range w.agents {
		rows = append(rows, w.rowsOf(a, now, all)...)
	}
	for _, c := range w.commands {
		rows = append(rows, w.row("", string(c.id)+" "+c.text, " · in the background · "+age(now, c.since)))
	}
	if more := len(rows) - maxRows; more > 0 && !all {
		rows = append(rows[:maxRows], w.view.paint(2, fmt.Sprintf("… and %d more at work; /tasks lists them", more)))
	}
	if w.Live(w.view.root) && !all {
		w.board.Width = w.view.room(3)
		for _, l := range w.board.Short(boardRows) {
			rows = append(rows, w.view.paint(2, "  "+w.view.fit(l, 3)))
		}
	}
	for _, q := range w.queued {
		rows = append(rows, w.row("", "queued: “"+console.Line(q.text, 200)+"”", " · read after this step"))
	}
	return rows
}

func (w *Work) rowsOf(a *worker, now time.Time, all bool) []string {
	who := ""
	if a.id != w.view.root {
		who = w.view.Cast.who(a.id) + " · "
	}
	switch {
	case !a.live || !all && now.Sub(a.since) < settled && a.failed == nil && len(a.calls) == 0:
		return nil
	case a.behind != "":
		return []string{w.row(who, console.Line(a.behind, 200), " · "+age(now, a.since)+w.stops(a))}
	case a.failed != nil:
		text := who + sentence(a.failed.Message) + retryText(a.failed, now, w.attempts) + w.stops(a)
		rows := console.Wrap(text, w.view.room(3))
		for i, edge := 0, "… "; i < len(rows); i, edge = i+1, "  " {
			rows[i] = w.view.paint(2, edge+rows[i])
		}
		return rows
	case a.asked:
		what := "waiting for " + console.Line(a.name, 60)
		switch {
		case a.summary:
			what = "shortening the conversation"
		case a.answering:
			what = console.Line(a.name, 60) + " is answering"
		}
		return []string{w.row(who, what, " · "+age(now, a.since)+w.stops(a))}
	case len(a.calls) == 0:
		return []string{w.row(who, "preparing the next request", " · "+age(now, a.since))}
	}
	var rows []string
	for i, c := range a.calls {
		if c.queuedBehind(a.calls[:i]) {
			if all || now.Sub(c.since) >= settled {
				rows = append(rows, w.row(who, "queued: "+c.text, " · after those before it"))
			}
			continue
		}
		if c.child || !all && !c.seen && now.Sub(c.since) < settled {
			continue
		}
		took := " · " + age(now, c.since)
		switch {
		case c.waits:
			took += " · waits for your answer"
		case c.kept(a) != "":
			took += " · " + c.kept(a) + w.stops(a)
		case c.limit > 0:
			took += " of " + seconds(c.limit) + w.stops(a)
		}
		rows = append(rows, w.row(who, c.text, took))
		if len(c.tail) > 0 && now.Sub(c.since) >= tailAfter {
			for _, l := range c.tail {
				rows = append(rows, w.view.paint(2, "  │ "+w.view.fit(l, 5)))
			}
		}
	}
	return rows
}

// kept is what keeps a command from running, in words; "" if nothing does.
func (j *job) kept(a *worker) string {
	switch j.stage {
	case troupe.StageHidden:
		return "looking for hidden files"
	case troupe.StageProcessor:
		return "waits for a processor"
	case troupe.StageWorkspace:
		if a.ready {
			return "saves its folder first"
		}
		return cmp.Or(a.making, "waits for its folder")
	case troupe.StageRepository:
		return "waits for another command of git"
	case troupe.StageRuns:
	}
	return ""
}

// queuedBehind reports whether a call waits for one before it in its reply. Agents are started together, and
// so are calls that only read; all else runs alone.
func (j *job) queuedBehind(before []*job) bool {
	if j.started || j.waits {
		return false
	}
	return slices.ContainsFunc(before, func(b *job) bool { return b.order == orderAlone || b.order != j.order })
}

// order is how a call is run with others of its reply.
type order int

const (
	orderAlone order = iota
	orderReads
	orderBirths
)

func orderOf(tool string) order {
	switch tool {
	case "Agent", "spawn_subagent":
		return orderBirths
	case "Read", "Grep", "Glob", "WebFetch", "WebSearch", "TaskOutput", "get_subagents":
		return orderReads
	}
	return orderAlone
}

// Beside says whether something else is shown than the conversation: then Esc returns to it, and stops nothing.
func (w *Work) Beside(on bool) { w.beside = on }

// stops says which key ends what the main agent does.
func (w *Work) stops(a *worker) string {
	if a.id == w.view.root && !w.beside {
		return " · Esc stops"
	}
	return ""
}

// row draws one line: what it is shrinks before whose it is, and that before how long it takes.
func (w *Work) row(who, what, behind string) string {
	if w.view.o.Width > 0 {
		least := 3 + ansi.StringWidth(who+behind) + min(shortest, ansi.StringWidth(what))
		if name, ok := strings.CutSuffix(who, " · "); ok && least > w.view.o.Width {
			who = console.Middle(name, max(shortest, ansi.StringWidth(name)-(least-w.view.o.Width))) + " · "
		}
		what = w.view.shorten(what, 3+ansi.StringWidth(who+behind))
	}
	rows := console.Wrap("… "+who+what+behind, max(w.view.o.Width-1, 0)) // the foot leaves the last column free
	for i := range rows {
		rows[i] = w.view.paint(2, rows[i])
	}
	return strings.Join(rows, "\n  ")
}

// age is how long something has been so, in whole seconds.
func age(now, since time.Time) string { return seconds(max(0, now.Sub(since))) }

func seconds(d time.Duration) string {
	s := int(d / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600 && s%60 == 0:
		return fmt.Sprintf("%d min", s/60)
	case s < 3600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	}
	return fmt.Sprintf("%d h %d min", s/3600, s%3600/60)
}

// sentence is what went wrong, as the beginning of one.
func sentence(message string) string {
	s := strings.TrimRight(console.Line(message, 200), ". ")
	if r, n := utf8.DecodeRuneInString(s); n > 0 {
		s = string(unicode.ToUpper(r)) + s[n:]
	}
	return s
}

// retryText says what is tried again, which attempt that will be of how many, and when.
func retryText(f *troupe.ModelFailed, now time.Time, of int) string {
	left := max(0, f.RetryAt.Sub(now)+time.Second-1)
	if of == 0 {
		return fmt.Sprintf(". Retry %d in %s", f.Attempt, seconds(left))
	}
	return fmt.Sprintf(". Retry %d of %d in %s", f.Attempt, max(of-1, f.Attempt), seconds(left))
}
