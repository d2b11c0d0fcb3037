// Package reach finds out where a session can be acted on: in the process that runs it,
// over its socket, or, when nobody runs it, in the home, where mail waits for whoever goes on
// with it. What only looks reads the home: everything there is to see is in the log.
package reach

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/client"
	"github.com/troupe-dev/troupe/internal/httpd"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Actor acts on sessions: an open home, or another process.
type Actor interface {
	Send(ctx context.Context, id troupe.SessionID, m wire.Message) (wire.Sent, error)
	Stop(ctx context.Context, id troupe.SessionID, s wire.Stop) error
	Answer(ctx context.Context, request string, a wire.Answer) error
}

// Home is an open home.
type Home interface {
	Actor
	Tree(ctx context.Context, root troupe.SessionID) (app.Tree, error)
}

// Place is where a tree can be acted on.
type Place struct {
	Actor
	Tree app.Tree
}

// Path names a session of the tree by its ancestors, as people do.
func (p Place) Path(id troupe.SessionID) string {
	if path := p.Tree.Paths[id]; path != "" {
		return console.Line(path, 0)
	}
	return string(id)
}

// Act calls fn with the place where the tree of root can be acted on now. If the process
// that runs it ends before it could be called, the place is looked up once more; fn is never
// called again after anything was asked of anybody.
//
// An agent's command is refused by the process that runs the tree. Where there is none, the
// home must not be a way around that, as far as an honest program goes.
func Act(ctx context.Context, c *console.Console, h Home, root troupe.SessionID, fn func(Place) error) error {
	for try := 1; ; try++ {
		t, err := h.Tree(ctx, root)
		if err != nil {
			return err
		}
		if !t.Running || t.Owner.Socket == "" {
			if who, ok := c.Lookup(httpd.Marker); ok && who != "" {
				return &troupe.UserError{
					Problem: fmt.Sprintf("this command was started by an agent (session %s); agents may not send, stop or answer here", console.Line(who, 40)),
					Hint:    "Type it in a terminal of your own. An agent talks to other agents with its tools.", Code: console.ExitPermission,
				}
			}
			return fn(Place{h, t})
		}
		err = call(t, fn)
		if !errors.Is(err, api.ErrUnreachable) {
			return err
		}
		if try > 1 {
			return &troupe.UserError{
				Problem: fmt.Sprintf("process %d on %s runs session %s, but it does not answer on %s", t.Owner.PID, t.Owner.Host, root, t.Owner.Socket),
				Hint:    "If it is just ending, try again; if it is stopped, let it go on (fg).", Code: console.ExitFailed, Err: err,
			}
		}
	}
}

func call(t app.Tree, fn func(Place) error) error {
	c := client.Dial(t.Owner.Socket)
	defer c.Close()
	return fn(Place{c, t})
}

// Later says what becomes of what waits in the home.
func (p Place) Later() string {
	if p.Tree.Running && p.Tree.Owner.Socket != "" {
		return fmt.Sprintf("process %d has just let go of it; it will be read when it goes on: troupe -p --resume %s", p.Tree.Owner.PID, p.Tree.Sum.Root)
	}
	if p.Tree.Running {
		return fmt.Sprintf("process %d runs it and takes no calls; it will be read when that process looks for mail", p.Tree.Owner.PID)
	}
	return fmt.Sprintf("nobody is running it now; it will be read when it goes on: troupe -p --resume %s", p.Tree.Sum.Root)
}

// One wants exactly one argument, a session.
func One(name string, args []string) error {
	if len(args) != 1 {
		return console.Usage("troupe %s takes one session: an id, the beginning of one, a name, or a path such as \"main/Auth Explorer\"", name)
	}
	return nil
}
