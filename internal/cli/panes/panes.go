// Package panes shows the members of a team in panes of the terminal, each by a viewer that is a process of its own
// (`troupe attach`). Agents live where their tree is run, whatever is opened and closed here: a pane can neither start
// nor stop one, and what is said to an agent goes through the api alone.
//
// A Keeper has one goroutine, which alone calls its Backend. What it is told (that the roster may have changed, what a
// person wants hidden or shown) comes in order; looks at the roster that are waiting are one. It never waits for who
// tells it: with its hands full it says so. Close waits for it.
package panes

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// Backend is where panes are. Its five verbs are about viewers of agents, and never about agents.
type Backend interface {
	// Spawn opens a pane that shows an agent. ErrFull: the lead's would be left too small.
	Spawn(ctx context.Context, agent troupe.SessionID) (ID, error)
	// Send has a pane bear a label.
	Send(ctx context.Context, id ID, l Label) error
	// Terminate asks a viewer to end: as Ctrl-D does, so one on whose line words stand stays.
	Terminate(ctx context.Context, id ID) error
	// Kill closes a pane, whatever is typed in it.
	Kill(ctx context.Context, id ID) error
	// Active are the panes of this tree that are there, by whomever they were opened, in the order of their places.
	Active(ctx context.Context) ([]Pane, error)
}

// ID names a pane where it is.
type ID string

// Pane is one with the agent that it shows.
type Pane struct {
	ID    ID
	Agent troupe.SessionID
}

// Label says whose a pane is.
type Label struct {
	Name  string
	Color int // of the eight and their bright ones, as a terminal numbers them: 30 and on, or 90 and on
}

// ErrFull means that there is no room for another pane beside the lead's.
var ErrFull = errors.New("there is no room for another pane")

// What a pane must have at least. The lead's is where a person works.
const (
	leadColumns   = 60
	leadRows      = 15
	memberColumns = 40
	memberRows    = 8
)

// call runs a program and returns what it prints. Arguments are never read by a shell of ours.
type call func(ctx context.Context, program string, args ...string) (string, error)

// errSilent: a program has not said what it was asked. What is there is not known then.
var errSilent = errors.New("did not answer")

// patience is how long a program may take that moves panes.
const patience = 5 * time.Second

// run is call for real.
func run(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &said, time.Second
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s %w in %s", program, errSilent, patience)
	case err != nil && said.Len() > 0:
		return "", fmt.Errorf("%s: %s", program, strings.TrimSpace(said.String()))
	case err != nil:
		return "", fmt.Errorf("%s: %w", program, err)
	}
	return out.String(), nil
}

// rect is where a pane stands in its window.
type rect struct {
	id                       ID
	left, top, width, height int
}

// split says which pane gives room to a new one, how much, and where.
type split struct {
	from   ID
	beside bool // to the right of it; else below
	size   int  // of the new one
}

// place finds room for another pane beside those of the team that are there. halves: a pane can only be split in its
// middle.
func place(lead rect, others []rect, halves bool) (split, error) {
	if len(others) == 0 {
		columns, rows := lead.width-1, lead.height-1 // a line is drawn between
		size := min(columns*45/100, columns-leadColumns)
		if halves {
			size = columns / 2
		}
		if size >= memberColumns && columns-size >= leadColumns {
			return split{lead.id, true, size}, nil
		}
		return below(lead, rows, halves)
	}
	tallest := others[0]
	for _, o := range others {
		if o.height >= tallest.height { // of those alike the lowest: they stay in the order of the team
			tallest = o
		}
	}
	if half := (tallest.height - 1) / 2; half >= memberRows {
		return split{tallest.id, false, half}, nil
	}
	if tallest.top > lead.top && tallest.left <= lead.left { // they stand below it, and it may give more
		return below(lead, lead.height-1, halves)
	}
	return split{}, ErrFull
}

func below(lead rect, rows int, halves bool) (split, error) {
	size := max(memberRows, min(max(rows*40/100, 2*memberRows+1), rows-leadRows)) // room for another one, if there is
	if halves {
		size = rows / 2
	}
	if size < memberRows || rows-size < leadRows {
		return split{}, ErrFull
	}
	return split{lead.id, false, size}, nil
}
