package notice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/metrics"
	"github.com/troupe-dev/troupe/internal/app/schedule"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

const (
	lookEvery = time.Second
	// scansWithin is how long letters that another process has written are not seen at the most; one's own are at once.
	scansWithin = 10 * time.Second
	plansEvery  = 5 * time.Second
	sweepEvery  = time.Hour
	// mostAtOnce is how many letters of a target a process delivers at once, and answersWithin how long one may take.
	mostAtOnce    = 4
	mostInHand    = 100 // letters of a target that a look hands over
	keptDone      = 2 * time.Minute
	answersWithin = 15 * time.Second
	mostAnswer    = 4 << 10
)

// waits are those between the tries of a letter: eight tries, over eighteen hours.
func waits() []time.Duration {
	return []time.Duration{5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour,
		5 * time.Hour, 10 * time.Hour}
}

// Options are what a Teller needs.
type Options struct {
	Poster

	Store   store.Store
	Records store.Records
	// Alive reports whether a process lives.
	Alive func(ctx context.Context, id troupe.OwnerID) (bool, error)
	// Mask hides secrets in what is told.
	Mask    func(string) string
	Log     *slog.Logger
	Metrics *metrics.Set
}

// Teller is this process as one that tells targets what happens.
type Teller struct {
	o      Options
	owner  troupe.OwnerID
	kicked chan struct{}
	cancel context.CancelFunc
	ended  chan struct{}
	sends  sync.WaitGroup
	tries  *metrics.Family

	// Of the goroutine that looks: when it looks at letters, plans and trees that are gone next.
	scans, seesPlans, sweeps time.Time

	mu      sync.Mutex
	all     []target                   // as of the last look
	known   bool                       // there was one
	dirty   bool                       // there are new letters
	waiting map[string]int             // letters by target, as of the last look at them
	busy    map[string]bool            // targets to which letters are being delivered
	clean   map[troupe.SessionID]int64 // trees of which all is told; of a parked one the version of its row
}

// NewTeller makes one that tells nothing before it is begun.
func NewTeller(o Options) *Teller {
	t := &Teller{o: o, kicked: make(chan struct{}, 1), ended: make(chan struct{}), waiting: map[string]int{},
		busy: map[string]bool{}, clean: map[troupe.SessionID]int64{},
		tries: o.Metrics.Counter("troupe_notices_total", "Tries to deliver notices to targets, by what came of them; "+
			"dead: it was the last one.", "outcome")}
	kept := o.Metrics.Gauge("troupe_notices", "Notices of the database that wait to be delivered, and that were given "+
		"up.", "state")
	o.Metrics.Ask(func(ctx context.Context) {
		now := map[string]int{}
		for state, kind := range map[string]string{"waiting": kindLetter, "dead": kindDead} {
			if all, err := o.Records.Records(ctx, kind, "", 0); err == nil {
				now[state] = len(slices.DeleteFunc(all, isDone))
			}
		}
		metrics.Reset(kept, now, func(s string) []string { return []string{s} })
	})
	return t
}

// Begin begins to deliver, as a process that others know.
func (t *Teller) Begin(ctx context.Context, owner troupe.OwnerID) {
	ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	t.owner = owner
	go t.run(ctx)
}

// Close ends the looking, and what is being delivered, which another process tries again.
func (t *Teller) Close() {
	if t.cancel != nil {
		t.cancel()
		<-t.ended
		t.sends.Wait()
	}
}

func (t *Teller) run(ctx context.Context) {
	defer close(t.ended)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := t.look(ctx); err != nil && ctx.Err() == nil {
			t.o.Log.Warn("look what is to be told", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-t.kicked:
		}
	}
}

// kick has the letters looked at now.
func (t *Teller) kick() {
	t.mu.Lock()
	t.dirty = true
	t.mu.Unlock()
	select {
	case t.kicked <- struct{}{}:
	default:
	}
}

