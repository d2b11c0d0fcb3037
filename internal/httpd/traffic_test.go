package httpd

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/app/metrics"
	"github.com/troupe-dev/troupe/internal/app/metrics/metricstest"
)

// TestTrafficOfPanics: a request whose handler panics, so that its connection is closed without an answer, counts as
// one that failed, under its route; one whose reader leaves in the middle of the answer was answered.
func TestTrafficOfPanics(t *testing.T) {
	t.Parallel()
	for class, begins := range map[string]bool{"5xx": false, "2xx": true} {
		set := metrics.New()
		mux := http.NewServeMux()
		mux.HandleFunc("GET /v1/sessions/{id}", func(w http.ResponseWriter, _ *http.Request) {
			if begins {
				_, _ = w.Write([]byte("retry: 1000"))
			}
			panic(http.ErrAbortHandler)
		})
		func() {
			defer func() {
				if recover() == nil {
					t.Error("net/http is not told")
				}
			}()
			newTraffic(set).serve(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet,
				"/v1/sessions/x", http.NoBody), routed(mux))
		}()
		var b strings.Builder
		if err := set.Write(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		p, err := metricstest.Parse(b.String())
		if err != nil {
			t.Fatal(err)
		}
		if series := `troupe_http_requests_total{route="find-session",status="` + class + `"}`; p.Values[series] != 1 {
			t.Errorf("%s is %v", series, p.Values[series])
		}
	}
}
