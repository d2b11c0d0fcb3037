package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/httpd"
	"github.com/troupe-dev/troupe/internal/wire"
)

// anyKey is a server that lets everyone in.
type anyKey struct{}

func (anyKey) Whose(context.Context, string) (troupe.Caller, error) {
	return troupe.You(troupe.SurfaceSocket), nil // whose folders are not bounded, as no folder of a World is there
}
func (anyKey) Ready(context.Context) error { return nil }
func (anyKey) SignIn(context.Context, wire.SignIn) (wire.SignedIn, error) {
	return wire.SignedIn{Token: "troupe_a_b", Name: "ada", Right: troupe.RightAdmin, ExpiresAt: time.Now()}, nil
}

// forged ends every text of a hostile server: it acts on the terminal, and goes on on a line that passes for one of
// ours.
const forged = "\x1b]0;PWN\a\x1b[2J\u009b31m\nFORGED"

// poison has every text in a value end so; times and tokens stay what they are, or nothing would come of the answer.
func poison(v any) any {
	switch v := v.(type) {
	case string:
		if _, err := time.Parse(time.RFC3339Nano, v); err == nil || strings.HasPrefix(v, "troupe_") {
			return v
		}
		return v + forged
	case []any:
		for i := range v {
			v[i] = poison(v[i])
		}
	case map[string]any:
		_, isEvent := v["seq"]
		for k := range v {
			if k != "type" || !isEvent { // an event of no kind is not shown
				v[k] = poison(v[k])
			}
		}
		delete(v, "tree") // main agents have one, elsewhere
	}
	return v
}

// hostile is a server that answers as a World does, and poisons all of it. Asked about what it poisoned, it knows what
// is meant.
func hostile(t *testing.T) string {
	t.Helper()
	w := apitest.New()
	s, err := httpd.Listen(t.Context(), httpd.Address{Listen: "127.0.0.1:0"}, anyKey{}, w.As)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	heal := func(s string) string {
		quoted, _ := json.Marshal(forged) //nolint:errchkjson // a text
		return strings.NewReplacer(forged, "", url.QueryEscape(forged), "", url.PathEscape(forged), "",
			strings.Trim(string(quoted), `"`), "").Replace(s)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", s.Addr().String(), ""
			r.Out.URL.Path, r.Out.URL.RawPath = heal(r.Out.URL.Path), ""
			r.Out.URL.RawQuery = heal(r.Out.URL.RawQuery)
			if r.Out.Body == nil {
				return
			}
			b, err := io.ReadAll(r.Out.Body)
			if err != nil {
				t.Error(err)
			}
			b = []byte(heal(string(b)))
			r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
		},
		ModifyResponse: func(r *http.Response) error {
			var v any
			if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
				return nil //nolint:nilerr // it has no body
			}
			b, err := json.Marshal(poison(v))
			r.Body = io.NopCloser(bytes.NewReader(b))
			r.ContentLength = int64(len(b))
			r.Header.Del("Content-Length")
			return err
		},
	})
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// TestHostileServer: whatever a server answers, in whatever field, nothing of it acts on the terminal of who asked, or
// passes for a line of ours; and no command falls over it.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	address, data := hostile(t), t.TempDir()
	run := func(args ...string) (string, bool) {
		var out bytes.Buffer
		c := &console.Console{In: strings.NewReader("code\n"), Out: &out, Err: &out, Now: time.Now, Cwd: "/src",
			Lookup: func(name string) (string, bool) {
				return map[string]string{"TROUPE_HOME": data, "HOME": data}[name],
					name == "TROUPE_HOME" || name == "HOME"
			}, Interrupts: &console.Interrupts{}}
		root := &cobra.Command{Use: "troupe", SilenceErrors: true, SilenceUsage: true}
		root.AddCommand(All(c, Runner{})...)
		root.SetArgs(args)
		root.SetOut(&out)
		err := root.ExecuteContext(t.Context())
		if err != nil {
			out.WriteString(console.Clean(err.Error()) + "\n") // as an error is told
		}
		return out.String(), err != nil
	}
	shown := 0
	for _, line := range []string{
		"login " + address, "sessions", "show job", "tasks", "tasks job", "board job", "cost job", "context job",
		"requests", "agents", "agents show main", "skills", "workflow list", "plans", "plans show x", "hooks", "styles",
		"mcp list",
		"mcp login x", "mcp logout x", "plugins", "models", "memory", "worktrees", "users", "webhook",
		"webhook show job",
		"users tokens", "users add ann", "users invite ann", "users set ann --right viewer", "users revoke x", "admin",
		"admin log", "admin stop", "admin stop --yes", "admin drain x", "stop job", "send job x", "undo job --list",
		"log job", "answer 9m2 allow", "doctor", "permissions list",
		"sleep job", "sleep 9m2 --now", "log job --tree", "undo job", "undo job --force",
		"memory show main", "memory show main x", "memory forget main", "memory edit main x",
		"plugins check", "plugins check x", "plugins enable x", "plugins disable x", "plugins remove x",
		"plugins show x",
		"agents check", "skills check", "skills show x", "workflow check", "workflow show x", "hooks try Stop",
		"mcp get x",
		"mcp test x", "mcp remove x", "mcp add x echo",
		"worktrees prune", "worktrees prune --all", "diff x --stat", "merge x", "merge x --into main",
		"schedule", "schedule show x", "schedule add x --every 1h it", "schedule run x", "schedule pause x",
		"schedule resume x", "schedule remove x", "admin pause /src", "admin resume /src", "users remove ann",
		"permissions explain Bash(ls)", "rm job", "stop 9m2 --now", "webhook", "webhook show x", "webhook add x it",
		"webhook pause x", "webhook resume x", "webhook secret x", "webhook remove x", "push job",
		"plans --json", "show job --json", "logout",
	} {
		out, failed := run(strings.Fields(line)...)
		// Errors, warnings, prompts, plans and results may have lines.
		free := failed || slices.Contains([]string{"agents show main", "plans show x", "plugins", "show job",
			"memory show main", "memory show main x", "skills check", "skills show x", "mcp add x echo",
			"mcp test x", "diff x --stat"}, line)
		if strings.Contains(out, "FORGED") {
			shown++
		} else {
			t.Logf("troupe %s shows nothing of it: %.200s", line, out)
		}
		for l := range strings.Lines(out) {
			if strings.ContainsAny(l, "\x1b\a\u009b") {
				t.Errorf("troupe %s: %q", line, l)
			}
			if strings.HasPrefix(l, "FORGED") && !free {
				t.Errorf("troupe %s: a line of its own in %q", line, out)
			}
		}
	}
	for _, left := range []string{noProcess, "parked" + forged} {
		s := wire.Session{ID: "x" + forged, Root: "x" + forged}
		if text := leftText(s, left); strings.ContainsAny(text, "\x1b\a\u009b\n") {
			t.Errorf("of what is left: %q", text)
		}
	}
	if shown < 60 {
		t.Errorf("only %d commands show what was forged", shown)
	}
}
