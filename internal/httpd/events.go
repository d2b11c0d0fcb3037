package httpd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/troupe-dev/troupe"
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

	After  int64    `query:"after" minimum:"0" doc:"Only events behind this number; of the session itself"`
	Limit  int      `query:"limit" default:"200" minimum:"1" maximum:"1000" doc:"How many at the most; a stream and a tree have no limit"`
	Tree   bool     `query:"tree" doc:"The events of all sessions of its tree"`
	Cursor []string `query:"cursor" doc:"For a tree: SESSION:SEQ, what of each session was seen already, parted by commas"`
	Last   string   `header:"Last-Event-ID" maxLength:"64" doc:"SESSION:SEQ of the last event a stream brought; it goes on behind it. Of a tree's other sessions it begins at the start, unless cursor says more"`
	Accept string   `header:"Accept" hidden:"true"`
}

// cursor is a place in the log of one session.
type cursor struct {
	session troupe.SessionID
	seq     int64
}

func (c cursor) String() string { return fmt.Sprintf("%s:%d", c.session, c.seq) }

// parseCursor reads SESSION:SEQ.
func parseCursor(s string) (cursor, error) {
	name, number, _ := strings.Cut(s, ":")
	id, ok := troupe.ParseSessionID(name)
	seq, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || seq < 0 {
		return cursor{}, &troupe.UserError{
			Problem: fmt.Sprintf("%q is not a place in a log", s),
			Hint:    "A place is a whole session id, a colon and the number of an event: 7k3f00000000:12", Code: wrongUsage,
		}
	}
	return cursor{id, seq}, nil
}

// places collects what a request says of events that were seen already.
func (in *eventsInput) places(s troupe.Session) (map[troupe.SessionID]int64, error) {
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
func (o *operations) events(api huma.API) {
	op := operation(api, http.MethodGet, "/v1/sessions/{id}/events", "events", "Read a session's log, page by page or as a stream")
	op.Description = "With `Accept: text/event-stream` the answer is a stream: every event from where the request says, then those that come, each as one message whose id is SESSION:SEQ. Messages without a name are events of the log; ignore named ones you do not know. A reader that was cut off sends Last-Event-ID (browsers do by themselves) and misses nothing."
	schema := api.OpenAPI().Components.Schemas.Schema(typeOf[[]wire.Event](), true, "Events")
	op.Responses["200"] = &huma.Response{
		Description: "Events, each session's in order",
		Headers:     map[string]*huma.Param{rootHeader: {Description: "The main agent of the session's tree", Schema: &huma.Schema{Type: huma.TypeString}}},
		Content: map[string]*huma.MediaType{
			"application/json": {Schema: schema},
			streamType:         {Schema: &huma.Schema{Type: huma.TypeString, Description: "The data of each message is an Event"}},
		},
	}
	huma.Register(api, op, func(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
		s, err := o.session(ctx, in.ID)
		if err != nil {
			return nil, problem(err)
		}
		seen, err := in.places(s)
		if err != nil {
			return nil, problem(err)
		}
		if strings.Contains(in.Accept, streamType) {
			return &huma.StreamResponse{Body: func(hc huma.Context) { o.stream(hc, s, seen, in.Tree) }}, nil
		}
		var page []troupe.Event
		if in.Tree {
			page, err = o.tree(ctx, s, seen)
		} else {
			page, err = o.cases.Read.Events(ctx, s.ID, seen[s.ID], in.Limit)
		}
		if err != nil {
			return nil, problem(err)
		}
		out := make([]wire.Event, len(page))
		for i, e := range page {
			if out[i], err = wire.NewEvent(e); err != nil {
				return nil, problem(err)
			}
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			hc.SetHeader(rootHeader, string(s.Root))
			hc.SetHeader("Content-Type", "application/json")
			// The reader may have gone; net/http closes the connection then.
			_ = api.Marshal(hc.BodyWriter(), "application/json", out)
		}}, nil
	})
}

// tree reads everything of a tree that was not seen yet.
func (o *operations) tree(ctx context.Context, s troupe.Session, seen map[troupe.SessionID]int64) ([]troupe.Event, error) {
	f := o.cases.Follow(s.Root, "", seen)
	defer f.Close()
	events, err := f.All(ctx)
	return fresh(events, seen), err
}

// fresh leaves out what was seen, and notes the rest as seen.
func fresh(events []troupe.Event, seen map[troupe.SessionID]int64) []troupe.Event {
	out := events[:0]
	for _, e := range events {
		if e.Seq > seen[e.Session] {
			seen[e.Session] = e.Seq
			out = append(out, e)
		}
	}
	return out
}

// stream writes events as they are committed, until the reader or the server goes away.
func (o *operations) stream(hc huma.Context, s troupe.Session, seen map[troupe.SessionID]int64, whole bool) {
	ctx, cancel := o.streaming(hc.Context())
	defer cancel()
	_, w := humago.Unwrap(hc)
	only := s.ID
	if whole {
		only = ""
	}
	f := o.cases.Follow(s.Root, only, seen)
	defer f.Close()

	hc.SetHeader(rootHeader, string(s.Root))
	hc.SetHeader("Content-Type", streamType)
	hc.SetHeader("Cache-Control", "no-store")
	out := &flusher{w: w, rc: http.NewResponseController(w)}
	// How long a reader should wait before it comes back. The bytes go out at once, so
	// that it knows it is being heard.
	err := out.send([]byte("retry: 1000\n\n"))
	events, ferr := f.All(ctx)
	for err == nil && ferr == nil && ctx.Err() == nil {
		if err = out.events(fresh(events, seen)); err != nil {
			return
		}
		events, ferr = next(ctx, f)
		if len(events) == 0 && time.Since(out.last) >= stillHere {
			err = out.send([]byte(": still here\n\n"))
		}
	}
	if ferr != nil && ctx.Err() == nil {
		// The headers are out; whoever reads learns it as a message of its own kind.
		err = out.problem(problem(ferr))
	}
	// Writing failed because the reader has gone, and there is nobody to tell.
	_ = err
}

// next waits for events, for as long as a reader may be left without a word.
func next(ctx context.Context, f Follower) ([]troupe.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, stillHere)
	defer cancel()
	return f.Next(ctx)
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

// events writes a message per event. Few at a time are held as text, however many there are.
func (f *flusher) events(events []troupe.Event) error {
	const enough = 64 << 10
	f.buf.Reset()
	for i, e := range events {
		v, err := wire.NewEvent(e)
		if err != nil {
			return err
		}
		data, err := json.Marshal(v)
		if err != nil {
			return err
		}
		fmt.Fprintf(&f.buf, "id: %s\ndata: %s\n\n", cursor{e.Session, e.Seq}, data)
		if f.buf.Len() >= enough || i == len(events)-1 {
			if err := f.send(f.buf.Bytes()); err != nil {
				return err
			}
			f.buf.Reset()
		}
	}
	return nil
}

func (f *flusher) problem(p *Problem) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return f.send(fmt.Appendf(nil, "event: problem\ndata: %s\n\n", data))
}
