// Package notice tells programs elsewhere what happens at a server: it posts notices to targets that admins set up,
// signed as Standard Webhooks says.
//
// What is told follows from what stands: ends from the logs of sessions, requests and parked trees from their rows,
// runs that did not begin from the plans of schedules and webhooks. How far a tree was told of stands in a record of
// it. A letter, the record of a notice to one target, is written before that record moves on, under a key that follows
// from what it tells: whoever is killed between the two leaves what the next look writes again, as the same letter. The
// row of a tree that is kept going is not forgotten before all of it is told.
//
// A letter is delivered by the process that is first to write its claim into it; the claim of a dead process is free. A
// try whose outcome could not be written is made again, under the same id: receivers drop what they know. After the
// last try a letter is dead: it is kept, and an admin has it delivered again.
//
// A Teller has a goroutine that looks, and for each target up to mostAtOnce that deliver, so that one that is slow
// keeps no other waiting. Close ends all of them and waits. Tell is called by the host, of trees that this process has
// and of those that none has; it only writes records. Targets may be used from several goroutines, in any process that
// has the records.
package notice

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/schedule"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

const (
	kindTarget = "notice target"
	kindLetter = "notice"
	kindDead   = "dead notice"
	kindCount  = "notice count"
	// mostTargets is how many there are, mostWaiting how many letters of one wait, and mostDead how many dead ones are
	// kept.
	mostTargets, mostWaiting, mostDead = 20, 1000, 1000
	shown                              = 20
)

// target is the value of a record.
type target struct {
	wire.TargetTerms

	By string `json:"by"`
	// From is since when it is for each event: what happened before is not told.
	From map[wire.NoticeEvent]time.Time `json:"from"`
	// Secret stands here as it is: who signs has to have it. Salt is made with the target, so that what is left of one
	// of the same name is nothing to this one.
	Secret  string `json:"secret"`
	Salt    string `json:"salt"`
	Stopped string `json:"stopped,omitempty"`
}

// count is what came of a target's notices.
type count struct {
	Delivered int64           `json:"delivered,omitempty"`
	Failed    int64           `json:"failed,omitempty"`
	Dropped   int64           `json:"dropped,omitempty"`
	Last      *wire.NoticeTry `json:"last,omitempty"`
}

// Poster is what Targets need to reach one.
type Poster struct {
	Client *http.Client
	// Check refuses an address to which nothing may be sent.
	Check func(address string) error
	Agent string // as receivers are told who posts
	Now   func() time.Time
}

// Targets are those of one database.
type Targets struct {
	records store.Records
	p       Poster
}

// New makes the targets that records hold.
func New(records store.Records, p Poster) *Targets { return &Targets{records, p} }

// List lists all, by name.
func (t *Targets) List(ctx context.Context) ([]wire.Target, error) {
	all, err := targets(ctx, t.records)
	out := make([]wire.Target, 0, len(all))
	for i := 0; err == nil && i < len(all); i++ {
		var one wire.Target
		one, _, err = t.told(ctx, all[i])
		out = append(out, one)
	}
	return out, err
}

// One is a target by its name, with the newest of the letters that were given up.
func (t *Targets) One(ctx context.Context, name string) (wire.Target, error) {
	_, x, err := t.read(ctx, name)
	if err != nil {
		return wire.Target{}, err
	}
	out, dead, err := t.told(ctx, x)
	slices.Reverse(dead)
	for _, r := range dead[:min(len(dead), shown)] {
		l, err := letterOf(r)
		if err != nil {
			return out, err
		}
		out.Letters = append(out.Letters, wire.DeadLetter{Tries: l.Tries, Session: l.Session,
			NoticeTry: wire.NoticeTry{ID: l.ID, Type: l.Type, At: l.At, Status: l.Status, Why: l.Why}})
	}
	return out, err
}

// told is a target as callers are told of it, without its secret.
func (t *Targets) told(ctx context.Context, x target) (out wire.Target, dead []store.Record, err error) {
	waiting, err := lettersOf(ctx, t.records, kindLetter, x.Name)
	if err == nil {
		dead, err = lettersOf(ctx, t.records, kindDead, x.Name)
	}
	var n count
	if err == nil {
		_, err = readOr(ctx, t.records, kindCount, x.Name+"/n", &n)
	}
	waiting = slices.DeleteFunc(waiting, isDone)
	return wire.Target{TargetTerms: x.TargetTerms, By: x.By, Stopped: x.Stopped, Waiting: len(waiting),
		Dead: len(dead), Delivered: n.Delivered, Failed: n.Failed, Dropped: n.Dropped, Last: n.Last}, dead, err
}

