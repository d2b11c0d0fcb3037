package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

const kindWorker = "worker"

// worker is a process that has folders, as others know it.
type worker struct {
	Socket  string    `json:"socket"` // where it answers: the path of a socket, or an address
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Folders []string  `json:"folders"`
	Since   time.Time `json:"since"`
	// Draining is set if it takes on nothing any more.
	Draining *wire.Draining `json:"draining,omitempty"`
}

// Announce says to all processes of the database that this one has its folders, until Close.
func (h *Host) Announce(ctx context.Context, o troupe.Owner) error {
	value, err := json.Marshal(worker{Socket: o.Socket, PID: o.PID, Host: o.Host, Folders: h.o.Folders,
		Since: o.StartedAt.UTC()})
	r := store.Record{Kind: kindWorker, Key: string(o.ID), Value: value}
	if err == nil {
		r.Version, err = h.o.Records.PutRecord(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("announce this worker: %w", err)
	}
	h.mu.Lock()
	h.worker = &r
	h.mu.Unlock()
	return nil
}

// drain looks whether this process is to take on nothing any more, and until when it stays.
func (h *Host) drain(ctx context.Context) (draining bool, until time.Time, err error) {
	h.mu.Lock()
	own := h.worker
	h.mu.Unlock()
	if own == nil {
		return false, until, nil
	}
	r, err := h.o.Records.Record(ctx, own.Kind, own.Key)
	if errors.Is(err, troupe.ErrNotFound) { // another process took this one for dead
		r = *own
		r.Version = 0
		r.Version, err = h.o.Records.PutRecord(ctx, r)
	}
	var w worker
	if err == nil && json.Unmarshal(r.Value, &w) != nil { // what it said of itself is said again
		w, r.Value = worker{}, own.Value
		if r.Version, err = h.o.Records.PutRecord(ctx, r); err == nil {
			err = json.Unmarshal(r.Value, &w)
		}
	}
	if err != nil {
		return false, until, fmt.Errorf("look whether this process is to be drained: %w", err)
	}
	if draining = w.Draining != nil; draining {
		until = w.Draining.Until
	}
	h.mu.Lock()
	if h.worker == own {
		h.worker = &r
	}
	was := h.draining
	h.draining = draining
	h.mu.Unlock()
	if draining && !was {
		var limit []any
		if !until.IsZero() {
			limit = []any{"until", until}
		}
		h.o.Log.With(limit...).InfoContext(ctx, "this process is drained", "by", w.Draining.By)
	} else if was && !draining {
		h.o.Log.InfoContext(ctx, "this process is drained no more")
	}
	return draining, until, nil
}

// withdraw takes back what Announce said.
func (h *Host) withdraw(ctx context.Context) error {
	h.mu.Lock()
	r := h.worker
	h.worker = nil
	h.mu.Unlock()
	if r == nil {
		return nil
	}
	return h.forget(ctx, *r)
}

// announced is a worker with its record.
type announced struct {
	worker

	r store.Record
}

// workers lists the living ones. What a dead one has left is removed.
func workers(ctx context.Context, records store.Records, trees Trees) ([]announced, error) {
	all, err := records.Records(ctx, kindWorker, "", 0)
	if err != nil {
		return nil, fmt.Errorf("list the workers: %w", err)
	}
	var out []announced
	for _, r := range all {
		w := announced{r: r}
		if err := json.Unmarshal(r.Value, &w.worker); err != nil { // it takes on nothing, as far as is known
			w.worker = worker{Host: "? (its record cannot be read)"}
		}
		switch alive, err := trees.Alive(ctx, troupe.OwnerID(r.Key)); {
		case err != nil:
			return nil, err
		case alive:
			out = append(out, w)
		default:
			if err := forget(ctx, records, r); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// Serving are the folders of each process that takes on what works there.
func Serving(ctx context.Context, records store.Records, trees Trees) ([][]string, error) {
	all, err := workers(ctx, records, trees)
	out := make([][]string, 0, len(all))
	for _, w := range all {
		if w.Draining == nil {
			out = append(out, w.Folders)
		}
	}
	return out, err
}

// pick is one of the workers that have a folder, without those that do not answer.
func (h *Host) pick(ctx context.Context, cwd string, silent []string) (announced, error) {
	all, err := workers(ctx, h.o.Records, h.o.Trees)
	if err != nil {
		return announced{}, err
	}
	all = slices.DeleteFunc(all, func(w announced) bool { return len(w.Folders) == 0 }) // servers that run nothing
	fits := slices.DeleteFunc(slices.Clone(all), func(w announced) bool {
		return !troupe.WithinAny(cwd, w.Folders) || w.Draining != nil || slices.Contains(silent, w.r.Key) || h.is(w)
	})
	if len(fits) == 0 && len(silent) > 0 {
		return announced{}, &troupe.UserError{Problem: "no worker that has the folder " + cwd + " answers",
			Hint: "`troupe admin` lists them. One that is stopped or hangs goes on, or is ended.",
			Err:  troupe.ErrUnavailable}
	}
	if len(fits) == 0 {
		return announced{}, h.without(cwd, all)
	}
	return fits[rand.IntN(len(fits))], nil
}

// is reports whether a worker is this process.
func (h *Host) is(w announced) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.worker != nil && h.worker.Key == w.r.Key
}

// without says that no worker has a folder.
func (h *Host) without(cwd string, all []announced) error {
	if h.o.Checkouts != "" && cwd != h.o.Checkouts && troupe.Within(cwd, h.o.Checkouts) {
		return &troupe.UserError{Problem: "the checkout " + cwd +
			" is not there: it was removed, or is on another machine",
			Hint: "Begin anew with --repo, or start the worker of the machine that has it.", Err: errNoWorker}
	}
	hint := "Start one: troupe worker --folder " + cwd
	if len(all) > 0 {
		hint = "There are: " + named(all) + ". " + hint
	}
	return &troupe.UserError{Problem: "no worker has the folder " + cwd, Hint: hint, Err: errNoWorker}
}

var errNoWorker = errors.New("there is no worker for it")

func named(all []announced) string {
	out := make([]string, 0, len(all))
	for _, w := range all {
		text := fmt.Sprintf("process %d on %s (%s)", w.PID, w.Host, strings.Join(w.Folders, ", "))
		if w.Draining != nil {
			text += ", which takes on nothing any more"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}
