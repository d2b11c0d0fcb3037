package app

import (
	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
)

// As is the use cases as one caller asks for them. The caller stands on every event they cause.
func (a *App) As(c troupe.Caller) api.API {
	u := bound{a, c}
	return &boundAPI{sessions{u}, runs{u}, steering{u}, requests{u}, following{u}, trusting{u}, undoing{u}, machine{u}}
}

// bound is a home and who uses it.
type bound struct {
	*App
	caller troupe.Caller
}

// boundAPI are the use cases, one type and one file a noun.
type boundAPI struct {
	sessions
	runs
	steering
	requests
	following
	trusting
	undoing
	machine
}

var _ api.API = (*boundAPI)(nil)
