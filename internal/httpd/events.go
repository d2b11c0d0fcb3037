package httpd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

const (
	streamType = "text/event-stream"
	// rootHeader carries the tree of the events that follow.
	rootHeader = "Troupe-Root"
	// stillHere is how often a stream with nothing to tell shows that it lives, so that
	// either side notices when the other has gone.
	stillHere = 15 * time.Second
	// writeWait is how long a reader may take nothing before it is let go.
	writeWait = 30 * time.Second
)

// eventsInput is what can be asked of a log.
type eventsInput struct {
	Target

	Deltas bool     `query:"deltas" doc:"Of a stream: pieces of replies too, as messages named delta"`
	After  int64    `query:"after" minimum:"0" doc:"Only events behind this number; of the session itself"`
	Limit  int      `query:"limit" default:"200" minimum:"1" maximum:"1000" doc:"How many at the most; a stream and a tree have no limit"`
	Tree   bool     `query:"tree" doc:"The events of all sessions of its tree"`
	Subs   bool     `query:"subagents" doc:"Of a stream: what becomes of its sub-agents too, as messages named subagent.spawned, subagent.progress, subagent.completed, subagent.failed and subagent.cancelled"`
	Cursor []string `query:"cursor" doc:"For a tree: SESSION:SEQ, what of each session was seen already, parted by commas"`
	Last   string   `header:"Last-Event-ID" maxLength:"64" doc:"The id of the last message a stream brought; it goes on behind it. Of a tree's other sessions it begins at the start, unless cursor says more"`
	Accept string   `header:"Accept" hidden:"true"`
}

// cursor is a place in the log of one session. Told is how many messages about sub-agents were sent of the event
// behind it.
type cursor struct {
	session troupe.SessionID
	seq     int64
	told    int
}

func (c cursor) String() string {
	if c.told > 0 {
		return fmt.Sprintf("%s:%d/%d", c.session, c.seq, c.told)
	}
	return fmt.Sprintf("%s:%d", c.session, c.seq)
}

// parseCursor reads SESSION:SEQ, or SESSION:SEQ/TOLD.
func parseCursor(s string) (cursor, error) {
	name, number, _ := strings.Cut(s, ":")
	number, more, within := strings.Cut(number, "/")
	id, ok := troupe.ParseSessionID(name)
	seq, err := strconv.ParseInt(number, 10, 64)
	told := 0
	if within && err == nil {
		told, err = strconv.Atoi(more)
	}
	if !ok || err != nil || seq < 0 || told < 0 {
		return cursor{}, &troupe.UserError{
			Problem: fmt.Sprintf("%q is not a place in a log", s),
			Hint:    "A place is a whole session id, a colon and the number of an event: 7k3f00000000:12",
			Code:    troupe.ExitUsage,
		}
	}
	return cursor{id, seq, told}, nil
}

// places collects what a request says of events that were seen already.
func (in *eventsInput) places(s wire.Session) (map[troupe.SessionID]int64, error) {
	seen := make(map[troupe.SessionID]int64, len(in.Cursor)+1)
	texts := in.Cursor
	if in.Last != "" {
		texts = append(texts[:len(texts):len(texts)], in.Last)
	}
	for _, text := range texts {
		c, err := parseCursor(text)
		if err != nil {
			return nil, err
		}
		seen[c.session] = max(seen[c.session], c.seq)
	}
	seen[s.ID] = max(seen[s.ID], in.After)
	return seen, nil
}

