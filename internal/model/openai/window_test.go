package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

func TestModels(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answers map[string]string
		want    []Model
	}{
		"openai": {map[string]string{"/v1/models": `{"object":"list","data":[{"id":"b","object":"model","owned_by":"system"},{"id":"a"},{"id":""}]}`}, []Model{{ID: "a"}, {ID: "b"}}},
		"vllm": {map[string]string{"/v1/models": `{"data":[{"id":"qwen","owned_by":"vllm","max_model_len":32768}]}`},
			[]Model{{ID: "qwen", Window: 32768}}},
		"llama.cpp": {map[string]string{"/v1/models": `{"models":[{"name":"q"}],"data":[{"id":"q.gguf","owned_by":"llamacpp","meta":{"n_ctx":8192,"n_ctx_train":131072}}]}`},
			[]Model{{ID: "q.gguf", Window: 8192, Trained: 131072}}},
		"a bare list": {map[string]string{"/v1/models": `[{"id":"m","context_length":1000}]`},
			[]Model{{ID: "m", Window: 1000}}},
		"ollama": {map[string]string{
			"/v1/models": `{"data":[{"id":"set","owned_by":"library"},{"id":"up","owned_by":"library"},{"id":"idle","owned_by":"library"}]}`,
			"/api/ps":    `{"models":[{"name":"up","context_length":4096}]}`,
			"/api/show":  `{"parameters":"temperature 0.7\nnum_ctx 16384\nstop \"x\"","model_info":{"qwen3.context_length":40960,"qwen3.block_count":3}}`,
		}, []Model{{ID: "idle", Window: 16384, Trained: 40960}, {ID: "set", Window: 16384, Trained: 40960},
			{ID: "up", Window: 4096, Trained: 40960}}},
		"ollama that only lists": {map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"library"}]}`},
			[]Model{{ID: "m"}}},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, ok := tt.answers[r.URL.Path]
			if !ok || r.Header.Get("Authorization") != "Bearer "+testKey {
				http.NotFound(w, r)
				return
			}
			_, _ = io.WriteString(w, body)
		}))
		p := New(Options{APIKey: testKey, BaseURL: srv.URL})
		if got, err := p.Models(t.Context()); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, tt.want)
		}
		p.Close()
		srv.Close()
	}
	p := answering(t, 200, nil, "hello")
	if _, err := p.Models(t.Context()); failed(t, err).Fault != troupe.FaultBad {
		t.Errorf("nonsense: %v", err)
	}
	p = answering(t, 401, nil, `{"error":{"message":"no"}}`)
	if _, err := p.Models(t.Context()); failed(t, err).Fault != troupe.FaultAuth {
		t.Errorf("no key: %v", err)
	}
}

// reader is a server with a window of its own, and a way to be too small for a prompt.
type reader struct {
	window  int
	perWord float64
	around  int // tokens of its own around every prompt
	tooLong func(w http.ResponseWriter, tokens, window int) int
	silent  bool
}

func (s reader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Max      int `json:"max_tokens"`
		Stream   bool
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || req.Max != 1 || req.Stream || len(req.Messages) != 1 {
		http.Error(w, "a strange request", http.StatusTeapot)
		return
	}
	tokens := s.around + int(float64(strings.Count(req.Messages[0].Content, probeWord))*s.perWord)
	if tokens+req.Max > s.window {
		if tokens = s.tooLong(w, tokens, s.window); tokens == 0 {
			return
		}
	}
	if s.silent {
		tokens = 0
	}
	_,
		_ = fmt.Fprintf(w,
		`{"choices":[{"message":{"content":"word"},"finish_reason":"length"}],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`, tokens)
}

func truncates(_ http.ResponseWriter, _, window int) int { return window - 1 }

func halves(_ http.ResponseWriter, _, window int) int { return window/2 + 2 }

func refuses(status int, body string) func(http.ResponseWriter, int, int) int {
	return func(w http.ResponseWriter, _, window int) int {
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, body, window)
		return 0
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	const llama = `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_ctx":%d}}`
	const vllm = `{"object":"error","message":"This model's maximum context length is %d tokens.","type":"BadRequestError","code":400}`
	const lost = `{"error":{"message":"no user query found in messages","x":%d}}`
	for name, tt := range map[string]struct {
		server  reader
		claimed int
		want    Verdict
		real    int
	}{
		"as claimed":              {reader{32768, 1, 40, truncates, false}, 32768, WindowHolds, 0},
		"larger":                  {reader{131072, 1, 40, truncates, false}, 32768, WindowHolds, 0},
		"drops what does not fit": {reader{4096, 1, 40, truncates, false}, 32768, WindowTruncates, 8190},
		"drops half":              {reader{4096, 1, 40, halves, false}, 131072, WindowTruncates, 4100},
		"drops a little": {reader{26000, 1, 40, truncates, false}, 32768, WindowTruncates,
			32768 * probeShare / 100},
		"says so, and how much": {reader{8192, 1, 40, refuses(400, llama), false}, 32768, WindowRefuses, 8192},
		"says so": {reader{8192, 1, 40, refuses(400, vllm), false}, 32768, WindowRefuses,
			32768 * probeShare / 100},
		"drops, and misses it": {reader{8192, 1, 40, refuses(500, lost), false}, 32768, WindowRefuses,
			32768 * probeShare / 100},
		"two tokens a word, as claimed": {reader{32768, 2, 300, refuses(400, vllm), false}, 32768, WindowHolds, 0},
		"five tokens a word, too small": {reader{16000, 5, 300, refuses(400, llama), false}, 32768, WindowRefuses,
			16000},
		"much around, and just too long": {reader{20000, 1, 700, refuses(400, llama), false}, 32768, WindowRefuses,
			20000},
		"does not tell": {reader{4096, 1, 40, truncates, true}, 32768, WindowUnknown, 0},
	} {
		srv := httptest.NewServer(tt.server)
		p := New(Options{BaseURL: srv.URL})
		got, err := p.Window(t.Context(), "m", tt.claimed)
		if err != nil || got.Verdict != tt.want || got.Real != tt.real || got.Claimed != tt.claimed || got.Sent == 0 ||
			got.Advice == "" {
			t.Errorf("%s: %+v, %v, want %s, %d", name, got, err, tt.want, tt.real)
		}
		p.Close()
		srv.Close()
	}
}

// TestWindowFails: what is not about length is no verdict.
func TestWindowFails(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]troupe.ModelFault{401: troupe.FaultAuth, 429: troupe.FaultRetry,
		400: troupe.FaultBad, 500: troupe.FaultRetry, 503: troupe.FaultRetry} {
		p := answering(t, status, nil, `{"error":{"message":"no"}}`)
		if got, err := p.Window(t.Context(), "m", 4096); failed(t, err).Fault != want || got != (WindowReport{}) {
			t.Errorf("%d: %+v, %v", status, got, err)
		}
	}
	p := answering(t, 200, nil, `hello`)
	if _, err := p.Window(t.Context(), "m", 4096); failed(t, err).Fault != troupe.FaultBad {
		t.Errorf("nonsense: %v", err)
	}
	for id, claimed := range map[string]int{"": 4096, "m": 100} {
		if _, err := p.Window(t.Context(), id, claimed); failed(t, err).Fault != troupe.FaultBad {
			t.Errorf("%q, %d: %v", id, claimed, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Window(ctx, "m", 4096); failed(t, err).Fault != troupe.FaultInterrupted {
		t.Errorf("cancelled: %v", err)
	}
}