// current are the targets as of the last look, or of now.
func (t *Teller) current(ctx context.Context, anew bool) ([]target, error) {
	t.mu.Lock()
	all, known := t.all, t.known
	t.mu.Unlock()
	if known && !anew {
		return all, nil
	}
	all, err := targets(ctx, t.o.Records)
	if err == nil {
		t.mu.Lock()
		t.all, t.known = all, true
		t.mu.Unlock()
	}
	return all, err
}

// look looks for targets, and at what is due.
func (t *Teller) look(ctx context.Context) error {
	all, err := t.current(ctx, true)
	if err != nil {
		return err
	}
	now := t.o.Now()
	if isDue(t.seesPlans, now, plansEvery) {
		t.seesPlans = now.Add(plansEvery)
		if err := t.plans(ctx, all); err != nil && !errors.Is(err, troupe.ErrChanged) {
			return err
		}
	}
	if isDue(t.sweeps, now, sweepEvery) {
		t.sweeps = now.Add(sweepEvery)
		if err := t.sweep(ctx, all); err != nil {
			return err
		}
	}
	t.mu.Lock()
	dirty := t.dirty
	t.dirty = false
	t.mu.Unlock()
	if !dirty && !isDue(t.scans, now, scansWithin) {
		return nil
	}
	return t.scan(ctx, all)
}

// isDue reports whether a moment has come, or is one of a clock that was ahead.
func isDue(at, now time.Time, most time.Duration) bool { return !at.After(now) || at.Sub(now) > most }

// scan delivers the letters that are due.
func (t *Teller) scan(ctx context.Context, all []target) error {
	letters, err := t.o.Records.Records(ctx, kindLetter, "", 0)
	if err != nil {
		return fmt.Errorf("list the notices: %w", err)
	}
	byName := make(map[string]target, len(all))
	for _, x := range all {
		byName[x.Name] = x
	}
	now := t.o.Now()
	next, waiting, ready := now.Add(scansWithin), map[string]int{}, map[string][]due{}
	for _, r := range letters {
		l, err := letterOf(r)
		x, ok := byName[nameOf(r.Key)]
		switch {
		case err != nil || !ok || l.Salt != x.Salt, !l.Done.IsZero() && isDue(l.Done.Add(keptDone), now, keptDone):
			err = remove(ctx, t.o.Records, r)
		case !l.Done.IsZero():
		case x.Stopped != "":
			l.Why = "the target was stopped: " + x.Stopped
			err = t.bury(ctx, x, r, l)
		case isDue(l.Next, now, longest()):
			waiting[x.Name]++
			ready[x.Name] = append(ready[x.Name], due{r, l})
		default:
			if waiting[x.Name]++; l.Next.Before(next) {
				next = l.Next
			}
		}
		if err != nil && ctx.Err() == nil {
			t.o.Log.Warn("deliver a notice", "target", nameOf(r.Key), "id", l.ID, "err", err)
		}
	}
	t.scans = next
	t.mu.Lock()
	t.waiting = waiting
	t.mu.Unlock()
	for name, letters := range ready {
		t.send(ctx, byName[name], letters[:min(len(letters), mostInHand)])
	}
	return nil
}

// due is a letter that is to be delivered, with its record.
type due struct {
	r store.Record
	l letter
}

func isDone(r store.Record) bool {
	l, err := letterOf(r)
	return err == nil && !l.Done.IsZero()
}

func longest() time.Duration { all := waits(); return all[len(all)-1] }

func nameOf(key string) string { name, _, _ := strings.Cut(key, "/"); return name }

// isFull reports whether so many letters of a target wait that no more may.
func (t *Teller) isFull(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting[name]++ // one more by now
	return t.waiting[name] > mostWaiting
}

