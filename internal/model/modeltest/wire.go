package modeltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
)

// Wire is a provider under test that speaks to a service over HTTP.
type Wire struct {
	API API
	// New returns a provider that speaks to the service at base: through rt, or over the
	// network if rt is nil. Its idle timeout is Idle. It cleans up after itself with t.
	New func(t *testing.T, base string, rt http.RoundTripper) model.Provider
	// Recorded is a stream with everything in it that the service has been seen to send.
	Recorded []byte
}

// Idle is the idle timeout of providers that RunWire tests.
const Idle = 5 * time.Minute

// RunWire is the suite for providers over HTTP: whatever a service does to a reply, in
// whatever place, no turn is lost, and nothing passes for a reply that is none. Where time
// passes, it is virtual.
func RunWire(t *testing.T, w Wire) {
	t.Run("CutAtEveryByte", func(t *testing.T) { w.cutAtEveryByte(t, w.Recorded) })
	t.Run("CutAtEveryByteOfOurs", func(t *testing.T) { w.cutAtEveryByte(t, w.stream(full())) })
	t.Run("StalledAtEveryByte", w.stalledAtEveryByte)
	t.Run("ErrorAtEveryEvent", w.errorAtEveryEvent)
	t.Run("NoiseAtEveryEvent", w.noiseAtEveryEvent)
	t.Run("NoEventLines", w.noEventLines)
	t.Run("Statuses", w.statuses)
	t.Run("RetryAfter", w.retryAfter)
	t.Run("CutInACall", w.cutInACall)
	t.Run("EmptyReply", w.emptyReply)
	t.Run("OddCalls", w.oddCalls)
	t.Run("ManyCalls", w.manyCalls)
	w.runBill(t)
}

// full is a reply with all a reply can have.
func full() Reply {
	return Reply{
		Thinking: "First, let me see.", Text: "Two files, “a” and b – 😀.",
		Calls: []Call{{Name: "Read", Input: `{"file_path":"a.go","limit":12}`},
			{Name: "Grep", Input: `{"pattern":"\"x\\y\""}`}},
		Usage: troupe.Usage{Input: 90, Output: 40, CacheRead: 700, CacheWrite: 10},
	}
}

func (w Wire) stream(r Reply) []byte {
	return r.Stream(&Request{Number: 1, Model: "m-1", api: w.API})
}

// canned answers every request with the same bytes, and then ends as it is told to.
type canned struct {
	status int
	header http.Header
	body   []byte
	end    ending
}

type ending string

const (
	ended   ending = "ended"   // as if all were there
	torn    ending = "torn"    // the connection breaks
	stalled ending = "stalled" // nothing comes any more
)

// RoundTrip implements http.RoundTripper.
func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	h := c.header
	if h == nil {
		h = http.Header{}
	}
	if c.status == 0 {
		c.status = http.StatusOK
		h.Set("Content-Type", "text/event-stream")
	}
	body := &cannedBody{Reader: bytes.NewReader(c.body), end: c.end, done: r.Context().Done()}
	return &http.Response{StatusCode: c.status, Header: h, Body: body, Request: r}, nil
}

type cannedBody struct {
	*bytes.Reader
	end  ending
	done <-chan struct{}
}

func (b *cannedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	switch b.end {
	case torn:
		return n, io.ErrUnexpectedEOF
	case stalled:
		<-b.done
		return n, context.Canceled
	default:
		return n, err
	}
}

func (b *cannedBody) Close() error { return nil }

// desk makes calls, one at a time, of one provider, each answered with what it is given.
type desk struct {
	t        *testing.T
	provider model.Provider
	request  model.Request
	next     canned
}

// RoundTrip implements http.RoundTripper.
func (d *desk) RoundTrip(r *http.Request) (*http.Response, error) { return d.next.RoundTrip(r) }

func (w Wire) desk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t}
	d.provider = w.New(t, "http://model.test", d)
	d.request = request(t, d.provider, 1, troupe.Message{Role: troupe.User, Blocks: []troupe.Block{troupe.Text("go")}})
	return d
}

func (d *desk) ask(c canned) (troupe.Reply, error) {
	d.next = c
	return d.provider.Stream(d.t.Context(), d.request, nil)
}

func (d *desk) whole(stream []byte) troupe.Reply {
	d.t.Helper()
	got, err := d.ask(canned{body: stream})
	if err != nil {
		d.t.Fatalf("the whole stream: %v", err)
	}
	return got
}

