// Package client is the api of another process, over its socket, or of a server, at its address: with the same answers
// and the same errors as there.
//
// A Client may be used by several goroutines. It starts none that outlive a call, except for
// connections kept for the next one, which Close ends. A call ends with its context; what it
// asked for may have happened by then.
package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Client is one process that serves the API.
type Client struct {
	name   string // of its socket or address, for people
	base   string // what stands before the path of a request
	token  string // of a server
	caller string // whom it speaks for, as JSON; "": whom it is
	// answered: it has, at least once. Before that one that cannot be reached is a mistake in its address.
	answered atomic.Bool
	absent   absence
	http     *http.Client
	slow     *http.Client // for verbs that take minutes
}

// onSocket is what stands before a path where the host says nothing.
const onSocket = "http://troupe"

// Dial makes a client for a socket. It connects with the first call.
func Dial(socket string) *Client {
	return dial(&Client{name: socket, base: onSocket}, func(d *net.Dialer, ctx context.Context, _, _ string) (net.Conn,
		error) {
		return d.DialContext(ctx, "unix", socket)
	})
}

// At makes a client for a server at an address, such as https://troupe.example.com, which is let in with a token. It
// connects with the first call, and follows no redirect: the token is for this server.
func At(address, token string) *Client {
	return dial(&Client{name: address, base: strings.TrimSuffix(address, "/"), token: token}, (*net.Dialer).DialContext)
}

func dial(c *Client, connect func(*net.Dialer, context.Context, string, string) (net.Conn, error)) *Client {
	d := &net.Dialer{Timeout: 10 * time.Second}
	within := func(patience time.Duration) *http.Client {
		t := &http.Transport{
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := connect(d, ctx, network, addr)
				if err != nil && ctx.Err() == nil {
					err = fmt.Errorf("%w: %w", api.ErrUnreachable, err)
				}
				return conn, err
			},
			DisableCompression: true, ResponseHeaderTimeout: patience, IdleConnTimeout: time.Minute,
			TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
		}
		if isServer(c) {
			t.Proxy = http.ProxyFromEnvironment
		}
		return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}
	}
	c.http, c.slow = within(time.Minute), within(4*time.Minute)
	return c
}

// SignIn has the server at an address give a token for a login code.
func SignIn(ctx context.Context, address string, in wire.SignIn) (wire.SignedIn, error) {
	c := At(address, "")
	defer c.Close()
	return postFor[wire.SignedIn](ctx, c, wire.SignInRoute, "", in)
}

// absence tells a person that a server does not answer, and that it does again, each once.
type absence struct {
	is   atomic.Bool
	told func(text string) // may be called by several goroutines; nil: nobody is told
}

// Tell has a person told when a server goes away, at once, and when it is back. It comes before the first call.
func Tell(c *Client, told func(text string)) *Client {
	c.absent.told = told
	return c
}

func (a *absence) begins(name string) {
	if a.told != nil && !a.is.Swap(true) {
		a.told(name + " does not answer. It is waited for, for a minute; what was begun there goes on when it is back.")
	}
}

func (a *absence) ends(name string) {
	if a.is.Swap(false) && a.told != nil {
		a.told(name + " answers again.")
	}
}

// For makes the client of a process of the same database, which it shares a secret with, speak for a caller.
func (c *Client) For(secret string, caller troupe.Caller) *Client {
	text, err := json.Marshal(caller)
	if err != nil {
		panic(err) // a caller is plain text
	}
	c.token, c.caller = secret, string(text)
	return c
}

// isServer: it has an address, and no socket.
func isServer(c *Client) bool { return c.base != onSocket }

// Close lets go of the connections that no call is using.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	c.slow.CloseIdleConnections()
}

// pingWithin is how long a process has to answer at all. One that works hard does so within milliseconds.
const pingWithin = 1500 * time.Millisecond

// Ping reports whether the process answers: any answer will do. It is api.ErrSilent if there is none in time.
func (c *Client) Ping(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, pingWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(within, http.MethodGet, c.base+"/", nil)
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	resp, err := c.http.Do(req)
	switch {
	case err == nil:
		_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
		return errors.Join(err, resp.Body.Close())
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", api.ErrSilent, err)
	}
	return err
}

// maxAnswer is more than any answer but a stream holds; it keeps a stranger on the socket
// from filling the memory.
const maxAnswer = 256 << 20

// call calls a verb about what ref names. Neither ref, query nor in need be given.
func call(ctx context.Context, c *Client, verb, ref string, query url.Values, in, into any) (http.Header, error) {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return nil, fmt.Errorf("encode a request: %w", err)
		}
	}
	method, path := route(verb, ref, query)
	hc := c.http
	if wire.RouteOf(verb).Slow {
		hc = c.slow
	}
	resp, err := do(ctx, c, hc, method, path, body, nil)
	if err != nil {
		return nil, err
	}
	// Reading to the end lets the connection be used again.
	defer resp.Body.Close() //nolint:errcheck // all that mattered was read
	r := io.LimitReader(resp.Body, maxAnswer)
	if into == nil {
		_, err = io.Copy(io.Discard, r)
	} else {
		err = json.NewDecoder(r).Decode(into)
	}
	if err != nil {
		return nil, connectionLost(c.name, method, err)
	}
	return resp.Header, nil
}

// get asks for a value, post has something done, and postFor has something done that has an answer.
func get[T any](ctx context.Context, c *Client, verb, ref string, query url.Values) (out T, err error) {
	_, err = call(ctx, c, verb, ref, query, nil, &out)
	return out, err
}

