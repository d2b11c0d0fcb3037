package schedule

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/host"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

const (
	// kindDelivery are deliveries by webhook and id, and kindBody bodies of senders whose signature is over no more.
	kindDelivery = "delivery"
	kindBody     = "delivery body"
	// mostArrived is how many deliveries of a webhook wait at once for their runs to begin.
	mostArrived = 100
	// keptFor is how long a delivery is known again, and mostKept how many are, of those that are older than an hour.
	keptFor    = 30 * 24 * time.Hour
	keptSurely = time.Hour
	mostKept   = 10_000
	sweepEvery = 100
	shown      = 20
)

// hook is what a webhook has besides.
type hook struct {
	Signed wire.Signature   `json:"signed"`
	Only   []wire.Condition `json:"only"`
	// Secret stands here as it is: who verifies a signature has to have it.
	Secret string `json:"secret"`
	// Salt is made with the webhook: what was delivered to one that had its name is nothing to this one.
	Salt string `json:"salt"`
}

// arrival is a run that is owed. Delivery is the key of the record of what was delivered, from which Root follows.
type arrival struct {
	At       time.Time        `json:"at"`
	Delivery string           `json:"delivery,omitempty"`
	Root     troupe.SessionID `json:"root,omitempty"`
}

// delivery is the value of a record. Its prompt goes when it is known what came of it.
type delivery struct {
	ID     string           `json:"id"`
	At     time.Time        `json:"at"`
	Root   troupe.SessionID `json:"root"`
	Prompt string           `json:"prompt,omitempty"`
	// Typed is what of the prompt the webhook's user wrote.
	Typed string `json:"typed,omitempty"`
	Over  bool   `json:"over,omitempty"` // it has begun, or Why it has not
	Why   string `json:"why,omitempty"`
}

// HookOptions are what Hooks need to take deliveries.
type HookOptions struct {
	Users Users
	// Mask hides secrets in what was delivered.
	Mask func(string) string
	// Note notes a delivery before it is taken, and end what came of it.
	Note func(ctx context.Context, by string, d wire.Delivery, id string) (end func(context.Context, error), err error)
}

// Hooks are the webhooks of one database.
type Hooks struct {
	plans

	o     HookOptions
	taken atomic.Int64
}

// NewHooks makes the webhooks that records hold.
func NewHooks(records store.Records, trees Trees, now func() time.Time, o HookOptions) *Hooks {
	return &Hooks{plans: plans{kindHook, records, trees, now}, o: o}
}

// List lists all, by name.
func (h *Hooks) List(ctx context.Context) ([]wire.Webhook, error) { return list(ctx, h.plans, h.told) }

// One is a webhook by its name, with its newest deliveries.
func (h *Hooks) One(ctx context.Context, name string) (out wire.Webhook, err error) {
	_, p, err := h.read(ctx, name)
	if err == nil || p.broken != "" {
		out, err = tell(ctx, h.plans, p, h.told)
	}
	if err == nil && p.broken == "" {
		out.Deliveries, err = h.newest(ctx, p)
	}
	return out, err
}

// Set makes a webhook, or changes the terms of one. What it begins was checked.
func (h *Hooks) Set(ctx context.Context, c troupe.Caller, t wire.WebhookTerms) (out wire.WebhookChanged, err error) {
	s := wire.ScheduleTerms{Name: t.Name, When: wire.When{Zone: t.Zone}, Begin: t.Begin,
		Overlap: cmp.Or(t.Overlap, wire.OverlapAllow), MaxRunsPerDay: t.MaxRunsPerDay, MaxCostPerDay: t.MaxCostPerDay}
	if err := checkHook(t, s); err != nil {
		return out, err
	}
	made := hook{Signed: t.Signed, Only: t.Only, Secret: NewSecret(), Salt: rand.Text()}
	p, err := h.set(ctx, c, t.Name, t.Version, func(p *plan) {
		now := made
		if out.Secret = now.Secret; p.Hook != nil {
			now.Salt = p.Hook.Salt
		}
		if p.Hook != nil && !t.NewSecret {
			out.Secret, now.Secret = "", p.Hook.Secret
		}
		p.ScheduleTerms, p.Since, p.Failed, p.Arrived, p.Hook = s, h.now().UTC(), 0, nil, &now
	})
	if err != nil {
		return wire.WebhookChanged{}, err
	}
	out.Webhook, err = tell(ctx, h.plans, p, h.told)
	return out, err
}