// lost looks at what a call with a damaged stream came to. Either the reply is whole after
// all, because all of it had come, or the call can be made again and what had come is kept.
func lost(t *testing.T, where string, whole, got troupe.Reply, err error) []troupe.Block {
	t.Helper()
	if err == nil {
		if !reflect.DeepEqual(got.Blocks, whole.Blocks) || got.Stop != whole.Stop {
			t.Fatalf("%s: part of a reply passes for one: %+v", where, got)
		}
		return got.Blocks
	}
	var me *model.Error
	if !errors.As(err, &me) || me.Fault != troupe.FaultRetry || me.Message == "" {
		t.Fatalf("%s: %v", where, err)
	}
	if len(me.Partial) > len(whole.Blocks) {
		t.Fatalf("%s: more than there is: %+v", where, me.Partial)
	}
	for i, b := range me.Partial {
		of := whole.Blocks[i]
		ok := b.Type == of.Type && strings.HasPrefix(of.Text, b.Text)
		if ok && b.Call != nil {
			ok = b.Call.Index == of.Call.Index && strings.HasPrefix(of.Call.Name, b.Call.Name) &&
				(strings.HasPrefix(of.Call.Input, b.Call.Input) || b.Call.Input == "{}")
		}
		if !ok {
			t.Fatalf("%s: block %d is %+v, and no beginning of %+v", where, i, b, of)
		}
	}
	return me.Partial
}

// places are the places in a stream: every one, or with -short every 29th.
func places(stream []byte) iter.Seq[int] {
	step := 1
	if testing.Short() {
		step = 29
	}
	return func(yield func(int) bool) {
		for i := 0; i < len(stream) && yield(i); i += step {
		}
	}
}

func (w Wire) cutAtEveryByte(t *testing.T, stream []byte) {
	t.Parallel()
	d := w.desk(t)
	whole := d.whole(stream)
	for _, end := range []ending{ended, torn} {
		said, used, failed, tried := 0, int64(0), 0, 0
		for i := range places(stream) {
			got, err := d.ask(canned{body: stream[:i], end: end})
			tried++
			n := weight(lost(t, fmt.Sprintf("%s after %d bytes", end, i), whole, got, err))
			if n < said {
				t.Fatalf("%s after %d bytes: there was more a byte earlier", end, i)
			}
			said = n
			var me *model.Error
			if errors.As(err, &me) {
				failed++
				if me.Usage.Total() < used {
					t.Fatalf("%s after %d bytes: it had cost more a byte earlier", end, i)
				}
				used = me.Usage.Total()
			}
		}
		if said != weight(whole.Blocks) || used == 0 || failed < tried/2 {
			t.Errorf("%s: in the end %d of %d were kept, at a cost of %d tokens, after %d failures", end, said,
				weight(whole.Blocks), used, failed)
		}
	}
}

// weight grows with every byte of a reply that is kept.
func weight(blocks []troupe.Block) int {
	n := 0
	for _, b := range blocks {
		n += 1 + len(b.Text)
		if b.Call != nil && b.Call.Input != "{}" {
			n += len(b.Call.Input)
		}
	}
	return n
}

func (w Wire) stalledAtEveryByte(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := w.desk(t)
		stream := w.stream(full())
		whole := d.whole(stream)
		for i := range places(stream) {
			start := time.Now()
			got, err := d.ask(canned{body: stream[:i], end: stalled})
			took := time.Since(start)
			lost(t, fmt.Sprintf("stalled after %d bytes", i), whole, got, err)
			if err != nil && took != Idle || err == nil && took > 15*time.Second {
				t.Fatalf("stalled after %d bytes: given up after %s: %v", i, took, err)
			}
		}
	})
}

// events cuts a stream behind each event.
func events(stream []byte) [][]byte {
	all := bytes.SplitAfter(stream, []byte("\n\n"))
	return all[:len(all)-1]
}

func insert(all [][]byte, at int, what string) []byte {
	out := bytes.Join(all[:at], nil)
	out = append(out, what...)
	return append(out, bytes.Join(all[at:], nil)...)
}

func (w Wire) errorAtEveryEvent(t *testing.T) {
	t.Parallel()
	d := w.desk(t)
	stream := w.stream(full())
	whole := d.whole(stream)
	all := events(stream)
	failure := "data: " + string(Fail(0, "overloaded_error", "Overloaded, sorry").errorJSON(w.API, nil)) + "\n\n"
	for i := range all {
		got, err := d.ask(canned{body: insert(all, i, failure)})
		lost(t, fmt.Sprintf("error before event %d", i), whole, got, err)
		if err == nil || !strings.Contains(err.Error(), "Overloaded, sorry") {
			t.Errorf("error before event %d: %v", i, err)
		}
	}
}