func post(ctx context.Context, c *Client, verb, ref string, in any) error {
	_, err := call(ctx, c, verb, ref, nil, in, nil)
	return err
}

func postFor[T any](ctx context.Context, c *Client, verb, ref string, in any) (out T, err error) {
	_, err = call(ctx, c, verb, ref, nil, in, &out)
	return out, err
}

// once has something done that counts once however often it is asked for: words with a key. A server that went away
// before it had answered is asked again once it is back.
func once[T any](ctx context.Context, c *Client, verb, ref string, in any, key *string) (T, error) {
	if *key == "" {
		*key = rand.Text()
	}
	for began := time.Now(); ; {
		out, err := postFor[T](ctx, c, verb, ref, in)
		if !again(c, err, began) {
			return out, err
		}
		c.absent.begins(c.name)
		select {
		case <-time.After(looksAgain):
		case <-ctx.Done():
			return out, ctx.Err()
		}
	}
}

// again reports whether what counts once is asked again.
func again(c *Client, err error, began time.Time) bool {
	return isServer(c) && c.answered.Load() && isAway(err) && time.Since(began) <= backWithin
}

// route is the method and the path of a verb.
func route(verb, ref string, query url.Values) (method, path string) {
	r := wire.RouteOf(verb)
	path = r.Path
	if begin, rest, ok := strings.Cut(path, "{"); ok {
		_, end, _ := strings.Cut(rest, "}")
		path = begin + segment(ref) + end
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return r.Method, path
}

// queryOf is a query of the values that are not empty.
func queryOf(pairs ...string) url.Values {
	out := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out.Set(pairs[i], pairs[i+1])
		}
	}
	return out
}

// A server that is started anew is waited for so long, and looked for so often.
const (
	backWithin = time.Minute
	looksAgain = 500 * time.Millisecond
)

// do makes one request. The answer is a good one, and its body must be closed. Where a server goes away that has
// answered before, what only looks is asked again once it is back.
func do(ctx context.Context, c *Client, hc *http.Client, method, path string, body []byte,
	header http.Header) (*http.Response, error) {
	looks := method == http.MethodGet || strings.HasSuffix(path, "/wait")
	for began := time.Now(); ; {
		resp, err := try(ctx, c, hc, method, path, body, header)
		if err == nil {
			c.answered.Store(true)
			c.absent.ends(c.name)
		}
		if !looks || !again(c, err, began) {
			return resp, err
		}
		c.absent.begins(c.name)
		select {
		case <-time.After(looksAgain):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func isAway(err error) bool { return errors.Is(err, api.ErrUnreachable) || errors.Is(err, api.ErrLost) }

// try makes a request once.
func try(ctx context.Context, c *Client, hc *http.Client, method, path string, body []byte,
	header http.Header) (*http.Response, error) {
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, r)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.caller != "" {
		req.Header.Set(wire.CallerHeader, c.caller)
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := hc.Do(req)
	switch {
	case ctx.Err() != nil:
		if err == nil {
			_ = resp.Body.Close()
		}
		return nil, ctx.Err()
	case errors.Is(err, api.ErrUnreachable):
		hint := "The process that ran the session may just have ended; try again."
		if isServer(c) {
			hint = "Is the address right, and does the server run? It is started with `troupe serve`."
		}
		return nil, &troupe.UserError{Problem: fmt.Sprintf("no process answers on %s", c.name), Hint: hint,
			Err: err}
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return nil, &troupe.UserError{Problem: fmt.Sprintf("%s does not prove that it is the server: %v", c.name,
			errors.Unwrap(err)), Hint: "If its certificate is your own, name the file of the one above it in " +
			"SSL_CERT_FILE.",
			Err: err}
	case err != nil:
		return nil, connectionLost(c.name, method, err)
	case resp.StatusCode >= http.StatusMultipleChoices:
		defer resp.Body.Close() //nolint:errcheck // all that mattered was read
		return nil, refused(resp)
	}
	return resp, nil
}

// refused turns an answer that is no success into an error.
func refused(resp *http.Response) error {
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return fmt.Errorf("read an answer of status %d: %w", resp.StatusCode, err)
	}
	var p wire.Problem
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err == nil && kind == p.ContentType("") && json.Unmarshal(text, &p) == nil && p.Detail != "" {
		return p.Err()
	}
	if u := resp.Request.URL; resp.StatusCode == http.StatusBadRequest && u.Scheme == "http" &&
		bytes.Contains(text, []byte("HTTPS")) { // as servers and proxies say it
		return &troupe.UserError{Problem: "the server at " + u.Host + " speaks TLS, and not plain HTTP",
			Hint: "Say https: https://" + u.Host, Code: troupe.ExitUsage}
	}
	return &troupe.UserError{
		Problem: strings.TrimSpace(fmt.Sprintf("the process that runs the session answered %s: %.200s", resp.Status,
			text)),
		Hint: "Is it another version of Troupe? `troupe version` tells yours.",
	}
}

// connectionLost is a call whose answer never came.
func connectionLost(socket, method string, err error) error {
	u := &troupe.UserError{Problem: fmt.Sprintf("the process behind %s went away before it had answered: %v", socket,
		err), Err: errors.Join(err, api.ErrLost)}
	if method != http.MethodGet {
		u.Hint = "What was asked for may or may not have been done; look before you try again."
	}
	return u
}

// segment makes any text one segment of a path. Dots alone would mean the folder above.
func segment(s string) string {
	if s == "." || s == ".." {
		return strings.ReplaceAll(s, ".", "%2E")
	}
	return url.PathEscape(s)
}
