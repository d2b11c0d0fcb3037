package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/mcp"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
	"github.com/troupe-dev/troupe/internal/mcp/login"
	"github.com/troupe-dev/troupe/internal/tool"
)

// Options are what servers need of the process that they belong to.
type Options struct {
	Version string
	Kept    Kept
	Home    string
	Cache   string   // the folder of what servers fetch to run; "": there is none
	Environ []string // of the process: what of it a server gets is in environment
	Lookup  func(name string) (string, bool)
	Logins  *login.Store
	// Start starts a program with what it may touch.
	Start func(Program) (mcp.Process, error)
	// Mask takes secrets out of what is kept and told of servers, which repeat what they are sent; nil: nothing does.
	Mask func(string) string
	Now  func() time.Time
	Log  *slog.Logger
	// Patience is how long the beginning of a session waits for servers that were never seen.
	Patience time.Duration
}

// Registry knows the servers of the folders in which this process works, and owns the goroutines that list them.
type Registry struct {
	o    Options
	ctx  context.Context //nolint:containedctx // of the goroutines that it owns; over when Close is called
	stop context.CancelFunc
	work sync.WaitGroup

	mu    sync.Mutex
	known map[string]*Known // by folder
	trees map[*Tree]bool
}

// New makes a registry. Of ctx only the values count: Close ends all.
func New(ctx context.Context, o Options) *Registry {
	r := &Registry{o: o, known: map[string]*Known{}, trees: map[*Tree]bool{}}
	r.ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// Kept is where lists are kept.
func (r *Registry) Kept() Kept { return r.o.Kept }

// Close ends what trees and lists still run, and waits for it.
func (r *Registry) Close() {
	r.stop()
	r.mu.Lock()
	trees := slices.Collect(maps.Keys(r.trees))
	r.mu.Unlock()
	for _, t := range trees {
		t.Close()
	}
	r.work.Wait()
}

// Known are the servers of a folder with what they offer, as of one moment.
type Known struct {
	Servers []Server
	lists   map[string]mcp.List // by the hash of the entry
	failed  map[string]string   // the same: why there is none
	limits  config.ServerLimits
	// Of a run that is played: what servers offered, by their names in those of tools, and the types of agent that had
	// all of it by name alone.
	played map[string]mcp.List
	byName map[string]bool
}

// keepsOut says what keeps a server that a definition brings from being used; "" if nothing does.
func (k *Known) keepsOut(e entry.Entry) string {
	if setting, file := k.limits.Forbids(e.Name, false); setting != "" {
		return setting + " in " + file
	}
	for _, s := range k.Servers {
		if s.Why == "" && !s.strange() && s.Name != e.Name && entry.Alike(s.Name, e.Name) {
			return sameTools(s.Name)
		}
	}
	return e.TooLong()
}

// sameTools is why a server is not used beside another.
func sameTools(other string) string {
	return "its tools would have the names of those of " + other + "; give it another name"
}

// List is what a server offers, or why that is not known.
func (k *Known) List(e entry.Entry) (mcp.List, string) {
	if k.played != nil {
		return k.played[entry.Safe(e.Name)], "" // one that no agent had offers nothing
	}
	if l, ok := k.lists[e.Hash()]; ok {
		return l, ""
	}
	if why := k.failed[e.Hash()]; why != "" {
		return mcp.List{}, why
	}
	return mcp.List{}, "what it offers is not known yet; `troupe mcp test " + e.Name +
		"` asks it, and so does the next session"
}

// Look reads the servers of a folder, and lists those that were never seen: each is started once, and ended again.
// It waits for that no longer than its patience; what comes later is there for the next session. Without a service
// none is started. more are servers besides, of agents. Problems are for people.
func (r *Registry) Look(ctx context.Context, p Places, more []Server, service tool.Service) (*Known, []string) {
	k := &Known{lists: map[string]mcp.List{}, failed: map[string]string{}, limits: p.Limits}
	var problems []string
	k.Servers, problems = read(p)
	var unknown []Server
	for _, s := range append(slices.Clone(k.Servers), more...) {
		if s.Why != "" || s.Scope == ScopeAgent && k.keepsOut(s.Entry) != "" {
			continue
		}
		l, found, why := r.o.Kept.Get(s.Entry, p.Cwd, r.o.Now())
		switch {
		case found:
			k.lists[s.Hash()] = l
		case why != nil && !(errors.As(why, new(*mcp.LoginError)) && r.loggedIn(s, p.Cwd)):
			k.failed[s.Hash()] = why.Error()
		default:
			unknown = append(unknown, s)
		}
	}
	if service != nil && len(unknown) > 0 {
		r.list(ctx, k, p, unknown, service)
	}
	for _, s := range k.Servers {
		if _, why := k.List(s.Entry); s.Why == "" && why != "" && service != nil {
			problems = append(problems, fmt.Sprintf("MCP server %s: its tools are not to be had: %s (troupe mcp test "+
				"%s tries it)", s.Name, why, s.Name))
		}
	}
	r.mu.Lock()
	r.known[p.Cwd] = k
	r.mu.Unlock()
	return k, problems
}

// loggedIn reports whether the user is logged in to a server: then what one without a login was told says nothing.
func (r *Registry) loggedIn(s Server, cwd string) bool {
	l, err := r.Login(s, cwd)
	return err == nil && l.State() == login.In
}

// Known is what Look has found last; nil if it did not look there.
func (r *Registry) Known(cwd string) *Known {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[cwd]
}

// firstStart is how long a server may take to be ready that may have to be fetched first.
const firstStart = 2 * time.Minute

// atOnce is how many servers are started at once to list.
const atOnce = 8

// list asks servers what they offer.
func (r *Registry) list(ctx context.Context, k *Known, p Places, unknown []Server, service tool.Service) {
	type answer struct {
		hash string
		list mcp.List
		err  error
	}
	answers := make(chan answer, len(unknown))
	slots := make(chan struct{}, atOnce)
	for _, s := range unknown {
		r.work.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			l, err := r.List(r.ctx, s, p.Cwd, service, p.Reads)
			answers <- answer{s.Hash(), l, err}
		})
	}
	late := time.NewTimer(r.o.Patience)
	defer late.Stop()
	for range unknown {
		select {
		case a := <-answers:
			if a.err != nil {
				k.failed[a.hash] = a.err.Error()
			} else {
				k.lists[a.hash] = a.list
			}
		case <-late.C:
			for _, s := range unknown {
				if _, ok := k.lists[s.Hash()]; !ok && k.failed[s.Hash()] == "" {
					k.failed[s.Hash()] = fmt.Sprintf("it was not ready after %v; it goes on in the background, for "+
						"the "+
						"next session", r.o.Patience)
				}
			}
			return
		case <-ctx.Done():
			return
		}
	}
}

