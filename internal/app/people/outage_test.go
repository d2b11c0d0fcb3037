package people_test

import (
	"errors"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/people"
	"github.com/troupe-dev/troupe/internal/store/postgres"
	"github.com/troupe-dev/troupe/internal/store/postgres/pgtest"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestOutage: of a PostgreSQL that lets no one in nobody is told that their token, or their code, is none; and it is
// not ready.
func TestOutage(t *testing.T) {
	t.Parallel()
	server, err := pgtest.Start(t.Context())
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	s, err := postgres.Open(t.Context(), server.Address("public"), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // its database is gone
	_, _, c := fresh(t)
	p := people.New(s, c.now)
	code, _, err := p.First(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	in := signIn(t, p, code)
	if _, err := p.Whose(t.Context(), in.Token); err != nil {
		t.Fatal(err)
	}
	if err := p.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	// What is gone altogether is waited for; this is told at once, and as a troupe.UserError as well.
	said, err := server.Script(`DO $$ BEGIN EXECUTE format('ALTER ROLE %I NOLOGIN', current_user); END $$;
		SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE pid <> pg_backend_pid() AND usename = current_user`)
	if err != nil {
		t.Fatal(err, said)
	}
	_, whose := p.Whose(t.Context(), in.Token)
	_, signIn := p.SignIn(t.Context(), wire.SignIn{Code: code})
	for what, err := range map[string]error{"a token": whose, "a code": signIn, "ready": p.Ready(t.Context())} {
		user, ok := errors.AsType[*troupe.UserError](err)
		if !ok || errors.Is(err, people.ErrStranger) || user.Code == troupe.ExitPermission {
			t.Errorf("%s: %v", what, err)
		}
	}
}