// send delivers letters to a target beside the looking, unless those of before are being delivered.
func (t *Teller) send(ctx context.Context, x target, letters []due) {
	t.mu.Lock()
	busy := t.busy[x.Name]
	t.busy[x.Name] = true
	t.mu.Unlock()
	if busy {
		return
	}
	queue := make(chan due, len(letters))
	for _, d := range letters {
		queue <- d
	}
	close(queue)
	t.sends.Go(func() {
		var tried atomic.Int64
		var hands sync.WaitGroup
		for range min(mostAtOnce, len(letters)) {
			hands.Go(func() {
				for d := range queue {
					if ctx.Err() != nil {
						return
					}
					is, err := t.try(ctx, x, d.r, d.l)
					if is {
						tried.Add(1)
					}
					if err != nil && !errors.Is(err, troupe.ErrChanged) {
						t.o.Log.Warn("deliver a notice", "target", x.Name, "id", d.l.ID, "err", err)
					}
				}
			})
		}
		hands.Wait()
		t.mu.Lock()
		delete(t.busy, x.Name)
		t.mu.Unlock()
		if tried.Load() > 0 {
			t.kick() // there may be more
		}
	})
}

// try claims a letter and delivers it, unless another process does.
func (t *Teller) try(ctx context.Context, x target, r store.Record, l letter) (tried bool, err error) {
	if l.Claim != nil && l.Claim.Owner != t.owner {
		if alive, err := t.o.Alive(ctx, l.Claim.Owner); err != nil || alive {
			return false, err
		}
	}
	l.Claim = &claim{t.owner, t.o.Now().UTC()}
	if r.Version, err = putJSON(ctx, t.o.Records, r, l); err != nil {
		return false, err
	}
	return true, t.deliver(ctx, x, r, l)
}

// deliver tries a letter once, and writes what came of it.
func (t *Teller) deliver(ctx context.Context, x target, r store.Record, l letter) error {
	l.Status, l.Why = t.o.post(ctx, x, l)
	ended := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answersWithin)
	defer cancel()
	l.Claim = nil
	if ended && l.Why != "" { // it is not known whether it came: another process tries it again
		_, err := putJSON(ctx, t.o.Records, r, l)
		return err
	}
	if l.Why == "" {
		t.tries.Add(1, "delivered")
		return errors.Join(t.done(ctx, r, l), t.count(ctx, x, l, 0))
	}
	l.Tries++
	t.tries.Add(1, "failed")
	if l.Status == http.StatusGone {
		if err := t.stop(ctx, x, "the receiver says that it is gone (410)"); err != nil {
			return err
		}
	}
	if l.Status == http.StatusGone || l.Tries > len(waits()) {
		return errors.Join(t.bury(ctx, x, r, l), t.count(ctx, x, l, 0))
	}
	l.Next = t.o.Now().Add(waits()[l.Tries-1]).UTC()
	_, err := putJSON(ctx, t.o.Records, r, l)
	return errors.Join(err, t.count(ctx, x, l, 0))
}

// bury gives a letter up. It is kept, until an admin has it delivered again or newer ones take its place.
func (t *Teller) bury(ctx context.Context, x target, r store.Record, l letter) error {
	l.Claim = nil
	dead := store.Record{Kind: kindDead, Key: r.Key}
	if _, err := putJSON(ctx, t.o.Records, dead, l); err != nil && !errors.Is(err, troupe.ErrChanged) {
		return err
	}
	t.tries.Add(1, "dead")
	t.o.Log.Warn("a notice is given up", "target", x.Name, "id", l.ID, "tries", l.Tries, "status", l.Status)
	return t.done(ctx, r, l)
}

// done leaves of a letter what keeps it from being written again.
func (t *Teller) done(ctx context.Context, r store.Record, l letter) error {
	_, err := putJSON(ctx, t.o.Records, r, letter{ID: l.ID, Salt: l.Salt, Type: l.Type, At: l.At,
		Done: t.o.Now().UTC()})
	return err
}

