package session

import (
	"cmp"
	"context"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
)

// inAsked is what hooks say about a request that is open.
type inAsked struct {
	call     int
	request  troupe.RequestID
	said     troupe.HookSaid
	decision troupe.Decision // with what they say
	places   string          // of the call with the input that they give it
	version  int
}

func (inAsked) input() {}

// opened has hooks told of a request, and asked about it if it is for leave. They have the same say as before a call:
// no rule that asks or denies gives way to them, and what a command wanted beyond its sandbox only a person allows.
func (hk *hooking) opened(i int) {
	h := hooksOf(hk.a.tree)
	if h == nil {
		return
	}
	r := *hk.a.st.Calls[i].Request
	hk.tell(troupe.HookNotification, "permission_prompt", map[string]any{"notification_type": "permission_prompt",
		"title": "Waits for an answer", "message": r.Tool + ": " + r.Decision.Why})
	c := hk.a.calls.candidate(i)
	m := c.ofCall(troupe.HookPermissionRequest, c.call.Call, nil)
	m.Fields = map[string]any{"request_id": r.ID, "reason": r.Decision.Why, "action": r.Action}
	t, known := hk.a.h.d.Tools.Find(c.call.Name)
	if r.Kind != troupe.RequestPermission || !known || !h.Due(m) {
		return
	}
	a := hk.a
	hk.asks(r.ID)
	a.tree.hold() // for what is to be logged of them; they end with the request
	hk.a.h.d.Sched.Go(func(ctx context.Context) {
		defer a.h.unhold(a.tree)
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		if !hk.begun(r.ID, cancel) {
			cancel(errSettled)
		}
		if access, err := t.Access(c.env(), c.call.Input); err == nil {
			m.Access = &access // it may look at files, which the actor does not
		}
		in := inAsked{call: i, request: r.ID, said: h.Run(ctx, m, false)}
		in.said.Ran = append(in.said.Ran, runBeside(a.tree, h, m)...)
		if in.said.Effect == troupe.Allow {
			input := cmp.Or(in.said.Input, c.call.Input)
			access, err := t.Access(c.env(), input)
			c.call.Judged = &troupe.Judgement{By: in.said.By, Effect: troupe.Allow}
			if in.decision, in.version = c.decide(access); err != nil {
				in.decision.Effect = troupe.Deny
			}
			in.places = placesOf(access, in.decision.Opens)
		}
		a.post(in)
	})
}

// asks notes a request that hooks are about to be asked about.
func (hk *hooking) asks(id troupe.RequestID) {
	hk.mu.Lock()
	defer hk.mu.Unlock()
	if hk.asking == nil {
		hk.asking = map[troupe.RequestID]context.CancelCauseFunc{}
	}
	hk.asking[id] = nil
}

// begun is false if the request was settled, or the run ended, before its hooks began.
func (hk *hooking) begun(id troupe.RequestID, cancel context.CancelCauseFunc) bool {
	hk.mu.Lock()
	defer hk.mu.Unlock()
	if _, ok := hk.asking[id]; !ok {
		return false
	}
	hk.asking[id] = cancel
	return true
}

// settled ends the hooks that are asked about a request which was answered without them.
func (hk *hooking) settled(id troupe.RequestID) {
	hk.mu.Lock()
	defer hk.mu.Unlock()
	if cancel := hk.asking[id]; cancel != nil {
		cancel(errSettled)
	}
	delete(hk.asking, id)
}

// end ends hooks that are under way, but for those that are told of the end of a stopped run.
func (hk *hooking) end() {
	if hk.cancel != nil && !hk.last {
		hk.cancel()
	}
	hk.mu.Lock()
	defer hk.mu.Unlock()
	for _, cancel := range hk.asking {
		if cancel != nil {
			cancel(nil)
		}
	}
	hk.asking = nil
}

// answered settles a request as hooks want it, if it is open still.
func (hk *hooking) answered(in inAsked) error {
	hk.mu.Lock()
	delete(hk.asking, in.request)
	hk.mu.Unlock()
	if err := hk.a.noteHooks(in.said.Ran); err != nil {
		return err
	}
	if in.call >= len(hk.a.st.Calls) {
		return nil
	}
	r := hk.a.st.Calls[in.call].Request
	if r == nil || r.ID != in.request {
		return nil
	}
	ans := troupe.Answer{Request: r.ID, Coord: r.Coord, By: cmp.Or(in.said.By, "hooks"), Note: in.said.Why}
	switch {
	case in.said.Effect == troupe.Deny:
		ans.Effect = troupe.Deny
	case in.said.Effect == troupe.Allow && in.decision.Effect == troupe.Allow && len(r.Wants) == 0 &&
		!gate.IsReadOnlyRun(in.decision) && in.version == hk.a.tree.chain.version(hk.a.id):
		ans.Effect = troupe.Allow
	default:
		return hk.a.stopBy(stopOf(in.said))
	}
	settles := hk.a.requests.answer(in.call, ans, "", nil)
	if ans.Effect == troupe.Allow && in.said.Input != "" {
		settles.Input, settles.Places = in.said.Input, in.places
	}
	if err := hk.a.stage(settles); err != nil {
		return err
	}
	return hk.a.stopBy(stopOf(in.said))
}

func stopOf(said troupe.HookSaid) string {
	if !said.Stop {
		return ""
	}
	return said.StopWhy
}

// board tells hooks of tasks that came onto the board, or were ticked.
func (hk *hooking) board(in troupe.Intent, changed []troupe.BoardItem) {
	for _, it := range changed {
		var event troupe.HookEvent
		switch in := in.(type) {
		case troupe.BoardCreate:
			event = troupe.HookTaskCreated
		case troupe.BoardUpdate:
			if in.Item != it.ID || in.Status != troupe.BoardCompleted {
				continue
			}
			event = troupe.HookTaskCompleted
		default:
			return
		}
		hk.tell(event, "", map[string]any{"task_id": it.ID, "task_subject": it.Subject,
			"task_description": it.Description, "task_owner": it.Owner, "task_status": it.Status})
	}
}
