package home

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/client"
	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/wire"
)

// serverVariable names the server that commands go to; Here is the word for this machine.
const (
	serverVariable = "TROUPE_SERVER"
	Here           = "here"
)

// logins are the servers that the person of a home has logged in to. Its file is hidden from agents, as the logins at
// MCP servers are.
type logins struct {
	file string

	// Chosen is the address that commands go to unless they name another; "": this machine.
	Chosen  string           `json:"chosen,omitempty"`
	Servers map[string]Login `json:"servers"`
}

// Login is one of them.
type Login struct {
	Token   string       `json:"token"`
	Name    string       `json:"name"`
	Right   troupe.Right `json:"right"`
	Expires time.Time    `json:"expires"`
	// Projects are the user's at the login.
	Projects troupe.Projects `json:"-"`
}

// loginsOf reads those of the home that the environment names.
func loginsOf(lookup func(string) (string, bool)) (*logins, error) {
	folder := app.LoginsFolder(lookup)
	l := &logins{file: filepath.Join(folder, "servers", "servers.json"), Servers: map[string]Login{}}
	if folder == "" {
		return l, nil
	}
	data, err := disk.Read(l.file, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(data, l)
	}
	if err != nil {
		return nil, &troupe.UserError{Problem: fmt.Sprintf("%s cannot be read: %v", l.file, err),
			Hint: "Remove it and log in again: troupe login ADDRESS.", Err: err}
	}
	return l, nil
}

// save writes the file, for this user alone.
func (l *logins) save() error {
	data, err := json.MarshalIndent(l, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(l.file), 0o700)
	}
	if err == nil {
		err = disk.Replace(l.file, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the login: %w", err)
	}
	return nil
}

// Address is an address of a server as it is kept: a scheme, a host and perhaps a port. Without a scheme it is https,
// but on this machine.
func Address(text string) (string, error) {
	full := strings.TrimSuffix(strings.TrimSpace(text), "/")
	if !strings.Contains(full, "://") {
		full = "https://" + full
		if u, err := url.Parse(full); err == nil && isHere(u.Hostname()) {
			full = "http" + strings.TrimPrefix(full, "https")
		}
	}
	u, err := url.Parse(full)
	wrong := func(problem string) error {
		return &troupe.UserError{Problem: fmt.Sprintf("%q is no address of a server: %s", text, problem),
			Hint: "Give one such as https://troupe.example.com or http://127.0.0.1:7777.", Code: troupe.ExitUsage}
	}
	switch {
	case err != nil:
		return "", wrong(err.Error())
	case u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", wrong("it has no scheme that is known")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "":
		return "", wrong("there is more than a host")
	case u.Scheme == "http" && !isHere(u.Hostname()):
		return "", wrong("without https the token could be read on its way")
	}
	return u.Scheme + "://" + strings.ToLower(u.Host), nil
}

