package servers

import (
	"net/http"
	"path/filepath"
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
	if got := look("/f"); got != "what it offers is not known yet" {
		t.Errorf("who is logged in is told %q", got)
	}
	if got := look("/g"); got != (&mcp.LoginError{Server: "other"}).Error() {
		t.Errorf("who is not logged in there is told %q", got)
	}
}