func (w Wire) noiseAtEveryEvent(t *testing.T) {
	t.Parallel()
	d := w.desk(t)
	for _, stream := range [][]byte{w.stream(full()), w.Recorded} {
		whole := d.whole(stream)
		all := events(stream)
		for _, noise := range []string{
			": keep-alive\n\n", "event: ping\ndata: {\"type\": \"ping\"}\n\n", "data:\n\n", "\n\n\n",
			"id: 7\nretry: 100\n\n",
			"event: from_the_future\ndata: " +
				"{\"type\":\"from_the_future\",\"object\":\"from.the.future\",\"index\":\"?\",\"delta\":{\"x\":[1]" +
				"}}\n\n",
		} {
			for i := range all {
				got, err := d.ask(canned{body: insert(all, i, noise)})
				if err != nil || !reflect.DeepEqual(got, whole) {
					t.Fatalf("%q before event %d: %+v, %v\nwant %+v", noise, i, got, err, whole)
				}
			}
		}
	}
}

func (w Wire) noEventLines(t *testing.T) {
	t.Parallel()
	d := w.desk(t)
	for _, stream := range [][]byte{w.stream(full()), w.Recorded} {
		whole := d.whole(stream)
		var bare []byte
		for line := range bytes.Lines(stream) {
			if !bytes.HasPrefix(line, []byte("event:")) {
				bare = append(bare, line...)
			}
		}
		wrong := bytes.ReplaceAll(stream, []byte("\ndata:"), []byte("\nevent: something_else\ndata:"))
		for name, in := range map[string][]byte{
			"bare": bare, "wrong": wrong, "CRLF": bytes.ReplaceAll(bare, []byte("\n"), []byte("\r\n")),
			"CR": bytes.ReplaceAll(bare, []byte("\n"), []byte("\r")),
		} {
			if got, err := d.ask(canned{body: in}); err != nil || !reflect.DeepEqual(got, whole) {
				t.Errorf("%s: %+v, %v\nwant %+v", name, got, err, whole)
			}
		}
	}
}

// statuses also come from what stands before a service, and speaks no API at all.
func (w Wire) statuses(t *testing.T) {
	t.Parallel()
	d := w.desk(t)
	for status, want := range map[int]troupe.ModelFault{
		400: troupe.FaultBad, 401: troupe.FaultAuth, 403: troupe.FaultAuth, 408: troupe.FaultRetry,
		409: troupe.FaultRetry,
		413: troupe.FaultTooLong, 418: troupe.FaultBad, 422: troupe.FaultBad, 429: troupe.FaultRetry,
		500: troupe.FaultRetry,
		502: troupe.FaultRetry, 503: troupe.FaultRetry, 504: troupe.FaultRetry, 520: troupe.FaultRetry,
		529: troupe.FaultRetry,
	} {
		for _, body := range []string{
			"", "no", "<html>no</html>", "{", "[]", `{"error":null}`, `{"error":"no"}`, `{"error":{"message":"no"}}`,
			`{"detail":[{"msg":"no"}]}`,
			string(Fail(status, "from_the_future", "no").errorJSON(w.API, nil)),
		} {
			_, err := d.ask(canned{status: status, body: []byte(body)})
			var me *model.Error
			if !errors.As(err, &me) || me.Fault != want || me.RetryAfter != 0 ||
				!strings.Contains(me.Message, fmt.Sprint(status)) {
				t.Errorf("%d %q: %+v, want %s", status, body, err, want)
			}
		}
	}
}

func (w Wire) retryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := w.desk(t)
		at := func(in time.Duration) string { return time.Now().Add(in).UTC().Format(http.TimeFormat) }
		for _, tt := range []struct {
			header, value string
			want          time.Duration
		}{
			{"Retry-After", "7", 7 * time.Second}, {"Retry-After", "3600", time.Hour},
			{"Retry-After", at(time.Hour), time.Hour},
			{"Retry-After", at(-time.Hour), 0}, {"Retry-After", "1e12", 24 * time.Hour},
			{"Retry-After", at(1000 * time.Hour), 24 * time.Hour},
			{"Retry-After", "-3", 0}, {"Retry-After", "soon", 0}, {"Retry-After-Ms", "1500", 1500 * time.Millisecond},
		} {
			for _, status := range []int{429, 503, 529} {
				_, err := d.ask(canned{status: status, header: http.Header{tt.header: {tt.value}}})
				var me *model.Error
				if !errors.As(err, &me) || me.Fault != troupe.FaultRetry || me.RetryAfter != tt.want {
					t.Errorf("%d, %s: %s: %+v, want %s", status, tt.header, tt.value, err, tt.want)
				}
			}
		}
	})
}

