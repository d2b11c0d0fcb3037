package servers

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/mcp"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
	"github.com/troupe-dev/troupe/internal/mcp/login"
	"github.com/troupe-dev/troupe/internal/mcp/mcptest"
)

// TestLoggedIn: that a server wants to know who asks is kept under the name that it has where it is told, and says
// nothing to who is logged in.
func TestLoggedIn(t *testing.T) {
	both := mcptest.Authorize()
	defer both.Close()
	dir := t.TempDir()
	r := New(t.Context(), Options{Kept: Kept(filepath.Join(dir, "kept")), Now: time.Now,
		Logins: login.New(login.Options{Dir: filepath.Join(dir, "logins"),
			Client: func([]string, bool) (*http.Client, error) {
				return &http.Client{Transport: http.DefaultTransport},
					nil
			}})})
	defer r.Close()
	s := Server{Entry: entry.Entry{Name: "docs", Type: entry.HTTP, URL: both.URL()}, Source: "/f"}
	if _, err := r.List(t.Context(), s, dir, nil, false); err == nil {
		t.Fatal("it told who did not log in")
	}
	look := func(source string) string {
		p := Places{Dirs: config.Dirs{Config: dir, Data: dir}, Cwd: dir,
			Plugins: []Server{{Entry: entry.Entry{Name: "other", Type: entry.HTTP, URL: both.URL()}, Source: source}}}
		k, _ := r.Look(t.Context(), p, nil, nil)
		_, why := k.List(k.Servers[0].Entry)
		return why
	}
	if got := look("/f"); got != (&mcp.LoginError{Server: "other"}).Error() {
		t.Errorf("it says %q", got)
	}
	l, err := r.Login(s, dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := l.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.End()
	if _, err := mcptest.Browse(p.Address()); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := look("/f"); !strings.HasPrefix(got, "what it offers is not known yet; `troupe mcp test other`") {
		t.Errorf("who is logged in is told %q", got)
	}
	if got := look("/g"); got != (&mcp.LoginError{Server: "other"}).Error() {
		t.Errorf("who is not logged in there is told %q", got)
	}
}

// TestListsHoldNoSecret: a token that a server repeats in what it says of its tools is neither told nor kept.
func TestListsHoldNoSecret(t *testing.T) {
	server := httptest.NewServer(mcptest.Handler(mcptest.New(3), "secret", false))
	defer server.Close()
	dir := t.TempDir()
	r := New(t.Context(), Options{Kept: Kept(dir), Now: time.Now,
		Mask: func(s string) string { return strings.ReplaceAll(s, "tool_001", "‹masked x›") }})
	defer r.Close()
	e := entry.Entry{Name: "a", Type: entry.HTTP, URL: server.URL,
		Headers: map[string]string{"Authorization": "Bearer secret"}}
	l, err := r.List(t.Context(), Server{Entry: e}, dir, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	kept, found, _ := r.Kept().Get(e, dir, time.Now())
	for _, l := range []mcp.List{l, kept} {
		if said := fmt.Sprint(l); !found || strings.Contains(said, "tool_001") ||
			!strings.Contains(said, "‹masked x›") {
			t.Errorf("the list has %s", said)
		}
	}
}

// TestChangedListsHoldNoSecret: nor is one in what a server says of its tools once they have changed.
func TestChangedListsHoldNoSecret(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(mcptest.Handler(mcptest.New(0), "", false))
	defer server.Close()
	defer server.CloseClientConnections()
	r := New(t.Context(), Options{Now: time.Now,
		Mask: func(s string) string { return strings.ReplaceAll(s, "came later", "‹masked x›") }})
	defer r.Close()
	heard := make(chan mcp.List, 1)
	pool := r.pool(t.Context(), func(_ mcp.Target, l mcp.List) {
		select {
		case heard <- l:
		default:
		}
	})
	defer pool.Close()
	to := mcp.Target{Entry: entry.Entry{Name: "a", Type: entry.HTTP, URL: server.URL}}
	if _, err := pool.Call(t.Context(), to, "grow", []byte(`{}`), nil); err != nil {
		t.Fatal(err)
	}
	select {
	case l := <-heard:
		if said := fmt.Sprint(l); strings.Contains(said, "came later") || !strings.Contains(said, "‹masked x›") {
			t.Errorf("the list has %s", said)
		}
	case <-time.After(20 * time.Second):
		t.Error("it was not heard")
	}
}
