package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// pageSize is how many events are asked for at once.
const pageSize = 500

// Events is app.App's.
func (c *Client) Events(ctx context.Context, id troupe.SessionID, after int64, limit int) ([]troupe.Event, error) {
	var out []troupe.Event
	for {
		n := pageSize
		if limit > 0 {
			n = min(n, limit-len(out))
		}
		page, err := c.events(ctx, id, url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(n)}})
		if err != nil {
			return nil, err
		}
		out = append(out, page...)
		if len(page) < n || len(out) == limit {
			return out, nil
		}
		after = page[len(page)-1].Seq
	}
}

func (c *Client) events(ctx context.Context, id troupe.SessionID, query url.Values) ([]troupe.Event, error) {
	var page []wire.Event
	header, err := c.get(ctx, session(id, "/events"), query, &page)
	if err != nil {
		return nil, err
	}
	out := make([]troupe.Event, len(page))
	for i, e := range page {
		if out[i], err = event(e, header); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// event reverses wire.NewEvent.
func event(e wire.Event, header http.Header) (troupe.Event, error) {
	b, err := troupe.DecodeBody(e.Type, e.Data)
	if err != nil {
		return troupe.Event{}, fmt.Errorf("session %s, event %d: %w", e.Session, e.Seq, err)
	}
	return troupe.Event{Root: troupe.SessionID(header.Get("Troupe-Root")), Session: e.Session, Seq: e.Seq, At: e.At, Body: b}, nil
}

// Follower reads the events of a tree as they are committed over there, each session's in
// order and none twice. It belongs to one goroutine and starts none.
type Follower struct {
	client  *Client
	at      troupe.SessionID
	whole   bool
	cursors map[troupe.SessionID]int64

	stream *http.Response // nil: not connected
	hangUp context.CancelFunc
	lines  *bufio.Reader
}

// Follow is app.App's, behind the events that after names; nil is from the first. Nothing is
// asked for until Next or All is called.
func (c *Client) Follow(root, only troupe.SessionID, after map[troupe.SessionID]int64) *Follower {
	f := &Follower{client: c, at: only, cursors: maps.Clone(after)}
	if only == "" {
		f.at, f.whole = root, true
	}
	if f.cursors == nil {
		f.cursors = make(map[troupe.SessionID]int64)
	}
	return f
}

// Close ends the following.
func (f *Follower) Close() {
	if f.stream != nil {
		f.hangUp()
		_ = f.stream.Body.Close()
		f.stream, f.lines = nil, nil
	}
}

func (f *Follower) query() url.Values {
	if !f.whole {
		return url.Values{"after": {strconv.FormatInt(f.cursors[f.at], 10)}}
	}
	q := url.Values{"tree": {"true"}}
	for id, seq := range f.cursors {
		q.Add("cursor", fmt.Sprintf("%s:%d", id, seq))
	}
	if all := q["cursor"]; len(all) > 0 {
		q["cursor"] = []string{strings.Join(all, ",")}
	}
	return q
}

// All is app.Follower's: every event that was committed since the last call.
func (f *Follower) All(ctx context.Context) ([]troupe.Event, error) {
	var all []troupe.Event
	var err error
	if f.whole {
		all, err = f.client.events(ctx, f.at, f.query())
	} else {
		all, err = f.client.Events(ctx, f.at, f.cursors[f.at], 0)
	}
	if err != nil {
		return nil, err
	}
	return f.fresh(all), nil
}

func (f *Follower) fresh(events []troupe.Event) []troupe.Event {
	out := events[:0]
	for _, e := range events {
		if e.Seq > f.cursors[e.Session] {
			f.cursors[e.Session] = e.Seq
			out = append(out, e)
		}
	}
	return out
}

// Next is app.Follower's: it waits until something was committed. The result may be empty
// when ctx is done. When the stream breaks it asks for another one behind what it has; an
// error means that there was none to be had, and a later call tries again.
func (f *Follower) Next(ctx context.Context) ([]troupe.Event, error) {
	const tries = 3 // of streams that end before they have brought anything
	for cuts := 0; ctx.Err() == nil; {
		events, err := f.next(ctx)
		switch {
		case len(events) > 0:
			return events, nil // what is wrong behind them turns up again
		case ctx.Err() != nil:
		case errors.Is(err, errCut) && cuts < tries:
			cuts++
		case err != nil:
			return nil, err
		}
	}
	return nil, nil
}

// errCut means that a stream ended that had begun well.
var errCut = errors.New("the stream was cut off")

// next reads what the stream has, waiting for the first message only.
func (f *Follower) next(ctx context.Context) ([]troupe.Event, error) {
	if f.stream == nil {
		if err := f.connect(ctx); err != nil {
			return nil, err
		}
	}
	// A read that waits is ended by ending the request.
	defer context.AfterFunc(ctx, f.hangUp)()
	var out []troupe.Event
	for {
		m, err := readMessage(f.lines)
		if err != nil {
			f.Close()
			if len(out) > 0 {
				return out, nil
			}
			return nil, errCut
		}
		switch {
		case m.data == nil: // a sign of life
		case m.name == "":
			var w wire.Event
			if err := json.Unmarshal(m.data, &w); err != nil {
				return out, fmt.Errorf("read an event: %w", err)
			}
			e, err := event(w, f.stream.Header)
			if err != nil {
				return out, err
			}
			out = append(out, f.fresh([]troupe.Event{e})...)
		case m.name == "problem":
			var t trouble
			if err := json.Unmarshal(m.data, &t); err != nil {
				return out, fmt.Errorf("read what went wrong: %w", err)
			}
			f.Close()
			return out, t.value()
		}
		// More only if it is whole already: events must not wait for the one behind them.
		if len(out) > 0 && !wholeMessage(f.lines) {
			return out, nil
		}
	}
}

func (f *Follower) connect(ctx context.Context) error {
	// The stream outlives the call that begins it, and ends with Close.
	life, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, hangUp)
	resp, err := f.client.do(life, http.MethodGet, session(f.at, "/events")+"?"+f.query().Encode(), nil, http.Header{"Accept": {"text/event-stream"}})
	if !stop() && err == nil {
		err = errors.Join(ctx.Err(), resp.Body.Close())
	}
	if err != nil {
		hangUp()
		return err
	}
	f.stream, f.hangUp, f.lines = resp, hangUp, bufio.NewReaderSize(resp.Body, 64<<10)
	return nil
}

// message is one message of an event stream.
type message struct {
	name string
	data []byte
}

// maxMessage is more than any event holds.
const maxMessage = 64 << 20

// readMessage reads up to the empty line that ends a message. Without data it says nothing.
func readMessage(r *bufio.Reader) (message, error) {
	var m message
	for {
		line, err := readLine(r, maxMessage-len(m.data))
		if err != nil {
			return message{}, err
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0:
			return m, nil
		case string(field) == "event":
			m.name = string(value)
		case string(field) == "data" && m.data == nil:
			m.data = bytes.Clone(value)
		case string(field) == "data":
			m.data = append(append(m.data, '\n'), value...)
		}
	}
}

// readLine reads a line of at most so many bytes, without its end.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(long)+len(part) > most {
			return nil, errors.New("a message of the stream is too large")
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, part...)
			continue
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if long != nil {
			part = append(long, part...)
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(part, []byte("\n")), []byte("\r")), nil
	}
}

// wholeMessage reports whether a whole message has arrived already.
func wholeMessage(r *bufio.Reader) bool {
	b, err := r.Peek(r.Buffered())
	return err == nil && bytes.Contains(b, []byte("\n\n"))
}
