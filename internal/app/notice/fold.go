package notice

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/host"
	"github.com/troupe-dev/troupe/internal/app/schedule"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

const (
	// kindTold is how far each tree was told of, and keyPlans in it how far schedules and webhooks were.
	kindTold = "noticed"
	keyPlans = "plans"
	// endsNear is how many events before the last one the end of the last run stands, as a rule.
	endsNear   = 20
	mostName   = 100
	mostResult = 1000
)

// letter is a notice to a target.
type letter struct {
	ID      string           `json:"id"`
	Salt    string           `json:"salt"` // of its target
	Type    wire.NoticeEvent `json:"type"`
	At      time.Time        `json:"at"`
	Session troupe.SessionID `json:"session,omitempty"`
	Body    json.RawMessage  `json:"body"` // a wire.Notice
	// Tries is how often it was tried, Next when it is the next time, and Status and Why what came of the last.
	Tries  int       `json:"tries,omitempty"`
	Next   time.Time `json:"next,omitzero"`
	Status int       `json:"status,omitempty"`
	Why    string    `json:"why,omitempty"`
	// Done is when it was delivered or given up: what is left of it keeps it from being written again, for a while, by
	// a process that looked at the same time.
	Done time.Time `json:"done,omitzero"`
	// Claim is the process that tries it now.
	Claim *claim `json:"claim,omitempty"`
}

type claim struct {
	Owner troupe.OwnerID `json:"owner"`
	At    time.Time      `json:"at"`
}

// newLetter makes the letter that tells a target of one thing: what is the same has the same id.
func newLetter(x target, event wire.NoticeEvent, at time.Time, what string, data wire.NoticeData) (letter, error) {
	sum := sha256.Sum256([]byte(x.Salt + "\x00" + string(event) + "\x00" + what))
	data.Target = x.Name
	if s := cmp.Or(data.Session, data.Root); s != "" {
		data.Link = strings.TrimSuffix(x.Link, "/") + "/v1/sessions/" + string(s)
	}
	body, err := json.Marshal(wire.Notice{Type: event, Timestamp: at.UTC(), Data: data})
	return letter{ID: "msg_" + hex.EncodeToString(sum[:16]), Salt: x.Salt, Type: event, At: at.UTC(),
		Session: data.Session, Body: body}, err
}

// key has the letters of a target in the order of what they tell of.
func (l letter) key(x target) string {
	return fmt.Sprintf("%s/%016x-%s", x.Name, l.At.UnixNano(), l.ID)
}

func letterOf(r store.Record) (l letter, err error) {
	if err = json.Unmarshal(r.Value, &l); err != nil {
		err = fmt.Errorf("read %s %s: %w", r.Kind, r.Key, err)
	}
	return l, err
}

// told is how far a tree was told of.
type told struct {
	// Root is the first run of the main agent whose end was not told, and Below the same of the others in the order of
	// their birth.
	Root  int   `json:"root,omitempty"`
	Below []int `json:"below,omitempty"`
	// Asked are the open requests that were told, and Parked the version of the row with which the tree was parked.
	Asked  []troupe.RequestID `json:"asked,omitempty"`
	Parked int64              `json:"parked,omitempty"`
}

// news is what a look at a tree has found.
type news struct {
	event  wire.NoticeEvent
	at     time.Time
	what   string // tells it from all others of its event
	data   wire.NoticeData
	result string // for targets that ask for it
}

// Tell writes letters about what is new in a tree, and how far it was told of. What is about to be forgotten is looked
// at for the targets that there are by now.
func (t *Teller) Tell(ctx context.Context, n host.News) error {
	if n.Elsewhere {
		t.Changed(n.Root)
		return nil
	}
	all, err := t.current(ctx, n.Leaves)
	if err != nil || len(all) == 0 || t.looksAt(n) {
		return err
	}
	all, err = t.current(ctx, true) // what is told now is not looked at again for one that is new
	all = slices.DeleteFunc(slices.Clone(all), func(x target) bool { return x.Stopped != "" })
	if err != nil {
		t.Changed(n.Root)
		return err
	}
	for {
		err := t.fold(ctx, n, all)
		if errors.Is(err, troupe.ErrChanged) { // another process looked at it at the same time
			continue
		}
		if err != nil || n.Leaves {
			t.Changed(n.Root)
		}
		return err
	}
}

// Changed says that this process has committed something to a tree that may be told.
func (t *Teller) Changed(root troupe.SessionID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.clean, root)
}

