package sim_test

import (
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
)

// unmindful enters plan mode as if the mode before had been another.
type unmindful struct{ store.Tx }

func (t unmindful) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	for i, e := range events {
		if b, ok := e.Body.(troupe.AuthorityChanged); ok && b.By == "the agent itself" && b.Authority.Planning != nil {
			p := *b.Authority.Planning
			p.Before = troupe.ModePlan
			b.Authority.Planning = &p
			events[i].Body = b
		}
	}
	return t.Tx.Append(l, s, events)
}

// scribbling has an edit declare that it writes the plan, whatever it writes.
func scribbling() func(*session.Deps) {
	return func(d *session.Deps) {
		d.Tools = d.Tools.Map(func(t tool.Descriptor) tool.Descriptor {
			if t.Runner != nil {
				t.Runner = scribbler{t.Runner}
			}
			return t
		})
	}
}

type scribbler struct{ tool.Runner }

func (r scribbler) Prepare(env tool.Env, input string) (tool.Prepared, error) {
	p, err := r.Runner.Prepare(env, input)
	if err != nil || env.OutputDir == "" {
		return p, err
	}
	return intoThePlan{p, "/sim-plans/" + env.OutputDir[strings.LastIndex(env.OutputDir, "/")+1:]}, nil
}

type intoThePlan struct {
	tool.Prepared
	plan string
}

func (r intoThePlan) Access() troupe.Access {
	a := r.Prepared.Access()
	if len(a.Writes) > 0 {
		a.Writes = []string{r.plan}
	}
	return a
}

// changing has what the list is said to be changed on its way to the log.
func changing(events []troupe.Event, change func(*troupe.BoardItem)) {
	for i, e := range events {
		if b, ok := e.Body.(troupe.BoardChanged); ok {
			b.Items = slices.Clone(b.Items)
			for n := range b.Items {
				change(&b.Items[n])
			}
			events[i].Body = b
		}
	}
}

type disowned struct{ store.Tx }

func (t disowned) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	changing(events, func(it *troupe.BoardItem) { it.Owner = "" })
	return t.Tx.Append(l, s, events)
}

type unblocked struct{ store.Tx }

func (t unblocked) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	changing(events, func(it *troupe.BoardItem) { it.BlockedBy = nil })
	return t.Tx.Append(l, s, events)
}

// listless leaves the list out of what a summary is told.
type listless struct{ store.Tx }

func (t listless) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	for i, e := range events {
		if b, ok := e.Body.(troupe.Compacted); ok {
			b.Blocks = slices.Clone(b.Blocks)
			for n := range b.Blocks {
				b.Blocks[n].Text, _, _ = strings.Cut(b.Blocks[n].Text, "The list of what is to be done:")
			}
			events[i].Body = b
		}
	}
	return t.Tx.Append(l, s, events)
}
