// Package people knows who may use a server: its users, the codes with which they log in once, and the tokens that they
// get for these.
//
// What is secret is not kept: of codes and tokens there are hashes. All users stand in one record, so that two changes
// cannot both be right and yet leave no admin; each token has its own. A token is worth what its user may do at the
// moment of the call: who is removed, or given less, has less with the next one.
package people

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Kinds of records, and the key of the one that holds all users.
const (
	kindServer = "server"
	kindToken  = "token"
	kindCode   = "login"
	keyUsers   = "users"
	keyPeers   = "peers"
)

const (
	// CodeHolds is how long a login code is good.
	CodeHolds = 10 * time.Minute
	// TokenHolds is how long a token is good.
	TokenHolds = 90 * 24 * time.Hour
	// usedEvery is how exactly it is known when a token was used last.
	usedEvery = time.Hour
	// prefix begins every token, so that a person and a scanner of secrets know what it is.
	prefix = "troupe_"
	// peer begins the secret that the processes of one database share.
	peer = "troupepeer_"
	// FirstAdmin is who a new server invites.
	FirstAdmin = "admin"
)

// People are those of one database. It may be used from several goroutines, and several processes.
type People struct {
	records store.Records
	now     func() time.Time
}

// New makes the people that records hold.
func New(records store.Records, now func() time.Time) *People { return &People{records, now} }

// user, token and code are how records hold them.
//
// A version that does not know of projects takes the right none for one that covers nothing. Where it changes the
// users, it drops their projects: they have less then, and nobody more.
type user struct {
	Right    troupe.Right    `json:"right"`
	Created  time.Time       `json:"created"`
	Projects troupe.Projects `json:"projects,omitempty"`
}