// NewSecret is one of 256 bits, as Standard Webhooks writes it.
func NewSecret() string {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(key[:])
}

func checkHook(t wire.WebhookTerms, s wire.ScheduleTerms) error {
	_, zoned := zoneOf(t.Zone)
	switch {
	case !name.MatchString(t.Name):
		return noName(kindHook, t.Name)
	case zoned != nil:
		return zoned
	case !slices.Contains(wire.Signatures(), t.Signed):
		return unusable(fmt.Sprintf("there is no signature %q", t.Signed), "There are standard, github and gitlab.")
	case t.Overlap != "" && t.Overlap != wire.OverlapAllow && t.Overlap != wire.OverlapQueue:
		return unusable(fmt.Sprintf("there is no overlap %q of a webhook", t.Overlap), "There are allow and queue.")
	case len(t.Only) == 0:
		return unusable("it is not said what begins a run",
			"Give a condition, such as --only action=opened; --only type=* is any delivery that has a type.")
	case strings.HasPrefix(strings.TrimSpace(t.Begin.Prompt), "/"):
		return unusable("a webhook's prompt is no command: what is delivered would be taken for its arguments",
			"Say in words what is to be done.")
	case len(placeholders(t.Begin.Prompt)) > 0 && (t.Begin.Agent == "workflow" ||
		strings.HasPrefix(t.Begin.Model, "workflow/")):
		return unusable("a workflow takes nothing that is delivered: it would be read as the workflow's own words",
			"Have an agent read it and start the workflow.")
	}
	for _, c := range t.Only {
		if (c.Header == "") == (c.Value == "") || len(c.Is) == 0 {
			return unusable("a condition names a header or a value, and what it may be",
				"Give one such as --only action=opened,reopened or --only header:X-GitHub-Event=issues.")
		}
	}
	return checkBegin(kindHook, s)
}

// Pause has a webhook take no deliveries, or take them again. What waits to begin is left out.
func (h *Hooks) Pause(ctx context.Context, c troupe.Caller, name string, paused bool) (wire.Webhook, error) {
	p, err := h.pause(ctx, c, name, paused)
	if err != nil {
		return wire.Webhook{}, err
	}
	return tell(ctx, h.plans, p, h.told)
}

// Remove forgets a webhook, and what was delivered to it; not what was to one that has its name by now. What it began
// goes on.
func (h *Hooks) Remove(ctx context.Context, c troupe.Caller, name string) error {
	p, err := h.remove(ctx, c, name)
	for _, kind := range []string{kindDelivery, kindBody} {
		if err == nil {
			err = h.sweep(ctx, kind, p.keys(), func(time.Time, int) bool { return true })
		}
	}
	return err
}

func (h *Hooks) told(ctx context.Context, p plan, has serving) (wire.Webhook, error) {
	if p.broken != "" {
		return wire.Webhook{WebhookTerms: wire.WebhookTerms{Name: p.Name, Version: p.Version}, Unserved: p.broken}, nil
	}
	at, err := h.standing(ctx, p, has)
	if err == nil && at.unserved == "" {
		at.unserved, err = h.refused(ctx, p)
	}
	return wire.Webhook{WebhookTerms: wire.WebhookTerms{Name: p.Name, Signed: p.Hook.Signed, Only: p.Hook.Only,
		Begin: p.Begin, Overlap: p.Overlap, Zone: p.Zone, MaxRunsPerDay: p.MaxRunsPerDay,
		MaxCostPerDay: p.MaxCostPerDay, Version: p.Version}, Address: wire.DeliveryPath(p.Name), By: p.By,
		Paused: p.Paused, Queued: len(p.Arrived), Unserved: at.unserved, Last: at.last, RunsToday: at.runs,
		CostToday: at.cost}, err
}

