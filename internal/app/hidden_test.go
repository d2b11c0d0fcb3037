package app

import (
	"context"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/hidden"
	"github.com/troupe-dev/troupe/internal/session"
)

// letsGo is a context that does something when it is first waited for.
type letsGo struct {
	context.Context //nolint:containedctx // it is one
	first           func()
}

func (l *letsGo) Done() <-chan struct{} {
	if l.first != nil {
		l.first()
		l.first = nil
	}
	return l.Context.Done()
}

// TestFindWhileForgotten: a session that ends takes from no other what that one just looks with.
func TestFindWhileForgotten(t *testing.T) {
	dir := t.TempDir()
	g := &guard{finders: make(map[string]*hidden.Finder)}
	t.Cleanup(func() { _ = g.close() })
	at := session.Place{Work: troupe.Workspace{Kind: troupe.WorkspaceCopy, Top: dir}}
	ctx := &letsGo{t.Context(), func() { g.forget(at) }}
	if _, err := g.find(ctx, dir); err != nil || ctx.first != nil {
		t.Errorf("looked: %v, forgotten: %t", err, ctx.first == nil)
	}
}
