package home

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/metrics/metricstest"
	"github.com/troupe-dev/troupe/internal/client"
	"github.com/troupe-dev/troupe/internal/wire"
)

// fetch gets a path at an address with a token.
func fetch(t *testing.T, address, path, token string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// scrape reads what an address has counted.
func scrape(t *testing.T, address, token string) metricstest.Page {
	t.Helper()
	resp, text := fetch(t, address, "/metrics", token)
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/plain; version=0.0.4; "+
		"charset=utf-8" {
		t.Fatalf("%s %s: %s", resp.Status, resp.Header.Get("Content-Type"), text)
	}
	p, err := metricstest.Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

// scrapeUntil reads until a series has a value.
func scrapeUntil(t *testing.T, address, token, series string, want float64) metricstest.Page {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		p := scrape(t, address, token)
		if p.Values[series] == want {
			return p
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("%s is %v, want %v", series, p.Values[series], want)
		}
	}
}

const scriptOfMetrics = `price: {input: 3, output: 15, cache_read: 0.3, cache_write: 3.75}
replies:
  - turn: 1
    attempt: 1
    error: server
  - turn: 1
    usage: {input: 1000, output: 100, cache_read: 40, cache_write: 7}
    calls: [{tool: Write, input: {file_path: made.txt, content: x}}]
  - usage: {input: 1000, output: 100, cache_read: 40, cache_write: 7}
    text: done
`

// TestMetrics: a server says what it has counted to whoever may look, and to nobody else; what it says is what was
// done there, and each name is described in docs/operating.md.
func TestMetrics(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "play.yaml"), []byte(scriptOfMetrics), 0o600); err != nil {
		t.Fatal(err)
	}
	receiver := httptest.NewServer(http.NotFoundHandler())
	defer receiver.Close()
	env := envOf(t)
	dir, _ := env.Lookup("TROUPE_HOME")
	settings := `{"notify": {"local_hosts": ["` + strings.TrimPrefix(receiver.URL, "http://") + `"]}}`
	if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Serve(t.Context(), env, ServeOptions{Listen: "127.0.0.1:0", Folders: []string{folder}})
	if err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	viewer := tokenOf(t, s.hosting.people, "vera", troupe.RightViewer)
	for token, want := range map[string]int{"": 401, "troupe_a_b": 401, "troupepeer_x": 401, viewer: 200,
		s.hosting.secret: 200} {
		resp, text := fetch(t, s.Address, "/metrics", token)
		if resp.StatusCode != want || strings.Contains(text, "troupe_") == (want == 401) {
			t.Errorf("with the token %.12q: %s", token, resp.Status)
		}
		if resp.Header.Get("X-Request-Id") == "" {
			t.Error("an answer says no request id")
		}
	}
	p := scrape(t, s.Address, viewer)
	for series, want := range map[string]float64{
		`troupe_http_requests_total{route="none",status="4xx"}`:         3,
		`troupe_http_requests_total{route="metrics",status="2xx"}`:      2,
		`troupe_http_refused_total{why="token"}`:                        3,
		`troupe_http_request_duration_seconds_count{route="none"}`:      3,
		`troupe_sessions_started_total`:                                 0,
		`troupe_build_info{version="v",go="` + runtime.Version() + `"}`: 1,
	} {
		if got, ok := p.Values[series]; !ok || got != want {
			t.Errorf("%s is %v, %v; want %v", series, got, ok, want)
		}
	}

	begin := wire.Begin{Prompt: "ask", Cwd: folder, Model: "script:play.yaml", AskMS: time.Hour.Milliseconds()}
	olaf := client.At(s.Address, tokenOf(t, s.hosting.people, "olaf", troupe.RightOperator))
	defer olaf.Close()
	if _, err := olaf.Begin(t.Context(), begin); err == nil {
		t.Error("an operator chooses a file for a model")
	}
	if _, err := client.SignIn(t.Context(), s.Address, wire.SignIn{Code: "none"}); err == nil {
		t.Error("a code that is none is one")
	}
	c := client.At(s.Address, tokenOf(t, s.hosting.people, "ada", troupe.RightAdmin))
	defer c.Close()
	if _, err := c.Server().Targets().SetTarget(t.Context(), wire.TargetTerms{Name: "chat", URL: receiver.URL,
		Events: []wire.NoticeEvent{wire.NoticeSessionEnded}}); err != nil {
		t.Fatal(err)
	}
	begun, err := c.Begin(t.Context(), begin)
	if err != nil {
		t.Fatal(err)
	}
	p = scrapeUntil(t, s.Address, viewer, "troupe_requests_open", 1)
	for series, want := range map[string]float64{
		`troupe_sessions{status="waiting",waits_for="approval"}`: 1,
		`troupe_agents_at_work`:                                  0,
		`troupe_sessions_started_total`:                          1,
		`troupe_requests_opened_total`:                           1,
		`troupe_model_call_duration_seconds_count`:               1,
		`troupe_model_tokens_total{kind="input"}`:                1000,
		`troupe_http_requests_total{route="begin",status="2xx"}`: 1,
		`troupe_http_requests_total{route="begin",status="4xx"}`: 1,
		`troupe_http_refused_total{why="right"}`:                 1,
		`troupe_http_refused_total{why="login"}`:                 1,
		`troupe_model_errors_total{fault="retry"}`:               1,
	} {
		if got, ok := p.Values[series]; !ok || got != want {
			t.Errorf("%s is %v, %v; want %v", series, got, ok, want)
		}
	}
	scrapeUntil(t, s.Address, viewer, `troupe_sessions_kept{state="at_work"}`, 1)
	reading, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(reading, http.MethodGet,
		s.Address+"/v1/sessions/"+string(begun.Root)+"/events",
		http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+viewer)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	scrapeUntil(t, s.Address, viewer, "troupe_http_streams_open", 1)
	cancel()
	resp.Body.Close()
	if err := c.Answer(t.Context(), wire.OnlyRequest, wire.Answer{Allow: true}); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(t.Context(), begun.Root); err != nil {
		t.Fatal(err)
	}
	p = scrapeUntil(t, s.Address, viewer, "troupe_http_streams_open", 0)
	for series, want := range map[string]float64{
		`troupe_requests_open`:                            0,
		`troupe_requests_settled_total`:                   1,
		`troupe_sessions_ended_total{status="completed"}`: 1,
		`troupe_model_call_duration_seconds_count`:        2,
		`troupe_model_errors_total{fault="retry"}`:        1,
		`troupe_model_tokens_total{kind="input"}`:         2000,
		`troupe_model_tokens_total{kind="output"}`:        200,
		`troupe_model_tokens_total{kind="cache_read"}`:    80,
		`troupe_model_tokens_total{kind="cache_write"}`:   14,
		`troupe_model_calls_active`:                       0,
		`troupe_model_calls_waiting`:                      0,
		`troupe_model_cost_dollars_total`:                 0.0090765,
	} {
		if got, ok := p.Values[series]; !ok || got != want {
			t.Errorf("%s is %v, %v; want %v", series, got, ok, want)
		}
	}
	if got := p.Values["troupe_database_update_duration_seconds_count"]; got < 4 {
		t.Errorf("%v updates", got)
	}
	p = scrapeUntil(t, s.Address, viewer, `troupe_notices_total{outcome="failed"}`, 1)
	if got := p.Values[`troupe_notices{state="waiting"}`]; got != 1 {
		t.Errorf("%v notices wait", got)
	}
	// The stream was counted as a request, and took no time.
	p = scrapeUntil(t, s.Address, viewer, `troupe_http_requests_total{route="events",status="2xx"}`, 1)
	if _, ok := p.Values[`troupe_http_request_duration_seconds_count{route="events"}`]; ok {
		t.Error("a stream is among the durations of requests")
	}
	documentedMetrics(t, p)
}