// newest are the newest deliveries.
func (h *Hooks) newest(ctx context.Context, p plan) (out []wire.WebhookDelivery, err error) {
	err = h.each(ctx, kindDelivery, p.keys(), func(r store.Record) error {
		var d delivery
		if err := json.Unmarshal(r.Value, &d); err != nil {
			return fmt.Errorf("read delivery %s: %w", r.Key, err)
		}
		w := wire.WebhookDelivery{ID: d.ID, At: d.At, Root: d.Root, State: "began", Why: d.Why}
		switch {
		case d.Over && d.Why != "":
			w.State, w.Root = "failed", ""
		case !d.Over && p.owes(r.Key):
			w.State = "waits"
		case !d.Over:
			w.State, w.Root = "left out", ""
		}
		out = append(out, w)
		return nil
	})
	slices.SortFunc(out, func(a, b wire.WebhookDelivery) int { return b.At.Compare(a.At) })
	return out[:min(len(out), shown)], err
}

// stranger is a delivery that is not known to be from who knows the secret of a webhook. That there is none of its name
// is no other error.
func stranger() error {
	return &troupe.UserError{Problem: "this is no delivery of a sender that is known here",
		Hint: "See that address, signature and time are right.", Code: troupe.ExitPermission}
}

// Deliver takes a delivery in. Once it has returned a session, that begins, whatever is killed.
func (h *Hooks) Deliver(ctx context.Context, d wire.Delivery) (out wire.Delivered, err error) {
	_, p, err := h.read(ctx, d.Hook)
	if errors.Is(err, troupe.ErrNotFound) || p.broken != "" {
		p, err = plan{Hook: &hook{}}, nil // it is looked at as any other
	}
	if err != nil {
		return out, err
	}
	id, ok := p.Hook.verify(d, h.now())
	if !ok {
		return out, stranger()
	}
	by := p.By
	if p.Owner {
		by = "the server's owner"
	}
	end, err := h.o.Note(ctx, by, d, id)
	if err != nil {
		return out, err
	}
	out, err = h.takeIn(ctx, p, id, d)
	if end(ctx, err); err != nil {
		return wire.Delivered{}, err
	}
	return out, nil
}

func (h *Hooks) takeIn(ctx context.Context, p plan, id string, d wire.Delivery) (out wire.Delivered, err error) {
	payload, err := read(d)
	if err != nil {
		return out, err
	}
	if out.Ignored = payload.leavesOut(p.Hook.Only); out.Ignored != "" {
		return out, nil
	}
	if signatures()[p.Hook.Signed].bodyAlone {
		if id, err = h.firstID(ctx, p, id, d.Body); err != nil {
			return out, err
		}
	}
	a := arrival{At: h.now().UTC(), Delivery: p.keyOf(id)}
	if a.Root, err = p.rootOf(p.signed(id, d.Body)); err != nil {
		return out, err
	}
	out.Session = a.Root
	if out.Again, err = h.keep(ctx, p, a, id, payload); err != nil || out.Again {
		return out, err
	}
	if out.Again, err = h.owe(ctx, p.Name, a); err != nil {
		return out, err
	}
	if h.taken.Add(1)%sweepEvery == 1 {
		for _, kind := range []string{kindDelivery, kindBody} {
			err = errors.Join(err, h.sweep(ctx, kind, p.Name+"/", func(at time.Time, newer int) bool {
				age := h.now().Sub(at)
				return age >= keptFor || newer >= mostKept && age >= keptSurely
			}))
		}
	}
	return out, err
}

// keep writes what is to begin into the record of a delivery. known: it has begun before, and nothing more does. One
// from which nothing could begin may come again.
func (h *Hooks) keep(ctx context.Context, p plan, a arrival, id string, payload payload) (known bool, err error) {
	for {
		r, before, err := deliveryOf(ctx, h.records, a.Delivery)
		switch {
		case errors.Is(err, troupe.ErrNotFound):
			r = store.Record{Kind: kindDelivery, Key: a.Delivery}
		case err != nil:
			return false, err
		case before.Over && before.Why == "":
			return true, nil
		}
		if err := h.hasRoom(ctx, p); err != nil {
			return false, err
		}
		v := delivery{ID: id, At: a.At, Root: a.Root}
		v.Prompt, v.Typed = payload.prompt(p.Begin.Prompt)
		v.Prompt = h.o.Mask(v.Prompt)
		if r.Value, err = json.Marshal(v); err == nil {
			_, err = h.records.PutRecord(ctx, r)
		}
		if errors.Is(err, troupe.ErrChanged) {
			continue // it is being delivered by another process too
		}
		if err != nil {
			return false, fmt.Errorf("keep what was delivered to %s: %w", p.Name, err)
		}
		return false, nil
	}
}

