// Package client calls the use cases of another process over its socket. Its methods are
// those of app.App, with the same answers and the same errors: whoever calls them need not
// know in which process a session lives.
//
// A Client may be used by several goroutines. It starts none that outlive a call, except for
// connections kept for the next one, which Close ends. A call ends with its context; what it
// asked for may have happened by then.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// ErrUnreachable means that nobody could be called: nothing was asked for and nothing done.
var ErrUnreachable = errors.New("nobody answers on the socket")

// Client is one process that serves the API.
type Client struct {
	socket string
	http   *http.Client
	idle   func()
}

// Dial makes a client for a socket. It connects with the first call.
func Dial(socket string) *Client {
	var d net.Dialer
	t := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			c, err := d.DialContext(ctx, "unix", socket)
			if err != nil && ctx.Err() == nil {
				err = fmt.Errorf("%w: %w", ErrUnreachable, err)
			}
			return c, err
		},
		DisableCompression:    true,
		ResponseHeaderTimeout: time.Minute,
		IdleConnTimeout:       time.Minute,
	}
	return &Client{socket: socket, http: &http.Client{Transport: t}, idle: t.CloseIdleConnections}
}

// Close lets go of the connections that no call is using.
func (c *Client) Close() { c.idle() }

// maxAnswer is more than any answer but a stream holds; it keeps a stranger on the socket
// from filling the memory.
const maxAnswer = 256 << 20

// get asks for a value.
func (c *Client) get(ctx context.Context, path string, query url.Values, into any) (http.Header, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.call(ctx, http.MethodGet, path, nil, into)
}

// post asks for something to be done. Neither in nor into need be given.
func (c *Client) post(ctx context.Context, path string, in, into any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("encode a request: %w", err)
		}
	}
	_, err := c.call(ctx, http.MethodPost, path, body, into)
	return err
}

func (c *Client) call(ctx context.Context, method, path string, body []byte, into any) (http.Header, error) {
	resp, err := c.do(ctx, method, path, body, nil)
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
		return nil, c.broken(method, err)
	}
	return resp.Header, nil
}

// do makes one request. The answer is a good one, and its body must be closed.
func (c *Client) do(ctx context.Context, method, path string, body []byte, header http.Header) (*http.Response, error) {
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://troupe"+path, r)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := c.http.Do(req)
	switch {
	case ctx.Err() != nil:
		if err == nil {
			_ = resp.Body.Close()
		}
		return nil, ctx.Err()
	case errors.Is(err, ErrUnreachable):
		return nil, &troupe.UserError{
			Problem: fmt.Sprintf("nobody answers on %s", c.socket),
			Hint:    "The process that ran the session may just have ended; try again.", Err: err,
		}
	case err != nil:
		return nil, c.broken(method, err)
	case resp.StatusCode >= http.StatusMultipleChoices:
		defer resp.Body.Close() //nolint:errcheck // all that mattered was read
		return nil, refused(resp)
	}
	return resp, nil
}

// broken is a call whose answer never came.
func (c *Client) broken(method string, err error) error {
	u := &troupe.UserError{Problem: fmt.Sprintf("the process behind %s went away before it had answered: %v", c.socket, err), Err: err}
	if method != http.MethodGet {
		u.Hint = "What was asked for may or may not have been done; look before you try again."
	}
	return u
}

func session(id troupe.SessionID, rest string) string {
	return "/v1/sessions/" + segment(string(id)) + rest
}

// segment makes any text one segment of a path. Dots alone would mean the folder above.
func segment(s string) string {
	if s == "." || s == ".." {
		return strings.ReplaceAll(s, ".", "%2E")
	}
	return url.PathEscape(s)
}

// Find is app.App's.
func (c *Client) Find(ctx context.Context, ref, cwd string) (troupe.Session, error) {
	query := url.Values{}
	if cwd != "" {
		query.Set("cwd", cwd)
	}
	var s detail
	if _, err := c.get(ctx, session(troupe.SessionID(ref), ""), query, &s); err != nil {
		return troupe.Session{}, err
	}
	return s.value(), nil
}

// List is app.App's.
func (c *Client) List(ctx context.Context, cwd string, limit int) ([]wire.Session, error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if cwd != "" {
		query.Set("cwd", cwd)
	}
	return list[wire.Session](ctx, c, "/v1/sessions", query)
}

// Report is app.App's.
func (c *Client) Report(ctx context.Context, root troupe.SessionID) (wire.Run, error) {
	var out wire.Run
	_, err := c.get(ctx, session(root, "/report"), nil, &out)
	return out, err
}

// Cost is app.App's.
func (c *Client) Cost(ctx context.Context, id troupe.SessionID) (wire.Cost, error) {
	var out wire.Cost
	_, err := c.get(ctx, session(id, "/cost"), nil, &out)
	return out, err
}

// Tasks is app.App's.
func (c *Client) Tasks(ctx context.Context, id troupe.SessionID) ([]wire.Task, error) {
	if id == "" {
		return list[wire.Task](ctx, c, "/v1/tasks", nil)
	}
	return list[wire.Task](ctx, c, session(id, "/tasks"), nil)
}

// Requests is app.App's.
func (c *Client) Requests(ctx context.Context, root troupe.SessionID) ([]wire.Request, error) {
	query := url.Values{}
	if root != "" {
		query.Set("root", string(root))
	}
	return list[wire.Request](ctx, c, "/v1/requests", query)
}

func list[T any](ctx context.Context, c *Client, path string, query url.Values) ([]T, error) {
	var out []T
	_, err := c.get(ctx, path, query, &out)
	return out, err
}

// Send is app.App's.
func (c *Client) Send(ctx context.Context, id troupe.SessionID, m wire.Message) (wire.Sent, error) {
	var out wire.Sent
	err := c.post(ctx, session(id, "/messages"), m, &out)
	return out, err
}

// Stop is app.App's.
func (c *Client) Stop(ctx context.Context, id troupe.SessionID, s wire.Stop) error {
	return c.post(ctx, session(id, "/stop"), s, nil)
}

// Background is app.App's.
func (c *Client) Background(ctx context.Context, id troupe.SessionID) error {
	return c.post(ctx, session(id, "/background"), nil, nil)
}

// Compact is app.App's.
func (c *Client) Compact(ctx context.Context, id troupe.SessionID, hint string) error {
	return c.post(ctx, session(id, "/compact"), struct {
		Hint string `json:"hint,omitempty"`
	}{hint}, nil)
}

// Answer is app.App's. Who answers is what the server sees, whatever a says.
func (c *Client) Answer(ctx context.Context, request string, a wire.Answer) error {
	return c.post(ctx, "/v1/requests/"+segment(request)+"/answer", a, nil)
}
