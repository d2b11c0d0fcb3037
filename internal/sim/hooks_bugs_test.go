package sim_test

import (
	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
)

// forgotten has each process but the first forget that hooks are owed the ends of agents.
func forgotten() func(*session.Deps) {
	n := 0
	return func(d *session.Deps) {
		if n++; n > 1 {
			d.Profiles = owing{d.Profiles}
		}
	}
}

type owing struct{ session.Profiles }

func (f owing) Open(definitions []byte) (session.Roles, error) {
	r, err := f.Profiles.Open(definitions)
	return owingRoles{r}, err
}

type owingRoles struct{ session.Roles }

// Hooks are those of the roles, of which some are forgotten.
func (f owingRoles) Hooks() session.Hooks {
	h, _ := f.Roles.(interface{ Hooks() session.Hooks })
	if real := h.Hooks(); real != nil {
		return endless{real}
	}
	return nil
}

type endless struct{ session.Hooks }

// Due implements session.Hooks.
func (e endless) Due(m troupe.HookMoment) bool {
	return m.Event != troupe.HookSubagentStop && e.Hooks.Due(m)
}