// hasRoom refuses what would begin nothing.
func (h *Hooks) hasRoom(ctx context.Context, p plan) error {
	has, err := host.Serving(ctx, h.records, h.trees)
	if err != nil {
		return err
	}
	refused, err := h.refused(ctx, p)
	if err != nil {
		return err
	}
	_, why, err := h.room(ctx, &p)
	waits := len(p.Arrived)
	if p.Claim != nil {
		waits++
	}
	switch {
	case err != nil:
		return err
	case p.Paused != "":
		return notNow("it takes no deliveries for the time being", troupe.ErrBlocked)
	case refused != "":
		return notNow("who set it up may begin nothing here any more", troupe.ErrBlocked)
	case serving(has).unserved(p) != "":
		return notNow("no process is there to begin it", troupe.ErrBlocked)
	case why != "", p.MaxRunsPerDay > 0 && len(p.Today)+waits >= p.MaxRunsPerDay:
		return notNow("no more may begin today", troupe.ErrCap)
	case waits >= mostArrived:
		return notNow("too many deliveries wait", troupe.ErrCap)
	}
	return nil
}

// refused is why a webhook's user may not begin now what it begins; "": they may.
func (h *Hooks) refused(ctx context.Context, p plan) (why string, err error) {
	_, err = mayAct(ctx, h.o.Users, p)
	if no := refusal(""); errors.As(err, &no) {
		return string(no), nil
	}
	return "", err
}

func notNow(why string, kind error) error {
	return &troupe.UserError{Problem: why, Hint: "Deliver it again later.", Err: kind}
}

// owe has a run begin for what was delivered. again: it is about to already. The record is written then too: what is
// about to drop the run, for a reason that stood in the record of the delivery before that was kept anew, reads both
// again.
func (h *Hooks) owe(ctx context.Context, name string, a arrival) (again bool, err error) {
	for {
		r, p, err := h.read(ctx, name)
		switch {
		case errors.Is(err, troupe.ErrNotFound):
			return false, stranger()
		case err != nil:
			return false, err
		}
		if again = p.owes(a.Delivery); !again {
			if err := h.hasRoom(ctx, p); err != nil {
				return false, err
			}
			p.Arrived = append(slices.Clone(p.Arrived), a)
		}
		if err := h.write(ctx, &r, p); !errors.Is(err, troupe.ErrChanged) {
			return again && err == nil, err
		}
	}
}

// owes reports whether a run is to begin, or about to, for what was delivered.
func (p *plan) owes(key string) bool {
	return p.Claim != nil && p.Claim.Delivery == key ||
		slices.ContainsFunc(p.Arrived, func(a arrival) bool { return a.Delivery == key })
}

// firstID is the id under which a body came first: a signature that is over the body alone holds under every id.
func (h *Hooks) firstID(ctx context.Context, p plan, id string, body []byte) (string, error) {
	type first struct {
		ID string    `json:"id"`
		At time.Time `json:"at"`
	}
	key := p.keyOf("body\x00" + string(body))
	for {
		var v first
		r, err := h.records.Record(ctx, kindBody, key)
		if err == nil {
			err = json.Unmarshal(r.Value, &v)
		}
		if !errors.Is(err, troupe.ErrNotFound) {
			return v.ID, err
		}
		r = store.Record{Kind: kindBody, Key: key}
		if r.Value, err = json.Marshal(first{id, h.now().UTC()}); err == nil {
			_, err = h.records.PutRecord(ctx, r)
		}
		if !errors.Is(err, troupe.ErrChanged) {
			return id, err
		}
	}
}

