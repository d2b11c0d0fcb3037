// Package home opens a Troupe home for the command line. It is the one place where the command
// line meets the app, its client and its server: all else asks the api that an open home is.
package home

import (
	"context"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/api/router"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/app/scratch"
	"github.com/troupe-dev/troupe/internal/client"
	"github.com/troupe-dev/troupe/internal/httpd"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Env is what the process was started with.
type Env struct {
	Lookup  func(name string) (string, bool) // environment variables
	Environ []string
	Now     func() time.Time
	Log     *slog.Logger // never nil
	Version string
	// Serve makes what runs in this process reachable for other ones of the same user.
	Serve bool
	// Tell hears what the person who waits should know at once; nil: nobody does.
	Tell func(text string)
	// LookAhead is the folder in which a run will begin, if that is known: it is looked at while the
	// home opens.
	LookAhead string
}

// Home is an open home: all that a surface can ask for, bound to its caller. What is said to a
// session goes to the process that runs it.
type Home struct {
	API    api.API
	app    *app.App
	agent  string // the session whose agent has started this process; "" if none has
	caller troupe.Caller

	server  string // the address of the server that has the sessions; "": they are here
	closing func() // what else ends with it; nil: nothing
	// tell is told of that server.
	tell atomic.Pointer[func(text string)]
}

// Open opens the home that the environment names, and makes it if it is new. What is asked of it
// is asked by the person of this machine, from a surface.
func Open(ctx context.Context, env Env, from troupe.Surface) (*Home, error) {
	e := env.app()
	if env.LookAhead != "" {
		e.Look = app.LookAt(ctx, env.LookAhead, env.Environ, env.Now)
	}
	a, err := app.Open(ctx, e)
	if err != nil {
		return nil, err
	}
	agent := troupe.AgentOf(env.Lookup)
	dial := func(socket string) router.Peer { return client.Dial(socket) }
	you := troupe.You(from)
	h := &Home{API: router.New(a.As(you), dial, agent), app: a, agent: agent, caller: you}
	h.API = taking{h.API, h}
	return h, nil
}

// OpenSettings opens no more of a home than its settings: no home is made, and none is written to.
// Only what api.Machine has is to be asked of it.
func OpenSettings(env Env) (*Home, error) {
	a, err := app.OpenSettings(env.app())
	if err != nil {
		return nil, err
	}
	you := troupe.You(troupe.SurfaceCommand)
	return &Home{API: a.As(you), app: a, caller: you}, nil
}

// DoctorWithoutHome is what api.Machine's Doctor finds without a home: cause is why it could not be opened.
func DoctorWithoutHome(ctx context.Context, env Env, cwd string, cause error) (wire.Diagnosis, error) {
	return app.DoctorWithoutHome(ctx, env.app(), cwd, cause)
}

// StateFolder is where Troupe keeps what it writes, "" if there is none.
func StateFolder(lookup func(string) (string, bool)) string { return app.StateFolder(lookup) }

// MakeTemp makes a temporary folder, which a later process removes if this one cannot.
func MakeTemp(what string) (*scratch.Folder, error) { return scratch.Make(what) }

// Repair saves what can be read of a damaged database.
func Repair(ctx context.Context, env Env) (wire.Repair, error) { return app.Repair(ctx, env.app()) }

func (env Env) app() app.Env {
	e := app.Env{Lookup: env.Lookup, Environ: env.Environ, Now: env.Now, Log: env.Log, Version: env.Version,
		Tell: env.Tell}
	if env.Serve {
		e.Serve = func(ctx context.Context, a *app.App, path string) (app.Served, error) {
			runtime, _ := env.Lookup("XDG_RUNTIME_DIR")
			// A server of this home says for whom it calls, and proves it.
			return httpd.Serve(ctx, path, a.As, httpd.Options{Runtime: runtime, Temp: os.TempDir(), Log: env.Log,
				Keys: app.PeopleOf(a)})
		}
	}
	return e
}

// Warnings lists what is odd in the user's settings.
func (h *Home) Warnings() []string { return h.app.Warnings() }

// Server is the address of the server that has the sessions, "" if they are here.
func (h *Home) Server() string { return h.server }

// Mask takes secrets out of a text.
func (h *Home) Mask(s string) string { return h.app.Mask(s) }

// MaskLog takes the credentials of an environment out of what is logged.
func MaskLog(environ []string) func([]string, slog.Attr) slog.Attr { return app.MaskLog(environ) }

// History is the file that keeps what is typed into conversations.
func (h *Home) History() string { return h.app.HistoryFile() }

// TeammateMode is where the settings have members of a team shown.
func (h *Home) TeammateMode() troupe.TeammateMode { return app.TeammateMode(h.app) }

// Close ends what runs here and closes the home. What was under way can be resumed.
func (h *Home) Close() error {
	if h.closing != nil {
		h.closing()
	}
	return h.app.Close()
}
