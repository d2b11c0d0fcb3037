package e2e_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

// TestTenThousandReads: ten thousand calls in one reply are ten thousand calls.
func TestTenThousandReads(t *testing.T) {
	t.Parallel()
	const n = 10_000
	p, _ := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		if r.Turn > 1 {
			return modeltest.Text("All read.")
		}
		calls := make([]modeltest.Call, n)
		for i := range calls {
			calls[i] = modeltest.Call{Name: "Read", Input: `{"file_path":"a.txt"}`}
		}
		return modeltest.Calls(calls...)
	})
	p.write("a.txt", "content\n")
	start := time.Now()
	run := p.run(0, "-p", "--max-tokens", "100000000", "read")
	if run.Result != "All read." {
		t.Errorf("%s: %s", run.Status, run.Error)
	}
	t.Logf("%d calls in %s", n, time.Since(start))
}

// TestThousandsOfAgents: one reply starts as many agents as max_total allows, and all of them end well. The ends of
// 5,000 fill the main agent's window, so a summary stands between them and its answer. TROUPE_ALL_AGENTS=1
// starts 5,000 (make test-long), else there are 500.
func TestThousandsOfAgents(t *testing.T) {
	t.Parallel()
	n := 500
	if os.Getenv("TROUPE_ALL_AGENTS") != "" {
		n = 5000
	}
	var asked atomic.Bool
	var children atomic.Int64
	p, _ := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		switch {
		case !isMain(r):
			children.Add(1)
			return modeltest.Text("Looked.")
		case asked.Swap(true): // a summary too, if their ends fill the window
			return modeltest.Text("All have looked.")
		}
		calls := make([]modeltest.Call, n)
		for i := range calls {
			calls[i] = agentCall("prompt", fmt.Sprintf("Look at part %d.", i))
		}
		return modeltest.Calls(calls...)
	})
	p.write("../home/settings.json", fmt.Sprintf(`{"agents": {"max_total": %d}}`, n))
	start := time.Now()
	run := p.run(0, "-p", "start them all")
	took := time.Since(start)
	if len(run.Agents) != n+1 || children.Load() != int64(n) {
		t.Errorf("%d sessions and %d requests of agents; want %d agents", len(run.Agents), children.Load(), n)
	}
	for _, a := range run.Agents {
		if a.Status != troupe.Completed {
			t.Fatalf("%s is %s: %s", a.Path, a.Status, a.Error)
		}
	}
	t.Logf("%d agents in %s", n, took)
}

// TestTooManyCalls: a reply beyond our own limit is paid for once, and the run says what it was.
func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	p, s := newServed(t, func(*modeltest.Request) modeltest.Reply {
		r := modeltest.Reply{Calls: make([]modeltest.Call, 60_000), Usage: troupe.Usage{Input: 5, Output: 9}}
		for i := range r.Calls {
			r.Calls[i] = modeltest.Call{Name: "Read", Input: `{"file_path":"a.txt"}`}
		}
		return r
	})
	run := p.run(1, "-p", "read")
	if s.Count() != 1 || !strings.Contains(run.Error, "more than 50000 blocks") {
		t.Errorf("%d requests: %s", s.Count(), run.Error)
	}
}

// TestPatienceEnds: a run that nobody watches does not go on for ever with a service that always fails.
func TestPatienceEnds(t *testing.T) {
	t.Parallel()
	for _, status := range []int{500, 529} {
		p, s := newServed(t, func(*modeltest.Request) modeltest.Reply {
			return modeltest.Fail(status, "api_error", "no luck today")
		})
		p.write("../home/settings.json", `{"retry_seconds": 4}`)
		start := time.Now()
		run := p.run(1, "-p", "go")
		if !strings.Contains(run.Error, "no luck today") || !strings.Contains(run.Error, "see retry_seconds") {
			t.Errorf("%d: %s", status, run.Error)
		}
		if took := time.Since(start); took > 10*time.Second || s.Count() < 2 {
			t.Errorf("%d: %d attempts in %s", status, s.Count(), took)
		}
	}
}

// TestNoSuchModelSwitches: a gateway's 404 for a model it does not have switches to the fallback.
func TestNoSuchModelSwitches(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Model string }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.Model == "big" {
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"error":{"message":"nothing here","type":"not_found_error","code":null}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"from `+asked.Model+`"},"finish_reason":"stop"}]}`+
			"\n\ndata: [DONE]\n\n")
	}))
	defer s.Close()
	p := newPlace(t, "OPENAI_API_KEY="+secret, "OPENAI_BASE_URL="+s.URL)
	run := p.run(0, "-p", "--model", "openai/big", "--fallback-model", "openai/small", "go")
	if run.Result != "from small" {
		t.Errorf("%s: %q %s", run.Status, run.Result, run.Error)
	}
}

// TestZippedReply: a gateway that compresses what was not to be compressed is understood.
func TestZippedReply(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write(modeltest.Text("Unzipped.").Stream(&modeltest.Request{Number: 1, Model: "m"}))
		_ = z.Close()
	}))
	defer s.Close()
	p := newPlace(t, "ANTHROPIC_API_KEY="+secret, "ANTHROPIC_BASE_URL="+s.URL)
	if run := p.run(0, "-p", "go"); run.Result != "Unzipped." || asked.Load() != 1 {
		t.Errorf("%d attempts, %s: %q %s", asked.Load(), run.Status, run.Result, run.Error)
	}
}
