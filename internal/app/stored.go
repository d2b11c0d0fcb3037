package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// storing implements api.Stored. A stored agent is a record with its newest version. Before it gets the next one, the
// newest is kept in a record of its own: what a process that dies in between leaves is what will be there anyway.
type storing struct{ bound }

const (
	kindStored        = "agent"
	kindStoredVersion = "agent-version"
	// mostStoredOfUser and mostStored bound how many names there are, mostStoredText how long a definition is, and
	// mostStoredVersions how many versions one has: each run reads the newest of all.
	mostStoredOfUser, mostStored = 50, 300
	mostStoredText               = 32_000
	mostStoredVersions           = 1000
	shortHash                    = 12
)

// storedVersion is a version as it is kept. Key is the caller's, of the change that made it.
type storedVersion struct {
	wire.StoredVersion
	Text string `json:"text"`
	Key  string `json:"key,omitempty"`
}

// storedAgent is the value of a record.
type storedAgent struct {
	storedVersion
	Name string `json:"name"`
	// Owner is who made it; Home: that is whose the home is, and no user of a server.
	Owner   string    `json:"owner"`
	Home    bool      `json:"home,omitempty"`
	Removed time.Time `json:"removed,omitzero"`
}

func storedKey(name string) string { return strings.ToLower(name) }

func storedVersionKey(name string, version int64) string {
	return fmt.Sprintf("%s/%06d", storedKey(name), version)
}

var storedName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// readStored reads one with its record.
func readStored(ctx context.Context, a *App, name string) (r store.Record, s storedAgent, err error) {
	if !storedName.MatchString(name) {
		return r, s, &troupe.UserError{Problem: fmt.Sprintf("%q is no name of a stored agent", name),
			Code: troupe.ExitUsage, Hint: "It is letters, digits, dots, dashes and underscores, 64 at the most."}
	}
	r, err = a.db.Record(ctx, kindStored, storedKey(name))
	if errors.Is(err, troupe.ErrNotFound) {
		return r, s, &troupe.UserError{Problem: fmt.Sprintf("there is no stored agent %q", name),
			Hint: "`troupe agents stored` lists those there are.", Code: troupe.ExitUsage, Err: troupe.ErrNotFound}
	}
	if err == nil {
		err = json.Unmarshal(r.Value, &s)
	}
	if err != nil {
		return r, s, fmt.Errorf("read stored agent %s: %w", name, err)
	}
	return r, s, nil
}

