package home

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/people"
	"github.com/troupe-dev/troupe/internal/client"
	"github.com/troupe-dev/troupe/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// envOf is the environment of a process with a home of its own.
func envOf(t *testing.T, more ...string) Env {
	t.Helper()
	// A socket's path has to be short.
	home, err := os.MkdirTemp("", "h")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	return Env{Now: time.Now, Log: slog.New(slog.DiscardHandler), Version: "v", Lookup: func(name string) (string,
		bool) {
		if name == "TROUPE_HOME" {
			return home, true
		}
		i := slices.Index(more, name)
		return name, i >= 0
	}}
}

// closed ends what hosts at the end of a test.
func closed(t *testing.T, what interface{ Close(context.Context) error }) {
	t.Helper()
	t.Cleanup(func() {
		if err := what.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// tokenOf logs a new user in.
func tokenOf(t testing.TB, p *people.People, name string, right troupe.Right) string {
	t.Helper()
	u, err := p.Change(t.Context(), wire.UserChange{Name: name, Right: right, Invite: true})
	if err != nil {
		t.Fatal(err)
	}
	in, err := p.SignIn(t.Context(), wire.SignIn{Code: u.Code})
	if err != nil {
		t.Fatal(err)
	}
	return in.Token
}

// meAt is who one is at an address.
func meAt(t *testing.T, c *client.Client) (wire.Me, error) {
	t.Helper()
	defer c.Close()
	return c.Server().People().Me(t.Context())
}

// TestWorkerAtAnAddress: a worker that listens is reached by the address that it says, and lets in the processes of its
// database alone, for whomever they speak; a user's token is for the server.
func TestWorkerAtAnAddress(t *testing.T) {
	if _, err := Work(t.Context(), envOf(t), ServeOptions{Listen: "0.0.0.0:0", Proxies: []string{"10.9.9.9"},
		Folders: []string{t.TempDir()}}); err == nil || !strings.Contains(err.Error(), "is not encrypted") {
		t.Errorf("one behind a proxy announces itself in the clear: %v", err)
	}
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writePair(t, cert, key, 1)
	for name, x := range map[string]struct {
		o     ServeOptions
		begin string // of where it is reached
	}{
		"in the clear": {ServeOptions{Listen: "127.0.0.1:0"}, "http://127.0.0.1:"},
		"encrypted":    {ServeOptions{Listen: "127.0.0.1:0", Cert: cert, Key: key}, "https://127.0.0.1:"},
		"elsewhere": {ServeOptions{Listen: "127.0.0.1:0", Advertise: "https://w7.example.com:7780"},
			"https://w7.example.com:7780"},
		"at a socket": {ServeOptions{}, "/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x.o.Folders = []string{dir}
			w, err := Work(t.Context(), envOf(t), x.o)
			if err != nil {
				t.Fatal(err)
			}
			closed(t, w)
			if !strings.HasPrefix(w.Reached, x.begin) || w.Shared {
				t.Errorf("it is reached at %s, want %s…; it shares a database: %t", w.Reached, x.begin, w.Shared)
			}
			token := tokenOf(t, w.hosting.people, "bob", troupe.RightAdmin)
			if name != "in the clear" && name != "at a socket" {
				return
			}
			bob := troupe.Caller{Name: "bob", Right: troupe.RightViewer, Surface: troupe.SurfaceServer}
			if me, err := meAt(t, w.hosting.dial(w.Reached, bob)); err != nil || me.Name != "bob" ||
				me.Right != troupe.RightViewer {
				t.Errorf("a process that speaks for bob is %+v, %v", me, err)
			}
			if name == "at a socket" {
				return
			}
			for _, token := range []string{token, "troupe_x_y", "troupepeer_x"} {
				_, err := meAt(t, client.At(w.Reached, token))
				if user, ok := errors.AsType[*troupe.UserError](err); !ok || user.Code != troupe.ExitPermission {
					t.Errorf("with the token %.12s…: %v", token, err)
				}
			}
			_, err = meAt(t, client.At(w.Reached, token))
			if err == nil || !strings.Contains(err.Error(), "this is a worker, and no server") {
				t.Errorf("a user at a worker: %v", err)
			}
			_, err = client.SignIn(t.Context(), w.Reached, wire.SignIn{Code: "x"})
			if err == nil || !strings.Contains(err.Error(), "this is a worker, and no server") {
				t.Errorf("a login at a worker: %v", err)
			}
		})
	}
}

// TestSecretIsNotSentInTheClear: a worker is not reached at an address of another machine without encryption, and what
// proves that a process is one of the database's is not sent to such a one.
func TestSecretIsNotSentInTheClear(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{"http://10.9.9.9:7780": true, "http://127.0.0.1:7780": false,
		"http://localhost:1": false, "https://10.9.9.9:7780": false, "http://127.0.0.1.evil.example:1": true,
		"http://%": true} {
		if inTheClear(address) != want {
			t.Errorf("%s is in the clear: %v", address, !want)
		}
	}
	w, err := Work(t.Context(), envOf(t), ServeOptions{Listen: "127.0.0.1:0", Folders: []string{t.TempDir()},
		Advertise: "http://10.9.9.9:7780"})
	if err == nil {
		closed(t, w)
	}
	if user, ok := errors.AsType[*troupe.UserError](err); !ok || user.Code != troupe.ExitUsage {
		t.Errorf("it works at such an address: %v", err)
	}
}

// TestAgentsDoNotHost: what an agent has started serves nothing, and works for no server, also if it has emptied the
// variable that says so.
func TestAgentsDoNotHost(t *testing.T) {
	t.Parallel()
	agentsDoNotHost(t, envOf(t, troupe.AgentVariable))
	env := envOf(t)
	lookup := env.Lookup
	env.Lookup = func(name string) (string, bool) {
		if name == troupe.AgentVariable {
			return "", true
		}
		return lookup(name)
	}
	agentsDoNotHost(t, env)
}

func agentsDoNotHost(t *testing.T, env Env) {
	t.Helper()
	o := ServeOptions{Listen: "127.0.0.1:0", Folders: []string{t.TempDir()}}
	s, err := Serve(t.Context(), env, o)
	if err == nil {
		closed(t, s)
	}
	w, werr := Work(t.Context(), env, o)
	if werr == nil {
		closed(t, w)
	}
	for _, err := range []error{err, werr} {
		if user, ok := errors.AsType[*troupe.UserError](err); !ok || user.Code != troupe.ExitPermission {
			t.Errorf("under an agent: %v", err)
		}
	}
	home, _ := env.Lookup("TROUPE_HOME")
	if made, err := os.ReadDir(home); err != nil || len(made) > 0 {
		t.Errorf("it has made %v, %v", made, err)
	}
}

// TestLogins: a login is kept, and commands go there if that is wanted; who logs out has a token no more, there and
// here, and goes nowhere any more.
func TestLogins(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s, err := Serve(t.Context(), envOf(t), ServeOptions{Listen: "127.0.0.1:0", Folders: []string{folder}})
	if err != nil {
		t.Fatal(err)
	}
	up := true
	defer func() {
		if up {
			_ = s.Close(t.Context()) // the test has failed already
		}
	}()
	env := envOf(t)
	chosen := func(want string) {
		t.Helper()
		if got, err := Server("", env.Lookup); got != want || err != nil {
			t.Errorf("commands go to %q, %v; want %q", got, err, want)
		}
	}
	signIn := func(choose bool) Login {
		t.Helper()
		u, err := s.hosting.people.Change(t.Context(), wire.UserChange{Name: "ann", Right: troupe.RightOperator,
			Invite: true})
		if err != nil {
			t.Fatal(err)
		}
		in, err := SignIn(t.Context(), env.Lookup, s.Address, u.Code, "here", choose)
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	first := signIn(false)
	chosen("")
	in := signIn(true)
	chosen(s.Address)
	c := client.At(s.Address, in.Token)
	defer c.Close()
	// Who may not trust a folder is asked about none: that is no failure.
	if list, err := (remote{c}).Untrusted(t.Context(), folder); len(list) > 0 || err != nil {
		t.Errorf("an operator is asked to trust %v, %v", list, err)
	}
	h, err := OpenServer(env, s.Address)
	if err != nil {
		t.Fatal(err)
	}
	for cwd, want := range map[string]string{folder: "", filepath.Join(folder, "sub"): "", t.TempDir(): s.Folders[0]} {
		if got := h.FolderThere(t.Context(), cwd); got != want {
			t.Errorf("for who stands in %s agents work in %q, want %q", cwd, got, want)
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if err := Answers(t.Context(), s.Address); err != nil {
		t.Errorf("it does not answer: %v", err)
	}
	if err := Answers(t.Context(), "http://127.0.0.1:9"); err == nil {
		t.Error("where there is no server one answers")
	}
	if known, err := SignOut(t.Context(), env.Lookup, "https://other.example"); known || err != nil {
		t.Errorf("logged out where nobody was logged in: %t, %v", known, err)
	}
	chosen(s.Address)
	if known, err := SignOut(t.Context(), env.Lookup, s.Address); !known || err != nil {
		t.Fatal(known, err)
	}
	chosen("")
	if _, err := OpenServer(env, s.Address); err == nil || !strings.Contains(err.Error(), "not logged in") {
		t.Errorf("after logging out: %v", err)
	}
	if _, err := s.hosting.people.Whose(t.Context(), in.Token); !errors.Is(err, people.ErrStranger) {
		t.Errorf("the token of before: %v", err)
	}
	if me, err := meAt(t, client.At(s.Address, first.Token)); err != nil || me.Name != "ann" {
		t.Errorf("with another token of theirs: %+v, %v", me, err)
	}
	// A server that is gone is told nothing; the login is forgotten all the same. Nobody takes its silence for a no.
	signIn(true)
	up = false
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone := client.At(s.Address, in.Token)
	defer gone.Close()
	if list, err := (remote{gone}).Untrusted(t.Context(), folder); err == nil {
		t.Errorf("of a server that is gone it is known that nothing is to be trusted: %v", list)
	}
	known, err := SignOut(t.Context(), env.Lookup, s.Address)
	if !known || err == nil || !strings.Contains(err.Error(), "is forgotten here, but the server could not be told") {
		t.Errorf("logged out at a server that is gone: %t, %v", known, err)
	}
	chosen("")
}

// TestProxies: an address is that one alone.
func TestProxies(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"10.0.0.5": "10.0.0.5/32", "::1": "::1/128",
		"::ffff:10.0.0.5": "10.0.0.5/32", "10.0.0.0/24": "10.0.0.0/24", "proxy.example": "", "10.0.0.0/99": ""} {
		got, err := proxies([]string{text})
		if (err == nil) != (want != "") || err == nil && (len(got) != 1 || got[0].String() != want) {
			t.Errorf("%s is %v, %v; want %q", text, got, err, want)
		}
	}
}

// TestServedFolders: folders are known by their real names, each once.
func TestServedFolders(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, link := filepath.Join(base, "real"), filepath.Join(base, "link")
	if err := errors.Join(os.Mkdir(real, 0o755), os.Symlink(real, link)); err != nil {
		t.Fatal(err)
	}
	got, err := servedFolders([]string{link, real, link + "/.", base})
	if err != nil || !slices.Equal(got, []string{real, base}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := servedFolders([]string{"."}); err != nil || !filepath.IsAbs(got[0]) {
		t.Errorf("this one is %v, %v", got, err)
	}
	if _, err := servedFolders([]string{filepath.Join(base, "none")}); !errors.As(err, new(*troupe.UserError)) {
		t.Errorf("one that is not there: %v", err)
	}
}