// Set makes a target, or changes the terms of one; one that was stopped is told again.
func (t *Targets) Set(ctx context.Context, c troupe.Caller, terms wire.TargetTerms) (out wire.TargetChanged,
	err error) {
	if err := t.check(terms); err != nil {
		return out, err
	}
	for {
		r, x, err := t.read(ctx, terms.Name)
		isNew := errors.Is(err, troupe.ErrNotFound)
		switch {
		case err != nil && !isNew && !errors.Is(err, troupe.ErrDamaged):
			return out, err
		case !isNew && terms.Version == 0:
			return out, &troupe.UserError{Problem: fmt.Sprintf("there is a target %q already", terms.Name),
				Hint: "Choose another name, or give --replace.", Code: troupe.ExitUsage, Err: troupe.ErrExists}
		case terms.Version != r.Version:
			return out, &troupe.UserError{
				Problem: fmt.Sprintf("the target %q was changed or removed since you looked at it", terms.Name),
				Hint:    "Look at it again: troupe notify show " + terms.Name, Code: troupe.ExitUsage,
				Err: troupe.ErrChanged}
		case isNew:
			if err := t.refuseMany(ctx); err != nil {
				return out, err
			}
			r = store.Record{Kind: kindTarget, Key: terms.Name}
		}
		x.By, x.Salt = cmp.Or(x.By, c.Name), cmp.Or(x.Salt, rand.Text())
		if out.Secret = ""; x.Secret == "" || terms.NewSecret {
			x.Secret = schedule.NewSecret()
			out.Secret = x.Secret
		}
		from := make(map[wire.NoticeEvent]time.Time, len(terms.Events))
		for _, e := range terms.Events {
			from[e] = cmp.Or(x.From[e], t.p.Now().UTC())
		}
		x.TargetTerms, x.From, x.Stopped = terms, from, ""
		x.NewSecret, x.Version = false, 0
		r.Version, err = putJSON(ctx, t.records, r, x)
		if errors.Is(err, troupe.ErrChanged) {
			continue
		}
		if err == nil {
			x.Version = r.Version
			out.Target, _, err = t.told(ctx, x)
		}
		return out, err
	}
}

func (t *Targets) refuseMany(ctx context.Context) error {
	all, err := t.records.Records(ctx, kindTarget, "", 0)
	if err == nil && len(all) >= mostTargets {
		err = &troupe.UserError{Problem: fmt.Sprintf("there are %d targets, and no more may be", len(all)),
			Hint: "Remove what is not needed any more: troupe notify", Code: troupe.ExitUsage}
	}
	return err
}

var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func (t *Targets) check(x wire.TargetTerms) error {
	if !name.MatchString(x.Name) {
		return unusable(fmt.Sprintf("%q is no name of a target", x.Name),
			"It is letters, digits, dots, dashes and underscores, 64 at the most.")
	}
	for _, e := range x.Events {
		if !slices.Contains(wire.NoticeEvents(), e) {
			return unusable(fmt.Sprintf("there is no event %.80q", e), "There are "+events()+".")
		}
	}
	switch {
	case len(x.Events) == 0:
		return unusable("it is not said what is told", "Give events with --on: "+events()+".")
	case x.Folder != "" && !filepath.IsAbs(x.Folder):
		return unusable(fmt.Sprintf("the folder %q is no absolute path", x.Folder), "Give all of it.")
	case x.Link != "" && !strings.HasPrefix(x.Link, "https://") && !strings.HasPrefix(x.Link, "http://"):
		return unusable("--link is no address", "Give the server's, such as https://troupe.example.com.")
	}
	if err := t.p.Check(x.URL); err != nil {
		return unusable("nothing is sent to that address: "+err.Error(), "Give an https address of the internet, or "+
			"name the host in notify.local_hosts of the server's settings.")
	}
	return nil
}

func events() string {
	var all []string
	for _, e := range wire.NoticeEvents() {
		all = append(all, string(e))
	}
	return strings.Join(all, ", ")
}

func unusable(problem, hint string) error {
	return &troupe.UserError{Problem: problem, Hint: hint, Code: troupe.ExitUsage}
}

// Remove forgets a target with its letters.
func (t *Targets) Remove(ctx context.Context, name string) error {
	r, _, err := t.read(ctx, name)
	if err == nil || errors.Is(err, troupe.ErrDamaged) {
		err = remove(ctx, t.records, r)
	}
	for _, kind := range []string{kindLetter, kindDead, kindCount} {
		var all []store.Record
		if err == nil {
			all, err = lettersOf(ctx, t.records, kind, name)
		}
		for _, r := range all {
			err = errors.Join(err, remove(ctx, t.records, r))
		}
	}
	return err
}

// Test posts a notice of its own to a target, once, and says what came of it.
func (t *Targets) Test(ctx context.Context, name string) (wire.NoticeTry, error) {
	_, x, err := t.read(ctx, name)
	if err != nil {
		return wire.NoticeTry{}, err
	}
	at := t.p.Now().UTC()
	l, err := newLetter(x, wire.NoticeTest, at, rand.Text(), wire.NoticeData{})
	if err != nil {
		return wire.NoticeTry{}, err
	}
	status, why := t.p.post(ctx, x, l)
	return wire.NoticeTry{ID: l.ID, Type: l.Type, At: at, Status: status, Why: why}, nil
}

