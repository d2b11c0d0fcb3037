// Package login logs users in to MCP servers at an address (OAuth 2.1, through the official SDK), and keeps what came
// of it.
//
// A login belongs to one entry as it stands in one file, and to the address that it names with its variables put in:
// an entry that changes, or one like it elsewhere, has none. It is a file of the user's alone, in a folder that is
// hidden from agents; nothing of it is in an environment, a log or an error. Only a person begins a login. What its
// token is sent to is not this package's business: see mcp.
//
// Servers name the addresses of those that they have users log in with. These are strangers' words: such an address
// gets nothing of the entry's headers, is reached by the client that Options give, with TLS, and is on this machine
// only for a server that is.
//
// Processes renew a login one at a time, by a lock on a file beside it; the last one writes, the others read. A
// Pending has one goroutine, and one for the server that hears what the browser was told; End waits for both.
package login

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
)

// Options are what logins need of the program around them.
type Options struct {
	Dir string // where they are kept
	// Client reaches what servers name: public addresses, hosts nearby that are given, and, if loopback is true, this
	// machine. It follows no redirect.
	Client func(near []string, loopback bool) (*http.Client, error)
	Now    func() time.Time
	// Secret is told of each secret before it is used, so that it can be kept out of what is stored; nil: nobody is.
	Secret func(value string)
	// Tell hears what a person who waits should know; nil: nobody does.
	Tell func(text string)
}

// Store keeps the logins of a home.
type Store struct{ o Options }

// New makes a store. Its folder is made with the first login.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Secret == nil {
		o.Secret = func(string) {}
	}
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	return &Store{o}
}

// Login is the user's at one server. It is safe for concurrent use.
type Login struct {
	store  *Store
	entry  entry.Entry // with its variables put in
	source string
	file   string

	mu   sync.Mutex
	told string // the token that Secret was last told of
}

// Of is the login at the server of an entry that stands in a file. hash is that of the entry as it is written.
func (s *Store) Of(hash, source string, e entry.Entry) *Login {
	sum := sha256.Sum256([]byte(hash + "\x00" + source + "\x00" + e.URL))
	return &Login{store: s, entry: e, source: source,
		file: filepath.Join(s.o.Dir, hex.EncodeToString(sum[:16])+".json")}
}

// record is a login as it is kept.
type record struct {
	Server string    `json:"server"` // for people who look, as is the next
	At     time.Time `json:"at"`
	URL    string    `json:"url"`
	Source string    `json:"source"`

	TokenURL string           `json:"token_url"`
	ClientID string           `json:"client_id"`
	Secret   string           `json:"client_secret,omitempty"`
	Style    oauth2.AuthStyle `json:"auth_style,omitempty"`
	Access   string           `json:"access_token"`
	Refresh  string           `json:"refresh_token,omitempty"`
	Expires  time.Time        `json:"expires,omitzero"`
	// Over: it was not renewed, and will not be.
	Over bool `json:"over,omitempty"`
}

// early is how long before its end a token is renewed.
const early = 30 * time.Second

func (r *record) good(now time.Time) bool {
	return !r.Over && (r.Expires.IsZero() || now.Add(early).Before(r.Expires))
}

// read reads what is kept; nil if there is nothing that is this login.
func (l *Login) read() *record {
	data, err := disk.Read(l.file, disk.Most)
	var r record
	if err != nil || json.Unmarshal(data, &r) != nil || r.URL != l.entry.URL || r.Source != l.source || r.Access == "" {
		return nil
	}
	l.tell(&r)
	return &r
}

// tell has the secrets of a record kept out of what is stored.
func (l *Login) tell(r *record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.told == r.Access {
		return
	}
	l.told = r.Access
	for _, secret := range []string{r.Access, r.Refresh, r.Secret} {
		if secret != "" {
			l.store.o.Secret(secret)
		}
	}
}

// write keeps r. The file is there whole, or not at all.
func (l *Login) write(r *record) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("keep the login: %w", err)
	}
	if err := disk.Replace(l.file, data, 0o600); err != nil {
		return fmt.Errorf("keep the login: %w", err)
	}
	return nil
}

