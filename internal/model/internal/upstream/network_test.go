package upstream

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// words is a reply of one word an event, which ends with "end".
type words struct {
	got  []string
	over bool
}

func (w *words) Event(data []byte) error {
	switch string(data) {
	case "end":
		w.over = true
	case "ping":
	case "too much":
		return TooManyBlocks()
	default:
		w.got = append(w.got, string(data))
	}
	return nil
}

func (w *words) Progress() Progress {
	if w.over {
		return Over
	}
	return Underway
}

func (w *words) Content() int { return len(w.got) }

func (w *words) SoFar() ([]troupe.Block, troupe.Usage, bool) {
	return []troupe.Block{troupe.Text(strings.Join(w.got, " "))}, troupe.Usage{Input: 7}, false
}

func client(t *testing.T, change ...func(*Options)) *Client {
	t.Helper()
	o := Options{Service: "The service", Address: "SERVICE_URL", Speaks: "an API",
		Refusal: func(int, []byte) Refusal { return Refusal{} }}
	for _, f := range change {
		f(&o)
	}
	c := New(o)
	t.Cleanup(c.Close)
	return c
}

// stream makes one call and returns the words that came, and how it failed.
func stream(t *testing.T, c *Client, address string) (string, *model.Error) {
	t.Helper()
	var w words
	_, err := c.Stream(t.Context(), Post{URL: address, Header: http.Header{}}, &w)
	var failed *model.Error
	if err != nil && !errors.As(err, &failed) {
		t.Fatalf("not a *model.Error: %v", err)
	}
	return strings.Join(w.got, " "), failed
}

func serving(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func zipped(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text)) // a buffer takes all
	_ = z.Close()
	return b.Bytes()
}

// TestNeverHeals: what only a change of settings mends is not tried again, and says what to change; what may
// heal by itself is, under its right name.
func TestNeverHeals(t *testing.T) {
	t.Parallel()
	plain := serving(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	host := strings.TrimPrefix(plain.URL, "http://")
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	gone := strings.TrimPrefix(closed.URL, "http://")
	hangsUp := serving(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	through := func(status int) func(*Options) {
		s := serving(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		u, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		return func(o *Options) {
			tr := newTransport(nil)
			tr.Proxy = http.ProxyURL(u)
			o.Transport = tr
		}
	}
	away := func(o *Options) {
		tr := newTransport(nil)
		tr.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: gone})
		o.Transport = tr
	}
	direct := func(*Options) {}
	for name, tt := range map[string]struct {
		url   string
		setup func(*Options)
		fault troupe.ModelFault
		says  []string
	}{
		"TLS to a port without": {"https://" + host, direct, troupe.FaultBad,
			[]string{host + " does not speak TLS", "write http:// in SERVICE_URL"}},
		"nobody listens": {"http://" + gone, direct, troupe.FaultRetry,
			[]string{"cannot reach " + gone + " (connection refused)"}},
		"no such host": {"http://host.invalid", direct, troupe.FaultRetry, []string{"cannot reach host.invalid"}},
		"it hangs up":  {hangsUp.URL, direct, troupe.FaultRetry, []string{"gave no answer"}},
		"a proxy that wants a login": {"https://model.test", through(http.StatusProxyAuthRequired), troupe.FaultBad,
			[]string{"wants a login (407", "HTTPS_PROXY"}},
		"the same without TLS": {"http://model.test", through(http.StatusProxyAuthRequired), troupe.FaultBad,
			[]string{"proxy", "407"}},
		"a proxy that forbids": {"https://model.test", through(http.StatusForbidden), troupe.FaultBad,
			[]string{"cannot reach model.test: the proxy", "403"}},
		"a proxy that fails": {"https://model.test", through(http.StatusBadGateway), troupe.FaultRetry,
			[]string{"cannot reach model.test: the proxy", "502"}},
		"a proxy that is asked too much": {"https://model.test", through(http.StatusTooManyRequests), troupe.FaultRetry,
			[]string{"cannot reach model.test: the proxy", "429"}},
		"a proxy that is not there": {"https://model.test", away, troupe.FaultRetry,
			[]string{"cannot reach the proxy for model.test (connection refused)"}},
	} {
		_, failed := stream(t, client(t, tt.setup), tt.url)
		if failed == nil || failed.Fault != tt.fault {
			t.Errorf("%s: %+v, want %s", name, failed, tt.fault)
			continue
		}
		for _, want := range tt.says {
			if !strings.Contains(failed.Message, want) {
				t.Errorf("%s: %q does not say %q", name, failed.Message, want)
			}
		}
	}
}

// TestCompressed: an answer that comes compressed although that was not asked for is read, piece by piece as
// it comes, and is bounded by what it holds and not by what it takes on the wire.
func TestCompressed(t *testing.T) {
	t.Parallel()
	const reply = "data: so\n\ndata: it\n\ndata: is\n\ndata: end\n\n"
	for name, tt := range map[string]struct {
		status   int
		encoding string
		body     []byte
		words    string
		says     string // "": it is a reply
		fault    troupe.ModelFault
	}{
		"a reply":            {200, "gzip", zipped(reply), "so it is", "", ""},
		"under its old name": {200, "x-gzip", zipped(reply), "so it is", "", ""},
		"not at all":         {200, "identity", []byte(reply), "so it is", "", ""},
		"cut": {200, "gzip", zipped(reply)[:30], "", "the connection to The service failed",
			troupe.FaultRetry},
		"not what it says": {200, "gzip", []byte(reply), "", "the connection to The service failed",
			troupe.FaultRetry},
		"unknown":  {200, "br", []byte(reply), "", `in the encoding "br"`, troupe.FaultBad},
		"an error": {418, "gzip", zipped("short and stout"), "", "short and stout", troupe.FaultBad},
		"a bomb": {200, "gzip", zipped(": " + strings.Repeat("0", maxStream+1<<20)), "", "more than 64 MB",
			troupe.FaultBad},
	} {
		s := serving(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", tt.encoding)
			w.WriteHeader(tt.status)
			_, _ = w.Write(tt.body)
		})
		got, failed := stream(t, client(t), s.URL)
		switch {
		case tt.says == "" && (failed != nil || got != tt.words):
			t.Errorf("%s: %q, %+v", name, got, failed)
		case tt.says != "" && (failed == nil || failed.Fault != tt.fault || !strings.Contains(failed.Message, tt.says)):
			t.Errorf("%s: %q, %+v; want %s %q", name, got, failed, tt.fault, tt.says)
		}
	}
}