// documentedMetrics compares what is told with the table in docs/operating.md: each name is there with its labels, and
// the table names none that a server like this one never tells.
func documentedMetrics(t *testing.T, p metricstest.Page) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(text), "## What it logs")
	rows := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(troupe_[a-z_]+|go_[a-z_]+|process_[a-z_]+)` \\| "+
		"([^|]*)\\|").FindAllStringSubmatch(table,
		-1) {
		rows[m[1]] = m[2]
	}
	for name := range p.Types {
		if _, ok := rows[name]; !ok {
			t.Errorf("docs/operating.md does not describe %s", name)
		}
	}
	for series := range p.Values {
		name, labels, _ := strings.Cut(series, "{")
		for _, end := range []string{"_bucket", "_sum", "_count"} {
			if base := strings.TrimSuffix(name, end); p.Types[base] == "histogram" {
				name = base
			}
		}
		for _, m := range regexp.MustCompile(`([a-z_]+)="`).FindAllStringSubmatch(labels, -1) {
			if m[1] != "le" && !strings.Contains(rows[name], "`"+m[1]+"`") {
				t.Errorf("docs/operating.md does not name the label %s of %s", m[1], name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		onLinux := strings.HasPrefix(name, "process_") && runtime.GOOS != "linux"
		if p.Types[name] == "" && !onLinux && name != "troupe_database_errors_total" {
			t.Errorf("docs/operating.md describes %s, which is not told", name)
		}
	}
}

// TestMetricsOfWorkers: what a worker counts is told at the address that it listens on, to users who may look and to
// processes of the database; users may do nothing else there.
func TestMetricsOfWorkers(t *testing.T) {
	t.Parallel()
	w, err := Work(t.Context(), envOf(t), ServeOptions{Listen: "127.0.0.1:0", Folders: []string{t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	closed(t, w)
	viewer := tokenOf(t, w.hosting.people, "vera", troupe.RightViewer)
	for _, x := range []struct {
		token, path string
		want        int
	}{
		{"", "/metrics", 401}, {"troupe_a_b", "/metrics", 401}, {viewer, "/metrics", 200},
		{viewer, "/v1/sessions", 401}, {viewer, "/metrics", 200}, {viewer, "/metrics/", 401},
		{w.hosting.secret, "/metrics", 200}, {w.hosting.secret, "/v1/sessions", 200},
	} {
		resp, text := fetch(t, w.Reached, x.path, x.token)
		if resp.StatusCode != x.want {
			t.Errorf("%s with %.12q: %s %.200s", x.path, x.token, resp.Status, text)
		}
	}
	p := scrape(t, w.Reached, w.hosting.secret)
	if _, ok := p.Values["troupe_agents_at_work"]; !ok {
		t.Errorf("a worker tells %v", slices.Sorted(maps.Keys(p.Values)))
	}
}
