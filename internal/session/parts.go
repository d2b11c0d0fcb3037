package session

import (
	"context"
	"time"

	"github.com/troupe-dev/troupe"
)

// work is what an actor has under way, by its parts. It belongs to the goroutine that runs the actor.
type work struct {
	exchange exchange
	calls    calls
	requests requests
	births   births
	tasks    tasks
	hearing  hearing
	team     teamwork
	hooks    hooking
	place    place
	handing  handing
	timer    func() // cancels the wait for the time to look again
	begun    bool   // calls were begun and nothing was committed since
}

// The parts of an actor. Each has the state and the methods of one matter; what it needs of the rest it
// takes from a, by name.
type (
	// exchange talks to the model.
	exchange struct {
		a          *actor
		callCancel context.CancelFunc    // of the call under way, or its wait
		start      func(context.Context) // begins the call that waits for the governor
		enter      func(context.Context) // asks the governor for the call that waits for another's
	}
	// calls judges and runs the tool calls of a reply.
	calls struct {
		a       *actor
		working map[int]*job    // under way, by index
		ready   map[int]*judged // judged, and to be acted on next
		now     *snapshot       // for those that begin together; nil: to be made anew
		forAuto []autoQuestion  // what the model of mode auto is asked next
	}
	// requests asks those with authority, and takes their answers.
	requests struct {
		a      *actor
		midway map[int]*midway // questions of calls that are under way, by index
	}
	// births starts sub-agents.
	births struct{ a *actor }
	// tasks is what goes on beside calls: commands and agents in the background, and what is said
	// to them.
	tasks struct {
		a    *actor
		own  map[troupe.TaskID]context.CancelFunc // commands and monitors
		told map[troupe.TaskID]bool               // tasks told to stop; true: now
	}
	// hearing tells the session what its monitors say.
	hearing struct {
		a        *actor
		monitors map[troupe.TaskID]*monitor
		at       time.Time     // when it looks for that again
		sent     int           // pieces of mail, by this actor
		ends     []troupe.Mail // of monitors, with their last lines, which are not told yet
		ended    time.Time     // when the first of them came
		endTold  time.Time     // when some were told last
	}
	// handing has a model look at what the session hands to its parent.
	handing struct {
		a      *actor
		cancel context.CancelFunc // of the question under way; nil: there is none
	}
	// teamwork leads a team, and deals with the board.
	teamwork struct{ a *actor }
)

func newWork(a *actor) work {
	return work{exchange: exchange{a: a}, calls: calls{a: a}, requests: requests{a: a},
		births: births{a: a}, tasks: tasks{a: a}, hearing: hearing{a: a}, team: teamwork{a}, hooks: hooking{a: a},
		place:   placeOf(a),
		handing: handing{a: a}}
}
