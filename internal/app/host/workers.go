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
)

const kindWorker = "worker"

// Worker is a process that has folders, as others know it.
type Worker struct {
	Socket  string    `json:"socket"` // where it answers: the path of a socket, or an address
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Folders []string  `json:"folders"`
	Since   time.Time `json:"since"`
}

// Announce says to all processes of the database that this one has its folders, until Close.
func (h *Host) Announce(ctx context.Context, o troupe.Owner) error {
	value, err := json.Marshal(Worker{Socket: o.Socket, PID: o.PID, Host: o.Host, Folders: h.o.Folders,
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

// Workers lists the living ones. What a dead one has left is removed.
func (h *Host) Workers(ctx context.Context) ([]Worker, error) {
	all, err := h.o.Records.Records(ctx, kindWorker, "", 0)
	if err != nil {
		return nil, fmt.Errorf("list the workers: %w", err)
	}
	var out []Worker
	for _, r := range all {
		var w Worker
		if err := json.Unmarshal(r.Value, &w); err != nil {
			return nil, fmt.Errorf("read worker %s: %w", r.Key, err)
		}
		switch alive, err := h.o.Trees.Alive(ctx, troupe.OwnerID(r.Key)); {
		case err != nil:
			return nil, err
		case alive:
			out = append(out, w)
		default:
			if err := h.forget(ctx, r); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// pick is one of the workers that have a folder.
func (h *Host) pick(ctx context.Context, cwd string) (Worker, error) {
	all, err := h.Workers(ctx)
	if err != nil {
		return Worker{}, err
	}
	fits := slices.DeleteFunc(slices.Clone(all), func(w Worker) bool { return !troupe.WithinAny(cwd, w.Folders) })
	if len(fits) == 0 {
		hint := "Start one: troupe worker --folder " + cwd
		if len(all) > 0 {
			hint = "There are: " + named(all) + ". " + hint
		}
		return Worker{}, &troupe.UserError{Problem: "no worker has the folder " + cwd, Hint: hint, Err: errNoWorker}
	}
	return fits[rand.IntN(len(fits))], nil
}

var errNoWorker = errors.New("there is no worker for it")

func named(all []Worker) string {
	out := make([]string, 0, len(all))
	for _, w := range all {
		out = append(out, fmt.Sprintf("process %d on %s (%s)", w.PID, w.Host, strings.Join(w.Folders, ", ")))
	}
	return strings.Join(out, ", ")
}