// versions are all that there were, the newest first.
func (s *storedAgent) versions(ctx context.Context, a *App) ([]storedVersion, error) {
	out := []storedVersion{s.storedVersion}
	if s.Version == 1 {
		return out, nil
	}
	kept, err := a.db.Records(ctx, kindStoredVersion, storedVersionKey(s.Name, 0), int(s.Version-1))
	for _, r := range kept {
		var v storedVersion
		if err == nil && strings.HasPrefix(r.Key, storedKey(s.Name)+"/") {
			if err = json.Unmarshal(r.Value, &v); v.Version < s.Version {
				out = append(out, v)
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the versions of stored agent %s: %w", s.Name, err)
	}
	slices.SortFunc(out, func(a, b storedVersion) int { return int(b.Version - a.Version) })
	return out, nil
}

// source names a version wherever it is told where a definition is from.
func (s *storedAgent) source() string {
	return fmt.Sprintf("stored agent %s, version %d (%s)", s.Name, s.Version, s.Hash[:min(shortHash, len(s.Hash))])
}

// told is a stored agent in one of its versions.
func (s *storedAgent) told(a *App, of storedVersion, text bool) wire.StoredAgent {
	now := *s
	now.storedVersion = of
	out := wire.StoredAgent{StoredVersion: of.StoredVersion, Name: s.Name, Owner: s.Owner, Removed: s.Removed}
	if s.Home {
		out.Owner = personOf(troupe.Caller{Right: troupe.RightOwner})
	}
	if d := profile.CheckStored(now.source(), s.Name, []byte(of.Text), nil).Definition; d != nil {
		out.Description = a.Mask(strings.TrimSpace(d.Description + " " + d.WhenToUse))
	}
	if text {
		out.Text = a.Mask(of.Text)
	}
	return out
}

// allStored are all by name.
func allStored(ctx context.Context, a *App) ([]storedAgent, error) {
	records, err := a.db.Records(ctx, kindStored, "", 0)
	out := make([]storedAgent, len(records))
	for i, r := range records {
		if err == nil {
			err = json.Unmarshal(r.Value, &out[i])
		}
	}
	if err != nil {
		return nil, fmt.Errorf("list the stored agents: %w", err)
	}
	return out, nil
}

// storedAgents are those that count in a run, as a source; without one there are none. A run does not begin where they
// cannot be read: it would be with others than those meant.
func storedAgents(ctx context.Context, a *App) ([]profile.Folder, error) {
	if a.db == nil { // only settings are open
		return nil, nil
	}
	all, err := allStored(ctx, a)
	var held []front.File
	for _, s := range all {
		if s.Removed.IsZero() {
			held = append(held, front.File{Path: s.source(), Name: s.Name + ".md", Data: []byte(s.Text)})
		}
	}
	if err != nil || held == nil {
		return nil, err
	}
	return []profile.Folder{{Path: "stored agents", Scope: profile.ScopeStored, Held: &held}}, nil
}

// StoredAgents implements api.Stored, as do the methods below.
func (a storing) StoredAgents(ctx context.Context) ([]wire.StoredAgent, error) {
	all, err := allStored(ctx, a.app)
	out := make([]wire.StoredAgent, 0, len(all))
	for i := range all {
		out = append(out, all[i].told(a.app, all[i].storedVersion, false))
	}
	return out, err
}

func (a storing) StoredAgent(ctx context.Context, q wire.StoredQuery) (out wire.StoredAgent, err error) {
	_, s, err := readStored(ctx, a.app, q.Name)
	if err != nil {
		return out, err
	}
	versions, err := s.versions(ctx, a.app)
	if err != nil {
		return out, err
	}
	n, _ := strconv.ParseInt(q.Version, 10, 64)
	for i, v := range versions {
		is := q.Version == "" && i == 0 || v.Version == n
		if is || out.Name == "" && len(q.Version) >= 6 && strings.HasPrefix(v.Hash, strings.ToLower(q.Version)) {
			out = s.told(a.app, v, true)
		}
		if is {
			break
		}
	}
	if out.Name == "" {
		return out, &troupe.UserError{Problem: fmt.Sprintf("stored agent %s has no version %q", s.Name, q.Version),
			Hint: "`troupe agents versions " + s.Name + "` lists them.", Code: troupe.ExitUsage,
			Err: troupe.ErrNotFound}
	}
	for _, v := range versions {
		out.Versions = append(out.Versions, v.StoredVersion)
	}
	return out, nil
}

func (a storing) SetStoredAgent(ctx context.Context, t wire.StoredTerms) (out wire.StoredAgent, err error) {
	err = a.noted(ctx, "set-stored-agent", t, func() error {
		for {
			if out, err = a.set(ctx, t); !errors.Is(err, errTwoAtOnce) {
				return err
			}
		}
	})
	return out, err
}

// errTwoAtOnce: another call has changed what this one was about to.
var errTwoAtOnce = errors.New("it has changed meanwhile")

// set is one try to make a version.
func (a storing) set(ctx context.Context, t wire.StoredTerms) (out wire.StoredAgent, err error) {
	r, s, err := readStored(ctx, a.app, t.Name)
	isNew := errors.Is(err, troupe.ErrNotFound)
	if err != nil && !isNew {
		return out, err
	}
	v := storedVersion{Text: t.Text}
	v.At, v.By = a.app.env.Now().UTC(), personOf(a.caller)
	sum := sha256.Sum256([]byte(t.Text))
	v.Hash = hex.EncodeToString(sum[:])
	if t.Once != "" {
		v.Key = a.caller.Key(t.Once)
	}
	if !isNew {
		if done, err := a.done(ctx, &s, v); done != nil || err != nil {
			return s.told(a.app, *done, true), err
		}
	}
	if err := a.mayStore(ctx, isNew, &s, t); err != nil {
		return out, err
	}
	warnings, err := a.check(t)
	if err != nil {
		return out, err
	}
	if isNew {
		r = store.Record{Kind: kindStored, Key: storedKey(t.Name)}
		s = storedAgent{Name: t.Name, Owner: a.caller.Name, Home: a.caller.Right == troupe.RightOwner}
	} else if s.Hash == v.Hash && s.Removed.IsZero() { // nothing is another one
		return s.told(a.app, s.storedVersion, true), nil
	} else if err := a.keep(ctx, &s); err != nil {
		return out, err
	}
	v.Version = s.Version + 1
	s.storedVersion, s.Removed = v, time.Time{}
	if err := a.write(ctx, r, s); err != nil {
		return out, err
	}
	out = s.told(a.app, v, true)
	out.Warnings = warnings
	return out, nil
}

// done is the version that a change with the same key has made; nil: there is none.
func (a storing) done(ctx context.Context, s *storedAgent, v storedVersion) (*storedVersion, error) {
	if v.Key == "" {
		return nil, nil
	}
	all, err := s.versions(ctx, a.app)
	for i := range all {
		switch {
		case all[i].Key != v.Key:
		case all[i].Hash != v.Hash:
			return &all[i], &troupe.UserError{Problem: "this idempotency key was used for another text",
				Hint: "Use another key.", Code: troupe.ExitUsage, Err: troupe.ErrExists}
		default:
			return &all[i], nil
		}
	}
	return nil, err
}

// mayStore refuses a version that may not be made.
func (a storing) mayStore(ctx context.Context, isNew bool, s *storedAgent, t wire.StoredTerms) error {
	switch {
	case isNew && t.Version != 0:
		return storedChanged(t.Name, "is not there")
	case isNew:
		return a.hasRoom(ctx)
	case !a.owns(s):
		return notYours(s)
	case t.Version == 0 && s.Removed.IsZero():
		return &troupe.UserError{Problem: fmt.Sprintf("there is a stored agent %q already", s.Name),
			Hint: "Choose another name, or make its next version: troupe agents update", Code: troupe.ExitUsage,
			Err: troupe.ErrExists}
	case t.Version != 0 && !s.Removed.IsZero():
		return storedChanged(t.Name, "was removed")
	case t.Version != 0 && t.Version != s.Version:
		return storedChanged(t.Name, fmt.Sprintf("has version %d by now", s.Version))
	case s.Version >= mostStoredVersions:
		return &troupe.UserError{Problem: fmt.Sprintf("stored agent %s has %d versions, and no more may be", s.Name,
			s.Version), Hint: "Store it under another name.", Code: troupe.ExitUsage, Err: troupe.ErrCap}
	}
	return nil
}

func storedChanged(name, what string) error {
	return &troupe.UserError{Problem: fmt.Sprintf("stored agent %q %s", name, what), Code: troupe.ExitUsage,
		Hint: "Look at it again: troupe agents versions " + name, Err: troupe.ErrChanged}
}

// owns reports whether the caller may change a stored agent.
func (a storing) owns(s *storedAgent) bool {
	own := a.caller.Name == s.Owner && s.Home == (a.caller.Right == troupe.RightOwner) // of a name that both have
	return own || a.caller.Right.Covers(troupe.RightAdmin)
}

func notYours(s *storedAgent) error {
	return &troupe.UserError{Problem: fmt.Sprintf("%s has stored the agent %s", s.Owner, s.Name),
		Hint: "That user can change it, and admins can.", Code: troupe.ExitPermission}
}

// hasRoom refuses one name more than there may be.
func (a storing) hasRoom(ctx context.Context) error {
	all, err := allStored(ctx, a.app)
	own := 0
	for i := range all {
		if all[i].Owner == a.caller.Name && all[i].Home == (a.caller.Right == troupe.RightOwner) {
			own++
		}
	}
	if err == nil && (len(all) >= mostStored || own >= mostStoredOfUser) {
		err = &troupe.UserError{Problem: fmt.Sprintf("there are %d stored agents, %d of them yours, and there may be "+
			"%d, and %d of a user", len(all), own, mostStored, mostStoredOfUser), Code: troupe.ExitUsage,
			Hint: "Those that were removed count, for their versions stay: store another one under such a name.",
			Err:  troupe.ErrCap}
	}
	return err
}

// check refuses a definition that no agent could be made of as it is written.
func (a storing) check(t wire.StoredTerms) (warnings []string, err error) {
	tools, err := a.app.known()
	if err != nil {
		return nil, err
	}
	bad := func(problem string) error {
		return &troupe.UserError{Problem: problem, Code: troupe.ExitUsage,
			Hint: "`troupe agents check FILE` says what is not followed in a definition."}
	}
	c := profile.CheckStored(t.Name, t.Name, []byte(t.Text), tools.Callable())
	for _, p := range c.Problems {
		if p.Unusable {
			return nil, bad(p.String())
		}
		if !p.Note {
			warnings = append(warnings, p.String())
		}
	}
	switch {
	case len(t.Text) > mostStoredText:
		return nil, bad(fmt.Sprintf("the definition has %d bytes, and may have %d", len(t.Text), mostStoredText))
	case c.Definition == nil:
		return nil, bad("this is no definition of an agent: " + strings.Join(warnings, "; "))
	case front.Fold(c.Definition.Name) != front.Fold(t.Name):
		return nil, bad(fmt.Sprintf("the definition names itself %q, and it is to be stored as %q", c.Definition.Name,
			t.Name))
	}
	return warnings, nil
}

// keep keeps the newest version in a record of its own.
func (a storing) keep(ctx context.Context, s *storedAgent) error {
	value, err := json.Marshal(s.storedVersion)
	if err == nil {
		_, err = a.app.db.PutRecord(ctx, store.Record{Kind: kindStoredVersion, Value: value,
			Key: storedVersionKey(s.Name, s.Version)})
	}
	if err != nil && !errors.Is(err, troupe.ErrChanged) { // which says that it is there
		return fmt.Errorf("keep version %d of stored agent %s: %w", s.Version, s.Name, err)
	}
	return nil
}

func (a storing) write(ctx context.Context, r store.Record, s storedAgent) (err error) {
	if r.Value, err = json.Marshal(s); err == nil {
		_, err = a.app.db.PutRecord(ctx, r)
	}
	if errors.Is(err, troupe.ErrChanged) {
		return errTwoAtOnce
	}
	if err != nil {
		return fmt.Errorf("write stored agent %s: %w", s.Name, err)
	}
	return nil
}

func (a storing) RemoveStoredAgent(ctx context.Context, q wire.StoredRemoval) error {
	return a.noted(ctx, "remove-stored-agent", q, func() error {
		for {
			r, s, err := readStored(ctx, a.app, q.Name)
			switch {
			case err != nil:
				return err
			case !a.owns(&s):
				return notYours(&s)
			case q.Version != 0 && q.Version != s.Version:
				return storedChanged(s.Name, fmt.Sprintf("has version %d by now", s.Version))
			case !s.Removed.IsZero():
				return nil
			}
			s.Removed = a.app.env.Now().UTC()
			if err := a.write(ctx, r, s); !errors.Is(err, errTwoAtOnce) {
				return err
			}
		}
	})
}
