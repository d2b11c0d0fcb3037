package sim_test

import (
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
)

// Bugs of agents that may change certain files alone, and of what checks results before they are handed over.

// unbound is a take-over that forgets which files agents may change.
type unbound struct{ store.Tx }

func (t unbound) Events(id troupe.SessionID, after int64, limit int) ([]troupe.Event, error) {
	return onRead(t.Tx, id, after, limit, func(b troupe.Body) troupe.Body {
		if b, ok := b.(troupe.Created); ok {
			b.Profile.Writes = nil
			return b
		}
		return b
	})
}

// onAppend has events changed on their way to the log.
func onAppend(t store.Tx, l troupe.Lease, s troupe.Session, events []troupe.Event,
	change func(troupe.Body) troupe.Body,
) error {
	events = slices.Clone(events)
	for i := range events {
		events[i].Body = change(events[i].Body)
	}
	return t.Append(l, s, events)
}

// astray has an edit declare that it writes another file than it does.
func astray() func(*session.Deps) {
	return func(d *session.Deps) {
		d.Tools = d.Tools.Map(func(t tool.Descriptor) tool.Descriptor {
			if t.Runner != nil {
				t.Runner = strayer{t.Runner}
			}
			return t
		})
	}
}

type strayer struct{ tool.Runner }

func (r strayer) Prepare(env tool.Env, input string) (tool.Prepared, error) {
	p, err := r.Runner.Prepare(env, input)
	if err != nil {
		return nil, err
	}
	return intoB{p}, nil
}

type intoB struct{ tool.Prepared }

func (r intoB) Access() troupe.Access {
	a := r.Prepared.Access()
	if slices.Equal(a.Writes, []string{"/sim/a"}) || slices.Equal(a.Writes, []string{"/sim/c"}) {
		a.Writes = []string{"/sim/b"}
	}
	return a
}

// credulous has what an agent checked pass, whatever that said.
type credulous struct{ store.Tx }

func (t credulous) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	return onAppend(t.Tx, l, s, events, func(b troupe.Body) troupe.Body {
		if b, ok := b.(troupe.VerifyEnded); ok && troupe.VerdictOf(b.Outcome.Result) == "FAIL" {
			b.Outcome.Result = "VERDICT: PASS"
			return b
		}
		return b
	})
}

// unverified hands results over without what came of their check.
type unverified struct{ store.Tx }

func (t unverified) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	return onAppend(t.Tx, l, s, events, func(b troupe.Body) troupe.Body {
		if b, ok := b.(troupe.Ended); ok {
			b.Outcome.Verified = nil
			return b
		}
		return b
	})
}

// uncritical forgets what the model that checks results doubts.
type uncritical struct{ store.Tx }

func (t uncritical) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	return onAppend(t.Tx, l, s, events, func(b troupe.Body) troupe.Body {
		if b, ok := b.(troupe.Ended); ok {
			b.Outcome.Flags = slices.DeleteFunc(slices.Clone(b.Outcome.Flags), func(f troupe.Flag) bool {
				return f.Rule == troupe.HandoffModelRule
			})
			return b
		}
		return b
	})
}

// persuadedOf logs that the model that checks results has nothing against one which it doubts.
type persuadedOf struct{ store.Tx }

func (t persuadedOf) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	return onAppend(t.Tx, l, s, events, func(b troupe.Body) troupe.Body {
		if b, ok := b.(troupe.HandoffJudged); ok {
			b.Effect = troupe.Allow
			return b
		}
		return b
	})
}

// laxCalls has agents started that may change other files than their calls name.
func laxCalls() func(*session.Deps) {
	return func(d *session.Deps) {
		d.Tools = d.Tools.Map(func(t tool.Descriptor) tool.Descriptor {
			decode := t.Intent
			if t.Name != "Agent" {
				return t
			}
			t.Intent = func(input string) (troupe.Intent, error) {
				in, err := decode(input)
				if sp, ok := in.(troupe.Spawn); ok && len(sp.Writes) > 1 {
					sp.Writes = sp.Writes[:1]
					return sp, err
				}
				return in, err
			}
			return t
		})
	}
}

// hastyCheck tells that a check has passed as it begins. The process that began it does not hear of that.
type hastyCheck struct{ store.Tx }

func (t hastyCheck) Insert(s troupe.Session, l troupe.Lease, caps *troupe.Caps) error {
	err := t.Tx.Insert(s, l, caps)
	if err == nil && s.Coord.Call == troupe.VerifyCall {
		_, err = t.Send(troupe.Mail{ID: troupe.ChildEndedMailID(s.ID, 1), Root: s.Root, To: s.Parent, From: s.ID,
			Kind: troupe.MailTaskEnded, SentAt: s.CreatedAt, Ended: &troupe.Outcome{Session: s.ID, Run: 1,
				Coord: s.Coord, Name: s.Name, Type: s.Type, Status: troupe.Completed, Result: "VERDICT: PASS"}})
	}
	return err
}