// events registers the log: a page of it, or a stream that goes on.
func (o *operations) events(h huma.API) {
	op := o.operation(h, "events")
	op.Description += " With `Accept: text/event-stream` the answer is a stream: every event from where the request " +
		"says, then those that come, each as one message whose id is SESSION:SEQ. Messages without a name are events " +
		"of the log; `delta` is a piece of a reply on its way; ignore named ones you do not know. A reader that was " +
		"cut off sends Last-Event-ID (browsers do by themselves) and misses nothing. With `subagents` each event " +
		"that " +
		"begins or ends a sub-agent comes behind a message about that, whose id says so (SESSION:SEQ/N); " +
		"`subagent.progress` comes at most once a second for each, and has no id."
	schemas := h.OpenAPI().Components.Schemas
	schemas.Schema(reflect.TypeFor[wire.Delta](), true, "Delta")
	schemas.Schema(reflect.TypeFor[wire.Subagent](), true, "Subagent")
	op.Responses["200"] = &huma.Response{
		Description: "Events, each session's in order",
		Headers: map[string]*huma.Param{rootHeader: {Description: "The main agent of the session's tree",
			Schema: &huma.Schema{Type: huma.TypeString}}},
		Content: map[string]*huma.MediaType{
			"application/json": {Schema: schemas.Schema(reflect.TypeFor[[]wire.Event](), true, "Events")},
			streamType: {Schema: &huma.Schema{Type: huma.TypeString,
				Description: "The data of each message is an Event, a Delta or a Subagent"}},
		},
	}
	huma.Register(h, op, func(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
		a, err := o.as(ctx, "events", in)
		if err != nil {
			return nil, wire.NewProblem(err)
		}
		s, err := session(ctx, a, in.ID)
		if b, ok := a.(bounded); ok && err == nil {
			a, err = b.at(s.Cwd)
		}
		if err != nil {
			return nil, wire.NewProblem(err)
		}
		seen, err := in.places(s)
		if err != nil {
			return nil, wire.NewProblem(err)
		}
		if strings.Contains(in.Accept, streamType) {
			f := wire.Follow{Root: s.Root, Only: s.ID, From: seen, Deltas: in.Deltas, Paged: true}
			if in.Tree {
				f.Only = ""
			}
			var x *subagents
			if in.Subs {
				x = &subagents{api: a, of: s.ID, tree: in.Tree}
				if c, err := parseCursor(in.Last); err == nil && c.session == s.ID && c.seq == seen[s.ID] {
					x.told = c.told
				}
			}
			leave, err := o.open.enter(caller(ctx))
			if err != nil {
				return nil, err
			}
			return &huma.StreamResponse{Body: func(hc huma.Context) {
				defer leave()
				o.stream(hc, a, f, x)
			}}, nil
		}
		if in.Tree {
			return tree(ctx, a, wire.Follow{Root: s.Root, From: seen, Paged: true})
		}
		page, err := a.Events(ctx, s.ID, seen[s.ID], in.Limit)
		if err != nil {
			return nil, wire.NewProblem(err)
		}
		out := make([]wire.Event, len(page))
		for i, e := range page {
			if out[i], err = wire.NewEvent(e); err != nil {
				return nil, wire.NewProblem(err)
			}
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			hc.SetHeader(rootHeader, string(s.Root))
			hc.SetHeader("Content-Type", "application/json")
			// The reader may have gone; net/http closes the connection then.
			_ = h.Marshal(hc.BodyWriter(), "application/json", out)
		}}, nil
	})
}

// tree answers with everything of a tree that was not seen yet. Few events are in memory at once, however many there
// are; where reading fails in the middle the answer is cut off.
func tree(ctx context.Context, a api.API, f wire.Follow) (*huma.StreamResponse, error) {
	s, err := a.Follow(ctx, f)
	if err != nil {
		return nil, wire.NewProblem(err)
	}
	page, err := s.Rest(ctx)
	if err != nil {
		s.Close()
		return nil, wire.NewProblem(err)
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer s.Close()
		_, w := humago.Unwrap(hc)
		hc.SetHeader(rootHeader, string(f.Root))
		hc.SetHeader("Content-Type", "application/json")
		out, between := &flusher{w: w, rc: http.NewResponseController(w)}, "["
		var err error
		for ; len(page) > 0 && err == nil; page, err = s.Rest(ctx) {
			for _, e := range page {
				out.buf.WriteString(between)
				between = ","
				err = errors.Join(err, out.event(e))
			}
			if err = errors.Join(err, out.send(out.buf.Bytes())); err != nil {
				break
			}
			out.buf.Reset()
		}
		out.buf.WriteString(strings.TrimSuffix(between, ",") + "]\n")
		if err != nil || out.send(out.buf.Bytes()) != nil {
			panic(http.ErrAbortHandler) // what is incomplete must not look like an answer
		}
	}}, nil
}