// stop has a target told nothing any more. If its terms were changed meanwhile, it is told by these.
func (t *Teller) stop(ctx context.Context, x target, why string) error {
	r := store.Record{Kind: kindTarget, Key: x.Name, Version: x.Version}
	x.Stopped, x.Version = why, 0
	_, err := putJSON(ctx, t.o.Records, r, x)
	if errors.Is(err, troupe.ErrChanged) {
		return nil
	}
	t.o.Log.Warn("a target is stopped", "target", x.Name, "why", why)
	return err
}

// count notes what came of a letter, or that dead ones were dropped.
func (t *Teller) count(ctx context.Context, x target, l letter, dropped int) error {
	for {
		var n count
		r, err := readOr(ctx, t.o.Records, kindCount, x.Name+"/n", &n)
		if err != nil {
			return err
		}
		switch {
		case dropped > 0:
			n.Dropped += int64(dropped)
		case l.Why == "":
			n.Delivered++
		default:
			n.Failed++
		}
		if dropped == 0 {
			n.Last = &wire.NoticeTry{ID: l.ID, Type: l.Type, At: t.o.Now().UTC(), Status: l.Status, Why: l.Why}
		}
		if _, err := putJSON(ctx, t.o.Records, r, n); !errors.Is(err, troupe.ErrChanged) {
			return err
		}
	}
}

// sweep forgets the oldest dead letters of which there are too many, those of targets that are gone, and how far trees
// were told of that are gone.
func (t *Teller) sweep(ctx context.Context, all []target) error {
	salts := map[string]string{}
	for _, x := range all {
		salts[x.Name] = x.Salt
	}
	dead, err := t.o.Records.Records(ctx, kindDead, "", 0)
	if err != nil {
		return fmt.Errorf("list the notices that were given up: %w", err)
	}
	kept := map[string]int{}
	for i := len(dead) - 1; i >= 0; i-- {
		l, lerr := letterOf(dead[i])
		name := nameOf(dead[i].Key)
		if kept[name]++; lerr == nil && l.Salt == salts[name] && kept[name] <= mostDead {
			continue
		}
		if err := remove(ctx, t.o.Records, dead[i]); err != nil {
			return err
		}
	}
	for _, x := range all {
		if n := kept[x.Name] - mostDead; n > 0 {
			if err := t.count(ctx, x, letter{}, n); err != nil {
				return err
			}
		}
	}
	cursors, err := t.o.Records.Records(ctx, kindTold, "", 0)
	for _, r := range cursors {
		if err != nil || r.Key == keyPlans {
			continue
		}
		err = t.o.Store.View(ctx, func(v store.Reader) error {
			_, err := v.Session(troupe.SessionID(r.Key))
			return err
		})
		if errors.Is(err, troupe.ErrNotFound) {
			err = remove(ctx, t.o.Records, r)
		}
	}
	return err
}

// post posts a letter once. why is why it is not delivered, without the address and what was answered.
func (p Poster) post(ctx context.Context, x target, l letter) (status int, why string) {
	if err := p.Check(x.URL); err != nil {
		return 0, err.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.URL, bytes.NewReader(l.Body))
	if err != nil {
		return 0, "its address cannot be used"
	}
	stamp := strconv.FormatInt(p.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", p.Agent)
	req.Header.Set("webhook-id", l.ID)
	req.Header.Set("webhook-timestamp", stamp)
	req.Header.Set("webhook-signature", schedule.Signature(x.Secret, l.ID, stamp, l.Body))
	resp, err := p.Client.Do(req)
	if err != nil {
		if of, ok := errors.AsType[*url.Error](err); ok {
			err = of.Err // the address may hold a secret
		}
		if errors.Is(err, context.DeadlineExceeded) {
			return 0, fmt.Sprintf("it has not answered within %v", answersWithin)
		}
		return 0, cut(err.Error(), mostResult)
	}
	_, _ = io.CopyN(io.Discard, resp.Body, mostAnswer) // so that it is not cut off in the middle of its answer
	_ = resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return resp.StatusCode, fmt.Sprintf("it answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	return resp.StatusCode, ""
}