// State is how a login is.
type State string

// States of a login.
const (
	None State = ""        // the user is not logged in
	In   State = "in"      // it is kept; the server may refuse it all the same
	Over State = "expired" // it has ended and cannot be renewed
)

// State looks at what is kept.
func (l *Login) State() State {
	switch r := l.read(); {
	case r == nil:
		return None
	case r.Over || r.Refresh == "" && !r.good(l.store.o.Now()):
		return Over
	default:
		return In
	}
}

// Forget removes the login. there reports whether there was one.
func (l *Login) Forget(ctx context.Context) (there bool, err error) {
	if _, err := os.Stat(l.file); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	// Or a process that renews it would write it again.
	unlock, err := lock(ctx, filepath.Dir(l.file), "forgetting a login", l.store.o.Tell)
	if err != nil {
		return true, err
	}
	defer unlock()
	if err := os.Remove(l.file); err != nil {
		return true, fmt.Errorf("forget the login: %w", err)
	}
	return true, nil
}

// keep makes r the login.
func (l *Login) keep(ctx context.Context, r *record) error {
	l.tell(r)
	if err := os.MkdirAll(filepath.Dir(l.file), 0o700); err != nil {
		return fmt.Errorf("keep the login: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	unlock, err := lock(ctx, filepath.Dir(l.file), "keeping a login", l.store.o.Tell)
	if err != nil {
		return err
	}
	defer unlock()
	return l.write(r)
}

// Token implements mcp.Login. What is kept is read anew: the user may have logged in or out in another terminal.
func (l *Login) Token(ctx context.Context) (string, error) {
	r := l.read()
	switch {
	case r == nil || r.Over:
		return "", nil
	case r.good(l.store.o.Now()):
		return r.Access, nil
	default:
		return l.Renew(ctx, r.Access)
	}
}

// renewTime is how long renewing a login may take, and waiting for another process that does.
const renewTime = 20 * time.Second

// Renew implements mcp.Login.
func (l *Login) Renew(ctx context.Context, old string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	unlock, err := lock(ctx, filepath.Dir(l.file), "renewing a login", func(string) {}) // a call waits, and no person
	if err != nil {
		return "", err
	}
	defer unlock()
	r := l.read()
	switch {
	case r == nil || r.Over:
		return "", nil
	case r.Access != old && r.good(l.store.o.Now()):
		return r.Access, nil // another one has renewed it
	case r.Refresh == "":
		return "", nil
	}
	client, err := l.client()
	if err != nil {
		return "", err
	}
	cfg := oauth2.Config{ClientID: r.ClientID, ClientSecret: r.Secret,
		Endpoint: oauth2.Endpoint{TokenURL: r.TokenURL, AuthStyle: r.Style}}
	t, err := cfg.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, client),
		&oauth2.Token{RefreshToken: r.Refresh, Expiry: time.Unix(1, 0)}).Token()
	var said *oauth2.RetrieveError
	switch {
	case errors.As(err, &said) && said.Response != nil && said.Response.StatusCode/100 == 4 &&
		said.Response.StatusCode != http.StatusTooManyRequests:
		r.Over = true
		return "", l.write(r)
	case err != nil:
		return "", plain(err)
	case !strings.EqualFold(t.Type(), "Bearer"):
		return "", errKind
	}
	next := *r
	next.take(t, l.store.o.Now())
	l.tell(&next)
	return next.Access, l.write(&next)
}

// take puts in what an authorization server gave.
func (r *record) take(t *oauth2.Token, now time.Time) {
	r.Access, r.Expires = t.AccessToken, t.Expiry
	if s := t.ExpiresIn; s > 0 { // by our own clock
		const most = 10 * 365 * 24 * 60 * 60
		r.Expires = now.Add(time.Duration(min(s, most)) * time.Second)
	}
	if t.RefreshToken != "" {
		r.Refresh = t.RefreshToken
	}
}
