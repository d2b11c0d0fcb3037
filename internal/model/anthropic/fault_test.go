package anthropic

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/internal/upstream"
	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

func failure(t *testing.T, err error) *model.Error {
	t.Helper()
	var me *model.Error
	if !errors.As(err, &me) {
		t.Fatalf("not a *model.Error: %v", err)
	}
	return me
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status     int
		kind, text string
		want       troupe.ModelFault
	}{
		{400, "invalid_request_error", "messages.0: nonsense", troupe.FaultBad},
		{400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", troupe.FaultTooLong},
		{400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 1 + 2 > 2",
			troupe.FaultTooLong},
		{401, "authentication_error", "invalid x-api-key", troupe.FaultAuth},
		{403, "permission_error", "not allowed", troupe.FaultAuth},
		{404, "not_found_error", "model: claude-x", troupe.FaultNoModel},
		{404, "", "page not found", troupe.FaultBad},
		{408, "", "", troupe.FaultRetry},
		{409, "", "", troupe.FaultRetry},
		{413, "request_too_large", "too large", troupe.FaultTooLong},
		{418, "teapot", "", troupe.FaultBad},
		{429, "rate_limit_error", "slow down", troupe.FaultRetry},
		{500, "api_error", "oops", troupe.FaultRetry},
		{502, "", "bad gateway", troupe.FaultRetry},
		{503, "", "", troupe.FaultRetry},
		{504, "timeout_error", "", troupe.FaultRetry},
		{529, "overloaded_error", "Overloaded", troupe.FaultRetry},
	} {
		p, _ := serve(t, always(modeltest.Fail(tt.status, tt.kind, tt.text)), modeltest.Options{})
		_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
		me := failure(t, err)
		if me.Fault != tt.want || !strings.Contains(me.Message, fmt.Sprint(tt.status)) ||
			!strings.Contains(me.Message, tt.text) || !strings.Contains(me.Message, "req_fake") {
			t.Errorf("%d %s %q: %s %q, want %s", tt.status, tt.kind, tt.text, me.Fault, me.Message, tt.want)
		}
	}
}

