// Package host keeps the trees of a server going: what was begun there goes on when the process that ran it is gone,
// in this process or in another one that has the same database.
//
// A record for each such tree says that it is wanted. It is written before the tree is born, and goes when the tree is
// over, asleep or removed. Every process that hosts looks at all records once a second, and at once when it is told of
// one: a tree that no living process has, and in which something is to do, is taken up by the one that is first to say
// so in the record. One that is taken up again and again without ever standing for a while is parked, with the reason,
// until a person says something to it.
//
// A tree is run where its folder is. A process says which folders it has, and takes up what works in these; what is to
// begin in others is begun by a worker that has them, over its own api.
//
// A Host has one goroutine that looks, and one for each tree that is being taken up. Close ends and waits for them;
// what has been taken up by then belongs to the app. Its API may be used by several goroutines. A process that is
// killed at any moment leaves at the worst a record of a tree that was never born, which is forgotten, or one of a tree
// that is over.
package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

const (
	kind = "hosted"

	lookEvery = time.Second
	// restsAfter is how long a tree that is over is held for the next words to it.
	restsAfter = 10 * time.Minute
	// bornWithin is how long a birth may take from its record on.
	bornWithin = 10 * time.Minute
	// steadyAfter is how long a tree has to stand for what was before not to count, and mostTries how often one is
	// taken up until then.
	steadyAfter = 2 * time.Minute
	mostTries   = 3
	// failedPause is how long after it could not be taken up one is tried again, twice as long each time, and
	// mostFailed how often: for half a day.
	failedPause = 5 * time.Second
	longPause   = 30 * time.Minute
	mostFailed  = 32
	// takenWithin is how long words to a tree that nobody has wait for it to be taken up.
	takenWithin = 10 * time.Second
	// mostTaking is how many are taken up at once.
	mostTaking = 8
	// parkedEvery is at how many looks one is that is parked: it may have been removed.
	parkedEvery = 600
	looksAgain  = 50 * time.Millisecond
	// againAfter is after how long a tree is looked at again that is another process's.
	againAfter = 10 * time.Second
)

// Standing is how a tree stands, as seen from this process.
type Standing int

// Standings.
const (
	Unborn Standing = iota // there is none of that id
	Asleep                 // it was put away
	Here                   // this process has it, and something is to do in it
	Rests                  // this process has it, and nothing is
	There                  // another living process has it
	Left                   // no living process has it, and something is to do
	Over                   // no living process has it, and nothing is
)

// Stand is how a tree stands, in which folder it works, and which process has it or had it last.
type Stand struct {
	Standing
	Cwd   string
	Owner troupe.OwnerID
}

// Trees are the trees of a home.
type Trees interface {
	// Stand says how a tree stands.
	Stand(ctx context.Context, root troupe.SessionID) (Stand, error)
	// Held says it of one that this process has, without a look at the database: Here or Rests. Else it reports false.
	Held(root troupe.SessionID) (s Standing, is bool)
	// Alive reports whether a process lives.
	Alive(ctx context.Context, id troupe.OwnerID) (bool, error)
}

// Peer is another process.
type Peer interface {
	api.API
	// Ping reports whether it answers at all: api.ErrSilent if not, api.ErrUnreachable if it is not there.
	Ping(ctx context.Context) error
	Close()
}

// hosted is the value of a record.
type hosted struct {
	Since time.Time `json:"since"`
	// Tries is how often it was taken up since it last stood for a while, and At when it was last.
	Tries int       `json:"tries,omitempty"`
	At    time.Time `json:"at,omitzero"`
	// Failed is how often in a row it could not be taken up, and Why why not.
	Failed int    `json:"failed,omitempty"`
	Why    string `json:"why,omitempty"`
	// Parked is why it is not taken up any more.
	Parked string `json:"parked,omitempty"`
}

// hostedOf reads a record. A tree whose record cannot be read is parked: words to it write the record anew.
func hostedOf(r store.Record) (v hosted) {
	if err := json.Unmarshal(r.Value, &v); err != nil {
		return hosted{Parked: "its record cannot be read: " + err.Error()}
	}
	return v
}

