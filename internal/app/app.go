// Package app is what Troupe can do: the use cases of package api, in files by noun.
// Surfaces call it and turn its answers into text or JSON; it wires the mechanisms of the
// floors below into the engine and knows nothing of flags, terminals or sockets.
//
// An App is one process's view of one Troupe home. Methods may be called from several
// goroutines. Reading needs no engine; the first Begin registers this process as an owner,
// and Close gives that up after everything that runs here has been cancelled.
package app

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/audit"
	"github.com/troupe-dev/troupe/internal/app/checkout"
	"github.com/troupe-dev/troupe/internal/app/follow"
	"github.com/troupe-dev/troupe/internal/app/metrics"
	"github.com/troupe-dev/troupe/internal/app/plugins"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/postgres"
	"github.com/troupe-dev/troupe/internal/store/sqlite"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/all"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// Env is what the process was started with.
type Env struct {
	Lookup  func(name string) (string, bool) // environment variables
	Environ []string                         // all of them, for commands that tools start
	Now     func() time.Time
	Log     *slog.Logger // for --debug; never nil
	Version string
	// Serve makes the use cases reachable for other processes at a socket, if possible at this
	// path, once this process runs something. nil: nobody can reach it.
	Serve func(ctx context.Context, a *App, path string) (Served, error)
	// Tell hears what a person who waits for this process should know at once; nil: nobody does.
	Tell func(text string)
	// Folders are those in which a server has agents work, the usual one first; none: anywhere.
	Folders []string
	// GitHosts are those from which a server takes repositories; none: from nowhere.
	GitHosts []string
	// Metrics counts what this process does; nil: nothing is counted.
	Metrics *metrics.Set
	// Look is at the folder of the first run, and was begun before the home was open. nil: each
	// run looks by itself.
	Look *Look
}

// Served is a socket that this process answers on.
type Served interface {
	Path() string
	Close(ctx context.Context) error
}

// App is an open Troupe home.
type App struct {
	env      Env
	dirs     config.Dirs
	settings config.Settings
	warnings []string
	db       database
	file     *sqlite.Store // what db is, unless that is a server's
	trees    trees
	models   *models
	tools    func(all.Options) ([]tool.Descriptor, error) // the list of tools

	followers *follow.Broker

	once once

	starting sync.Mutex             // held while the engine is made, and to close it
	engine   atomic.Pointer[engine] // nil until something runs here
	learned  learned
	keeper   *worktree.Keeper // of the folders that agents have of their own
	logins   logins
	lines    statusLines
	defined  definedAgents
	// changing is held while a file that people change is looked at and changed.
	changing sync.Mutex
	// environMask takes the credentials of the environment out of a text.
	environMask func() func(string) string
}

// once is what there is one of, made when it is asked for: each gives the same one each time.
type once struct {
	plugins   func() *plugins.Home
	checkouts func() *checkout.Checkouts
	acts      func() *audit.Log
}

// database is what keeps everything of a home.
type database interface {
	store.Store
	store.Records
}

// Open opens the home that the environment names and makes it if it is new. What is odd
// but harmless in the settings is in Warnings.
func Open(ctx context.Context, env Env) (*App, error) {
	a, err := OpenSettings(env)
	if err != nil {
		return nil, err
	}
	if err := openStore(ctx, a); err != nil {
		return nil, err
	}
	settle(a)
	a.trees.store = measure(env, a.db)
	a.followers = follow.New(a.db, a.advances)
	return a, nil
}

// DatabaseVariable names the database of a server that keeps the sessions of this home, and of others.
const DatabaseVariable = "TROUPE_DATABASE"

// openStore opens what keeps the sessions: a file of the home, unless the environment names a server.
func openStore(ctx context.Context, a *App) (err error) {
	if address, ok := a.env.Lookup(DatabaseVariable); ok && address != "" {
		db, err := postgres.Open(ctx, address, postgres.Options{})
		if err != nil {
			return err
		}
		a.db = db
		return os.MkdirAll(a.dirs.Data, 0o700) // where outputs, plans and a person's history are kept
	}
	a.file, err = sqlite.Open(ctx, a.dirs.Database(), sqlite.Options{Beside: []string{a.dirs.Outputs()}})
	if err != nil {
		return err
	}
	a.db = a.file
	if torn := a.file.Torn(); torn != "" {
		a.warnings = append(a.warnings, torn)
	}
	return nil
}