// TestCompressedAsItComes: what is flushed is there before the rest.
func TestCompressedAsItComes(t *testing.T) {
	t.Parallel()
	more := make(chan struct{})
	s := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, "data: first\n\n")
		_ = z.Flush()
		_ = http.NewResponseController(w).Flush()
		<-more
		_, _ = io.WriteString(z, "data: end\n\n")
		_ = z.Close()
	})
	d := &telling{first: func() { close(more) }}
	if _, err := client(t).Stream(t.Context(), Post{URL: s.URL, Header: http.Header{}}, d); err != nil {
		t.Error(err)
	}
}

type telling struct {
	words
	first func()
}

func (d *telling) Event(data []byte) error {
	if string(data) == "first" {
		d.first()
	}
	return d.words.Event(data)
}

// TestExcess: a reply beyond a limit of ours is not asked for again, and is on the bill.
func TestExcess(t *testing.T) {
	t.Parallel()
	s := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: a\n\ndata: too much\n\n")
	})
	_, failed := stream(t, client(t), s.URL)
	want := fmt.Sprintf("has more than %d blocks, which is more than Troupe takes in one reply", MaxBlocks)
	if failed == nil || failed.Fault != troupe.FaultBad || !strings.Contains(failed.Message, want) ||
		failed.Usage.Input != 7 || troupe.JoinText(failed.Partial) != "a" {
		t.Errorf("%+v", failed)
	}
}

// alive is a transport whose streams send one of these after the other, one a minute, for ever.
type alive []string

func (a alive) RoundTrip(r *http.Request) (*http.Response, error) {
	out, in := io.Pipe()
	go func() {
		for i := 0; ; i++ {
			select {
			case <-r.Context().Done():
				_ = in.CloseWithError(r.Context().Err())
				return
			case <-time.After(time.Minute):
				_, _ = io.WriteString(in, a[min(i, len(a)-1)])
			}
		}
	}()
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: out,
		Request: r}, nil
}

// TestNoContent: signs of life alone do not keep a call up for ever, whatever they are; content does.
func TestNoContent(t *testing.T) {
	t.Parallel()
	for name, pieces := range map[string]alive{
		"comments": {": alive\n"}, "pings": {"data: ping\n\n"}, "bytes of an event that never ends": {"data: ", "x"},
		"after a word": {"data: word\n\n", "data: ping\n\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := New(Options{Service: "The service", Transport: pieces, IdleTimeout: 5 * time.Minute})
			start := time.Now()
			_, failed := stream(t, c, "http://model.test")
			took, want := time.Since(start), 30*time.Minute
			if name == "after a word" {
				want += time.Minute
			}
			if failed == nil || failed.Fault != troupe.FaultRetry || took != want ||
				!strings.Contains(failed.Message, "sent nothing of a reply for 30m0s") {
				t.Errorf("%s: after %s: %+v", name, took, failed)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		many := alive(strings.SplitAfter(strings.Repeat("data: word\n\n", 60)+"data: end\n\n", "\n\n"))
		c := New(Options{Service: "The service", Transport: many, IdleTimeout: 5 * time.Minute})
		if got, failed := stream(t, c, "http://model.test"); failed != nil || len(strings.Fields(got)) != 60 {
			t.Errorf("an hour of words: %q, %+v", got, failed)
		}
	})
}

// TestStaysHome: a redirect is followed to the same host by the same scheme, and not without end.
func TestStaysHome(t *testing.T) {
	t.Parallel()
	c := client(t)
	request := func(address string) *http.Request {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		return req
	}
	for to, stays := range map[string]bool{
		"https://one.example/v2": true, "http://one.example/v1": false, "https://one.example:8443/v1": false,
		"https://a.one.example/v1": false, "https://two.example/v1": false,
	} {
		err := c.stayHome(request(to), []*http.Request{request("https://one.example/v1")})
		if (err == nil) != stays || err != nil && !errors.Is(err, errElsewhere) {
			t.Errorf("to %s: %v", to, err)
		}
	}
	var via []*http.Request
	for range 4 {
		via = append(via, request("https://one.example/v1"))
	}
	if err := c.stayHome(request("https://one.example/v1"), via); !errors.Is(err, errElsewhere) {
		t.Errorf("the fifth time: %v", err)
	}
}