// News is a tree of which something may be new.
type News struct {
	Root troupe.SessionID
	// Parked is why it is not taken up any more, Version that of the row that says so, and At when it last was.
	Parked  string
	Version int64
	At      time.Time
	// Leaves: its row goes once all is told. Elsewhere: another process has it, and tells.
	Leaves, Elsewhere bool
}

// Options are what a Host needs.
type Options struct {
	Records store.Records
	Trees   Trees
	// System is the api as Troupe itself asks it: trees are taken up and let go of by it.
	System api.API
	Now    func() time.Time
	Log    *slog.Logger
	// Folders are those that this process has: what works in them is begun and taken up here. none: it has none.
	Folders []string
	// Checkouts is the folder of repositories that were checked out: Folders has it where this process checks any out.
	// CheckOut has the repository of a new session checked out, so that it begins in a folder.
	// TakesRepositories: hosts are listed from which some process of the server takes them.
	Checkouts         string
	TakesRepositories bool
	CheckOut          func(ctx context.Context, b wire.Begin) (wire.Begin, error)
	// Tell is called with what stands of a tree that this process has, or none: who wants to know is told what is new.
	// It does not wait for others. nil: none wants to.
	Tell func(ctx context.Context, n News) error
	// Dial reaches another process, for a caller.
	Dial func(socket string, c troupe.Caller) Peer
}

// Host is this process as one that keeps trees going.
type Host struct {
	o      Options
	kicked chan struct{}
	cancel context.CancelFunc
	ended  chan struct{}

	drained chan struct{} // closed when it takes on nothing any more and has nothing

	looks    int                       // so far; of the goroutine that looks, as is
	saw      map[string]int            // how many trees stand how, as far as it has come
	seen     map[troupe.SessionID]seen // how they stood when they were looked at; as is
	alive    map[troupe.OwnerID]bool   // which processes live, as of this look; as is
	mu       sync.Mutex
	worker   *store.Record                  // what it has announced itself with; nil: it has not
	draining bool                           // it takes on nothing any more
	paused   []string                       // folders in which nothing is taken up
	kept     map[string]int                 // saw, as of the last look
	resting  map[troupe.SessionID]time.Time // since when a tree here rests
	taking   map[troupe.SessionID]bool      // those that are being taken up
	takes    sync.WaitGroup
}

// New begins to keep trees going.
func New(ctx context.Context, o Options) *Host {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h := &Host{o: o, kicked: make(chan struct{}, 1), cancel: cancel, ended: make(chan struct{}),
		drained: make(chan struct{}), resting: map[troupe.SessionID]time.Time{}, seen: map[troupe.SessionID]seen{},
		taking: map[troupe.SessionID]bool{}}
	go h.run(ctx)
	return h
}

// Drained is closed once the process was to take on nothing any more (Admin.Drain) and has nothing at work, or its time
// is over.
func (h *Host) Drained() <-chan struct{} { return h.drained }

// Close ends the looking. Nothing is begun here any more for other processes.
func (h *Host) Close(ctx context.Context) error {
	h.cancel()
	<-h.ended
	h.takes.Wait()
	return h.withdraw(context.WithoutCancel(ctx))
}

func (h *Host) run(ctx context.Context) {
	defer close(h.ended)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := h.look(ctx); err != nil && ctx.Err() == nil {
			h.o.Log.Warn("look at what is to be kept going", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-h.kicked:
		}
	}
}

// kick has the records looked at now.
func (h *Host) kick() {
	select {
	case h.kicked <- struct{}{}:
	default:
	}
}

