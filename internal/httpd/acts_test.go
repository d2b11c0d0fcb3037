package httpd

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/app/audit"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/memstore"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestActs: each operation that does something is noted, with who asked and what it was about; what only looks is not.
func TestActs(t *testing.T) {
	t.Parallel()
	s := memstore.New(memstore.Options{}).Open()
	log := audit.New(s, time.Now)
	dir := t.TempDir()
	_, at := listenFor(t, Address{Folders: []string{dir}, Acts: log})
	acts := func() []wire.Act {
		all, err := log.Acts(t.Context(), wire.ActQuery{})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	seen := 0
	each := func(op *huma.Operation) {
		if op == nil || wire.RouteOf(op.OperationID).Open || op.OperationID == "events" {
			return
		}
		path := strings.NewReplacer("{id}", "7k3f00000000", "{request}", "9m2").Replace(op.Path)
		status, _ := callAt(t, at, "admin", op.Method, path, "{}")
		if status == http.StatusUnprocessableEntity {
			return // what was sent is none, and nothing was tried
		}
		looks := op.Method == http.MethodGet ||
			wire.RouteOf(op.OperationID).Needs == troupe.RightViewer && op.OperationID != "revoke"
		all := acts()
		switch noted := len(all) - seen; {
		case looks && noted != 0, !looks && noted != 1:
			t.Errorf("%s: %d acts are noted (%d)", op.OperationID, noted, status)
		case !looks && (all[0].Verb != op.OperationID || all[0].By != "ada" || all[0].Right != troupe.RightAdmin ||
			all[0].Outcome == ""):
			t.Errorf("%s: noted is %+v", op.OperationID, all[0])
		case !looks && strings.Contains(op.Path, "{id}") && all[0].About != "7k3f00000000":
			t.Errorf("%s: it is about %q", op.OperationID, all[0].About)
		}
		seen = len(all)
	}
	doc := (&operations{}).describe(http.NewServeMux())
	for _, p := range doc.Paths {
		each(p.Get)
		each(p.Post)
		each(p.Delete)
		each(p.Put)
	}
	if seen < 10 {
		t.Errorf("only %d acts were tried", seen)
	}
	for _, x := range []struct{ path, body, want string }{
		{"/v1/sessions", `{"prompt":"the secret plan","cwd":"` + dir + `","mode":"plan"}`, "mode=plan"},
		{"/v1/sessions/7k3f00000000/messages", `{"text":"the secret plan"}`, ""},
		{"/v1/users/change", `{"name":"bob","right":"viewer","invite":true}`, "right=viewer invite"},
		{"/v1/requests/9m2/answer", `{"allow":true,"note":"the secret plan"}`, "allow"},
		{"/v1/sessions", `{"prompt":"x","cwd":"` + dir + `","allow":["Bash(ls)","Edit"]}`, "allow=[Bash(ls) Edit]"},
		{"/v1/hosting/drain", `{"worker":"w1","within_ms":60000}`, "withinms=60000"},
	} {
		if status, body := callAt(t, at, "admin", "POST", x.path, x.body); status >= 300 {
			t.Fatal(x.path, status, body)
		}
		if got := acts()[0]; got.With != x.want || got.Outcome != wire.ActDone ||
			strings.Contains(got.About, "secret") {
			t.Errorf("%s: noted is %+v", x.path, got)
		}
	}
	for verb, body := range map[string]string{"messages": `{"text":"x"}`, "stop": "{}"} {
		if status, body := callAt(t, at, "operator", "POST", "/v1/sessions/none/"+verb, body); status !=
			http.StatusNotFound {
			t.Fatal(verb, status, body)
		}
		if got := acts()[0]; got.Outcome != wire.ActFailed || got.Problem == "" || got.Token != "operator" ||
			got.About != "none" {
			t.Errorf("what has failed is noted as %+v", got)
		}
	}
	if about, _ := wire.Told(wire.UserChange{Name: strings.Repeat("ä", 300)}); about != strings.Repeat("ä", 250)+"…" {
		t.Errorf("a long name is told as %q", about)
	}
	seen = len(acts())
	if status, _ := callAt(t, at, "viewer", "POST", "/v1/sign-in", `{"code":"good","label":"laptop"}`); status != 200 {
		t.Fatal(status)
	}
	if got := acts(); len(got) != seen+1 || got[0].Verb != "sign-in" || got[0].About != "laptop" {
		t.Errorf("of a login is noted %+v", got[0])
	}
}

// TestActsNameWhatIsMeant: whatever a session or a request is called, its id is noted beside, and found by it.
func TestActsNameWhatIsMeant(t *testing.T) {
	t.Parallel()
	log, dir := audit.New(memstore.New(memstore.Options{}).Open(), time.Now), realDir(t)
	w, at := listenFor(t, Address{Folders: []string{dir}, Acts: log})
	w.Settle(dir)
	for _, x := range []struct{ method, path, body, about string }{
		{"POST", "/v1/sessions/main/stop", "{}", "main"},
		{"POST", "/v1/sessions/7k3f/stop", "{}", "7k3f"},
		{"POST", "/v1/sessions/job/mode", `{"mode":"plan"}`, "job"},
		{"POST", "/v1/sessions/7k3f00000000/stop", "{}", "7k3f00000000"},
		{"DELETE", "/v1/sessions/job", "", "job"},
		{"POST", "/v1/requests/9m/answer", `{"allow":true}`, "9m"},
	} {
		if status, body := callAt(t, at, "operator", x.method, x.path, x.body); status >= 300 {
			t.Fatal(x.path, status, body)
		}
		of := apitest.Root
		if strings.Contains(x.path, "requests") {
			of = apitest.Child // who asks
		}
		all, err := log.Acts(t.Context(), wire.ActQuery{About: string(of), Limit: 1})
		if err != nil || len(all) != 1 || all[0].About != x.about || all[0].Session != of {
			t.Errorf("%s: noted is %+v, %v", x.path, all, err)
		}
	}
	const gone = "/v1/sessions/nothere/stop"
	if status, body := callAt(t, at, "operator", "POST", gone, "{}"); status != http.StatusNotFound {
		t.Errorf("%d %s", status, body)
	}
	if all, err := log.Acts(t.Context(), wire.ActQuery{Limit: 1}); err != nil || all[0].About != "nothere" ||
		all[0].Session != "" {
		t.Errorf("what is not there: %+v, %v", all, err)
	}
}

// TestRefusalsAreNoted: what the right of a user does not cover is noted, though nothing of it is looked at; of a flood
// there is one line for a token and verb, with how often it was tried.
func TestRefusalsAreNoted(t *testing.T) {
	t.Parallel()
	log := audit.New(memstore.New(memstore.Options{}).Open(), time.Now)
	w, at := listenFor(t, Address{Folders: []string{realDir(t)}, Acts: log})
	for range 20 {
		for _, x := range [][3]string{
			{"POST", "/v1/sessions/7k3f00000000/stop", `{}`}, {"GET", "/v1/users", ""},
			{"POST", "/v1/users/change", `{"name":"eve","right":"admin"}`},
		} {
			if status, body := callAt(t, at, "viewer", x[0], x[1], x[2]); status != http.StatusForbidden {
				t.Fatal(x, status, body)
			}
		}
	}
	all, err := log.Acts(t.Context(), wire.ActQuery{})
	if err != nil || len(all) != 3 || len(w.Calls()) > 0 {
		t.Fatalf("noted is %+v, %v, and done %v", all, err, w.Calls())
	}
	for _, a := range all {
		if a.By != "ada" || a.Token != "viewer" || a.Times != 20 || a.Outcome != wire.ActFailed ||
			!strings.Contains(a.Problem, "this needs the right") || (a.Verb == "stop") != (a.About == "7k3f00000000") {
			t.Errorf("noted is %+v", a)
		}
	}
}

// TestActsFirst: what cannot be noted is not done.
func TestActsFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, at := listenFor(t, Address{Folders: []string{dir}, Acts: audit.New(full{}, time.Now)})
	status, body := callAt(t, at, "admin", "POST", "/v1/users/change", `{"name":"bob"}`)
	if status != http.StatusInternalServerError || !strings.Contains(body, "the disk is full") || len(w.Calls()) > 0 {
		t.Errorf("%d %s, done is %v", status, body, w.Calls())
	}
	if status, body := callAt(t, at, "viewer", "GET", "/v1/me", ""); status != http.StatusOK {
		t.Errorf("a look: %d %s", status, body)
	}
}

// full is records that take nothing.
type full struct{ *memstore.Store }

func (full) PutRecord(context.Context, store.Record) (int64, error) {
	return 0, &troupe.UserError{Problem: "the disk is full", Code: troupe.ExitFailed}
}