// stream writes what happens, until the reader or the server goes away.
func (o *operations) stream(hc huma.Context, a api.API, f wire.Follow, x *subagents) {
	ctx, done := o.held(hc.Context(), "events", a)
	defer done()
	o.traffic.streams.Add(1)
	defer o.traffic.streams.Add(-1)
	_, w := humago.Unwrap(hc)
	hc.SetHeader(rootHeader, string(f.Root))
	hc.SetHeader("Content-Type", streamType)
	hc.SetHeader("Cache-Control", "no-store")
	out := &flusher{w: w, rc: http.NewResponseController(w)}
	// How long a reader should wait before it comes back. The bytes go out at once, so
	// that it knows it is being heard.
	if out.send([]byte("retry: 1000\n\n")) != nil {
		return // writing failed because the reader has gone: there is no one to tell
	}
	if err := relay(ctx, a, f, x, out); err != nil && ctx.Err() == nil {
		// The headers are out; the reader learns it as a message of its own kind.
		_ = out.problem(wire.NewProblem(err))
	}
}

// relay returns what went wrong with the following; nil if the reader has gone.
func relay(ctx context.Context, a api.API, f wire.Follow, x *subagents, out *flusher) error {
	if x != nil {
		if err := x.begin(ctx, &f); err != nil {
			return err
		}
	}
	s, err := a.Follow(ctx, f)
	if err != nil {
		return err
	}
	defer s.Close()
	var b wire.Batch
	b.Events, err = s.Rest(ctx)
	for err == nil && ctx.Err() == nil {
		if out.batch(ctx, b, x) != nil {
			return x.failed() // nil: the reader has gone
		}
		b, err = next(ctx, s, x.wait(time.Now(), stillHere))
		if len(b.Events)+len(b.Deltas) == 0 && time.Since(out.last) >= stillHere &&
			out.send([]byte(": still here\n\n")) != nil {
			return nil
		}
	}
	return err
}

// next waits for something to tell, for as long as a reader may be left without a word.
func next(ctx context.Context, s api.Stream, most time.Duration) (wire.Batch, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return s.Next(ctx)
}

// flusher writes messages of a stream and has each write done within writeWait.
type flusher struct {
	w    io.Writer
	rc   *http.ResponseController
	buf  bytes.Buffer
	last time.Time // when something was sent
}

func (f *flusher) send(b []byte) error {
	f.last = time.Now()
	if err := f.rc.SetWriteDeadline(f.last.Add(writeWait)); err != nil {
		return err
	}
	if _, err := f.w.Write(b); err != nil {
		return err
	}
	return f.rc.Flush()
}

// batch writes a message per piece and per event. Few at a time are held as text, however many
// there are.
func (f *flusher) batch(ctx context.Context, b wire.Batch, x *subagents) error {
	f.buf.Reset()
	for _, d := range b.Deltas {
		if !x.sends(d.Session) {
			continue
		}
		if err := f.add("event: delta", d); err != nil {
			return err
		}
	}
	for _, e := range b.Events {
		if err := x.beside(ctx, f, e); err != nil {
			return err
		}
		if !x.sends(e.Session) {
			continue
		}
		v, err := wire.NewEvent(e)
		if err == nil {
			err = f.add("id: "+cursor{session: e.Session, seq: e.Seq}.String(), v)
		}
		if err != nil {
			return err
		}
	}
	if err := x.behind(f); err != nil || f.buf.Len() == 0 {
		return err
	}
	return f.send(f.buf.Bytes())
}

// add writes a message, and sends what has come together once that is enough.
func (f *flusher) add(head string, v any) error {
	const enough = 64 << 10
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	fmt.Fprintf(&f.buf, "%s\ndata: %s\n\n", head, data)
	if f.buf.Len() < enough {
		return nil
	}
	err = f.send(f.buf.Bytes())
	f.buf.Reset()
	return err
}

func (f *flusher) event(e troupe.Event) error {
	v, err := wire.NewEvent(e)
	if err == nil {
		var data []byte
		data, err = json.Marshal(v)
		f.buf.Write(data)
	}
	return err
}

func (f *flusher) problem(p *wire.Problem) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return f.send(fmt.Appendf(nil, "event: problem\ndata: %s\n\n", data))
}