type token struct {
	User    string    `json:"user"`
	Hash    string    `json:"hash"`
	Label   string    `json:"label,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	Used    time.Time `json:"used,omitzero"`
}

type code struct {
	User    string    `json:"user"`
	Expires time.Time `json:"expires"`
}

// ErrStranger means that a token or a code is none, or none any more.
var ErrStranger = errors.New("not known here")

func stranger(problem, hint string) error {
	return &troupe.UserError{Problem: problem, Hint: hint, Code: troupe.ExitPermission, Err: ErrStranger}
}

// Ready looks whether the database answers.
func (p *People) Ready(ctx context.Context) error {
	_, _, err := p.users(ctx)
	return err
}

// Whose is the caller whom a token belongs to. It is ErrStranger if it is nobody's.
func (p *People) Whose(ctx context.Context, secret string) (troupe.Caller, error) {
	if strings.HasPrefix(secret, peer) {
		return p.whosePeer(ctx, secret)
	}
	none := stranger("the server does not know this token, or it holds no more", "Log in again: troupe login ADDRESS.")
	id, rest, ok := strings.Cut(strings.TrimPrefix(secret, prefix), "_")
	if !ok || !strings.HasPrefix(secret, prefix) {
		return troupe.Caller{}, none
	}
	r, t, err := read[token](ctx, p, kindToken, id)
	switch {
	case errors.Is(err, troupe.ErrNotFound):
		return troupe.Caller{}, none
	case err != nil:
		return troupe.Caller{}, err
	case subtle.ConstantTimeCompare([]byte(hash(rest)), []byte(t.Hash)) != 1, !p.now().Before(t.Expires):
		return troupe.Caller{}, none
	}
	users, _, err := p.users(ctx)
	if err != nil {
		return troupe.Caller{}, err
	}
	u, ok := users[t.User]
	if !ok {
		return troupe.Caller{}, none
	}
	if p.now().Sub(t.Used) >= usedEvery {
		t.Used = p.now().UTC()
		// Who was faster has written the same; that it was used is worth no failure.
		if err := p.write(ctx, &r, t); err != nil && !errors.Is(err, troupe.ErrChanged) {
			return troupe.Caller{}, err
		}
	}
	return troupe.Caller{Name: t.User, Right: u.Right, Surface: troupe.SurfaceServer, Token: id,
		Projects: u.Projects}, nil
}

// Peers is the secret by which processes of this database know each other. Who has it has the database, and may speak
// for every caller.
func (p *People) Peers(ctx context.Context) (string, error) {
	for {
		_, secret, err := read[string](ctx, p, kindServer, keyPeers)
		if !errors.Is(err, troupe.ErrNotFound) {
			return secret, err
		}
		secret = peer + rand.Text()
		err = p.write(ctx, &store.Record{Kind: kindServer, Key: keyPeers}, secret)
		if !errors.Is(err, troupe.ErrChanged) { // else another process was faster
			return secret, err
		}
	}
}

func (p *People) whosePeer(ctx context.Context, secret string) (troupe.Caller, error) {
	_, ours, err := read[string](ctx, p, kindServer, keyPeers)
	if err != nil && !errors.Is(err, troupe.ErrNotFound) {
		return troupe.Caller{}, err
	}
	if ours == "" || subtle.ConstantTimeCompare([]byte(secret), []byte(ours)) != 1 {
		return troupe.Caller{}, stranger("this is no process of the same database", "Give both the same --database.")
	}
	return troupe.Caller{Name: "troupe", Right: troupe.RightSystem, Surface: troupe.SurfaceServer, Token: "peers"}, nil
}

// SignIn gives a token for a login code.
func (p *People) SignIn(ctx context.Context, in wire.SignIn) (out wire.SignedIn, err error) {
	none := stranger("this login code is none, was used, or is too old",
		"A code is good once, for "+CodeHolds.String()+". An admin gives another: troupe users invite NAME.")
	r, c, err := read[code](ctx, p, kindCode, hash(plain(in.Code)))
	if errors.Is(err, troupe.ErrNotFound) {
		return out, none
	}
	if err != nil {
		return out, err
	}
	// It is used up before anything is given for it.
	err = p.records.DeleteRecord(ctx, kindCode, r.Key, r.Version)
	if errors.Is(err, troupe.ErrNotFound) || errors.Is(err, troupe.ErrChanged) ||
		err == nil && !p.now().Before(c.Expires) {
		return out, none
	}
	if err != nil {
		return out, fmt.Errorf("use the login code: %w", err)
	}
	users, _, err := p.users(ctx)
	if err != nil {
		return out, err
	}
	u, ok := users[c.User]
	if !ok {
		return out, none
	}
	if err := p.sweep(ctx); err != nil {
		return out, err
	}
	id, secret := strings.ToLower(rand.Text()[:12]), rand.Text()
	now := p.now().UTC()
	t := token{User: c.User, Hash: hash(secret), Label: in.Label, Created: now, Expires: now.Add(TokenHolds), Used: now}
	if err := p.write(ctx, &store.Record{Kind: kindToken, Key: id}, t); err != nil {
		return out, err
	}
	// Who was removed before this was written still has it.
	if users, _, err = p.users(ctx); err == nil && !users[c.User].Created.Equal(u.Created) {
		return out, cmp.Or(p.Revoke(ctx, id), none)
	}
	if err != nil {
		return out, err
	}
	return wire.SignedIn{Token: prefix + id + "_" + secret, Name: c.User, Right: u.Right, Projects: u.Projects,
		ExpiresAt: t.Expires}, nil
}

// First invites the first admin, unless there is an admin who can log in. It is what a server prints when it begins to
// serve.
func (p *People) First(ctx context.Context) (code string, until time.Time, err error) {
	users, _, err := p.users(ctx)
	if err != nil {
		return "", until, err
	}
	tokens, err := p.Tokens(ctx)
	if err != nil {
		return "", until, err
	}
	if slices.ContainsFunc(tokens, func(t wire.Token) bool { return users[t.User].Right == troupe.RightAdmin }) {
		return "", until, nil
	}
	name := FirstAdmin
	for n, u := range users {
		if u.Right == troupe.RightAdmin {
			name = n
		}
	}
	changed, err := p.Change(ctx, wire.UserChange{Name: name, Right: troupe.RightAdmin, Invite: true})
	return changed.Code, changed.Until, err
}

// Users lists those who may use the server, by name.
func (p *People) Users(ctx context.Context) ([]wire.User, error) {
	users, _, err := p.users(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]wire.User, 0, len(users))
	for name, u := range users {
		out = append(out, u.told(name))
	}
	slices.SortFunc(out, func(a, b wire.User) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// Change adds a user, changes one, or removes one.
func (p *People) Change(ctx context.Context, c wire.UserChange) (out wire.UserChanged, err error) {
	if err := check(c); err != nil {
		return out, err
	}
	for {
		users, r, err := p.users(ctx)
		if err != nil {
			return out, err
		}
		u, known := users[c.Name]
		had := hasAdmin(users)
		if err := checkMatch(c, u, known); err != nil {
			return out, err
		}
		switch {
		case !known && (c.Remove || c.Right == "" && (!c.New || len(c.Projects) == 0)):
			return out, &troupe.UserError{Problem: fmt.Sprintf("there is no user %q", c.Name),
				Hint: "`troupe users` lists them; `troupe users add NAME` adds one.", Code: troupe.ExitUsage,
				Err: troupe.ErrNotFound}
		case !known && strings.ContainsFunc(c.Name, unicode.IsSpace): // a version before took such names
			return out, &troupe.UserError{Problem: fmt.Sprintf("%q is no name of a user: it is one word", c.Name),
				Hint: "See `troupe users --help`.", Code: troupe.ExitUsage}
		case known && c.New:
			return out, &troupe.UserError{Problem: fmt.Sprintf("%q is a user already, with the right %s", c.Name,
				u.Right),
				Hint: "`troupe users set NAME --right RIGHT` changes the right, and `troupe users invite NAME` gives " +
					"a login code.",
				Code: troupe.ExitUsage, Err: troupe.ErrExists}
		case c.Remove:
			delete(users, c.Name)
		default:
			if !known {
				u.Created = p.now().UTC()
			}
			u.Right = cmp.Or(c.Right, u.Right, troupe.RightNone)
			if u.Projects, err = with(u.Projects, c.Projects); err != nil {
				return out, err
			}
			users[c.Name] = u
		}
		if had && !hasAdmin(users) {
			return out, &troupe.UserError{Problem: fmt.Sprintf("%q is the only admin, and stays that", c.Name),
				Hint: "Make another user an admin first.", Code: troupe.ExitUsage, Err: troupe.ErrBlocked}
		}
		err = p.write(ctx, &r, users)
		if errors.Is(err, troupe.ErrChanged) {
			continue // another change was faster, and may have made this one wrong
		}
		if err != nil {
			return out, err
		}
		u = users[c.Name]
		if out.User = (wire.User{Name: c.Name}); !c.Remove {
			out.User = u.told(c.Name)
		}
		switch {
		case c.Remove:
			return out, p.forget(ctx, c.Name)
		case c.Invite:
			out.Code, out.Until, err = p.invite(ctx, c.Name)
		}
		return out, err
	}
}

// told is a user as others see it.
func (u user) told(name string) wire.User {
	return wire.User{Name: name, Right: u.Right, CreatedAt: u.Created, Projects: u.Projects,
		ETag: wire.ETag(name, string(u.Right), u.Created.String(), fmt.Sprint(u.Projects))}
}

// checkMatch refuses a change of what is another user by now than its precondition says.
func checkMatch(c wire.UserChange, u user, known bool) error {
	now := ""
	if known {
		now = u.told(c.Name).ETag
	}
	return c.Check(fmt.Sprintf("the user %q", c.Name), now, "troupe users")
}

func check(c wire.UserChange) error {
	switch {
	case c.Name == "" || len(c.Name) > 64 || strings.TrimSpace(c.Name) != c.Name || troupe.Clean(c.Name) != c.Name ||
		strings.ContainsAny(c.Name, "\n\t"):
		return wrong(fmt.Sprintf("%q is no name of a user: it is one line of at most 64 characters", c.Name))
	case c.Right != "" && c.Right != troupe.RightNone && !slices.Contains(troupe.UserRights(), c.Right):
		return wrong(fmt.Sprintf("there is no right %q; there are viewer, operator and admin, and none", c.Right))
	case c.Remove && (c.Invite || c.Right != "" || len(c.Projects) > 0):
		return wrong("a user cannot be changed and removed in one")
	}
	return checkProjects(c.Projects)
}

func wrong(problem string) error {
	return &troupe.UserError{Problem: problem, Hint: "See `troupe users --help`.", Code: troupe.ExitUsage}
}

func hasAdmin(users map[string]user) bool {
	for _, u := range users {
		if u.Right == troupe.RightAdmin {
			return true
		}
	}
	return false
}

// invite makes a login code.
func (p *People) invite(ctx context.Context, name string) (string, time.Time, error) {
	text := strings.ToLower(rand.Text()[:24])
	until := p.now().UTC().Add(CodeHolds)
	err := p.write(ctx, &store.Record{Kind: kindCode, Key: hash(text)}, code{User: name, Expires: until})
	return text[:8] + "-" + text[8:16] + "-" + text[16:], until, err
}

// plain is a code as it was made: people type it with and without what is there to be read better.
func plain(code string) string {
	return strings.ToLower(strings.NewReplacer("-", "", " ", "", "\n", "").Replace(code))
}

// forget removes what a user who was removed has: all of it holds no more already.
func (p *People) forget(ctx context.Context, name string) error {
	return p.each(ctx, func(r store.Record, of string, _ time.Time) bool { return of == name })
}

// sweep removes what is too old.
func (p *People) sweep(ctx context.Context) error {
	return p.each(ctx, func(_ store.Record, _ string, expires time.Time) bool { return !p.now().Before(expires) })
}

// each removes the tokens and codes for which gone is true.
func (p *People) each(ctx context.Context, gone func(r store.Record, user string, expires time.Time) bool) error {
	for _, kind := range []string{kindToken, kindCode} {
		records, err := p.records.Records(ctx, kind, "", 0)
		if err != nil {
			return fmt.Errorf("list what users have: %w", err)
		}
		for _, r := range records {
			var v code // a token has its fields too
			if err := json.Unmarshal(r.Value, &v); err != nil {
				return fmt.Errorf("read %s %s: %w", kind, r.Key, err)
			}
			if !gone(r, v.User, v.Expires) {
				continue
			}
			err := p.records.DeleteRecord(ctx, kind, r.Key, r.Version)
			if err != nil && !errors.Is(err, troupe.ErrNotFound) && !errors.Is(err, troupe.ErrChanged) {
				return fmt.Errorf("remove %s %s: %w", kind, r.Key, err)
			}
		}
	}
	return nil
}

// Tokens lists the tokens that hold.
func (p *People) Tokens(ctx context.Context) ([]wire.Token, error) {
	records, err := p.records.Records(ctx, kindToken, "", 0)
	if err != nil {
		return nil, fmt.Errorf("list the tokens: %w", err)
	}
	out := make([]wire.Token, 0, len(records))
	for _, r := range records {
		var t token
		if err := json.Unmarshal(r.Value, &t); err != nil {
			return nil, fmt.Errorf("read token %s: %w", r.Key, err)
		}
		if p.now().Before(t.Expires) {
			used := t.Used.Truncate(usedEvery)
			if used.Before(t.Created) {
				used = t.Created
			}
			out = append(out, wire.Token{ID: r.Key, User: t.User, Label: t.Label, CreatedAt: t.Created,
				ExpiresAt: t.Expires, UsedAt: used})
		}
	}
	return out, nil
}

// Revoke has a token hold no more.
func (p *People) Revoke(ctx context.Context, id string) error {
	for {
		r, err := p.records.Record(ctx, kindToken, id)
		if err == nil {
			err = p.records.DeleteRecord(ctx, kindToken, id, r.Version)
		}
		switch {
		case errors.Is(err, troupe.ErrChanged):
			continue // it was used meanwhile
		case errors.Is(err, troupe.ErrNotFound):
			return &troupe.UserError{Problem: fmt.Sprintf("there is no token %q", id),
				Hint: "`troupe users tokens` lists them.", Code: troupe.ExitUsage, Err: err}
		case err != nil:
			return fmt.Errorf("revoke token %s: %w", id, err)
		}
		return nil
	}
}

// users are all users, and the record that holds them.
func (p *People) users(ctx context.Context) (map[string]user, store.Record, error) {
	r, users, err := read[map[string]user](ctx, p, kindServer, keyUsers)
	if errors.Is(err, troupe.ErrNotFound) {
		return map[string]user{}, store.Record{Kind: kindServer, Key: keyUsers}, nil
	}
	return users, r, err
}

func read[T any](ctx context.Context, p *People, kind, key string) (r store.Record, v T, err error) {
	r, err = p.records.Record(ctx, kind, key)
	if err == nil {
		err = json.Unmarshal(r.Value, &v)
	}
	if err != nil {
		err = fmt.Errorf("read %s: %w", kind, err) // the key may be the hash of a secret
	}
	return r, v, err
}

func (p *People) write(ctx context.Context, r *store.Record, v any) (err error) {
	if r.Value, err = json.Marshal(v); err == nil {
		r.Version, err = p.records.PutRecord(ctx, *r)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", r.Kind, err)
	}
	return nil
}

// hash is what is kept of a secret. Secrets have 120 random bits and more, so that none is found by trying, however
// fast that is done.
func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