func isHere(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// Server is the address that commands go to: what the flag says, or the environment, or what was chosen at a login; ""
// is this machine.
func Server(flag string, lookup func(string) (string, bool)) (string, error) {
	named := flag
	if set, ok := lookup(serverVariable); ok && named == "" {
		named = set
	}
	if named == "" {
		l, err := loginsOf(lookup)
		if err != nil {
			return "", err
		}
		named = l.Chosen
	}
	if named == "" || named == Here {
		return "", nil
	}
	return Address(named)
}

// OpenServer is a home whose sessions are at a server. Of this machine there are the settings alone.
func OpenServer(env Env, address string) (*Home, error) {
	l, err := loginsOf(env.Lookup)
	if err != nil {
		return nil, err
	}
	login, ok := l.Servers[address]
	if !ok {
		return nil, &troupe.UserError{Problem: "you are not logged in at " + address,
			Hint: "Log in: troupe login " + address + logged(l), Code: troupe.ExitUsage}
	}
	a, err := app.OpenSettings(env.app())
	if err != nil {
		return nil, err
	}
	h := &Home{app: a, server: address}
	h.tell.Store(&env.Tell)
	c := client.Tell(client.At(address, login.Token), func(text string) {
		if tell := *h.tell.Load(); tell != nil {
			tell(text)
		}
	})
	h.API, h.closing = remote{c}, c.Close
	return h, nil
}

// Hear is what is told from now on of the server that has the sessions. What nobody reads is dropped.
func (h *Home) Hear() <-chan string {
	heard := make(chan string, 8)
	tell := func(text string) {
		select {
		case heard <- text:
		default:
		}
	}
	h.tell.Store(&tell)
	return heard
}

// FolderThere is where a server has agents work for who stands in a folder here: its only one, if the folder is none of
// its own. "": there, or on this machine.
func (h *Home) FolderThere(ctx context.Context, cwd string) string {
	if h.server == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	me, err := h.API.Server().People().Me(ctx)
	if err != nil || len(me.Folders) != 1 || troupe.Within(cwd, me.Folders[0]) {
		return "" // what begins says what is wrong
	}
	return me.Folders[0]
}

// Answers reports whether there is a server at an address, and what is wrong if there is not.
func Answers(ctx context.Context, address string) error {
	c := client.At(address, "")
	defer c.Close()
	_, err := c.Server().People().Me(ctx)
	if problem, ok := errors.AsType[*troupe.UserError](err); ok && problem.Code == troupe.ExitPermission {
		return nil // without a token
	}
	return err
}

func logged(l *logins) string {
	if len(l.Servers) == 0 {
		return ""
	}
	return ". You are logged in at " + strings.Join(slices.Sorted(maps.Keys(l.Servers)), ", ")
}

// SignIn logs in at a server with a code, and keeps the token. Commands go there from then on, if that is wanted.
func SignIn(ctx context.Context, lookup func(string) (string, bool), address, code, label string, choose bool) (Login,
	error) {
	l, err := loginsOf(lookup)
	if err != nil {
		return Login{}, err
	}
	in, err := client.SignIn(ctx, address, wire.SignIn{Code: code, Label: label})
	if err != nil {
		return Login{}, err
	}
	login := Login{Token: in.Token, Name: in.Name, Right: in.Right, Expires: in.ExpiresAt, Projects: in.Projects}
	l.Servers[address] = login
	if choose {
		l.Chosen = address
	}
	return login, l.save()
}

// SignOut has the token of a login hold no more, and forgets it. Forgotten it is in any case.
func SignOut(ctx context.Context, lookup func(string) (string, bool), address string) (known bool, err error) {
	l, err := loginsOf(lookup)
	if err != nil {
		return false, err
	}
	login, known := l.Servers[address]
	if known {
		c := client.At(address, login.Token)
		defer c.Close()
		if err = c.Server().People().Revoke(ctx, wire.Revoke{}); err != nil {
			err = fmt.Errorf("the login at %s is forgotten here, but the server could not be told: %w", address, err)
		}
	}
	delete(l.Servers, address)
	if l.Chosen == address {
		l.Chosen = ""
	}
	return known, errors.Join(l.save(), err)
}

// remote is the api of a server, as a person elsewhere uses it.
type remote struct{ api.API }

// Begin begins a tree there. Which process has one there is the server's own business.
func (r remote) Begin(ctx context.Context, b wire.Begin) (wire.Begun, error) {
	if b.TakeOver {
		return wire.Begun{}, errTakeOver
	}
	return r.API.Begin(ctx, b)
}

// Untrusted lists nothing to a person who may not decide it.
func (r remote) Untrusted(ctx context.Context, cwd string) ([]wire.Untrusted, error) {
	out, err := r.API.Untrusted(ctx, cwd)
	if user, ok := errors.AsType[*troupe.UserError](err); ok && user.Code == troupe.ExitPermission {
		return nil, nil
	}
	return out, err
}

// Setup is the server's, but for the status line, which is of a person's own machine.
func (r remote) Setup() api.Setup { return remoteSetup{r.API.Setup()} }

type remoteSetup struct{ api.Setup }

// StatusLine says nothing.
func (remoteSetup) StatusLine(context.Context, wire.StatusQuery) (wire.StatusLine, error) {
	return wire.StatusLine{}, nil
}

var errTakeOver = &troupe.UserError{Problem: "a session of a server is not taken over from elsewhere",
	Hint: "Leave --take-over out: the server goes on with what a process of it has left.", Code: troupe.ExitUsage}

// hereOnly refuses what needs the sessions themselves.
func (h *Home) hereOnly(what string) error {
	if h.server == "" {
		return nil
	}
	return HereOnly(what, h.server)
}

// HereOnly is the refusal of what works on the machine that keeps the sessions alone.
func HereOnly(what, server string) error {
	return &troupe.UserError{Problem: fmt.Sprintf("%s works on the machine that keeps the sessions, and they are at %s",
		what, server),
		Hint: "Run the command there, or with --server " + Here + " for those of this machine.", Code: troupe.ExitUsage}
}
