package people_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/people"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/memstore"
	"github.com/troupe-dev/troupe/internal/wire"
)

// clock is a time that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func fresh(t *testing.T) (*people.People, *memstore.Store, *clock) {
	t.Helper()
	s := memstore.New(memstore.Options{}).Open()
	c := &clock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	return people.New(s, c.now), s, c
}

// signIn logs in with a code.
func signIn(t *testing.T, p *people.People, code string) wire.SignedIn {
	t.Helper()
	in, err := p.SignIn(t.Context(), wire.SignIn{Code: code, Label: "here"})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func first(t *testing.T, p *people.People) wire.SignedIn {
	t.Helper()
	code, _, err := p.First(t.Context())
	if err != nil || code == "" {
		t.Fatalf("the first login is %q, %v", code, err)
	}
	return signIn(t, p, code)
}

func isStranger(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, people.ErrStranger) {
		t.Errorf("%s: %v", what, err)
	}
}

// TestFirstLogin: a server invites its first admin, again and again until one can log in; each code is good once, and
// for ten minutes.
func TestFirstLogin(t *testing.T) {
	t.Parallel()
	p, _, c := fresh(t)
	late, until, err := p.First(t.Context())
	if err != nil || until.Sub(c.now()) != people.CodeHolds {
		t.Fatal(until, err)
	}
	c.pass(people.CodeHolds)
	_, err = p.SignIn(t.Context(), wire.SignIn{Code: late})
	isStranger(t, "a code that is too old", err)
	code, _, err := p.First(t.Context())
	if err != nil || code == late {
		t.Fatal(code, err)
	}
	in := signIn(t, p, " "+strings.ToUpper(code)+"\n") // as people type it
	_, err = p.SignIn(t.Context(), wire.SignIn{Code: code})
	isStranger(t, "a code that was used", err)
	if in.Name != people.FirstAdmin || in.Right != troupe.RightAdmin || in.ExpiresAt.Sub(c.now()) != people.TokenHolds {
		t.Errorf("the first login gives %+v", in)
	}
	if code, _, err := p.First(t.Context()); code != "" || err != nil {
		t.Errorf("with an admin who can log in the server invites with %q, %v", code, err)
	}
	c.pass(people.TokenHolds)
	_, err = p.Whose(t.Context(), in.Token)
	isStranger(t, "a token that is too old", err)
	// The admin has another name by now, and stays the only one.
	for _, c := range []wire.UserChange{{Name: "ann", Right: troupe.RightAdmin},
		{Name: people.FirstAdmin, Remove: true}} {
		if _, err := p.Change(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	code, _, err = p.First(t.Context())
	if code == "" || err != nil {
		t.Errorf("when no token of an admin holds the server invites with %q, %v", code, err)
	}
	if in := signIn(t, p, code); in.Name != "ann" || in.Right != troupe.RightAdmin {
		t.Errorf("the code is for %+v", in)
	}
	if all, err := p.Users(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("there are %+v, %v", all, err)
	}
}

// between is a store in which something happens right before the next write.
type between struct {
	*memstore.Store

	happens func()
}

func (b *between) happen() {
	if happens := b.happens; happens != nil {
		b.happens = nil
		happens()
	}
}

func (b *between) PutRecord(ctx context.Context, r store.Record) (int64, error) {
	b.happen()
	return b.Store.PutRecord(ctx, r)
}

func (b *between) DeleteRecord(ctx context.Context, kind, key string, version int64) error {
	b.happen()
	return b.Store.DeleteRecord(ctx, kind, key, version)
}

// TestMeanwhile: what another process does between a look and a write.
func TestMeanwhile(t *testing.T) {
	t.Parallel()
	other, s, c := fresh(t)
	b := &between{Store: s}
	p := people.New(b, c.now)
	meanwhile := func(does func() error) {
		b.happens = func() {
			if err := does(); err != nil {
				t.Error(err)
			}
		}
	}
	var theirs string
	meanwhile(func() (err error) { theirs, err = other.Peers(t.Context()); return err })
	if ours, err := p.Peers(t.Context()); err != nil || ours != theirs {
		t.Errorf("two processes at once have two secrets: %v", err)
	}
	in := first(t, other)
	use := func() error { _, err := other.Whose(t.Context(), in.Token); return err }
	c.pass(2 * time.Hour)
	meanwhile(use)
	if _, err := p.Whose(t.Context(), in.Token); err != nil {
		t.Errorf("a token that two use at once: %v", err)
	}
	c.pass(2 * time.Hour)
	meanwhile(use)
	who, err := other.Tokens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Revoke(t.Context(), who[0].ID); err != nil {
		t.Errorf("a token that is used while it is revoked: %v", err)
	}
	_, err = p.Whose(t.Context(), in.Token)
	isStranger(t, "a token that was used while it was revoked", err)
	code, _, err := other.First(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	meanwhile(func() error {
		all, err := s.Records(t.Context(), "login", "", 0)
		if err == nil {
			_, err = s.PutRecord(t.Context(), all[0])
		}
		return err
	})
	_, err = p.SignIn(t.Context(), wire.SignIn{Code: code})
	isStranger(t, "a code that was changed", err)
	// Who is removed in the middle of a login has no token, should the name come back either.
	u, err := other.Change(t.Context(), wire.UserChange{Name: "bob", Right: troupe.RightViewer, Invite: true})
	if err != nil {
		t.Fatal(err)
	}
	b.happens = func() { // the code is used up
		meanwhile(func() error {
			c.pass(time.Second)
			_, err := other.Change(t.Context(), wire.UserChange{Name: "bob", Remove: true})
			if err == nil {
				_, err = other.Change(t.Context(), wire.UserChange{Name: "bob", Right: troupe.RightAdmin})
			}
			return err
		})
	}
	_, err = p.SignIn(t.Context(), wire.SignIn{Code: u.Code})
	isStranger(t, "one who was removed meanwhile", err)
	if all, err := other.Tokens(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("who was removed meanwhile has %+v, %v", all, err)
	}
}

// TestSweeps: with each login goes what holds no more, and nothing else.
func TestSweeps(t *testing.T) {
	t.Parallel()
	p, s, c := fresh(t)
	in := first(t, p)
	count := func(codes, tokens int) {
		t.Helper()
		for kind, want := range map[string]int{"login": codes, "token": tokens} {
			if all, err := s.Records(t.Context(), kind, "", 0); err != nil || len(all) != want {
				t.Errorf("%d records of kind %s, %v; want %d", len(all), kind, err, want)
			}
		}
	}
	invite := func(name string) string {
		t.Helper()
		u, err := p.Change(t.Context(), wire.UserChange{Name: name, Right: troupe.RightViewer, Invite: true})
		if err != nil {
			t.Fatal(err)
		}
		return u.Code
	}
	invite("bob")
	c.pass(people.CodeHolds)
	invite("cleo")
	signIn(t, p, invite("ann"))
	count(1, 2) // bob's code was too old
	c.pass(people.TokenHolds)
	signIn(t, p, invite("ann"))
	count(0, 1)
	_, err := p.Whose(t.Context(), in.Token)
	isStranger(t, "a token that was swept away", err)
}

// TestErrorsHoldNoKey: under which key a code is kept is nobody's business.
func TestErrorsHoldNoKey(t *testing.T) {
	t.Parallel()
	p, s, _ := fresh(t)
	code, _, err := p.First(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Records(t.Context(), "login", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	all[0].Value = []byte("{")
	if _, err := s.PutRecord(t.Context(), all[0]); err != nil {
		t.Fatal(err)
	}
	_, err = p.SignIn(t.Context(), wire.SignIn{Code: code})
	if err == nil || errors.Is(err, people.ErrStranger) || strings.Contains(err.Error(), all[0].Key) ||
		strings.Contains(err.Error(), code) {
		t.Errorf("a record that cannot be read: %v", err)
	}
}

// TestCodeOnce: of many who log in with one code at once, one gets a token.
func TestCodeOnce(t *testing.T) {
	t.Parallel()
	p, _, _ := fresh(t)
	code, _, err := p.First(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	got := make(chan string, 20)
	for range cap(got) {
		wg.Go(func() {
			if in, err := p.SignIn(t.Context(), wire.SignIn{Code: code}); err == nil {
				got <- in.Token
			} else if !errors.Is(err, people.ErrStranger) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(got) != 1 {
		t.Errorf("%d tokens were given for one code", len(got))
	}
}

// TestWhose: a token is worth what its user may do now, and nothing when it was revoked or its user is gone. Nothing of
// it that is secret is kept.
func TestWhose(t *testing.T) {
	t.Parallel()
	p, s, _ := fresh(t)
	admin := first(t, p)
	u, err := p.Change(t.Context(), wire.UserChange{Name: "bob", Right: troupe.RightViewer, Invite: true})
	if err != nil {
		t.Fatal(err)
	}
	bob := signIn(t, p, u.Code)
	whose := func(token string) troupe.Caller {
		t.Helper()
		c, err := p.Whose(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := whose(bob.Token); c.Name != "bob" || c.Right != troupe.RightViewer || c.Surface != troupe.SurfaceServer ||
		c.Token == "" || strings.Contains(bob.Token, c.Token+"_") == false {
		t.Errorf("the caller is %+v", c)
	}
	if _, err := p.Change(t.Context(), wire.UserChange{Name: "bob", Right: troupe.RightOperator}); err != nil {
		t.Fatal(err)
	}
	if c := whose(bob.Token); c.Right != troupe.RightOperator {
		t.Errorf("with another right the caller is %+v", c)
	}
	_, rest, _ := strings.Cut(strings.TrimPrefix(bob.Token, "troupe_"), "_")
	for _, kind := range []string{"token", "login", "server"} {
		records, err := s.Records(t.Context(), kind, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if strings.Contains(string(r.Value)+r.Key, rest) || strings.Contains(r.Key, u.Code) {
				t.Errorf("a record of kind %s holds a secret", kind)
			}
		}
	}
	id := whose(bob.Token).Token
	for _, wrong := range []string{"", "troupe_", "troupe_" + id, "troupe_" + id + "_",
		"troupe_" + id + "_" + rest + "x",
		id + "_" + rest, "troupe_" + id + "_" + strings.ToLower(rest), "troupe__" + rest, "troupe_none_" + rest} {
		_, err := p.Whose(t.Context(), wrong)
		isStranger(t, wrong, err)
	}
	if err := p.Revoke(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	_, err = p.Whose(t.Context(), bob.Token)
	isStranger(t, "a token that was revoked", err)
	if err := p.Revoke(t.Context(), id); !errors.Is(err, troupe.ErrNotFound) {
		t.Errorf("a token that is none is revoked: %v", err)
	}
	u, err = p.Change(t.Context(), wire.UserChange{Name: "bob", Invite: true})
	if err != nil {
		t.Fatal(err)
	}
	bob = signIn(t, p, u.Code)
	invited, err := p.Change(t.Context(), wire.UserChange{Name: "bob", Invite: true})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := p.Change(t.Context(), wire.UserChange{Name: "bob", Invite: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Change(t.Context(), wire.UserChange{Name: "bob", Remove: true}); err != nil {
		t.Fatal(err)
	}
	_, err = p.Whose(t.Context(), bob.Token)
	isStranger(t, "a token of one who was removed", err)
	_, err = p.SignIn(t.Context(), wire.SignIn{Code: invited.Code})
	isStranger(t, "a code of one who was removed", err)
	// Who comes back under the name has nothing of what was before.
	if _, err := p.Change(t.Context(), wire.UserChange{Name: "bob", Right: troupe.RightAdmin}); err != nil {
		t.Fatal(err)
	}
	_, err = p.Whose(t.Context(), bob.Token)
	isStranger(t, "a token of before", err)
	_, err = p.SignIn(t.Context(), wire.SignIn{Code: kept.Code})
	isStranger(t, "a code of before", err)
	if c := whose(admin.Token); c.Right != troupe.RightAdmin {
		t.Errorf("the admin is %+v", c)
	}
}

// TestNoAdmin: where there is no admin, no one is the only one: users are invited, changed and removed all the same.
func TestNoAdmin(t *testing.T) {
	t.Parallel()
	p, _, _ := fresh(t)
	for _, c := range []wire.UserChange{{Name: "zz", Right: troupe.RightOperator}, {Name: "zz", Invite: true},
		{Name: "zz", Right: troupe.RightViewer}, {Name: "zz", Remove: true}} {
		if _, err := p.Change(t.Context(), c); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestLastAdmin: an admin stays, whatever two admins do at once.
func TestLastAdmin(t *testing.T) {
	t.Parallel()
	p, _, _ := fresh(t)
	first(t, p)
	for _, c := range []wire.UserChange{{Name: people.FirstAdmin, Remove: true},
		{Name: people.FirstAdmin, Right: troupe.RightOperator}} {
		if _, err := p.Change(t.Context(), c); !errors.Is(err, troupe.ErrBlocked) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for range 50 {
		for _, name := range []string{"ann", "bob"} {
			if _, err := p.Change(t.Context(), wire.UserChange{Name: name, Right: troupe.RightAdmin}); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		for _, name := range []string{"ann", "bob", people.FirstAdmin} {
			wg.Go(func() {
				_, err := p.Change(t.Context(), wire.UserChange{Name: name, Right: troupe.RightViewer})
				if err != nil && !errors.Is(err, troupe.ErrBlocked) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		all, err := p.Users(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		admins := 0
		for _, u := range all {
			if u.Right == troupe.RightAdmin {
				admins++
			}
		}
		if admins != 1 {
			t.Fatalf("%d admins are left: %+v", admins, all)
		}
	}
}

// TestChangeRefuses: what is no change of a user says why.
func TestChangeRefuses(t *testing.T) {
	t.Parallel()
	p, _, _ := fresh(t)
	for _, name := range []string{people.FirstAdmin, "bob"} {
		if _, err := p.Change(t.Context(), wire.UserChange{Name: name, Right: troupe.RightAdmin}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []wire.UserChange{{}, {Name: " ann"}, {Name: "a\nb"}, {Name: "a\x1b[2J"},
		{Name: strings.Repeat("a", 65)}, {Name: "ann", Right: "owner"}, {Name: "ann", Right: "root"},
		{Name: "ann", Remove: true}, {Name: "ann"}, {Name: "ann", Remove: true, Invite: true},
		{Name: "bob", Remove: true, Right: troupe.RightAdmin}, {Name: "bob", Remove: true, Invite: true}} {
		if _, err := p.Change(t.Context(), c); !errors.As(err, new(*troupe.UserError)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if all, err := p.Users(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("there are %+v, %v", all, err)
	}
}

// TestUsed: when a token was used last is known to the hour, and costs a write an hour.
func TestUsed(t *testing.T) {
	t.Parallel()
	p, s, c := fresh(t)
	in := first(t, p)
	version := func() int64 {
		r, err := s.Records(t.Context(), "token", "", 0)
		if err != nil || len(r) != 1 {
			t.Fatal(r, err)
		}
		return r[0].Version
	}
	if made, err := p.Tokens(t.Context()); err != nil || len(made) != 1 || made[0].UsedAt.Before(made[0].CreatedAt) {
		t.Errorf("it was used before it was made: %+v, %v", made, err)
	}
	before := version()
	for range 3 {
		if _, err := p.Whose(t.Context(), in.Token); err != nil {
			t.Fatal(err)
		}
		c.pass(time.Minute)
	}
	if version() != before {
		t.Error("a call has written")
	}
	c.pass(time.Hour)
	if _, err := p.Whose(t.Context(), in.Token); err != nil {
		t.Fatal(err)
	}
	tokens, err := p.Tokens(t.Context())
	if err != nil || len(tokens) != 1 || !tokens[0].UsedAt.Equal(c.now().Truncate(time.Hour)) ||
		tokens[0].Label != "here" || tokens[0].User != people.FirstAdmin {
		t.Errorf("the tokens are %+v, %v", tokens, err)
	}
}

// TestPeers: processes of one database share one secret, and nothing else that begins like it lets anybody in.
func TestPeers(t *testing.T) {
	t.Parallel()
	p, _, _ := fresh(t)
	for _, wrong := range []string{"troupepeer_", "troupepeer_x"} {
		_, err := p.Whose(t.Context(), wrong)
		isStranger(t, wrong, err)
	}
	secret, err := p.Peers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := p.Peers(t.Context()); again != secret || err != nil {
		t.Errorf("asked again, the secret is another one: %v", err)
	}
	for _, wrong := range []string{"troupepeer_", "troupepeer_x", secret + "x", secret[:len(secret)-1]} {
		_, err := p.Whose(t.Context(), wrong)
		isStranger(t, wrong, err)
	}
	if c, err := p.Whose(t.Context(), secret); err != nil || c.Right != troupe.RightSystem {
		t.Errorf("with the secret the caller is %+v, %v", c, err)
	}
}

// TestNewIsNew: who is to be added and is there already stays as they are.
func TestNewIsNew(t *testing.T) {
	t.Parallel()
	p, _, _ := fresh(t)
	first(t, p)
	add := wire.UserChange{Name: "dora", Right: troupe.RightAdmin, New: true}
	if _, err := p.Change(t.Context(), add); err != nil {
		t.Fatal(err)
	}
	add.Right = troupe.RightOperator
	if _, err := p.Change(t.Context(), add); !errors.Is(err, troupe.ErrExists) {
		t.Errorf("added again: %v", err)
	}
	all, err := p.Users(t.Context())
	if err != nil || len(all) != 2 || all[1].Name != "dora" || all[1].Right != troupe.RightAdmin {
		t.Errorf("there are %+v, %v", all, err)
	}
}