func newApp(env Env) *App {
	a := &App{env: env, tools: all.Tools,
		environMask: sync.OnceValue(func() func(string) string { return findSecrets(env.Environ).mask })}
	a.once = once{
		plugins:   sync.OnceValue(func() *plugins.Home { return plugins.In(a.dirs) }),
		checkouts: sync.OnceValue(func() *checkout.Checkouts { return openCheckouts(a) }),
		acts:      sync.OnceValue(func() *audit.Log { return audit.New(a.db, a.env.Now) }),
	}
	return a
}

// OpenSettings opens no more of a home than its settings, which may be on a disk that cannot be
// written to. What has to do with sessions is not to be asked of it.
func OpenSettings(env Env) (*App, error) {
	a := newApp(env)
	var err error
	if a.dirs, err = config.FindDirs(env.Lookup); err != nil {
		return nil, err
	}
	p, err := a.policyOf("")
	if err != nil {
		return nil, err
	}
	a.settings, a.warnings, a.keeper = p.settings, p.warnings, keeperOf(a)
	a.models = newModels(env, a.dirs, a.settings)
	return a, nil
}

// Warnings lists what is odd in the user's settings.
func (a *App) Warnings() []string { return a.warnings }

// Close cancels what runs here and waits for it, then closes the home. Nothing that was
// logged is lost; what was under way is resumed by whoever takes over.
func (a *App) Close() error {
	a.logins.close()
	a.starting.Lock()
	e := a.engine.Swap(nil)
	a.starting.Unlock()
	if err := a.lines.close(); err != nil {
		a.env.Log.Warn("close what ran the status line", "err", err)
	}
	if e != nil {
		e.close()
		a.removeExpired(e.ctx())
	}
	// A thousand connections and a write-ahead log both take a while to put away.
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		a.models.close()
	}()
	var err error
	if a.db != nil {
		a.followers.Close()
		err = a.db.Close()
	}
	<-closed
	if err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}

// StateFolder is the folder of the database, "" if there is none.
func StateFolder(lookup func(string) (string, bool)) string {
	dirs, err := config.FindDirs(lookup)
	if err != nil {
		return ""
	}
	return dirs.Data
}

// LoginsFolder is where logins are kept, "" if there is no place.
func LoginsFolder(lookup func(string) (string, bool)) string {
	dirs, err := config.FindDirs(lookup)
	if err != nil {
		return ""
	}
	return dirs.Logins()
}

func (a *App) outputDir(id troupe.SessionID) string {
	return filepath.Join(a.dirs.Outputs(), string(id))
}

// removeOutputs deletes the large outputs of sessions that are gone.
func (a *App) removeOutputs(ids []troupe.SessionID) error {
	for _, id := range ids {
		if err := disk.RemoveTree(a.outputDir(id)); err != nil {
			return fmt.Errorf("remove the outputs of session %s: %w", id, err)
		}
	}
	return nil
}

// outputSize is how many bytes the outputs of sessions take.
func (a *App) outputSize(ids []troupe.SessionID) int64 {
	var n int64
	for _, id := range ids {
		_ = filepath.WalkDir(a.outputDir(id), func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil //nolint:nilerr // what cannot be looked at is not counted
			}
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
			return nil
		})
	}
	return n
}

// engine is the part of an App that runs sessions.
type engine struct {
	hub      *session.Hub
	pool     *session.Pool
	tools    *toolbox
	owner    troupe.OwnerID
	release  func() error
	log      *slog.Logger
	served   Served // nil if nobody can reach this process
	governor session.Governor
	guard    *guard
	servers  *serverHost
	places   *workspaces
	ctx      func() context.Context // for what is done while closing

	instructions instructions
}

// servedPatience is how long callers of other processes may take to be done at the end.
const servedPatience = 2 * time.Second

func (e *engine) close() {
	e.hub.FarewellAll(e.ctx())
	if e.served != nil {
		ctx, cancel := context.WithTimeout(e.ctx(), servedPatience)
		defer cancel()
		if err := e.served.Close(ctx); err != nil {
			e.log.Warn("close the socket", "err", err)
		}
	}
	e.pool.Close()
	if err := e.servers.close(); err != nil {
		e.log.Warn("close the MCP servers", "err", err)
	}
	if err := e.tools.Close(); err != nil {
		e.log.Warn("close the tools", "err", err)
	}
	if err := e.guard.close(); err != nil {
		e.log.Warn("close the sandbox", "err", err)
	}
	if err := e.release(); err != nil {
		e.log.Warn("give up ownership", "owner", e.owner, "err", err)
	}
}
