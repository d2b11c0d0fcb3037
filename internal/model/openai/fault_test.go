package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// answering is a server that answers everything with the same.
func answering(t *testing.T, status int, header map[string]string, body string) *Provider {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for k, v := range header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	p := New(Options{Name: "local", APIKey: testKey, BaseURL: srv.URL})
	t.Cleanup(func() { p.Close(); srv.Close() })
	return p
}

// TestFaults: what servers say, in the forms they have for it.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		body   string
		want   troupe.ModelFault
	}{
		{400,
			`{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, troupe.FaultTooLong},
		{400,
			`{"error":{"message":"too long for me","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, troupe.FaultTooLong},
		{400,
			`{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","param":null,"code":400}`, troupe.FaultTooLong},
		{400,
			`{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 8192 tokens and your request has 1210 input tokens","type":"BadRequestError","param":"max_tokens","code":400}}`, troupe.FaultTooLong},
		{400,
			`{"error":{"code":400,"message":"sorry","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}`, troupe.FaultTooLong},
		{500,
			`{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"server_error"}}`, troupe.FaultTooLong},
		{400,
			`{"error":{"message":"prompt too long; exceeded max context length by 77 tokens","type":"invalid_request_error","param":null,"code":null}}`, troupe.FaultTooLong},
		{413, `{"error":{"message":"Payload too large"}}`, troupe.FaultTooLong},
		{429,
			`{"error":{"message":"Request too large for gpt-x in organization org-x on tokens per min (TPM): Limit 30000, Requested 41000.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, troupe.FaultTooLong},
		{400,
			`{"error":{"message":"max_tokens is too large: 99999. This model supports at most 16384 completion tokens","type":"invalid_request_error","param":"max_tokens","code":null}}`, troupe.FaultBad},
		{400,
			`{"error":{"message":"Function tools with reasoning_effort are not supported","type":"invalid_request_error","param":"reasoning_effort","code":null}}`, troupe.FaultNoModel},
		{401,
			`{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, troupe.FaultAuth},
		{403, `{"error":{"message":"Country not supported","type":"request_forbidden"}}`, troupe.FaultAuth},
		{402,
			`{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, troupe.FaultAuth},
		{429,
			`{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, troupe.FaultAuth},
		{429,
			`{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":null}}`, troupe.FaultAuth},
		{429, `{"error":{"message":"Rate limit reached","type":"requests","param":null,"code":"rate_limit_exceeded"}}`,
			troupe.FaultRetry},
		{404,
			`{"error":{"message":"The model does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}`, troupe.FaultNoModel},
		{403,
			`{"error":{"message":"Project does not have access","type":"invalid_request_error","param":null,"code":"model_not_found"}}`, troupe.FaultNoModel},
		{404,
			`{"object":"error","message":"The one you named does not exist.","type":"NotFoundError","param":"model","code":404}`, troupe.FaultNoModel},
		{404,
			`{"error":{"message":"model \"llama9\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`, troupe.FaultNoModel},
		{400,
			`{"error":{"message":"Model Not Exist","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, troupe.FaultNoModel},
		{404,
			`{"error":{"message":"Invalid URL (POST /v1/v1/chat/completions)","type":"invalid_request_error","param":null,"code":null}}`, troupe.FaultBad},
		{404, `{"error":{"message":"No such thing","type":"not_found_error","param":null,"code":null}}`,
			troupe.FaultNoModel},
		{404, `404 page not found`, troupe.FaultBad}, {404, `{"detail":"Not Found"}`, troupe.FaultBad},
		{404, `{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}`, troupe.FaultBad},
		{503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, troupe.FaultRetry},
		{200, `{"error":{"message":"Overloaded","code":503}}`, troupe.FaultRetry},
		{200, `{"error":{"message":"Invalid key","code":"401"}}`, troupe.FaultAuth},
		{200, `{"choices":[]}`, troupe.FaultBad}, {200, `<h1>Welcome</h1>`, troupe.FaultBad},
	} {
		header := map[string]string{"Content-Type": "application/json", "x-request-id": "req_7"}
		if tt.body[0] == '<' {
			header["Content-Type"] = "text/html; charset=utf-8"
		}
		p := answering(t, tt.status, header, tt.body)
		_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
		me := failed(t, err)
		if me.Fault != tt.want || !strings.Contains(me.Message, fmt.Sprint(tt.status)) ||
			!strings.Contains(me.Message, "local (127.0.0.1") || !strings.Contains(me.Message, "req_7") {
			t.Errorf("%d %s: %s %q, want %s", tt.status, tt.body, me.Fault, me.Message, tt.want)
		}
		if hint := strings.Contains(me.Message, "the base URL of local a Chat Completions "+
			"API"); hint != (tt.status == 200 && tt.want == troupe.FaultBad) {
			t.Errorf("%d %s: %s", tt.status, tt.body, me.Message)
		}
	}
}

// TestErrorInStream: as a chunk, in all forms, with what had come by then.
func TestErrorInStream(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]troupe.ModelFault{
		`{"error":{"message":"because","type":"server_error","code":null}}`: troupe.FaultRetry,
		`{"error":"because"}`: troupe.FaultRetry,
		`{"error":{"message":"because","code":502},"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`:     troupe.FaultRetry,
		`{"error":{"message":"because","code":401}}`:                                                                troupe.FaultAuth,
		`{"error":{"message":"because","code":"400"}}`:                                                              troupe.FaultBad,
		`{"error":{"message":"because","type":"BadRequestError"}}`:                                                  troupe.FaultBad,
		`{"error":{"message":"because","type":"insufficient_quota"}}`:                                               troupe.FaultAuth,
		`{"error":{"message":"because","code":400,"type":"exceed_context_size_error"}}`:                             troupe.FaultTooLong,
		`{"object":"error","message":"because","type":"InternalServerError","code":500}`:                            troupe.FaultRetry,
		`{"object":"error","message":"because, maximum context length is 9 tokens","type":"BadRequest","code":400}`: troupe.FaultTooLong,
	} {
		p := New(Options{APIKey: testKey, Transport: canned{[]byte(`data: {"choices":[],"usage":{"prompt_tokens":5}}` +
			"\n\n" + chunk(`{"content":"So far"}`, "") + "data: " + body + "\n\n")}})
		_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
		me := failed(t, err)
		if me.Fault != want || troupe.JoinText(me.Partial) != "So far" || me.Usage.Input != 5 ||
			!strings.Contains(me.Message, "because") {
			t.Errorf("%s: %+v, want %s", body, me, want)
		}
	}
}

func TestRateLimitHeaders(t *testing.T) {
	t.Parallel()
	const body = `{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`
	for _, tt := range []struct {
		header map[string]string
		want   time.Duration
	}{
		{map[string]string{"Retry-After": "7", "x-ratelimit-reset-requests": "1s"}, 7 * time.Second},
		{map[string]string{"retry-after-ms": "1500", "Retry-After": "2"}, 1500 * time.Millisecond},
		{map[string]string{"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"}, time.Second},
		{map[string]string{"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s",
			"x-ratelimit-remaining-tokens": "0"}, 6 * time.Minute},
		{map[string]string{"x-ratelimit-reset-tokens": "12ms"}, 12 * time.Millisecond},
		{map[string]string{"x-ratelimit-reset-tokens": "30"}, 30 * time.Second},
		{map[string]string{"x-ratelimit-reset-tokens": "1000h"}, 24 * time.Hour},
		{map[string]string{"x-ratelimit-reset-tokens": "-5s"}, 0},
		{map[string]string{"x-ratelimit-reset-tokens": "soon"}, 0}, {nil, 0},
	} {
		p := answering(t, 429, tt.header, body)
		_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
		if me := failed(t, err); me.RetryAfter != tt.want || me.Fault != troupe.FaultRetry {
			t.Errorf("%v: %+v, want %s", tt.header, me, tt.want)
		}
	}
}

// TestNoSecretEver: a server that repeats the key in all it says does not get it into an error.
func TestNoSecretEver(t *testing.T) {
	t.Parallel()
	other := "sk-proj-somebody-elses-key"
	says := "you sent " + testKey + " and " + other + "\x1b[31m" + strings.Repeat(" x", 5000) + testKey
	quoted, _ := json.Marshal(says)
	for name, h := range map[string]http.HandlerFunc{
		"plain": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, says, http.StatusUnauthorized) },
		"JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("x-request-id", testKey)
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"error":{"type":%s,"code":%s,"message":%s}}`, quoted, quoted, quoted)
		},
		"error in the stream": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"error\":{\"type\":%s,\"message\":%s}}\n\n", quoted, quoted)
		},
		"nonsense": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":{\"x\":%s}}}]}\n\n", quoted)
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://example.invalid/?"+testKey, http.StatusTemporaryRedirect)
		},
	} {
		srv := httptest.NewServer(h)
		p := New(Options{APIKey: testKey, BaseURL: srv.URL})
		_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
		_, listErr := p.Models(t.Context())
		_, windowErr := p.Window(t.Context(), "m", 4096)
		for _, err := range []error{err, listErr, windowErr} {
			me := failed(t, err)
			all := fmt.Sprintf("%v %+v %#v", err, *me, me.Err)
			if strings.Contains(all, testKey) || strings.Contains(all, other) || strings.Contains(all, "\x1b") ||
				len(me.Message) > 1100 {
				t.Errorf("%s: %s", name, all)
			}
		}
		p.Close()
		srv.Close()
	}
	p := New(Options{APIKey: testKey, BaseURL: "ftp://" + testKey})
	_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
	if me := failed(t, err); me.Fault != troupe.FaultBad || strings.Contains(me.Message, testKey) {
		t.Errorf("%+v", me)
	}
}

// TestKeyStaysHome: the key never follows a redirect to another host.
func TestKeyStaysHome(t *testing.T) {
	t.Parallel()
	leaked := make(chan string, 10)
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		leaked <- r.Header.Get("Authorization")
	}))
	defer thief.Close()
	p := answering(t, http.StatusPermanentRedirect, map[string]string{"Location": thief.URL + "/v1/chat/completions"},
		"")
	_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
	if me := failed(t, err); me.Fault != troupe.FaultBad || !strings.Contains(me.Message, "the base URL of local") {
		t.Errorf("%+v", me)
	}
	select {
	case key := <-leaked:
		t.Errorf("another host was asked, with the key %q", key)
	default:
	}
}

func TestNoKey(t *testing.T) {
	t.Parallel()
	p := official()
	_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
	if me := failed(t, err); me.Fault != troupe.FaultAuth || !strings.Contains(me.Message, "OPENAI_API_KEY") {
		t.Errorf("no key: %+v", me)
	}
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	q := New(Options{BaseURL: srv.URL})
	_, err = q.Stream(t.Context(), ask(t, q, "go"), nil)
	if me := failed(t, err); me.Fault != troupe.FaultRetry {
		t.Errorf("refused connection: %+v", me)
	}
}

// TestBillOfBrokenChunk: a server that gives up says so and what it cost in one chunk.
func TestBillOfBrokenChunk(t *testing.T) {
	t.Parallel()
	last := `data: {"choices":[{"index":0,"delta":{},"finish_reason":"insufficient_system_resource"}],"usage":{"prompt_tokens":5,"completion_tokens":3}}` + "\n\n"
	p := New(Options{APIKey: testKey, Transport: canned{[]byte(chunk(`{"content":"So far, so good."}`, "") + last)}})
	_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
	if me := failed(t, err); me.Usage != (troupe.Usage{Input: 5, Output: 3}) ||
		strings.Contains(me.Message, "estimated") {
		t.Errorf("%+v", me)
	}
}