// look looks at every record once. What is wrong with one tree keeps no other from going on.
func (h *Host) look(ctx context.Context) error {
	h.looks++
	draining, until, err := h.drain(ctx)
	if err != nil {
		return err
	}
	paused, err := Paused(ctx, h.o.Records)
	if err != nil {
		return err
	}
	folders := make([]string, len(paused))
	for i, p := range paused {
		folders[i] = p.Folder
	}
	h.mu.Lock()
	was := h.paused
	h.paused = folders
	h.mu.Unlock()
	if !slices.Equal(was, folders) {
		h.o.Log.InfoContext(ctx, "paused folders", "folders", folders)
	}
	all, err := h.o.Records.Records(ctx, kind, "", 0)
	if err != nil {
		return err
	}
	known := make(map[troupe.SessionID]bool, len(all))
	h.saw, h.alive = make(map[string]int), make(map[troupe.OwnerID]bool)
	left := !draining
	for _, r := range all {
		root := troupe.SessionID(r.Key)
		known[root] = true
		has, err := h.tend(ctx, root, r)
		if err != nil && ctx.Err() == nil {
			h.o.Log.Warn("keep a session going", "session", root, "err", err)
		}
		left = left || has || err != nil
	}
	if !left || draining && !until.IsZero() && !h.o.Now().Before(until) {
		select {
		case <-h.drained:
		default:
			close(h.drained)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = h.saw
	maps.DeleteFunc(h.seen, func(root troupe.SessionID, _ seen) bool { return !known[root] })
	for root := range h.resting {
		if !known[root] {
			delete(h.resting, root)
		}
	}
	return nil
}

// tend does what is to be done for one tree. It reports whether this process has the tree then.
func (h *Host) tend(ctx context.Context, root troupe.SessionID, r store.Record) (has bool, err error) {
	v := hostedOf(r)
	if _, held := h.o.Trees.Held(root); held && v.Parked != "" { // it was parked while this process seemed to be dead
		v.Parked, v.At = "", h.o.Now()
		if r.Version, err = h.put(ctx, r, v); err != nil {
			return true, err
		}
	}
	news := News{Root: root, Parked: v.Parked, Version: r.Version, At: cmp.Or(v.At, v.Since)}
	if v.Parked != "" && h.looks%parkedEvery != 0 {
		h.saw["parked"]++
		return false, h.tell(ctx, news)
	}
	now := h.o.Now()
	stand, err := h.glance(ctx, root, r, now)
	if err != nil {
		return false, err
	}
	standing, cwd := stand.Standing, stand.Cwd
	if state := stateFrom(standing, v.Parked != "", h.pausedAt(cwd)); state != "over" {
		h.saw[state]++
	}
	if standing != Rests {
		h.mu.Lock()
		delete(h.resting, root)
		h.mu.Unlock()
	}
	news.Elsewhere = standing == There
	if standing != Unborn && standing != Asleep && standing != Over {
		if err := h.tell(ctx, news); err != nil { // it goes on all the same
			h.o.Log.Warn("tell what is new in a session", "session", root, "err", err)
		}
	}
	news.Leaves = true
	switch standing {
	case Unborn:
		if v.Since.After(now) { // by a clock that was ahead: it counts from now
			v.Since = now.UTC()
			_, err := h.put(ctx, r, v)
			return true, err
		}
		if now.Sub(v.Since) < bornWithin {
			return now.Sub(v.Since) < time.Minute, nil // it may be about to be born here
		}
		return false, h.forget(ctx, r)
	case Asleep, Over:
		return false, h.over(ctx, r, news)
	case Rests:
		if now.Sub(h.rests(root, now)) < restsAfter && !h.Drains() {
			return true, nil
		}
		if left, err := h.o.System.Leave(ctx, root); err != nil || !left {
			return true, err
		}
		return false, h.over(ctx, r, news)
	case Here:
		if v.Tries+v.Failed > 0 && v.At.After(now) { // as above
			v.At = now.UTC()
			_, err := h.put(ctx, r, v)
			return true, err
		}
		if v.Tries+v.Failed > 0 && now.Sub(v.At) >= steadyAfter {
			v.Tries, v.Failed, v.Why = 0, 0, ""
			_, err := h.put(ctx, r, v)
			return true, err
		}
		return true, nil
	case Left:
		if h.Has(cwd) && v.Parked == "" && !h.pausedAt(cwd) {
			h.beside(root, func() error { return h.take(ctx, root, r, v) })
			return true, nil
		}
	case There:
	}
	return false, nil
}

// seen is how a tree stood when it was looked at.
type seen struct {
	Stand
	version int64 // of its record
	at      time.Time
}

// glance says how a tree stands, with a look at the database where that may have changed. Most trees are at rest, here
// or elsewhere. What this process has is known to it. What another one has, and what works in folders that others have,
// is looked at anew when its record has changed, when that process is dead, and after a while: it may have let go of
// it.
func (h *Host) glance(ctx context.Context, root troupe.SessionID, r store.Record, now time.Time) (Stand, error) {
	was, known := h.seen[root]
	if s, held := h.o.Trees.Held(root); held && known {
		was.Standing = s
		h.seen[root] = was
		return was.Stand, nil
	}
	if since := now.Sub(was.at); known && was.version == r.Version && since >= 0 && since < againAfter {
		switch {
		case was.Standing == Left && !h.Has(was.Cwd):
			return was.Stand, nil
		case was.Standing == There:
			if alive, err := h.lives(ctx, was.Owner); err != nil || alive {
				return was.Stand, err
			}
		}
	}
	stand, err := h.o.Trees.Stand(ctx, root)
	if err != nil {
		delete(h.seen, root)
		return stand, err
	}
	h.seen[root] = seen{stand, r.Version, now}
	return stand, nil
}

// lives reports whether a process lives, as of this look.
func (h *Host) lives(ctx context.Context, id troupe.OwnerID) (alive bool, err error) {
	alive, is := h.alive[id]
	if !is {
		if alive, err = h.o.Trees.Alive(ctx, id); err == nil {
			h.alive[id] = alive
		}
	}
	return alive, err
}

// tell tells who wants to know what is new in a tree.
func (h *Host) tell(ctx context.Context, n News) error {
	if h.o.Tell == nil {
		return nil
	}
	return h.o.Tell(ctx, n)
}

// over forgets a tree in which nothing is to do, once all of it was told.
func (h *Host) over(ctx context.Context, r store.Record, n News) error {
	if err := h.tell(ctx, n); err != nil {
		return err
	}
	return h.forget(ctx, r)
}

// Kept says how many trees that are kept going stand how, as of the last look: begins, at work, rests, elsewhere (in
// another process), waits, paused or parked.
func (h *Host) Kept() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.kept // a look makes a new one
}

// stateFrom is stateOf as seen from this process.
func stateFrom(s Standing, parked, paused bool) string {
	if s == There {
		return "elsewhere"
	}
	return stateOf(s, parked, paused)
}

// beside takes a tree up beside the looking, which goes on: one that is slow to begin keeps no other from going on.
// What finds no place is taken up by a later look.
func (h *Host) beside(root troupe.SessionID, take func() error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taking[root] || len(h.taking) >= mostTaking {
		return
	}
	h.taking[root] = true
	h.takes.Go(func() {
		if err := take(); err != nil {
			h.o.Log.Warn("keep a session going", "session", root, "err", err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.taking, root)
	})
}

// Has reports whether this process has a folder, and takes on what works there.
//
// A checkout is had where it was made: another machine has another folder of that name.
func (h *Host) Has(cwd string) bool {
	if !troupe.WithinAny(cwd, h.o.Folders) || h.Drains() {
		return false
	}
	if h.o.Checkouts == "" || !troupe.Within(cwd, h.o.Checkouts) {
		return true
	}
	_, err := os.Stat(cwd)
	return err == nil
}

// Drains reports whether this process takes on nothing any more.
func (h *Host) Drains() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.draining
}

// pausedAt reports whether nothing is taken up in a folder, as of the last look.
func (h *Host) pausedAt(cwd string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return troupe.WithinAny(cwd, h.paused)
}

// rests is since when a tree here has rested.
func (h *Host) rests(root troupe.SessionID, now time.Time) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.resting[root]; !ok {
		h.resting[root] = now
	}
	return h.resting[root]
}

