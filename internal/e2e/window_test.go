package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/troupe-dev/troupe/internal/model/modeltest"
	"github.com/troupe-dev/troupe/internal/wire"
)

// tooSmall stands before a server: a prompt without a stream is a test of its window, and it refuses what is longer.
func tooSmall(t *testing.T, behind string, window int) string {
	t.Helper()
	u, err := url.Parse(behind)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: u.Scheme, Host: u.Host})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(body), `"content":"Window test `) {
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			pass.ServeHTTP(w, r)
			return
		}
		tokens := 50 + strings.Count(string(body), " word")
		w.Header().Set("Content-Type", "application/json")
		if tokens > window {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"error":{"message":"the request exceeds the context size","n_ctx":%d}}`, window)
			return
		}
		_, _ = fmt.Fprintf(w, `{"choices":[{"message":{"content":"word"}}],"usage":{"prompt_tokens":%d}}`, tokens)
	}))
	t.Cleanup(front.Close)
	u.Host = strings.TrimPrefix(front.URL, "http://")
	return u.String()
}

// TestSmallerWindow: doctor finds a window that is smaller than the settings claim, and names the setting to change;
// with that, conversations are shortened before they are too long for it.
func TestSmallerWindow(t *testing.T) {
	t.Parallel()
	var summaries atomic.Int64
	s := modeltest.NewOpenAI(func(r *modeltest.Request) modeltest.Reply {
		reply := modeltest.Text("All read.")
		switch {
		case strings.Contains(r.LastText(), "about to be replaced by what you write now"):
			summaries.Add(1)
			reply = modeltest.Text("Files were read.")
		case r.Turn == 1 && !strings.Contains(r.FirstText(), "Files were read."):
			reply = modeltest.Calls(modeltest.Call{Name: "Read", Input: `{"file_path":"big.txt"}`})
		}
		reply.Usage.Input = int64(len(r.Body) / 4)
		return reply
	}, modeltest.Options{})
	t.Cleanup(func() {
		s.Close()
		if err := s.Err(); err != nil {
			t.Errorf("requests broke a rule: %v", err)
		}
	})
	const window = 12_000
	p, server := newPlace(t), tooSmall(t, s.URL(), window)
	p.write("big.txt", strings.Repeat("a line that fills the window up\n", 800))
	settings := func(window int) {
		p.write("../home/settings.json", fmt.Sprintf(
			`{"model": "small/model", "providers": {"small": {"base_url": %q, "window": %d}}}`, server, window))
	}
	doctor := func(code int) (d wire.Diagnosis) {
		t.Helper()
		r := p.troupe("doctor", "--json")
		if err := json.Unmarshal([]byte(r.out), &d); err != nil || r.code != code || d.Window == nil {
			t.Fatalf("doctor: exit %d, want %d: %v\n%s%s", r.code, code, err, r.out, r.errOut)
		}
		return d
	}
	read := func() int64 {
		t.Helper()
		summaries.Store(0)
		if run := p.run(0, "-p", "read it"); run.Result != "All read." {
			t.Errorf("it ended with %q", run.Result)
		}
		return summaries.Load()
	}

	settings(100_000)
	if n := read(); n != 0 {
		t.Errorf("%d summaries with a window that is believed to be large", n)
	}
	found := doctor(0)
	advice := fmt.Sprintf("set providers.small.window to %d in ", window)
	if found.Window.Verdict != "refuses" || found.Window.Claimed != 100_000 || found.Window.Real != window ||
		!strings.Contains(strings.Join(found.Problems, "\n"), advice) {
		t.Errorf("doctor found %+v, and says %q", found.Window, found.Problems)
	}
	settings(found.Window.Real)
	if n := read(); n == 0 {
		t.Error("the real window is set, and nothing was shortened")
	}
	if again := doctor(0); again.Window.Verdict != "holds" || again.Window.Claimed != window {
		t.Errorf("with the real window doctor found %+v", again.Window)
	}
	p.audit("main")
}
