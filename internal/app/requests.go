package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// requests implements api.Requests.
type requests struct{ bound }

// Requests lists the open requests of a tree, or of all trees.
func (a requests) Requests(ctx context.Context, root troupe.SessionID) ([]wire.Request, error) {
	return a.list(ctx, func(r store.Reader) ([]troupe.Request, error) {
		rows, err := r.Requests(store.RequestFilter{Root: root, Open: true})
		if err != nil {
			return nil, fmt.Errorf("look for requests: %w", err)
		}
		return leading(rows), nil
	})
}

// Request finds the one open request whose id is, or begins with, id. Without an id there
// must be just one.
func (a requests) Request(ctx context.Context, id string) (wire.Request, error) {
	one, err := a.list(ctx, func(r store.Reader) ([]troupe.Request, error) {
		q, err := openRequest(r, id)
		return []troupe.Request{q}, err
	})
	if err != nil {
		return wire.Request{}, err
	}
	return one[0], nil
}

// list shows requests, with what their trees say of them.
func (a requests) list(ctx context.Context, find func(store.Reader) ([]troupe.Request, error)) ([]wire.Request, error) {
	var out []wire.Request
	err := a.app.trees.store.View(ctx, func(r store.Reader) error {
		rows, err := find(r)
		if err != nil {
			return err
		}
		out = make([]wire.Request, 0, len(rows))
		for _, q := range rows {
			w, err := a.show(r, q)
			if err != nil {
				return err
			}
			out = append(out, w)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	trees := make(map[troupe.SessionID]Tree)
	for i := range out {
		t, known := trees[out[i].Root]
		if !known {
			if t, err = a.app.tree(ctx, out[i].Root); err != nil {
				return nil, err
			}
			trees[out[i].Root] = t
		}
		out[i].Path, out[i].Running = t.Paths[out[i].Session], t.Running
	}
	return out, nil
}

// leading leaves out the requests that are settled with another one of the list.
func leading(rows []troupe.Request) []troupe.Request {
	type place struct {
		session troupe.SessionID
		troupe.Coord
	}
	led := make(map[place]bool)
	for _, r := range rows {
		for _, c := range r.With {
			led[place{r.Session, troupe.Coord{Reply: r.Reply, Call: c}}] = true
		}
	}
	return slices.DeleteFunc(rows, func(r troupe.Request) bool { return led[place{r.Session, r.Coord}] })
}

// show is a request as far as it is known without its tree.
func (a requests) show(r store.Reader, q troupe.Request) (wire.Request, error) {
	s, err := r.Session(q.Session)
	if err != nil {
		return wire.Request{}, fmt.Errorf("read session %s: %w", q.Session, err)
	}
	w := wire.Request{
		ID: string(q.ID), Kind: q.Kind, Session: q.Session, Root: q.Root, Tool: q.Tool,
		Action: q.Action,
		Why:    q.Decision.Why, Rule: q.Decision.Rule, Grant: q.Decision.Grant,
		Beyond: wire.Beyond{Wider: q.Decision.Wider, Mode: q.Mode, Rules: q.Rules},
		Since:  q.Opened.UTC(), Until: q.Until.UTC(), Calls: 1 + len(q.With),
		Wants: q.Wants, Output: q.Output, Folder: s.Cwd, Questions: q.Questions, Server: q.Server,
	}
	if q.Kind == troupe.RequestTool {
		w.Input, w.Call = q.Input, &q.Coord
	}
	if s.Workspace.Kind.Made() {
		w.Worktree, w.WorktreeName = s.Workspace.Folder, s.Workspace.Name
	}
	if w.Grant != "" {
		w.File, w.NoAlways = a.app.dirs.Kept(w.Folder), onlyOperates(a.caller)
	}
	if w.Mode != "" {
		events, err := r.Events(q.Root, 0, 1)
		if err != nil {
			return wire.Request{}, fmt.Errorf("read session %s: %w", q.Root, err)
		}
		if len(events) > 0 && boundOf(events[0], w.Mode) != w.Mode {
			w.Mode = "" // SetMode would refuse it
		}
	}
	return w, nil
}

// Answer answers the open request that id names or begins.
func (a requests) Answer(ctx context.Context, id string, ans wire.Answer) error {
	var req wire.Request
	var q troupe.Request
	err := a.app.trees.store.View(ctx, func(r store.Reader) (err error) {
		q, err = openRequest(r, id)
		if err == nil {
			req, err = a.show(r, q)
		} else if isNotFound(err) {
			err = a.again(r, id, ans, err)
		}
		return err
	})
	if err != nil || q.ID == "" {
		return err
	}
	if err := a.maySteer(ctx, q.Root); err != nil { // a no has words too, and sets the session going
		return err
	}
	if ans.Allow && q.Kind != troupe.RequestTool { // what a client carries out is done elsewhere
		if err := a.mayAnswer(ctx, q); err != nil {
			return err
		}
	}
	by := a.caller.String()
	answer := troupe.Answer{Request: troupe.RequestID(req.ID), By: by, Effect: troupe.Deny, Note: a.app.Mask(ans.Note)}
	if ans.Allow {
		answer.Effect = troupe.Allow
	}
	if answer.Said, err = a.said(q, ans); err != nil {
		return err
	}
	if answer.Result, answer.Effect, err = a.carried(q, ans, answer.Effect); err != nil {
		return err
	}
	if ans.Once != "" {
		answer.Once = a.caller.Key(ans.Once)
	}
	if answer.Mode, err = modeFor(q, ans); err != nil {
		return err
	}
	var rules []troupe.Rule
	source := troupe.GrantedBy(by)
	if ans.Allow {
		rules = q.Leave(q.Session, q.Coord, source)
	}
	if ans.Always {
		source = req.File
	}
	if answer.Rule = ruleOf(req, ans); answer.Rule != "" {
		rules = append(rules, troupe.Rule{Effect: troupe.Allow, Text: answer.Rule, Source: source})
	}
	boundedBy(a.caller, rules, source)
	// First the rules, so that nothing else of the tree asks for the same again.
	var out []troupe.Mail
	for i := range rules {
		out = append(out, troupe.Mail{To: req.Root, Kind: troupe.MailGrant, Rule: &rules[i]})
	}
	out = append(out, troupe.Mail{
		ID: troupe.AnswerMailID(answer.Request), To: req.Session, Kind: troupe.MailAnswer, Answer: &answer,
	})
	_, err = a.post(ctx, req.Root, func(tx store.Tx) ([]troupe.Mail, error) {
		_, err := openRequest(tx, req.ID) // another answer may have come first
		if isNotFound(err) {
			return nil, a.again(tx, req.ID, ans, err)
		}
		if err == nil && q.Kind == troupe.RequestTool {
			err = a.inTime(tx, q)
		}
		return out, err
	})
	if err == nil && answer.Rule != "" && ans.Always {
		err = config.Keep(req.File, req.Folder, answer.Rule)
	}
	return err
}

// ruleOf is the rule that an answer grants to the whole tree; "" if it grants none.
func ruleOf(req wire.Request, ans wire.Answer) string {
	switch {
	case !ans.Allow:
		return ""
	case ans.Wider && req.Wider != "":
		return req.Wider
	case ans.Session || ans.Always:
		return req.Grant
	}
	return ""
}

// openRequest finds the one open request whose id is, or begins with, id. Without an id there
// must be just one.
func openRequest(r store.Reader, id string) (troupe.Request, error) {
	rows, err := r.Requests(store.RequestFilter{IDPrefix: id, Open: true})
	if err != nil {
		return troupe.Request{}, fmt.Errorf("look for request %q: %w", id, err)
	}
	if i := slices.IndexFunc(rows, func(q troupe.Request) bool { return string(q.ID) == id }); i >= 0 {
		lead, led, err := leaderOf(r, rows[i])
		if led {
			return openRequest(r, string(lead.ID))
		}
		return rows[i], err
	}
	rows = leading(rows)
	if wholeRequest(id) {
		rows = nil
	}
	switch {
	case len(rows) == 1:
		return rows[0], nil
	case len(rows) == 0 && id == "":
		return troupe.Request{}, &troupe.UserError{Problem: "no request is open",
			Hint: "`troupe requests` lists them as they come.", Code: troupe.ExitUsage, Err: troupe.ErrNotFound}
	case len(rows) == 0:
		became, err := whatBecame(r, id)
		if err != nil {
			return troupe.Request{}, err
		}
		return troupe.Request{}, &troupe.UserError{
			Problem: fmt.Sprintf("no open request begins with %q; %s", id, became),
			Hint:    "`troupe requests` lists those that are open.", Code: troupe.ExitUsage, Err: troupe.ErrNotFound,
		}
	}
	var ids []string
	for _, q := range rows {
		ids = append(ids, string(q.ID))
	}
	return troupe.Request{}, &troupe.UserError{
		Problem: fmt.Sprintf("%d requests are open: %s", len(rows), strings.Join(ids, ", ")),
		Hint:    "Name one of them; the beginning of its id will do.", Code: troupe.ExitUsage, Err: troupe.ErrAmbiguous,
	}
}

// leaderOf finds the request that was shown for this one too. An answer is for that: it says what each of the calls
// is allowed, and this one does not.
func leaderOf(r store.Reader, q troupe.Request) (lead troupe.Request, ok bool, err error) {
	rows, err := r.Requests(store.RequestFilter{IDPrefix: fmt.Sprintf("%s.%d.", q.Session, q.Reply)})
	if err != nil {
		return lead, false, fmt.Errorf("look for what request %s was asked with: %w", q.ID, err)
	}
	for _, l := range rows {
		if l.Settled.IsZero() && slices.Contains(l.With, q.Call) {
			return l, true, nil
		}
	}
	return lead, false, nil
}

// wholeRequest: the id can be that of a request. It may begin those of others, which are other
// questions: an answer to it that comes twice must not be taken for one to them.
func wholeRequest(id string) bool {
	return strings.Count(id, ".") >= 2 && !strings.HasSuffix(id, ".")
}

// whatBecame says who answered the request that id names or begins, as far as that is known.
func whatBecame(r store.Reader, id string) (string, error) {
	rows, err := r.Requests(store.RequestFilter{IDPrefix: id})
	if err != nil {
		return "", fmt.Errorf("look for request %q: %w", id, err)
	}
	if i := slices.IndexFunc(rows, func(q troupe.Request) bool { return string(q.ID) == id }); i >= 0 {
		rows = rows[i : i+1]
	}
	if len(rows) != 1 {
		return "it may have been answered", nil
	}
	if q := rows[0]; !q.Settled.IsZero() {
		if q.Answer == nil {
			return "its run was stopped before it was answered", nil
		}
		return saidBy(q.Answer), nil
	}
	unread, err := r.Unread(rows[0].Session)
	if err != nil {
		return "", fmt.Errorf("read the mail of session %s: %w", rows[0].Session, err)
	}
	for _, m := range unread {
		if m.Answer != nil && m.ID == troupe.AnswerMailID(rows[0].ID) {
			return saidBy(m.Answer) + ", which is read when the session goes on", nil
		}
	}
	return "it may have been answered", nil
}

func saidBy(a *troupe.Answer) string {
	if a.Effect == troupe.Allow {
		return "it was allowed by " + a.By
	}
	return "it was denied by " + a.By
}