// take takes a tree up. That it is about to is in the record before, so that a process which it ends has counted.
func (h *Host) take(ctx context.Context, root troupe.SessionID, r store.Record, v hosted) error {
	since := h.o.Now().Sub(v.At) // less than nothing: it failed by a clock that was ahead
	if v.Failed > 0 && since >= 0 && since < min(failedPause<<min(v.Failed-1, 16), longPause) {
		return nil
	}
	switch {
	case v.Tries >= mostTries:
		v.Parked = fmt.Sprintf("it was taken up %d times, and each time the process was gone within %v", v.Tries,
			steadyAfter)
	case v.Failed >= mostFailed:
		v.Parked = fmt.Sprintf("it could not be taken up %d times: %s", v.Failed, v.Why)
	}
	var err error
	if v.Parked != "" {
		h.o.Log.Warn("a session is parked", "session", root, "why", v.Parked)
		_, err = h.put(ctx, r, v)
		return err
	}
	v.Tries, v.At = v.Tries+1, h.o.Now()
	switch r.Version, err = h.put(ctx, r, v); {
	case errors.Is(err, troupe.ErrChanged):
		return nil // another process was faster
	case err != nil:
		return err
	}
	h.o.Log.InfoContext(ctx, "a session is taken up", "session", root, "tries", v.Tries)
	_, err = h.o.System.Begin(ctx, wire.Begin{Resume: string(root), Taking: wire.Taking{Left: true}})
	if err == nil || errors.Is(err, troupe.ErrFenced) || ctx.Err() != nil {
		return nil
	}
	// No process died of it: it is tried again, later each time.
	v.Tries, v.Failed, v.Why = v.Tries-1, v.Failed+1, err.Error()
	if _, perr := h.put(ctx, r, v); perr != nil && !errors.Is(perr, troupe.ErrChanged) {
		err = errors.Join(err, perr)
	}
	return err
}