// looksAt reports whether all of a tree is known to be told. What is committed from now on is not.
func (t *Teller) looksAt(n host.News) (clean bool) {
	version := n.Version
	if n.Parked == "" {
		version = 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	was, is := t.clean[n.Root]
	t.clean[n.Root] = version
	return is && was == version && !n.Leaves
}

func (t *Teller) fold(ctx context.Context, n host.News, all []target) error {
	var root troupe.Session
	var sum troupe.Tree
	var open []troupe.Request
	err := t.o.Store.View(ctx, func(r store.Reader) (err error) {
		if root, err = r.Session(n.Root); err == nil {
			sum, err = r.Tree(n.Root)
		}
		if err == nil && wanted(all, wire.NoticeRequestOpened) {
			open, err = r.Requests(store.RequestFilter{Root: n.Root, Open: true})
		}
		return err
	})
	if errors.Is(err, troupe.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look what is new in tree %s: %w", n.Root, err)
	}
	var at told
	r, err := readOr(ctx, t.o.Records, kindTold, string(n.Root), &at)
	if err != nil {
		return err
	}
	was, _ := json.Marshal(at) //nolint:errchkjson // numbers and ids
	found, err := t.find(ctx, n, root, sum, open, &at, wanted(all, wire.NoticeSubagentEnded))
	if err == nil {
		err = t.write(ctx, all, root.Cwd, found)
	}
	if is, _ := json.Marshal(at); err == nil && string(is) != string(was) { //nolint:errchkjson // as above
		_, err = putJSON(ctx, t.o.Records, r, at)
	}
	return err
}

func wanted(all []target, e wire.NoticeEvent) bool {
	return slices.ContainsFunc(all, func(x target) bool { return !x.From[e].IsZero() })
}

// find finds what is new in a tree, and moves its cursor behind that.
func (t *Teller) find(ctx context.Context, n host.News, root troupe.Session, sum troupe.Tree, open []troupe.Request,
	at *told, below bool) (out []news, err error) {
	var ids []troupe.RequestID
	for _, q := range open {
		if ids = append(ids, q.ID); !slices.Contains(at.Asked, q.ID) {
			out = append(out, news{event: wire.NoticeRequestOpened, at: q.Opened, what: string(q.ID),
				data: wire.NoticeData{Session: q.Session, Root: q.Root, By: root.By, Request: q.ID, Kind: q.Kind,
					Until: q.Until}})
		}
	}
	at.Asked = ids
	if n.Parked != "" && at.Parked != n.Version {
		data := t.about(root, root)
		data.Why = cut(t.o.Mask(n.Parked), mostResult)
		out = append(out, news{event: wire.NoticeSessionParked, at: n.At, data: data,
			what: fmt.Sprint(n.Root, " ", n.Version)})
		at.Parked = n.Version
	}
	ends, err := t.ends(ctx, root, root, &at.Root)
	for i := range ends {
		ends[i].data.TreeCostUSD = sum.Tally.Cost.Dollars()
	}
	if out = append(out, ends...); err != nil || !below || sum.Total == 0 {
		return out, err
	}
	var all []troupe.Session
	if err := t.o.Store.View(ctx, func(r store.Reader) (err error) {
		all, err = r.Sessions(store.Filter{Root: n.Root})
		return err
	}); err != nil {
		return nil, fmt.Errorf("list the agents of tree %s: %w", n.Root, err)
	}
	all = slices.DeleteFunc(all, func(s troupe.Session) bool { return s.ID == n.Root })
	for i, s := range all {
		if i == len(at.Below) {
			at.Below = append(at.Below, 0)
		}
		ends, err := t.ends(ctx, root, s, &at.Below[i])
		if out = append(out, ends...); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ends are the runs of a session that have ended and were not told, from its log.
func (t *Teller) ends(ctx context.Context, root, s troupe.Session, next *int) (out []news, err error) {
	after := s.Run // the first run that has not ended
	if s.Status.Ended() {
		after++
	}
	if after <= *next {
		return nil, nil
	}
	event := wire.NoticeSubagentEnded
	if s.ID == root.ID {
		event = wire.NoticeSessionEnded
	}
	for _, from := range []int64{max(0, s.Seq-endsNear), 0} {
		out = nil
		runs := 0
		err := t.events(ctx, s.ID, from, s.Seq, func(e troupe.Event) {
			b, ok := e.Body.(troupe.Ended)
			if o := b.Outcome; ok && o.Run >= *next && o.Run < after {
				data := t.about(root, s)
				data.Run, data.Status, data.Cause = o.Run, o.Status, o.Cause
				data.CostUSD, data.Tokens = o.Tally.Cost.Dollars(), o.Tally.Usage.Total()
				data.Turns, data.DurationMS = o.Tally.Turns, o.DurationMS
				out = append(out, news{event, e.At, fmt.Sprint(s.ID, " ", o.Run), data, t.o.Mask(o.Result)})
				runs++
			}
		})
		if err != nil {
			return nil, err
		}
		if runs >= after-max(*next, 1) {
			break // else some ended earlier in the log
		}
	}
	*next = after
	return out, nil
}

// events calls fn with the events of a session behind one, up to another.
func (t *Teller) events(ctx context.Context, id troupe.SessionID, after, last int64, fn func(troupe.Event)) error {
	const page = 500
	for after < last {
		var all []troupe.Event
		err := t.o.Store.View(ctx, func(r store.Reader) (err error) {
			all, err = r.Events(id, after, page)
			return err
		})
		if err != nil {
			return fmt.Errorf("read session %s: %w", id, err)
		}
		for _, e := range all {
			if after = e.Seq; e.Seq <= last {
				fn(e)
			}
		}
		if len(all) < page {
			return nil
		}
	}
	return nil
}

func (t *Teller) about(root, s troupe.Session) wire.NoticeData {
	return wire.NoticeData{Session: s.ID, Root: s.Root, Parent: s.Parent, Name: cut(t.o.Mask(s.Name), mostName),
		Agent: cut(t.o.Mask(s.Type), mostName), By: root.By}
}

func cut(s string, most int) string {
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// write writes the letters of what is new. Those that are there stay as they are.
func (t *Teller) write(ctx context.Context, all []target, folder string, found []news) error {
	for _, n := range found {
		for _, x := range all {
			from := x.From[n.event]
			if from.IsZero() || n.at.Before(from) || x.Folder != "" && !troupe.Within(folder, x.Folder) {
				continue
			}
			data := n.data
			if x.Result {
				data.Result = cut(n.result, mostResult)
			}
			l, err := newLetter(x, n.event, n.at, n.what, data)
			if err != nil {
				return err
			}
			r := store.Record{Kind: kindLetter, Key: l.key(x)}
			if t.isFull(x.Name) {
				r.Kind, l.Why = kindDead, "too many notices waited to be delivered"
			}
			if _, err = putJSON(ctx, t.o.Records, r, l); err != nil && !errors.Is(err, troupe.ErrChanged) {
				return err
			}
		}
	}
	if len(found) > 0 {
		t.kick()
	}
	return nil
}

// toldPlan is how far a schedule or a webhook was told of.
type toldPlan struct {
	N  int       `json:"n"`
	At time.Time `json:"at"`
}

// plans writes letters about runs that did not begin.
func (t *Teller) plans(ctx context.Context, all []target) error {
	if !wanted(all, wire.NoticeScheduleFailed) && !wanted(all, wire.NoticeWebhookFailed) {
		return nil
	}
	missed, err := schedule.Missed(ctx, t.o.Records)
	if err != nil {
		return err
	}
	at := map[string]toldPlan{}
	r, err := readOr(ctx, t.o.Records, kindTold, keyPlans, &at)
	if err != nil {
		return err
	}
	next, changed := map[string]toldPlan{}, false
	for _, p := range missed {
		event, key := wire.NoticeScheduleFailed, p.Kind+"/"+p.Name
		if p.Hook {
			event = wire.NoticeWebhookFailed
		}
		was := at[key]
		last := p.Misses[len(p.Misses)-1]
		if next[key] = was; last.N < was.N || last.N == was.N && !last.At.Equal(was.At) {
			was = toldPlan{} // it is another one of that name
		}
		var found []news
		for _, m := range p.Misses {
			if m.N <= was.N {
				continue
			}
			found = append(found, news{event: event, at: m.At, what: fmt.Sprint(key, m.N, m.At.UnixNano()),
				data: wire.NoticeData{Name: p.Name, By: p.By, Why: cut(t.o.Mask(m.Why), mostResult)}})
			next[key], changed = toldPlan{m.N, m.At}, true
		}
		if err := t.write(ctx, all, p.Folder, found); err != nil {
			return err
		}
	}
	if !changed {
		return nil
	}
	_, err = putJSON(ctx, t.o.Records, r, next)
	return err
}