// List starts a server, asks what it offers, ends it and keeps the answer. reads: nothing may be changed where it is
// started; that there is no answer there is not kept, for elsewhere there may be one.
func (r *Registry) List(ctx context.Context, s Server, cwd string, service tool.Service, reads bool) (mcp.List,
	error) {
	pool := r.pool(ctx, nil)
	defer pool.Close()
	t, err := r.target(s, cwd, "", service)
	if err != nil {
		return mcp.List{}, err
	}
	if t.Entry.Start == 0 {
		t.Entry.Start = firstStart
	}
	l, err := pool.List(ctx, t)
	l = r.masked(l)
	if err != nil && r.o.Mask != nil && r.o.Mask(err.Error()) != err.Error() {
		err = errors.New(r.o.Mask(err.Error()))
	}
	if r.ctx.Err() != nil {
		return mcp.List{}, fmt.Errorf("list its tools: %w", r.ctx.Err())
	}
	if err != nil && reads {
		return l, err
	}
	if keep := r.o.Kept.Put(s.Entry, cwd, l, err, r.o.Now()); keep != nil {
		r.o.Log.Warn("keep the list of an MCP server", "server", s.Name, "err", keep)
	}
	return l, err
}

// masked is a list without secrets. One that cannot be read after it is none.
func (r *Registry) masked(l mcp.List) (out mcp.List) {
	if r.o.Mask == nil {
		return l
	}
	data, err := json.Marshal(l)
	if err != nil {
		return mcp.List{}
	}
	if text := r.o.Mask(string(data)); text == string(data) {
		return l
	} else if json.Unmarshal([]byte(text), &out) != nil {
		return mcp.List{}
	}
	return out
}

func (r *Registry) pool(ctx context.Context, told func(mcp.Target, mcp.List)) *mcp.Servers {
	changed := told
	if told != nil {
		changed = func(t mcp.Target, l mcp.List) { told(t, r.masked(l)) }
	}
	return mcp.New(ctx, mcp.Options{Version: r.o.Version, Now: r.o.Now, Log: r.o.Log, Changed: changed})
}
