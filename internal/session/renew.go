package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/store"
)

// Renewal is what people have changed of the definitions of a tree's agents while it is at work.
type Renewal struct {
	Definitions fleet.Document // all of them, as they are now
	Agents      []string       // the types that are new or have changed
}

// renewing is what Roles also are where people can change definitions while the tree is at work.
type renewing interface {
	// Renew looks whether they have. If so, Roles go by what it has found from then on.
	Renew() (Renewal, bool)
}

// tellNews tells a session before its next reply what is not any more as it was told.
func (ex *exchange) tellNews(ctx context.Context) error {
	if err := ex.tellTools(); err != nil {
		return err
	}
	if err := ex.tellChanges(); err != nil {
		return err
	}
	if err := ex.renew(ctx); err != nil {
		return err
	}
	return ex.tellAgents()
}

// renew looks, before a reply of the main agent, whether there are other types of agents by now. They stand in the
// log before any agent is told of them, so that a process that takes the tree over knows them too.
func (ex *exchange) renew(ctx context.Context) error {
	a := ex.a
	roles, ok := a.tree.kinds().(renewing)
	if !ok || a.st.Session.Parent != "" || a.h.d.Replay != nil {
		return nil
	}
	now, changed := roles.Renew()
	if !changed {
		return nil
	}
	err := a.h.d.Store.Update(context.WithoutCancel(ctx), a.root, func(tx store.Tx) error {
		return now.Definitions.Keep(tx, a.root)
	})
	if err != nil {
		return fmt.Errorf("keep the definitions of agents of tree %s: %w", a.root, err)
	}
	s := a.tree.settings()
	s.Definitions = now.Definitions.Hash
	err = a.stage(troupe.SettingsChanged{Settings: s, Caller: &troupe.Caller{Name: "definitions",
		Right: troupe.RightSystem}})
	if err == nil {
		a.tree.mu.Lock()
		defer a.tree.mu.Unlock()
		a.tree.run, a.tree.fresh.kinds = s, append(a.tree.fresh.kinds, now.Agents...)
	}
	return err
}

// freshTypes are the types of agents that came or changed while this process has a tree. Its methods are called with
// the tree's mu held.
type freshTypes struct {
	kinds []string
	heard map[troupe.SessionID]int // how many of them a session was told of
}

// born notes a session that is told of the types there are as it begins.
func (f *freshTypes) born(id troupe.SessionID) {
	if len(f.kinds) > 0 {
		f.untold(id)
	}
}

// untold are those that a session was not told of yet, once.
func (f *freshTypes) untold(id troupe.SessionID) []string {
	if f.heard == nil {
		f.heard = make(map[troupe.SessionID]int)
	}
	out := slices.Clone(f.kinds[f.heard[id]:])
	f.heard[id] = len(f.kinds)
	return out
}

// tellAgents tells a session before its next reply of types of agents that are new or have changed, as far as it may
// start them.
func (ex *exchange) tellAgents() error {
	a := ex.a
	a.tree.mu.Lock()
	fresh := a.tree.fresh.untold(a.id)
	a.tree.mu.Unlock()
	if len(fresh) == 0 {
		return nil
	}
	list := a.h.agentsFor(a.briefing(), a.tree.kinds(), func(kind string) bool { return slices.Contains(fresh, kind) })
	if list == "" {
		return nil
	}
	return a.stage(troupe.MailDelivered{Mail: []troupe.Mail{{
		ID: troupe.MailID(fmt.Sprintf("agents:%s:%d", a.id, a.st.Session.Seq)), Root: a.root, To: a.id, From: a.id,
		Kind: troupe.MailNotice, SentAt: a.h.d.Now(), Blocks: []troupe.Block{troupe.Text(
			"Definitions of agents are new, or have changed since you were told of them.\n" + list)},
	}}})
}
