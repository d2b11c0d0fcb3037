package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/servers"
	"github.com/troupe-dev/troupe/internal/mcp"
	"github.com/troupe-dev/troupe/internal/mcp/login"
	"github.com/troupe-dev/troupe/internal/tool/web"
	"github.com/troupe-dev/troupe/internal/wire"
)

// logins are those that wait for a person. Each ends when its caller goes, after some minutes, and with the home.
type logins struct {
	mu     sync.Mutex
	open   map[string]*login.Pending
	closed bool
}

// mostLogins is more than a person has open at once.
const mostLogins = 8

func (l *logins) add(p *login.Pending) (id string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.open) >= mostLogins {
		return "", false
	}
	if l.open == nil {
		l.open = map[string]*login.Pending{}
	}
	id = rand.Text()
	l.open[id] = p
	return id, true
}

// take takes one out, whose end its taker sees to.
func (l *logins) take(id string) *login.Pending {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.open[id]
	delete(l.open, id)
	return p
}

func (l *logins) close() {
	l.mu.Lock()
	open := l.open
	l.open, l.closed = nil, true
	l.mu.Unlock()
	for _, p := range open {
		p.End()
	}
}

// newLoginStore opens where logins at servers are kept. What servers name is reached as WebFetch reaches pages.
func newLoginStore(a *App) *login.Store {
	return login.New(login.Options{
		Dir: a.dirs.Logins(), Now: a.env.Now, Tell: a.env.Tell,
		Secret: func(value string) { a.learned.secret(value, "login at an MCP server") },
		Client: func(near []string, loopback bool) (*http.Client, error) {
			return web.Client(web.Options{Local: slices.Concat(a.settings.LocalHosts, near), Loopback: loopback,
				UserAgent: "troupe/" + a.env.Version})
		},
	})
}

// Login implements api.Serving. The servers are those that hold in the folder as it is trusted: nobody logs in to one
// that only a project's files name.
func (a serving) Login(ctx context.Context, q wire.ServerLogin) (out wire.ServerLogged, err error) {
	if q.Action == wire.LoginWait {
		return a.waitForLogin(ctx, q)
	}
	x, s, err := a.serverAt(ctx, q)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	l, err := x.servers.Login(s, x.request.Cwd)
	if err != nil {
		return out, loginError(s.Name, err)
	}
	switch q.Action {
	case wire.LoginOut:
		if out.Gone, err = l.Forget(ctx); err == nil && out.Gone {
			err = x.servers.Kept().Put(s.Entry, x.request.Cwd, mcp.List{}, &mcp.LoginError{Server: s.Name},
				a.app.env.Now())
		}
		return out, err
	case wire.LoginBegin:
		if s.Why != "" {
			return out, loginError(s.Name, fmt.Errorf("it is not used: %s", s.Why))
		}
		p, err := l.Begin(ctx, q.Scopes)
		if err != nil {
			return out, loginError(s.Name, err)
		}
		id, ok := a.app.logins.add(p)
		if !ok {
			p.End()
			return out, loginError(s.Name, errors.New("too many others are under way"))
		}
		return wire.ServerLogged{ID: id, Address: p.Address(), Redirect: p.Redirect()}, nil
	default:
		return out, &troupe.UserError{Problem: fmt.Sprintf("there is no action %q for a login", q.Action),
			Hint: "The actions are begin, wait and out.", Code: troupe.ExitUsage}
	}
}

// waitForLogin waits until a person has logged in, and asks the server then what it offers.
func (a serving) waitForLogin(ctx context.Context, q wire.ServerLogin) (out wire.ServerLogged, err error) {
	p := a.app.logins.take(q.ID)
	if p == nil {
		return out, &troupe.UserError{Problem: "there is no login " + q.ID + " under way here", Code: troupe.ExitUsage,
			Err: troupe.ErrNotFound}
	}
	err = p.Wait(ctx)
	p.End()
	if err != nil {
		return out, loginError(q.Name, err)
	}
	x, s, err := a.serverAt(ctx, q)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	row, why := a.serverRow(x, s), ""
	list, err := a.try(ctx, x, s)
	if err != nil {
		why = err.Error()
	}
	row.list(list, why)
	out.Server = &row.ServerRow
	return out, nil
}

// serverAt finds a server that holds in a folder.
func (a serving) serverAt(ctx context.Context, q wire.ServerLogin) (*explainer, servers.Server, error) {
	x, _, err := machine(a).explainerAt(ctx, at(wire.Place{Cwd: q.Cwd}))
	if err != nil {
		return nil, servers.Server{}, err
	}
	all := append(slices.Clone(x.servers.Known(x.request.Cwd).Servers), x.profiles.inline()...)
	i := slices.IndexFunc(all, func(s servers.Server) bool { return strings.EqualFold(s.Name, q.Name) })
	if i < 0 {
		return nil, servers.Server{}, errors.Join(&troupe.UserError{
			Problem: fmt.Sprintf("there is no MCP server %q here", q.Name),
			Hint: "`troupe mcp list` shows those there " +
				"are; a project's count once its folder is trusted.", Code: troupe.ExitUsage, Err: troupe.ErrNotFound},
			x.close())
	}
	return x, all[i], nil
}

func loginError(name string, err error) error {
	return &troupe.UserError{Problem: fmt.Sprintf("%s: %v", cmp.Or(name, "the login"), err), Code: troupe.ExitFailed,
		Err: err}
}
