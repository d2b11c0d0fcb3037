package client

import (
	"bufio"
	"bytes"
	"cmp"
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
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// pageSize is how many events are asked for at once.
const pageSize = 500

// Events implements api.Sessions.
func (c *Client) Events(ctx context.Context, id troupe.SessionID, after int64, limit int) ([]troupe.Event, error) {
	var out []troupe.Event
	for {
		n := pageSize
		if limit > 0 {
			n = min(n, limit-len(out))
		}
		page, err := eventsOf(ctx, c, id, url.Values{"after": {strconv.FormatInt(after, 10)},
			"limit": {strconv.Itoa(n)}})
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

func eventsOf(ctx context.Context, c *Client, id troupe.SessionID, query url.Values) ([]troupe.Event, error) {
	var page []wire.Event
	header, err := call(ctx, c, "events", string(id), query, nil, &page)
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
	return troupe.Event{Root: troupe.SessionID(header.Get("Troupe-Root")), Session: e.Session, Seq: e.Seq, At: e.At,
		Body: b}, nil
}

// stream is a stream of another process. It starts no goroutine.
type stream struct {
	client  *Client
	follow  wire.Follow
	cursors map[troupe.SessionID]int64

	resp   *http.Response // nil: not connected
	hangUp context.CancelFunc
	lines  *bufio.Reader
}

// Follow implements api.Following. Nothing is asked for until the stream is read.
func (c *Client) Follow(_ context.Context, f wire.Follow) (api.Stream, error) {
	s := &stream{client: c, follow: f, cursors: maps.Clone(f.From)}
	if s.cursors == nil {
		s.cursors = make(map[troupe.SessionID]int64)
	}
	return s, nil
}

// Close implements api.Stream, as do Rest and Next.
func (s *stream) Close() {
	if s.resp != nil {
		s.hangUp()
		_ = s.resp.Body.Close()
		s.resp, s.lines = nil, nil
	}
}

func (s *stream) query() url.Values {
	if s.follow.Only != "" {
		return url.Values{"after": {strconv.FormatInt(s.cursors[s.follow.Only], 10)}}
	}
	q := url.Values{"tree": {"true"}}
	var all []string
	for id, seq := range s.cursors {
		all = append(all, fmt.Sprintf("%s:%d", id, seq))
	}
	if len(all) > 0 {
		q.Set("cursor", strings.Join(all, ","))
	}
	return q
}

func (s *stream) Rest(ctx context.Context) ([]troupe.Event, error) {
	var all []troupe.Event
	var err error
	if only := s.follow.Only; only == "" {
		all, err = eventsOf(ctx, s.client, s.follow.Root, s.query())
	} else {
		all, err = s.client.Events(ctx, only, s.cursors[only], 0)
	}
	if err != nil {
		return nil, err
	}
	return s.unseenEvents(all), nil
}

func (s *stream) unseenEvents(events []troupe.Event) []troupe.Event {
	out := events[:0]
	for _, e := range events {
		if e.Seq > s.cursors[e.Session] {
			s.cursors[e.Session] = e.Seq
			out = append(out, e)
		}
	}
	return out
}

// Next asks for another stream behind what it has when one breaks; an error means that there was
// none to be had, and a later call tries again.
func (s *stream) Next(ctx context.Context) (wire.Batch, error) {
	const tries = 3 // of streams that end before they have brought anything
	for cuts := 0; ctx.Err() == nil; {
		b, err := s.next(ctx)
		switch {
		case len(b.Events)+len(b.Deltas) > 0:
			return b, nil // what is wrong behind them turns up again
		case ctx.Err() != nil:
		case errors.Is(err, errCut) && cuts < tries:
			cuts++
		case err != nil:
			return b, err
		}
	}
	return wire.Batch{}, nil
}

// errCut means that a stream ended that had begun well.
var errCut = errors.New("the stream was cut off")

// next reads what the stream has, waiting for the first message only.
func (s *stream) next(ctx context.Context) (out wire.Batch, err error) {
	if s.resp == nil {
		if err := s.connect(ctx); err != nil {
			return out, err
		}
	}
	// A read that waits is ended by ending the request.
	defer context.AfterFunc(ctx, s.hangUp)()
	for {
		m, err := readMessage(s.lines)
		if err != nil {
			s.Close()
			if len(out.Events)+len(out.Deltas) > 0 {
				return out, nil
			}
			return out, errCut
		}
		if err := s.take(m, &out); err != nil {
			return out, err
		}
		// More only if it is whole already: events must not wait for the one behind them. No piece
		// goes into a batch behind an event.
		if len(out.Events) > 0 && !wholeMessage(s.lines, "id:") || len(out.Deltas) > 0 && !wholeMessage(s.lines, "") {
			return out, nil
		}
	}
}

// take puts a message into a batch.
func (s *stream) take(m message, out *wire.Batch) error {
	switch {
	case m.data == nil: // a sign of life
	case m.name == "":
		var w wire.Event
		if err := json.Unmarshal(m.data, &w); err != nil {
			return fmt.Errorf("read an event: %w", err)
		}
		e, err := event(w, s.resp.Header)
		if err != nil {
			return err
		}
		out.Events = append(out.Events, s.unseenEvents([]troupe.Event{e})...)
	case m.name == "delta":
		var d wire.Delta
		if err := json.Unmarshal(m.data, &d); err != nil {
			return fmt.Errorf("read a piece of a reply: %w", err)
		}
		out.Deltas = append(out.Deltas, d)
	case m.name == "problem":
		var p wire.Problem
		if err := json.Unmarshal(m.data, &p); err != nil {
			return fmt.Errorf("read what went wrong: %w", err)
		}
		s.Close()
		return p.Err()
	}
	return nil
}

func (s *stream) connect(ctx context.Context) error {
	// The stream outlives the call that begins it, and ends with Close.
	life, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, hangUp)
	query := s.query()
	if s.follow.Deltas {
		query.Set("deltas", "true")
	}
	method, path := route("events", string(cmp.Or(s.follow.Only, s.follow.Root)), query)
	resp, err := do(life, s.client, s.client.http, method, path, nil, http.Header{"Accept": {"text/event-stream"}})
	if !stop() && err == nil {
		err = errors.Join(ctx.Err(), resp.Body.Close())
	}
	if err != nil {
		hangUp()
		return err
	}
	s.resp, s.hangUp, s.lines = resp, hangUp, bufio.NewReaderSize(resp.Body, 64<<10)
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

// wholeMessage reports whether a whole message that begins so has arrived already.
func wholeMessage(r *bufio.Reader, begin string) bool {
	b, err := r.Peek(r.Buffered())
	return err == nil && bytes.HasPrefix(b, []byte(begin)) && bytes.Contains(b, []byte("\n\n"))
}
