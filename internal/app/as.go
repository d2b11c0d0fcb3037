package app

import (
	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
)

// As is the use cases as one caller asks for them. The caller stands on every event they cause.
func (a *App) As(c troupe.Caller) api.API {
	u := bound{a, c}
	return &boundAPI{sessions{u}, sessions{u}, runs{u}, steering{u}, requests{u}, following{u}, trusting{u}, undoing{u},
		using{u}, machine{u}, serving{u}, setup{u}, server{u}}
}

// bound is a home and who uses it.
type bound struct {
	app    *App
	caller troupe.Caller
}

// boundAPI are the use cases, one type and one file a noun. It has the methods of the interfaces only:
// what their types do besides is theirs.
type boundAPI struct {
	api.Sessions
	api.Measures
	api.Runs
	api.Steering
	requesting
	api.Following
	api.Trusting
	api.Undoing
	api.Using
	machine machine
	serving serving
	setup   setup
	server  server
}

// Setup implements api.API.
func (b *boundAPI) Setup() api.Setup { return b.setup }

// Machine implements api.API.
func (b *boundAPI) Machine() api.Machine { return b.machine }

// Serving implements api.API.
func (b *boundAPI) Serving() api.Serving { return b.serving }

// setup implements api.Setup.
type setup struct{ bound }

// Server implements api.API.
func (b *boundAPI) Server() api.Server { return b.server }

// requesting is api.Requests under a name that is not one of its methods: a field hides a method of its name.
type requesting = api.Requests

var _ api.API = (*boundAPI)(nil)
