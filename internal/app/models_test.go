package app

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestProvidersOfOnesOwn: what is wrong with a server of the user's own is said of that server,
// and nobody else's key is blamed.
func TestProvidersOfOnesOwn(t *testing.T) {
	t.Parallel()
	answers := func(code int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			fmt.Fprint(w, `{"error":{"message":"there is no such model"}}`)
		}))
		t.Cleanup(s.Close)
		return s.URL + "/v1"
	}
	home := t.TempDir()
	settings, err := json.Marshal(map[string]any{"providers": map[string]any{
		"vllm": map[string]string{"base_url": answers(http.StatusUnauthorized), "key_env": "VLLM_KEY"},
		"own":  map[string]string{"base_url": answers(http.StatusNotFound)},
		"off":  map[string]string{"base_url": "http://127.0.0.1:1/v1"},
		"none": map[string]string{"base_url": "http://127.0.0.1:1/v1", "key_env": "NO_KEY"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "settings.json"), settings, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := Open(t.Context(), Env{
		Lookup: func(name string) (string, bool) {
			v, ok := map[string]string{"TROUPE_HOME": home, "VLLM_KEY": "some-key-or-other"}[name]
			return v, ok
		},
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Version: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	for full, want := range map[string]string{"vllm/qwen": "is VLLM_KEY right", "own/qwen": "providers.own"} {
		r, err := you(a).Begin(t.Context(), wire.Begin{Prompt: "go", Cwd: t.TempDir(), Model: full})
		if err != nil {
			t.Fatal(err)
		}
		if err := you(a).Wait(t.Context(), r.Root); err != nil {
			t.Fatal(err)
		}
		report, err := you(a).Report(t.Context(), r.Root)
		if err != nil || report.Cause != troupe.CauseNoModel || !strings.Contains(report.Suspects, want) ||
			strings.Contains(report.Suspects, "ANTHROPIC") {
			t.Errorf("%s: %s: %q, %v", full, report.Cause, report.Suspects, err)
		}
	}
	list, err := you(a).Machine().Models(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"off", "own", "vllm"}, list.Providers); d != "" {
		t.Error(d)
	}
	problems := strings.Join(list.Problems, "\n\n")
	for name, want := range map[string]string{
		"off": "Is the server running?", "own": "--model own/NAME", "vllm": "Is VLLM_KEY right?", "none": "set NO_KEY",
	} {
		found := false
		for _, p := range list.Problems {
			found = found || strings.Contains(p, name) && strings.Contains(p, want)
		}
		if !found {
			t.Errorf("nothing of %s says %q:\n%s", name, want, problems)
		}
	}
	if n := strings.Count(problems, "server running"); n != 1 {
		t.Errorf("%d servers are doubted:\n%s", n, problems)
	}
	check, err := you(a).Machine().Doctor(t.Context(), t.TempDir())
	if err != nil || check.Model != "" || len(check.Providers) != 3 ||
		!strings.Contains(strings.Join(check.Problems, "\n"), "Which model?") {
		t.Errorf("doctor: %q of %q, %q, %v", check.Model, check.Providers, check.Problems, err)
	}
}

// TestAPIOfModel: OpenAI's models that reason are spoken to in its Responses API, servers of one's own in Chat
// Completions, and a setting goes before both.
func TestAPIOfModel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ full, base, api, want string }{
		{"openai/gpt-6-sol", "", "", "openai/1+responses"}, {"openai/gpt-4.1", "", "", "openai/1+completion"},
		{"openai/gpt-6-sol", "", "chat", "openai/1+completion"},
		{"openai/gpt-4.1", "", "responses", "openai/1+responses"},
		{"openai/gpt-6-sol", "https://api.openai.com/v1", "", "openai/1+responses"},
		{"openai/gpt-6-sol", "http://localhost:1", "", "openai/1"},
		{"openai/qwen", "http://localhost:1", "responses", "openai/1+responses"},
		{"own/gpt-6-sol", "", "", "own/1"}, {"own/qwen", "", "responses", "own/1+responses"},
	} {
		env := map[string]string{"OPENAI_API_KEY": "some-key", "OPENAI_BASE_URL": tt.base}
		name, id, _ := strings.Cut(tt.full, "/")
		var s config.Settings
		s.Providers = map[string]config.Provider{name: {API: tt.api}}
		if name == "own" {
			s.Providers[name] = config.Provider{API: tt.api, BaseURL: "http://localhost:2"}
		}
		m := newModels(Env{Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
			Now: time.Now},
			config.Dirs{}, s)
		p, got, err := m.Provider(tt.full)
		if err != nil || got != id || p.Encoder() != tt.want {
			t.Errorf("%+v: %v, %s, %v", tt, p, got, err)
		}
		// Models of one provider may differ in their API, and share no encoder then.
		if other, _, err := m.Provider(name + "/gpt-4o"); err != nil ||
			tt.api == "" && tt.want == "openai/1+responses" && other.Encoder() != "openai/1+completion" {
			t.Errorf("%+v: beside it %s, %v", tt, other.Encoder(), err)
		}
		m.close()
	}
}