func (w Wire) cutInACall(t *testing.T) {
	t.Parallel()
	d := w.desk(t)
	got, err := d.ask(canned{body: w.stream(Reply{Text: "x", Calls: []Call{{Name: "Read", Input: `{"file_path":"a`}},
		Stop: "max_tokens", Usage: troupe.Usage{Output: 9}})})
	if err != nil || got.Stop != troupe.StopMaxTokens || len(got.Blocks) != 2 ||
		got.Blocks[1].Call.Input != `{"file_path":"a` {
		t.Errorf("%+v, %v", got, err)
	}
}

func (w Wire) emptyReply(t *testing.T) {
	t.Parallel()
	d := w.desk(t)
	used := troupe.Usage{Input: 3, Output: 1}
	got, err := d.ask(canned{body: w.stream(Reply{Usage: used})})
	if err != nil || len(got.Blocks) != 0 || got.Stop != troupe.StopEndTurn || got.Usage != used {
		t.Errorf("%+v, %v", got, err)
	}
	b, err := d.provider.EncodeMessage(troupe.Message{Role: troupe.Assistant, Blocks: got.Blocks})
	if err != nil || len(b) == 0 {
		t.Errorf("sent back as %s, %v", b, err)
	}
}

// oddCalls goes through a conversation in which the model breaks the rules of calls in
// every turn. The server holds us to them.
func (w Wire) oddCalls(t *testing.T) {
	t.Parallel()
	odd := []Call{
		{Name: "Read", Input: `{"file_path":"a"}`, ID: "call_0"},
		{Name: "Read", Input: `{"file_path":"b"}`, ID: "call_0"},
		{Name: "Read", Input: `{"file_path":`, ID: "call_0"}, {Name: "Read", Input: `["a"]`},
		{Name: "Read", Input: `null`},
		{Name: "No such tool, sorry!", Input: ` `, ID: "x y"},
		{Name: strings.Repeat("n", 200), Input: "{\"a\":\"\x00\"}"}, {Name: "Read"},
	}
	h := func(r *Request) Reply {
		if r.Turn > 4 {
			return Text("Done.")
		}
		return Reply{Calls: odd, Usage: troupe.Usage{Output: 1}}
	}
	s := newServer(w.API, h, Options{})
	defer s.Close()
	p := w.New(t, s.URL(), nil)
	msgs := []troupe.Message{{Role: troupe.User, Blocks: []troupe.Block{troupe.Text("go")}}}
	for turn := 1; turn <= 5; turn++ {
		got, err := p.Stream(t.Context(), request(t, p, turn, msgs...), nil)
		if err != nil {
			t.Fatalf("turn %d: %v", turn, err)
		}
		if turn == 5 {
			break
		}
		var results []troupe.Block
		for i, b := range got.Blocks {
			want := odd[i].Input
			if strings.TrimSpace(want) == "" {
				want = b.Call.Input // nothing was said
			}
			if b.Call == nil || b.Call.Index != i || b.Call.Reply != turn || b.Call.Name != odd[i].Name ||
				b.Call.Input != want {
				t.Fatalf("turn %d, call %d: %+v, want %+v", turn, i, b.Call, odd[i])
			}
			results = append(results, troupe.Block{Type: troupe.ResultBlock,
				Result: &troupe.Result{Reply: turn, Call: i, ProviderID: b.Call.ProviderID, IsError: true}})
		}
		if len(results) != len(odd) || got.Stop != troupe.StopToolUse {
			t.Fatalf("turn %d: %d calls, %s", turn, len(results), got.Stop)
		}
		msgs = append(msgs, troupe.Message{Role: troupe.Assistant, Blocks: got.Blocks},
			troupe.Message{Role: troupe.User, Blocks: results})
	}
	if err := s.Err(); err != nil {
		t.Error(err)
	}
}

// manyCalls: ten thousand calls in one reply are taken, and what is too much is not asked for again.
func (w Wire) manyCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("without -short it runs")
	}
	t.Parallel()
	d := w.desk(t)
	calls := func(n int) []byte {
		r := Reply{Calls: make([]Call, n), Usage: troupe.Usage{Input: 5, Output: 9}}
		for i := range r.Calls {
			r.Calls[i] = Call{Name: "Read", Input: `{"file_path":"a"}`}
		}
		return w.stream(r)
	}
	if got, err := d.ask(canned{body: calls(10_000)}); err != nil || len(got.Blocks) != 10_000 {
		t.Errorf("10,000 calls: %d blocks, %v", len(got.Blocks), err)
	}
	_, err := d.ask(canned{body: calls(60_000)})
	var me *model.Error
	if !errors.As(err, &me) || me.Fault != troupe.FaultBad || me.Usage.Input == 0 ||
		!strings.Contains(me.Message, "ask for less at once") {
		t.Errorf("60,000 calls: %+v", err)
	}
}