// Replay has letters that were given up be delivered anew, by whichever process looks.
func (t *Targets) Replay(ctx context.Context, name string, q wire.Replay) (out wire.Replayed, err error) {
	_, x, err := t.read(ctx, name)
	if err == nil && x.Stopped != "" {
		err = &troupe.UserError{Problem: fmt.Sprintf("%s is stopped: %s", name, x.Stopped),
			Hint: "`troupe notify resume " + name + "` ends that."}
	}
	var all []store.Record
	if err == nil {
		all, err = lettersOf(ctx, t.records, kindDead, name)
	}
	if err != nil {
		return out, err
	}
	for _, r := range all {
		l, lerr := letterOf(r)
		if lerr != nil || q.Notice != "" && l.ID != q.Notice {
			continue
		}
		l.Tries, l.Next, l.Claim, l.Status, l.Why = 0, time.Time{}, nil, 0, ""
		var left letter
		now, err := readOr(ctx, t.records, kindLetter, r.Key, &left)
		if err == nil && (now.Version == 0 || !left.Done.IsZero()) { // else it waits already
			_, err = putJSON(ctx, t.records, now, l)
		}
		if err == nil {
			err = remove(ctx, t.records, r)
			out.Notices++
		}
		if err != nil {
			return out, err
		}
	}
	if q.Notice != "" && out.Notices == 0 {
		err = &troupe.UserError{Problem: fmt.Sprintf("%s has given up no notice %.100q", name, q.Notice),
			Hint: "`troupe notify show " + name + "` lists them.", Code: troupe.ExitUsage, Err: troupe.ErrNotFound}
	}
	return out, err
}

func (t *Targets) read(ctx context.Context, name string) (r store.Record, x target, err error) {
	r, err = t.records.Record(ctx, kindTarget, name)
	switch {
	case errors.Is(err, troupe.ErrNotFound):
		return r, x, &troupe.UserError{Problem: fmt.Sprintf("there is no target %.80q", name),
			Hint: "`troupe notify` lists them.", Code: troupe.ExitUsage, Err: err}
	case err != nil:
		return r, x, fmt.Errorf("read target %s: %w", name, err)
	}
	x, err = targetOf(r)
	return r, x, err
}

func targetOf(r store.Record) (x target, err error) {
	if err = json.Unmarshal(r.Value, &x); err != nil {
		x, err = target{Stopped: "its record cannot be read"}, &troupe.UserError{
			Problem: fmt.Sprintf("the record of the target %s cannot be read: %v", r.Key, err),
			Hint:    "Remove it: troupe notify remove " + r.Key, Err: troupe.ErrDamaged}
	}
	x.Name, x.Version = r.Key, r.Version
	return x, err
}

// targets are all there are. One whose record cannot be read is there as stopped.
func targets(ctx context.Context, records store.Records) ([]target, error) {
	all, err := records.Records(ctx, kindTarget, "", 0)
	if err != nil {
		return nil, fmt.Errorf("list the targets: %w", err)
	}
	out := make([]target, len(all))
	for i, r := range all {
		out[i], _ = targetOf(r)
	}
	return out, nil
}

// lettersOf are the records of a target's letters, the oldest event first.
func lettersOf(ctx context.Context, records store.Records, kind, name string) ([]store.Record, error) {
	all, err := records.Records(ctx, kind, name+"/", mostWaiting+mostDead)
	if err != nil {
		return nil, fmt.Errorf("list the notices to %s: %w", name, err)
	}
	i := slices.IndexFunc(all, func(r store.Record) bool { return !strings.HasPrefix(r.Key, name+"/") })
	if i >= 0 {
		all = all[:i]
	}
	return all, nil
}

func putJSON(ctx context.Context, records store.Records, r store.Record, v any) (version int64, err error) {
	if r.Value, err = json.Marshal(v); err == nil {
		version, err = records.PutRecord(ctx, r)
	}
	if err != nil {
		return 0, fmt.Errorf("write %s %s: %w", r.Kind, r.Key, err)
	}
	return version, nil
}

// readOr reads a record into v, which stays as it is where there is none that can be read.
func readOr(ctx context.Context, records store.Records, kind, key string, v any) (store.Record, error) {
	r, err := records.Record(ctx, kind, key)
	switch {
	case errors.Is(err, troupe.ErrNotFound):
		return store.Record{Kind: kind, Key: key}, nil
	case err != nil:
		return r, fmt.Errorf("read %s %s: %w", kind, key, err)
	}
	_ = json.Unmarshal(r.Value, v) // it is counted anew
	return r, nil
}

// remove removes a record that nothing has changed.
func remove(ctx context.Context, records store.Records, r store.Record) error {
	err := records.DeleteRecord(ctx, r.Kind, r.Key, r.Version)
	if errors.Is(err, troupe.ErrNotFound) || errors.Is(err, troupe.ErrChanged) {
		return nil // another process was faster
	}
	if err != nil {
		return fmt.Errorf("remove %s %s: %w", r.Kind, r.Key, err)
	}
	return nil
}
