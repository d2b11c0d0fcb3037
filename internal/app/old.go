package app

import (
	"context"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// What commands called before there was package api. It goes as they move.

func (a *App) old() *cases { return a.As(troupe.You(troupe.SurfaceCommand)).(*cases) }

func (a *App) Find(ctx context.Context, ref, cwd string) (troupe.Session, error) {
	return a.find(ctx, ref, cwd)
}
func (a *App) Tree(ctx context.Context, root troupe.SessionID) (Tree, error) {
	return a.tree(ctx, root)
}
func (a *App) List(ctx context.Context, cwd string, limit int) ([]wire.Session, error) {
	return a.list(ctx, cwd, limit)
}
func (a *App) Report(ctx context.Context, root troupe.SessionID) (wire.Run, error) {
	return a.old().Report(ctx, root)
}
func (a *App) Events(ctx context.Context, id troupe.SessionID, after int64, limit int) ([]troupe.Event, error) {
	return a.events(ctx, id, after, limit)
}
func (a *App) Cost(ctx context.Context, id troupe.SessionID) (wire.Cost, error) {
	return a.old().Cost(ctx, id)
}
func (a *App) AtWork(ctx context.Context, id troupe.SessionID) ([]wire.Task, error) {
	return a.old().Tasks(ctx, id)
}
func (a *App) Tasks(ctx context.Context, id troupe.SessionID) ([]wire.Task, error) {
	list, err := a.AtWork(ctx, id)
	if id == "" {
		return list, err
	}
	return slices.DeleteFunc(list, func(t wire.Task) bool { return t.Main }), err
}
func (a *App) OlderThan(ctx context.Context, age time.Duration) ([]troupe.Session, error) {
	return a.olderThan(ctx, age)
}
func (a *App) Remove(ctx context.Context, root troupe.SessionID) error { return a.remove(ctx, root) }
func (a *App) Send(ctx context.Context, id troupe.SessionID, m wire.Message) (wire.Sent, error) {
	return a.old().Send(ctx, id, m)
}
func (a *App) Stop(ctx context.Context, id troupe.SessionID, s wire.Stop) error {
	return a.old().Stop(ctx, id, s)
}
func (a *App) Background(ctx context.Context, id troupe.SessionID) error {
	return a.old().Background(ctx, id)
}
func (a *App) Compact(ctx context.Context, id troupe.SessionID, hint string) error {
	return a.old().Compact(ctx, id, hint)
}
func (a *App) SetMode(ctx context.Context, root troupe.SessionID, mode troupe.Mode) error {
	return a.old().SetMode(ctx, root, mode)
}
func (a *App) SetModel(ctx context.Context, id troupe.SessionID, name string) (string, error) {
	return a.old().SetModel(ctx, id, name)
}
func (a *App) Requests(ctx context.Context, root troupe.SessionID) ([]wire.Request, error) {
	return a.old().Requests(ctx, root)
}
func (a *App) Answer(ctx context.Context, id string, ans wire.Answer) error {
	return a.old().Answer(ctx, id, ans)
}
func (a *App) Models(ctx context.Context, cwd string) (wire.ModelList, error) {
	return a.old().machine.Models(ctx, cwd)
}
func (a *App) Doctor(ctx context.Context, cwd string) (wire.Check, error) {
	return a.old().machine.Doctor(ctx, cwd)
}

func (a *App) ApplyUndo(ctx context.Context, u Undo, force bool) (UndoReport, error) {
	return a.applyUndo(ctx, troupe.You(troupe.SurfaceCommand), u, force)
}

type (
	Check         = wire.Check
	ProviderCheck = wire.ProviderCheck
	ModelList     = wire.ModelList
	ModelRow      = wire.ModelRow
	AgentFile     = wire.AgentFile
	WindowCheck   = wire.WindowCheck
	Program       = wire.Program
)