func (h *Host) put(ctx context.Context, r store.Record, v hosted) (version int64, err error) {
	if r.Value, err = json.Marshal(v); err == nil {
		version, err = h.o.Records.PutRecord(ctx, r)
	}
	return version, err
}

// forget removes a record. If it was changed meanwhile, something is wanted of the tree again.
func (h *Host) forget(ctx context.Context, r store.Record) error { return forget(ctx, h.o.Records, r) }

func forget(ctx context.Context, records store.Records, r store.Record) error {
	err := records.DeleteRecord(ctx, r.Kind, r.Key, r.Version)
	if errors.Is(err, troupe.ErrChanged) || errors.Is(err, troupe.ErrNotFound) {
		return nil
	}
	return err
}

// want has a tree kept going.
func (h *Host) want(ctx context.Context, root troupe.SessionID) error {
	for {
		r, err := h.o.Records.Record(ctx, kind, string(root))
		if errors.Is(err, troupe.ErrNotFound) {
			r, err = store.Record{Kind: kind, Key: string(root)}, nil
		}
		if err != nil {
			return fmt.Errorf("have session %s kept going: %w", root, err)
		}
		// An old record is written anew too: it may be about to be forgotten.
		_, err = h.put(ctx, r, hosted{Since: h.o.Now().UTC()})
		if errors.Is(err, troupe.ErrChanged) {
			continue
		}
		if err != nil {
			return fmt.Errorf("have session %s kept going: %w", root, err)
		}
		return nil
	}
}

// wanted reports whether a tree is kept going, and why it is not any more if it was parked.
func (h *Host) wanted(ctx context.Context, root troupe.SessionID) (wanted bool, parked string, err error) {
	r, err := h.o.Records.Record(ctx, kind, string(root))
	switch {
	case errors.Is(err, troupe.ErrNotFound):
		return false, "", nil
	case err != nil:
		return false, "", fmt.Errorf("look whether session %s is kept going: %w", root, err)
	}
	return true, hostedOf(r).Parked, nil
}

// taken waits until a process has a tree in which something is to do, for a while: it is taken up in any case.
func (h *Host) taken(ctx context.Context, root troupe.SessionID) bool {
	ctx, cancel := context.WithTimeout(ctx, takenWithin)
	defer cancel()
	tick := time.NewTicker(looksAgain)
	defer tick.Stop()
	for {
		s, err := h.o.Trees.Stand(ctx, root)
		if err != nil || s.Standing != Left {
			return err == nil
		}
		h.kick()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}
