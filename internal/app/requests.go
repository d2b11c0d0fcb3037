package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
	"github.com/troupe-dev/troupe/internal/wire"
)

// requestID names the request about a call: the session and the call's coordinates.
func requestID(s troupe.SessionID, c troupe.Coord) string {
	return fmt.Sprintf("%s.%d.%d", s, c.Reply, c.Call)
}

// requests implements api.Requests.
type requests struct{ use }

// Requests lists the open requests of a tree, or of all trees.
func (a requests) Requests(ctx context.Context, root troupe.SessionID) ([]wire.Request, error) {
	var out []wire.Request
	err := a.store.View(ctx, func(r store.Reader) error {
		out = nil
		for _, reason := range []troupe.WaitReason{troupe.WaitApproval, troupe.WaitQuestion} {
			asking, err := r.Sessions(store.Filter{Root: root, Status: troupe.Waiting, Waiting: reason})
			if err != nil {
				return fmt.Errorf("look for requests: %w", err)
			}
			for _, s := range asking {
				list, err := requestsOf(r, s)
				if err != nil {
					return err
				}
				out = append(out, list...)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	running := make(map[troupe.SessionID]bool)
	for i := range out {
		if out[i].Grant != "" {
			out[i].File = a.dirs.Kept(out[i].Folder)
		}
		if _, ok := running[out[i].Root]; !ok {
			t, err := a.tree(ctx, out[i].Root)
			if err != nil {
				return nil, err
			}
			running[out[i].Root] = t.Running
			for j := range out {
				if out[j].Root == out[i].Root {
					out[j].Path = t.Paths[out[j].Session]
				}
			}
		}
		out[i].Running = running[out[i].Root]
	}
	return out, nil
}

// requestsOf reads the open requests of one session from its log. A request that settles
// others with it stands for all of them.
func requestsOf(r store.Reader, s troupe.Session) ([]wire.Request, error) {
	events, err := r.Events(s.ID, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", s.ID, err)
	}
	st, err := turn.Fold(events)
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", s.ID, err)
	}
	since := make(map[troupe.Coord]troupe.Event)
	for _, e := range events {
		if b, ok := e.Body.(troupe.RequestOpened); ok {
			since[troupe.Coord{Reply: b.Reply, Call: b.Call}] = e
		}
	}
	led := make(map[int]bool)
	for i := range st.Calls {
		if req := st.Calls[i].Request; req != nil {
			for _, c := range req.With {
				led[c] = true
			}
		}
	}
	mail, err := r.Unread(s.ID)
	if err != nil {
		return nil, fmt.Errorf("read the mail of session %s: %w", s.ID, err)
	}
	said := make(map[troupe.Coord]bool) // answers that wait for a process to run the session
	for _, m := range mail {
		if m.Kind == troupe.MailAnswer && m.Answer != nil {
			said[m.Answer.Coord] = true
		}
	}
	var out []wire.Request
	for i := range st.Calls {
		req := st.Calls[i].Request
		if req == nil || led[i] || said[troupe.Coord{Reply: req.Reply, Call: req.Call}] {
			continue
		}
		at := troupe.Coord{Reply: req.Reply, Call: req.Call}
		out = append(out, wire.Request{
			ID: requestID(s.ID, at), Session: s.ID, Root: s.Root, Reason: req.Reason, Tool: req.Tool, Action: req.Action,
			Why: req.Decision.Why, Rule: req.Decision.Rule, Grant: req.Decision.Grant,
			Since: since[at].At.UTC(), Until: req.Until.UTC(), Calls: 1 + len(req.With),
			Wants: req.Wants, Output: req.Output, Rules: req.Rules, Folder: s.Cwd,
		})
	}
	return out, nil
}

// Answer answers the open request that id names or begins.
func (a requests) Answer(ctx context.Context, id string, ans wire.Answer) error {
	req, err := a.Request(ctx, id)
	if err != nil {
		return err
	}
	by := cmp.Or(ans.By, a.caller.String())
	answer := troupe.Answer{By: by, Effect: troupe.Deny, Note: a.Mask(ans.Note)}
	if _, err := fmt.Sscanf(strings.TrimPrefix(req.ID, string(req.Session)), ".%d.%d", &answer.Coord.Reply, &answer.Coord.Call); err != nil {
		return fmt.Errorf("request %s: %w", req.ID, err)
	}
	if ans.Allow {
		answer.Effect = troupe.Allow
	}
	mail, err := mailID("answer")
	if err != nil {
		return err
	}
	now := a.env.Now()
	var rules []string
	source := "granted by " + by
	if ans.Allow {
		rules = req.Rules
	}
	if ans.Allow && (ans.Session || ans.Always) && req.Grant != "" {
		answer.Rule = req.Grant
		if ans.Always {
			if err := config.Keep(req.File, req.Folder, req.Grant); err != nil {
				return err
			}
			source = req.File
		}
		rules = append(slices.Clip(rules), req.Grant)
	}
	// First the rules, so that nothing else of the tree asks for the same again.
	var out []troupe.Mail
	for _, text := range rules {
		grant, err := mailID("grant")
		if err != nil {
			return err
		}
		rule := troupe.Rule{Effect: troupe.Allow, Text: text, Source: source}
		out = append(out, troupe.Mail{ID: grant, Root: req.Root, To: req.Root, Kind: troupe.MailGrant, SentAt: now, Caller: &a.caller, Rule: &rule})
	}
	out = append(out, troupe.Mail{ID: mail, Root: req.Root, To: req.Session, Kind: troupe.MailAnswer, SentAt: now, Caller: &a.caller, Answer: &answer})
	_, err = a.post(ctx, req.Root, func(store.Tx) ([]troupe.Mail, error) { return out, nil })
	return err
}

// Request finds the one open request whose id is, or begins with, id. Without an id there
// must be just one.
func (a requests) Request(ctx context.Context, id string) (wire.Request, error) {
	all, err := a.Requests(ctx, "")
	if err != nil {
		return wire.Request{}, err
	}
	var found []wire.Request
	for _, r := range all {
		if r.ID == id {
			return r, nil
		}
		if strings.HasPrefix(r.ID, id) {
			found = append(found, r)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0 && id == "":
		return wire.Request{}, &troupe.UserError{Problem: "there is no open request", Hint: "`troupe requests` lists them as they come.", Code: 2, Err: troupe.ErrNotFound}
	case len(found) == 0:
		return wire.Request{}, &troupe.UserError{Problem: fmt.Sprintf("there is no open request %q; it may have been answered", id), Hint: "`troupe requests` lists those that are open.", Code: 2, Err: troupe.ErrNotFound}
	}
	var ids []string
	for _, r := range found {
		ids = append(ids, r.ID)
	}
	return wire.Request{}, &troupe.UserError{Problem: fmt.Sprintf("%d requests are open: %s", len(found), strings.Join(ids, ", ")), Hint: "Name one of them; the beginning of its id will do.", Code: 2, Err: troupe.ErrAmbiguous}
}
