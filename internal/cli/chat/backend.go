package chat

import (
	"context"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Talk is what can be said to a tree of agents.
type Talk interface {
	Send(ctx context.Context, id troupe.SessionID, m wire.Message) (wire.Sent, error)
	Stop(ctx context.Context, id troupe.SessionID, s wire.Stop) error
	Background(ctx context.Context, id troupe.SessionID) error
	Compact(ctx context.Context, id troupe.SessionID, hint string) error
	SetMode(ctx context.Context, root troupe.SessionID, mode troupe.Mode) error
	SetModel(ctx context.Context, id troupe.SessionID, name string) (full string, err error)
	Answer(ctx context.Context, request string, a wire.Answer) error
}

// Look is what can be asked about it.
type Look interface {
	Tasks(ctx context.Context, id troupe.SessionID) ([]wire.Task, error)
	Requests(ctx context.Context, root troupe.SessionID) ([]wire.Request, error)
	Cost(ctx context.Context, id troupe.SessionID) (wire.Cost, error)
	Report(ctx context.Context, root troupe.SessionID) (wire.Run, error)
	List(ctx context.Context, cwd string, limit int) ([]wire.Session, error)
}

// Follower reads the committed events of a tree.
type Follower interface {
	Next(ctx context.Context) ([]troupe.Event, error)
	All(ctx context.Context) ([]troupe.Event, error)
	Close()
}

// Opening is how a conversation begins.
type Opening struct {
	Message wire.Message // the first words; none when one only goes on
	// Resume is a session to go on with; Continue means the newest of the folder.
	Resume   string
	Continue bool
	// Model and Mode are what somebody chose for a new conversation before it began; "" leaves
	// it to the flags and settings.
	Model string
	Mode  troupe.Mode
	// flags: this is what the command line asked for. All that it says must be honoured then,
	// or refused.
	flags bool
}

// Tree is a conversation that has begun.
type Tree struct {
	Root     troupe.SessionID
	Warnings []string
	Before   []troupe.Session // its sessions before it was resumed
	Events   Follower
	// Deltas are pieces of replies as they come. Those sent before an event was committed
	// are in the channel, or dropped, when that event can be read. It is not closed while
	// the tree is in use.
	Deltas <-chan wire.Delta
	Wait   func(ctx context.Context) error // until every session of it has ended
	// Close lets go of the tree; whatever was at work can be resumed.
	Close func() error
}

// Backend is the use cases of a conversation.
type Backend struct {
	Talk Talk
	Look Look
	// Begin begins a tree or goes on with one. Without a message it must take a tree that
	// has nothing to do. Another tree may still be in use.
	Begin func(ctx context.Context, o Opening) (*Tree, error)
	// Model is the full name of the model that a new conversation would begin with if it was
	// asked for by this name; "" is the one that it begins with by itself.
	Model func(name string) (full string, err error)
	// Undo says what would be undone; apply does it. args is what stands behind /undo. nil:
	// there is no undo.
	Undo func(ctx context.Context, root troupe.SessionID, args string) (plan string, apply func(ctx context.Context) (string, error), err error)
}