func TestErrorEventInStream(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]troupe.ModelFault{
		"overloaded_error": troupe.FaultRetry, "api_error": troupe.FaultRetry, "new_error": troupe.FaultRetry,
		"authentication_error": troupe.FaultAuth, "invalid_request_error": troupe.FaultBad,
	} {
		p, _ := serve(t, always(modeltest.Reply{Text: "So far", ErrorType: kind, ErrorMessage: "because",
			Usage: troupe.Usage{Input: 5}}), modeltest.Options{})
		_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
		me := failure(t, err)
		if me.Fault != want || troupe.JoinText(me.Partial) != "So far" || me.Usage.Input != 5 ||
			!strings.Contains(me.Message, "because") {
			t.Errorf("%s: %+v", kind, me)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := New(Options{Now: func() time.Time { return now }})
	for _, tt := range []struct {
		after, ms string
		want      time.Duration
	}{
		{"", "", 0}, {"3", "", 3 * time.Second}, {"1.5", "", 1500 * time.Millisecond},
		{"7", "250", 250 * time.Millisecond},
		{"Fri, 02 Jan 2026 04:04:05 GMT", "", time.Hour}, {"Fri, 02 Jan 2026 03:00:00 GMT", "", 0},
		{"-1", "", 0}, {"soon", "", 0}, {"NaN", "", 0}, {"1e300", "", 24 * time.Hour}, {"3600", "x", time.Hour},
	} {
		h := http.Header{}
		h.Set("Retry-After", tt.after)
		h.Set("Retry-After-Ms", tt.ms)
		if got := p.client.RetryAfter(h); got != tt.want {
			t.Errorf("%q, %q: %s, want %s", tt.after, tt.ms, got, tt.want)
		}
	}
}

// TestNoSecretEver: a service, or whatever stands in its place, that repeats the key in all
// it says does not get it into an error.
func TestNoSecretEver(t *testing.T) {
	t.Parallel()
	other := "sk-ant-somebody-elses-key"
	says := "you sent " + testKey + " and " + other + "\x1b[31m" + strings.Repeat(" x", 5000) + testKey
	quoted, _ := json.Marshal(says)
	for name, h := range map[string]http.HandlerFunc{
		"plain": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, says, http.StatusUnauthorized) },
		"JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("request-id", testKey)
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%s}}`, quoted)
		},
		"error event": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"type\":\"error\",\"error\":{\"type\":%s,\"message\":%s}}\n\n", quoted,
				quoted)
		},
		"nonsense": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"type\":\"message_start\",\"message\":%s}\n\n", quoted)
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://example.invalid/?"+testKey, http.StatusTemporaryRedirect)
		},
		"bad redirect": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "://"+testKey)
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
	} {
		srv := httptest.NewServer(h)
		p := New(Options{APIKey: testKey, BaseURL: srv.URL})
		_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
		me := failure(t, err)
		all := fmt.Sprintf("%v %+v %#v %v", err, *me, me.Err, errors.Unwrap(err))
		if strings.Contains(all, testKey) || strings.Contains(all, other) || strings.Contains(all, "\x1b") ||
			len(me.Message) > upstream.MaxMessage+10 {
			t.Errorf("%s: %s", name, all)
		}
		p.Close()
		srv.Close()
	}
	p := New(Options{APIKey: testKey, BaseURL: "ftp://" + testKey})
	_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
	if me := failure(t, err); me.Fault != troupe.FaultBad || strings.Contains(me.Message, testKey) {
		t.Errorf("%+v", me)
	}
	if strings.Contains(fmt.Sprintf("%v", p.Name()+p.Encoder()), testKey) {
		t.Error("the provider tells its key")
	}
}

// TestRedirects: the key follows a redirect within the host, and never leaves it.
func TestRedirects(t *testing.T) {
	t.Parallel()
	leaked := make(chan string, 10)
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		leaked <- r.Header.Get("X-Api-Key")
	}))
	defer thief.Close()
	home := http.NewServeMux()
	home.HandleFunc("/away/v1/messages", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL+"/v1/messages", http.StatusPermanentRedirect)
	})
	home.HandleFunc("/moved/v1/messages", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/here", http.StatusTemporaryRedirect)
	})
	home.HandleFunc("/here", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") == testKey && r.ContentLength > 0 {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte(recorded))
		}
	})
	srv := httptest.NewServer(home)
	defer srv.Close()

	p := New(Options{APIKey: testKey, BaseURL: srv.URL + "/away/"})
	defer p.Close()
	_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
	if me := failure(t, err); me.Fault != troupe.FaultBad || !strings.Contains(me.Message, "ANTHROPIC_BASE_URL") {
		t.Errorf("%+v", me)
	}
	select {
	case key := <-leaked:
		t.Errorf("another host was asked, with the key %q", key)
	default:
	}
	q := New(Options{APIKey: testKey, BaseURL: srv.URL + "/moved/v1"})
	defer q.Close()
	if got, err := q.Stream(t.Context(), ask(t, q, "go"), nil); err != nil || len(got.Blocks) == 0 {
		t.Errorf("within the host: %+v, %v", got, err)
	}
}

func TestNotAMessagesAPI(t *testing.T) {
	t.Parallel()
	for media, body := range map[string]string{"text/html; charset=utf-8": "<h1>Welcome</h1>",
		"application/json": `{"ok":true}`} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			_, _ = w.Write([]byte(body))
		}))
		p := New(Options{APIKey: testKey, BaseURL: srv.URL})
		_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
		if me := failure(t, err); me.Fault != troupe.FaultBad || !strings.Contains(me.Message, "ANTHROPIC_BASE_URL") {
			t.Errorf("%s: %+v", media, me)
		}
		p.Close()
		srv.Close()
	}
}

// trickle is a transport whose stream comes in pieces, with a pause before each; a pause
// after the last that only the call's end ends.
type trickle struct {
	stream []byte
	size   int
	pause  time.Duration
}

func (c trickle) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: &trickling{c, r.Context().Done()}, Request: r}, nil
}

type trickling struct {
	trickle
	done <-chan struct{}
}

func (b *trickling) Read(p []byte) (int, error) {
	pause := time.After(b.pause)
	if len(b.stream) == 0 {
		pause = nil
	}
	select {
	case <-pause:
		n := copy(p, b.stream[:min(b.size, len(b.stream))])
		b.stream = b.stream[n:]
		return n, nil
	case <-b.done:
		return 0, context.Canceled
	}
}

func (b *trickling) Close() error { return nil }

// TestIdle runs on virtual time. A stream that stalls is given up after the idle timeout,
// and what it had said is kept; one that trickles is not idle, however long it takes; one
// that stays open behind its last event holds nobody up.
func TestIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{APIKey: testKey, Transport: trickle{[]byte(recorded)[:2600], 100, time.Minute}})
		start := time.Now()
		_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
		me := failure(t, err)
		if me.Fault != troupe.FaultRetry || !strings.Contains(me.Message, "5m0s") || me.Usage.CacheRead != 2000 ||
			len(me.Partial) == 0 {
			t.Errorf("stalled: %+v", me)
		}
		if took := time.Since(start); took != 26*time.Minute+5*time.Minute {
			t.Errorf("given up after %s", took)
		}
		slow := New(Options{APIKey: testKey, Transport: trickle{[]byte(recorded), 100, 4 * time.Minute}})
		start = time.Now()
		if _, err := slow.Stream(t.Context(), ask(t, slow, "go"), nil); err != nil {
			t.Errorf("trickling: %v", err)
		}
		pieces := time.Duration(len(recorded)+99) / 100
		if took := time.Since(start); took > pieces*4*time.Minute+time.Second {
			t.Errorf("held up for %s", took)
		}
	})
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	patient, _ := serve(t, always(modeltest.Reply{Raw: []byte(recorded), End: 2600, Stall: true}), modeltest.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := patient.Stream(ctx, ask(t, patient, "go"), func(d model.Delta) {
		if d.Text != "" {
			cancel()
		}
	})
	if me := failure(t, err); me.Fault != troupe.FaultInterrupted || !errors.Is(err, context.Canceled) ||
		!strings.Contains(troupe.JoinText(me.Partial), "Café") {
		t.Errorf("interrupted: %+v", me)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	p := New(Options{APIKey: testKey, BaseURL: srv.URL})
	_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
	if me := failure(t, err); me.Fault != troupe.FaultRetry {
		t.Errorf("refused connection: %+v", me)
	}
	q := New(Options{})
	_, err = q.Stream(t.Context(), ask(t, q, "go"), nil)
	if me := failure(t, err); me.Fault != troupe.FaultAuth || !strings.Contains(me.Message, "ANTHROPIC_API_KEY") {
		t.Errorf("no key: %+v", me)
	}
}

// TestCertificates: a private authority is an error that says what to do, and works once
// it is named.
func TestCertificates(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(recorded))
	}))
	srv.Config.ErrorLog = discard(t)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	p := New(Options{APIKey: testKey, BaseURL: srv.URL})
	_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
	if me := failure(t, err); me.Fault != troupe.FaultBad || !strings.Contains(me.Message, "TROUPE_CA_FILE") {
		t.Errorf("unknown authority: %+v", me)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	pool, err := model.CertPool(file)
	if err != nil {
		t.Fatal(err)
	}
	q := New(Options{APIKey: testKey, BaseURL: srv.URL, RootCAs: pool})
	defer q.Close()
	if _, err := q.Stream(t.Context(), ask(t, q, "go"), nil); err != nil {
		t.Errorf("named authority: %v", err)
	}
	if _, err := model.CertPool(file + ".not"); err == nil {
		t.Error("a missing file passed")
	}
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := model.CertPool(file); err == nil {
		t.Error("a file without certificates passed")
	}
}

// TestBillOfBrokenCall: gateways that do not stream arguments have them in a block's
// beginning; they are on the bill of a reply that ends behind it, too.
func TestBillOfBrokenCall(t *testing.T) {
	t.Parallel()
	stream := strings.Join(strings.SplitAfter(recorded, "\n\n")[:1], "") +
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"x","name":"Read","input":{"file_path":"` + strings.Repeat("a", 380) + `"}}}` + "\n\n"
	p, _ := serve(t, always(modeltest.Reply{Raw: []byte(stream), End: len(stream)}), modeltest.Options{})
	_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
	if me := failure(t, err); me.Usage != (troupe.Usage{Input: 3, Output: 100, CacheRead: 2000, CacheWrite: 100}) {
		t.Errorf("%+v", me)
	}
}