// keyOf is the key of the record of a delivery, and rootOf the id of the run that begins for it.
func (p plan) keyOf(id string) string {
	sum := sha256.Sum256([]byte("delivery\x00" + p.Hook.Salt + "\x00" + id))
	return p.keys() + hex.EncodeToString(sum[:])
}

// keys is how the keys of all that was delivered to a webhook begin: no other one that had or has its name has such.
func (p plan) keys() string {
	if p.Hook == nil { // it cannot be read at all
		return p.Name + "/"
	}
	sum := sha256.Sum256([]byte("keys\x00" + p.Hook.Salt))
	return p.Name + "/" + hex.EncodeToString(sum[:8]) + "/"
}

// signed is what a delivery is known by for good: its body where the signature is over that alone, so that no id which
// a stranger makes up begins another run, however long ago the first one was.
func (p plan) signed(id string, body []byte) string {
	if signatures()[p.Hook.Signed].bodyAlone {
		return "body\x00" + string(body)
	}
	return id
}

func (p plan) rootOf(id string) (troupe.SessionID, error) {
	sum := sha256.Sum256([]byte("root\x00" + p.Hook.Salt + "\x00" + id))
	return troupe.NewRootID(bytes.NewReader(sum[:]))
}

func deliveryOf(ctx context.Context, records store.Records, key string) (r store.Record, d delivery, err error) {
	r, err = records.Record(ctx, kindDelivery, key)
	if err == nil {
		err = json.Unmarshal(r.Value, &d)
	}
	if err != nil {
		err = fmt.Errorf("read delivery %s: %w", key, err)
	}
	return r, d, err
}

// waits reports whether it is not known yet what came of a delivery.
func waits(ctx context.Context, records store.Records, key string) (bool, error) {
	_, d, err := deliveryOf(ctx, records, key)
	if errors.Is(err, troupe.ErrNotFound) {
		return false, nil
	}
	return !d.Over, err
}

// cameOf notes what came of a delivery; without a key there was none.
func cameOf(ctx context.Context, records store.Records, key string, root troupe.SessionID, why string) error {
	for key != "" {
		r, d, err := deliveryOf(ctx, records, key)
		if errors.Is(err, troupe.ErrNotFound) {
			return nil
		}
		d.Prompt, d.Typed, d.Over, d.Why, d.Root = "", "", true, why, cmp.Or(root, d.Root)
		if err == nil {
			r.Value, err = json.Marshal(d)
		}
		if err == nil {
			_, err = records.PutRecord(ctx, r)
		}
		if !errors.Is(err, troupe.ErrChanged) {
			return err
		}
	}
	return nil
}

// each calls fn with the records whose keys begin with a name and a slash.
func (h *Hooks) each(ctx context.Context, kind, keys string, fn func(store.Record) error) error {
	const page = 500
	for after := keys; ; {
		all, err := h.records.Records(ctx, kind, after, page)
		if err != nil {
			return fmt.Errorf("list what was delivered to %s: %w", keys, err)
		}
		for _, r := range all {
			if !strings.HasPrefix(r.Key, keys) {
				return nil
			}
			if err := fn(r); err != nil {
				return err
			}
		}
		if len(all) < page {
			return nil
		}
		after = all[len(all)-1].Key
	}
}

// sweep removes the records of such keys for which gone is true, of their time and how many are newer.
func (h *Hooks) sweep(ctx context.Context, kind, keys string, gone func(at time.Time, newer int) bool) error {
	type kept struct {
		store.Record

		at time.Time
	}
	var all []kept
	err := h.each(ctx, kind, keys, func(r store.Record) error {
		var d delivery // a body has its time too
		if err := json.Unmarshal(r.Value, &d); err != nil {
			return fmt.Errorf("read %s %s: %w", kind, r.Key, err)
		}
		r.Value = nil
		all = append(all, kept{r, d.At})
		return nil
	})
	slices.SortFunc(all, func(a, b kept) int { return b.at.Compare(a.at) })
	for i, r := range all {
		if err != nil || !gone(r.at, i) {
			continue
		}
		err = h.records.DeleteRecord(ctx, kind, r.Key, r.Version)
		if errors.Is(err, troupe.ErrNotFound) || errors.Is(err, troupe.ErrChanged) {
			err = nil // another process was faster
		}
	}
	return err
}
