package wire

import (
	"time"

	"github.com/troupe-dev/troupe"
)

// Hosted is what runs the sessions of a server, and what is kept going there.
type Hosted struct {
	Workers  []Worker    `json:"workers" doc:"The processes that live"`
	Sessions []KeptGoing `json:"sessions" doc:"The main agents that are kept going"`
	Paused   []Paused    `json:"paused" doc:"The folders in which nothing is begun or taken up"`
	// Partial: who asks has no right at the server beyond their projects.
	Partial bool `json:"partial,omitempty" doc:"Of the processes nothing is told"`
}

// Worker is a process that runs sessions.
type Worker struct {
	ID      troupe.OwnerID `json:"id"`
	PID     int            `json:"pid"`
	Host    string         `json:"host"`
	Reached string         `json:"reached" doc:"The socket or address at which other processes call it"`
	Folders []string       `json:"folders" doc:"Those that it has; none: it runs no sessions"`
	Since   time.Time      `json:"since"`
	Kept    int            `json:"kept" doc:"How many of the main agents that are kept going it has in hand"`
	// Draining is set if it takes on nothing any more.
	Draining *Draining `json:"draining,omitempty"`
}

// Draining is why a process takes on nothing any more.
type Draining struct {
	By    string    `json:"by"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until,omitzero" doc:"When it ends in any case"`
}

// KeptGoing is a main agent that is kept going.
type KeptGoing struct {
	ID    troupe.SessionID `json:"id"`
	State string           `json:"state" enum:"begins,at work,rests,waits,parked,paused,over" doc:"waits: for a process that has its folder and can take it up"`
	Cwd   string           `json:"cwd,omitempty"`
	Title string           `json:"title,omitempty"`
	Since time.Time        `json:"since"`
	// Worker has it in hand.
	Worker troupe.OwnerID `json:"worker,omitempty"`
	Tries  int            `json:"tries,omitempty" doc:"How often it was taken up since it last stood for two minutes"`
	Failed int            `json:"failed,omitempty" doc:"How often in a row it could not be taken up"`
	Why    string         `json:"why,omitempty" doc:"Why it is parked, or could not be taken up"`
}

// Paused is a folder in which nothing is begun or taken up.
type Paused struct {
	Folder string    `json:"folder"`
	By     string    `json:"by"`
	Since  time.Time `json:"since"`
}

// Drain has a process take on nothing any more.
type Drain struct {
	Worker   troupe.OwnerID `json:"worker" minLength:"1" maxLength:"64" doc:"The id, or the beginning of one"`
	WithinMS int64          `json:"within_ms,omitempty" minimum:"0" doc:"It ends after so long whatever is at work; 0: it waits"`
	Cancel   bool           `json:"cancel,omitempty" doc:"It takes on sessions again"`
}

// Pause has nothing begun in a folder and below it.
type Pause struct {
	// Where is not one of the fields by which servers bind calls to their folders: it names folders of workers too.
	Where string `json:"folder" minLength:"1" maxLength:"500"`
	End   bool   `json:"end,omitempty"`
}
