package httpd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/wire"
)

// rightKeys let in whoever comes with the name of a right, and processes of the same database as "system".
type rightKeys struct{ broken bool }

func (k rightKeys) Whose(_ context.Context, token string) (troupe.Caller, error) {
	for _, r := range troupe.UserRights() {
		if token == string(r) {
			return troupe.Caller{Name: "ada", Right: r, Surface: troupe.SurfaceServer, Token: token}, nil
		}
	}
	if token == "system" {
		return troupe.Caller{Name: "troupe", Right: troupe.RightSystem, Surface: troupe.SurfaceServer, Token: "peers"},
			nil
	}
	if token == "broken" {
		return troupe.Caller{}, errors.New("the disk is on fire")
	}
	return troupe.Caller{}, &troupe.UserError{Problem: "nobody's token", Hint: "h", Code: troupe.ExitPermission}
}

func (k rightKeys) Ready(context.Context) error {
	if k.broken {
		return errors.New("the disk is on fire")
	}
	return nil
}

func (rightKeys) SignIn(_ context.Context, in wire.SignIn) (wire.SignedIn, error) {
	if in.Code != "good" {
		return wire.SignedIn{}, &troupe.UserError{Problem: "no code", Code: troupe.ExitPermission}
	}
	return wire.SignedIn{Token: "viewer", Name: "ada"}, nil
}

// listenFor serves a World at an address.
func listenFor(t *testing.T, at Address) (*apitest.World, *Server) {
	t.Helper()
	w := apitest.New()
	if len(at.Folders) > 0 {
		w.Settle(at.Folders[0])
	}
	at.Listen = "127.0.0.1:0"
	s, err := Listen(t.Context(), at, rightKeys{}, w.As)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return w, s
}

// TestClosedTwice: a server that is closed again, or by several at once, is closed for each of them.
func TestClosedTwice(t *testing.T) {
	t.Parallel()
	s, err := Listen(t.Context(), Address{Listen: "127.0.0.1:0"}, rightKeys{}, apitest.New().As)
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error)
	for range 3 {
		go func() { closed <- s.Close(t.Context()) }()
	}
	for range 3 {
		select {
		case err := <-closed:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("it is not closed")
		}
	}
}

// call makes a request at an address with a token.
func callAt(t *testing.T, s *Server, token, method, path, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.Addr().String()+path,
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	tr := &http.Transport{DisableKeepAlives: true}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode >= 400 && resp.Header.Get("Content-Type") != problemType {
		t.Errorf("%s %s: %d has the type %s", method, path, resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	return resp.StatusCode, string(b)
}

// TestRights: every operation, with every right and with none. A new one is for admins until its route says otherwise,
// and then it is to be put here.
func TestRights(t *testing.T) {
	t.Parallel()
	viewer := strings.Fields("list-sessions find-session tree team events report cost context session-tasks tasks " +
		"wait " +
		"list-requests request plans turns plan-undo models default-model agents agent skills workflows worktrees " +
		"diff-worktree rules explain me revoke hosted schedules schedule webhooks webhook " +
		"stored-agents stored-agent")
	operator := strings.Fields("begin leave remove change-session send stop background compact sleep mode model " +
		"answer undo memories " +
		"merge-worktree prune-worktrees push-worktree set-schedule remove-schedule run-schedule pause-schedule " +
		"set-webhook remove-webhook pause-webhook set-stored-agent remove-stored-agent")
	needs := map[string]troupe.Right{}
	for _, id := range viewer {
		needs[id] = troupe.RightViewer
	}
	for _, id := range operator {
		needs[id] = troupe.RightOperator
	}
	_, s := listenFor(t, Address{Folders: []string{t.TempDir()}})
	doc := (&operations{}).describe(http.NewServeMux())
	n := 0
	each := func(op *huma.Operation) {
		if op == nil || wire.RouteOf(op.OperationID).Open {
			return
		}
		n++
		path := strings.NewReplacer("{id}", "none", "{request}", "none", "{schedule}", "none", "{webhook}",
			"none", "{agent}", "none").Replace(op.Path)
		if status, _ := callAt(t, s, "", op.Method, path, "{}"); status != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d", op.OperationID, status)
		}
		need := needs[op.OperationID]
		if need == "" {
			need = troupe.RightAdmin
		}
		for _, have := range troupe.UserRights() {
			status, body := callAt(t, s, string(have), op.Method, path, "{}")
			if refused := status == http.StatusForbidden && strings.Contains(body, "this needs the right"); refused ==
				have.Covers(need) {
				t.Errorf("%s with the right %s: %d %.200s", op.OperationID, have, status, body)
			}
		}
	}
	for _, p := range doc.Paths {
		each(p.Get)
		each(p.Post)
		each(p.Delete)
		each(p.Put)
		each(p.Patch)
	}
	if n < 50 {
		t.Errorf("only %d operations were tried", n)
	}
}

// TestDemands: what is worth more than its verb takes the right admin.
func TestDemands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, s := listenFor(t, Address{Folders: []string{dir}})
	begin := func(more string) string { return fmt.Sprintf(`{"prompt":"x","cwd":%q%s}`, dir, more) }
	plan := func(more string) string { return fmt.Sprintf(`{"name":"n","begin":%s}`, begin(more)) }
	for _, x := range []struct {
		path, body string
		plain      bool
	}{
		{"/v1/sessions", begin(""), true},
		{"/v1/sessions", begin(`,"mode":"acceptEdits","allow":["Bash(make)"]`), true},
		{"/v1/sessions", begin(`,"mode":"bypassPermissions"`), false},
		{"/v1/sessions", begin(`,"trust":true`), false},
		{"/v1/sessions", begin(`,"allow":["Edit(src/**)","Read","Bash(./x /etc)"]`), true},
		{"/v1/sessions", begin(`,"allow":["Read","Edit(//etc/**)"]`), false},
		{"/v1/sessions", begin(`,"allow":["Write(~/.bashrc)"]`), false},
		{"/v1/sessions", begin(`,"allow":["Edit(./.git/hooks/x)"]`), false},
		{"/v1/sessions", begin(`,"allow":[" NotebookEdit( ../x.ipynb)"]`), false},
		{"/v1/sessions", begin(`,"allow":["Edit(src/.env)"]`), false},
		{"/v1/sessions", begin(`,"agents":"{}"`), false},
		{"/v1/sessions", begin(`,"model":"script:x.yaml"`), false},
		{"/v1/sessions", begin(`,"model":"script//x.yaml"`), false},
		{"/v1/sessions", begin(`,"model":" script//x.yaml"`), false},
		{"/v1/sessions", begin(`,"model":"workflow/script//x.yaml"`), false},
		{"/v1/sessions", begin(`,"fallback":"script:x.yaml"`), false},
		{"/v1/sessions/7k3f00000000/mode", `{"mode":"plan"}`, true},
		{"/v1/sessions/7k3f00000000/mode", `{"mode":"bypassPermissions"}`, false},
		{"/v1/sessions/7k3f00000000/model", `{"model":"x/y"}`, true},
		{"/v1/sessions/7k3f00000000/model", `{"model":"script:x"}`, false},
		{"/v1/requests/9m2/answer", `{"allow":true,"session":true}`, true},
		{"/v1/requests/9m2/answer", `{"allow":true,"always":true}`, false},
		{"/v1/requests/9m2/answer", `{"allow":true,"mode":"bypassPermissions"}`, false},
		{"/v1/schedules", plan(""), true},
		{"/v1/schedules", plan(`,"mode":"bypassPermissions"`), false},
		{"/v1/schedules", plan(`,"agents":"{}"`), false},
		{"/v1/schedules", plan(`,"model":"script:x.yaml"`), false},
		{"/v1/rules", fmt.Sprintf(`{"cwd":%q,"model":"script:x"}`, dir), false},
		{"/v1/rules", fmt.Sprintf(`{"cwd":%q,"mode":"plan"}`, dir), true},
		{"/v1/explain", fmt.Sprintf(`{"place":{"cwd":%q,"model":"script:x"},"calls":[]}`, dir), false},
	} {
		status, body := callAt(t, s, "operator", "POST", x.path, x.body)
		if plain := status < 300; plain != x.plain || !plain && !strings.Contains(body, `needs the right \"admin\"`) {
			t.Errorf("%s %s as an operator: %d %.200s", x.path, x.body, status, body)
		}
		if status, body := callAt(t, s, "admin", "POST", x.path, x.body); status == http.StatusForbidden {
			t.Errorf("%s %s as an admin: %d %.200s", x.path, x.body, status, body)
		}
	}
}

// TestFolders: what is asked of a server is about its folders. Those outside are refused, by whatever way they are
// named; but where there is one alone, that is meant by who stands elsewhere.
func TestFolders(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"one/sub", "two", "three", "onefold"} {
		if err := os.MkdirAll(filepath.Join(base, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	one, two := filepath.Join(base, "one"), filepath.Join(base, "two")
	if err := os.Symlink(filepath.Join(base, "three"), filepath.Join(one, "out")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(two, filepath.Join(base, "three", "in")); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		named, both, alone string // what is meant with two folders and with one; "": it is refused
	}{
		{one, one, one},
		{filepath.Join(one, "sub"), filepath.Join(one, "sub"), filepath.Join(one, "sub")},
		{filepath.Join(one, "sub", "..", "..", "one"), one, one},
		{two, two, one},
		{filepath.Join(base, "three", "in"), two, one},
		{filepath.Join(one, "out"), "", one},
		{filepath.Join(base, "onefold"), "", one},
		{filepath.Join(one, "none"), "", one},
		{base, "", one}, {"/", "", one}, {"one", "", one}, {".", "", one}, {"", one, one},
	} {
		for folders, want := range map[*[]string]string{{one, two}: x.both, {one}: x.alone} {
			b := &struct{ Body wire.Begin }{wire.Begin{Cwd: x.named}}
			err := groundOf(*folders, troupe.Caller{Right: troupe.RightOperator}, troupe.RightOperator).admit(
				"begin", b)
			if (err == nil) != (want != "") || err == nil && b.Body.Cwd != want {
				t.Errorf("%q of %d folders: %q, %v; want %q", x.named, len(*folders), b.Body.Cwd, err, want)
			}
		}
	}
	for path, ok := range map[string]bool{filepath.Join(one, "sub"): true, "/etc/passwd": false, "sub": false,
		filepath.Join(one, "out"): false} {
		q := &struct{ Body wire.AgentQuery }{wire.AgentQuery{Place: wire.Place{Cwd: one}, Paths: []string{one, path}}}
		err := groundOf(folders{one}, troupe.Caller{Right: troupe.RightAdmin}, troupe.RightViewer).admit("agents", q)
		if (err == nil) != ok {
			t.Errorf("a look at %s: %v", path, err)
		}
	}
}

// TestFoldersOverHTTP: whoever calls is bound to the folders, admins too; a list of sessions only says which are meant.
func TestFoldersOverHTTP(t *testing.T) {
	t.Parallel()
	one, two, out := t.TempDir(), t.TempDir(), t.TempDir()
	_, s := listenFor(t, Address{Folders: []string{one, two}})
	begin := func(cwd string) string { return fmt.Sprintf(`{"prompt":"x","cwd":%q}`, cwd) }
	for _, right := range []string{"operator", "admin"} {
		if status, body := callAt(t, s, right, "POST", "/v1/sessions", begin(out)); status != http.StatusForbidden ||
			!strings.Contains(body, "is in none of these") {
			t.Errorf("the %s begins outside: %d %s", right, status, body)
		}
		if status, body := callAt(t, s, right, "POST", "/v1/sessions", begin(two)); status != http.StatusOK {
			t.Errorf("the %s begins in a folder: %d %s", right, status, body)
		}
	}
	if status, body := callAt(t, s, "admin", "POST", "/v1/schedules", `{"name":"n","begin":`+begin(out)+"}"); status !=
		http.StatusForbidden || !strings.Contains(body, "is in none of these") {
		t.Errorf("what begins outside is scheduled: %d %s", status, body)
	}
	if status, body := callAt(t, s, "operator", "POST", "/v1/schedules",
		`{"name":"n","begin":`+begin("")+"}"); status !=
		http.StatusOK || !strings.Contains(body, one) {
		t.Errorf("what begins in no folder is scheduled in: %d %s", status, body)
	}
	for _, path := range []string{"/v1/sessions?cwd=", "/v1/sessions/7k3?cwd="} {
		if status, body := callAt(t, s, "viewer", "GET", path+out, ""); status != http.StatusOK {
			t.Errorf("%s from elsewhere: %d %s", path, status, body)
		}
	}
	_, s = listenFor(t, Address{Folders: []string{one}})
	for cwd, warned := range map[string]bool{"": false, one: false, out: true} {
		status, body := callAt(t, s, "operator", "POST", "/v1/sessions", begin(cwd))
		if status != http.StatusOK || strings.Contains(body, "the agents work in") != warned {
			t.Errorf("begun from %q in the only folder: %d %s", cwd, status, body)
		}
	}
}

// TestNamesOfFiles: of all that can be sent, what names something on the server's disk is known: a new field has to be
// looked at, and put here if it names nothing.
func TestNamesOfFiles(t *testing.T) {
	t.Parallel()
	harmless := strings.Fields("ID Request Root Name Agent Scope Session Model Fallback AppendText Agents Prompt " +
		"Resume " +
		"Text Hint Note Rule Type Title MediaType Hash Mode Effort Plan Into Take Event Tool Entry Action Test Label " +
		"Code Worktree Typed Last Accept Memory File Marketplace Task Tenant")
	// A file that counts as read is only compared by its hash.
	seen := map[reflect.Type]bool{reflect.TypeFor[troupe.FileTouch](): true}
	var walk func(rt reflect.Type, at string)
	walk = func(rt reflect.Type, at string) {
		for rt.Kind() == reflect.Pointer || rt.Kind() == reflect.Slice && rt.Elem().Kind() != reflect.Uint8 {
			if rt.Elem().Kind() == reflect.String {
				return
			}
			rt = rt.Elem()
		}
		if rt.Kind() != reflect.Struct || seen[rt] {
			return
		}
		seen[rt] = true
		for i := range rt.NumField() {
			f := rt.Field(i)
			if !f.IsExported() || strings.HasPrefix(f.Tag.Get("json"), "-") {
				continue
			}
			if f.Type.Kind() == reflect.String && !isFolder(f) {
				known := false
				for _, h := range harmless {
					known = known || h == f.Name
				}
				lower := strings.ToLower(f.Name)
				if !known && (strings.Contains(lower, "path") || strings.Contains(lower, "dir") ||
					strings.Contains(lower, "folder") || strings.Contains(lower, "file") ||
					strings.Contains(lower, "cwd")) {
					t.Errorf("%s.%s may name something on the disk, and nothing bounds it", at, f.Name)
				}
			}
			walk(f.Type, at+"."+f.Name)
		}
	}
	for _, v := range []any{wire.Begin{}, wire.Message{}, wire.AgentQuery{}, wire.SkillQuery{}, wire.WorkflowQuery{},
		wire.PluginQuery{}, wire.HookQuery{}, wire.MemoryQuery{}, wire.MemoryChange{}, wire.WorktreeQuery{},
		wire.WorktreeLook{}, wire.WorktreeMerge{}, wire.WorktreePrune{}, wire.Trust{}, wire.Explain{}, wire.AgentName{},
		wire.StatusQuery{}, wire.ServerQuery{}, wire.ServerChange{}, wire.ServerLogin{}, wire.PluginChange{},
		wire.Answer{}, wire.UndoOrder{}, wire.Stop{}, wire.Sleep{}, wire.ScheduleTerms{}, wire.WebhookTerms{}} {
		walk(reflect.TypeOf(v), reflect.TypeOf(v).Name())
	}
}

// TestDoor: who is let in, and what is looked at of those who are not.
func TestDoor(t *testing.T) {
	t.Parallel()
	_, s := listenFor(t, Address{Folders: []string{t.TempDir()}})
	for _, x := range []struct {
		token  string
		header []string
		status int
		says   string
	}{
		{"viewer", nil, 200, `"name":"ada`},
		{"", nil, 401, "without a token"},
		{"", []string{"Authorization", "viewer"}, 401, "without a token"},
		{"", []string{"Authorization", "Basic viewer"}, 401, "without a token"},
		{"none", nil, 401, "nobody's token"},
		{"broken", nil, 503, "cannot reach its database"},
		{"viewer", []string{"Host", "localhost:1"}, 200, ""},
		{"viewer", []string{"Host", "[::1]:7777"}, 200, ""},
		{"viewer", []string{"Host", "127.0.0.1.evil.example"}, 403, "is not a name of this machine"},
		{"viewer", []string{"Host", "evil.example:7777"}, 403, "is not a name of this machine"},
		{"viewer", []string{"Sec-Fetch-Site", "cross-site"}, 200, ""}, // it changes nothing
		{"viewer", []string{"X-Forwarded-For", "1.2.3.4", "X-Forwarded-Host", "evil.example"}, 200, ""},
	} {
		status, body := callAt(t, s, x.token, "GET", "/v1/me", "", x.header...)
		if status != x.status || !strings.Contains(body, x.says) {
			t.Errorf("%q with %q: %d %.200s; want %d with %q", x.token, x.header, status, body, x.status, x.says)
		}
	}
	// Whom a caller speaks for is the word of processes of the same database alone.
	for _, x := range []struct {
		token, who string
		status     int
	}{
		{"viewer", `{"name":"eve","right":"admin","surface":"server"}`, 403},
		{"system", `{"name":"eve","right":"admin","surface":"server"}`, 200},
		{"system", `{"name":"eve","right":"viewer","surface":"server"}`, 403},
		{"system", `{"right":"admin","surface":"server"}`, 400},
		{"system", `eve`, 400},
	} {
		status, body := callAt(t, s, x.token, "GET", "/v1/users", "", wire.CallerHeader, x.who)
		if status != x.status {
			t.Errorf("a %s who says to be %s: %d %s", x.token, x.who, status, body)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, body := callAt(t, s, "", "GET", path, ""); status != 204 || body != "" {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, body := callAt(t, s, "", "GET", "/v1/me?token=viewer", ""); status != 401 {
		t.Errorf("a token in the address: %d %s", status, body)
	}
	for _, origin := range []string{"https://evil.example", "null"} {
		status, _ := callAt(t, s, "operator", "POST", "/v1/sessions/7k3f00000000/stop", "{}", "Origin", origin)
		if status != 403 {
			t.Errorf("a page of %s stops a session: %d", origin, status)
		}
	}
	if status, body := callAt(t, s, "", "POST", "/v1/sign-in", `{"code":"good"}`); status != 200 ||
		!strings.Contains(body, `"token":"viewer"`) {
		t.Errorf("a login: %d %s", status, body)
	}
	if status, body := callAt(t, s, "", "POST", "/v1/sign-in", `{"code":"bad"}`); status != 403 {
		t.Errorf("a wrong code: %d %s", status, body)
	}
}

// TestNotReady: a server whose database does not answer lives, and is not ready.
func TestNotReady(t *testing.T) {
	t.Parallel()
	s, err := Listen(t.Context(), Address{Listen: "127.0.0.1:0"}, rightKeys{broken: true}, apitest.New().As)
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := callAt(t, s, "", "GET", "/healthz", ""); status != 204 {
		t.Errorf("it does not live: %d", status)
	}
	if status, body := callAt(t, s, "", "GET", "/readyz", ""); status != 503 || strings.Contains(body, "fire") {
		t.Errorf("it is ready: %d %s", status, body)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestStrangersAreSlowed: wrong tokens and codes are answered a few times, and then not at all for a while; who has a
// token of the same address is kept from nothing by logins.
func TestStrangersAreSlowed(t *testing.T) {
	t.Parallel()
	for name, try := range map[string]func(s *Server) int{
		"tokens": func(s *Server) int { n, _ := callAt(t, s, "wrong", "GET", "/v1/me", ""); return n },
		"codes":  func(s *Server) int { n, _ := callAt(t, s, "", "POST", "/v1/sign-in", `{"code":"bad"}`); return n },
	} {
		_, s := listenFor(t, Address{Folders: []string{t.TempDir()}})
		answered := 0
		for range 3 * strangerBurst {
			if try(s) != http.StatusTooManyRequests {
				answered++
			}
		}
		if answered < strangerBurst || answered > strangerBurst+2 {
			t.Errorf("%d wrong %s were answered, want some %d", answered, name, strangerBurst)
		}
	}
}

// TestLimited: each token is good for so many calls, and so is each address for questions whether the server lives.
// Processes of the same database speak for many, and have no such limit. Who is turned away is told when to come again.
func TestLimited(t *testing.T) {
	t.Parallel()
	const most = 2
	d := newDoor(Address{}, rightKeys{}, false)
	d.strangers, d.users = newLimits(1e-6, most), newLimits(1e-6, most)
	turned := (&Server{}).guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}), d.admit)
	call := func(token, path, from string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.RemoteAddr = from
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		turned.ServeHTTP(w, r)
		return w
	}
	for _, x := range []struct {
		token, path, from string
		let               int // of one call more than there may be
		status            int // of the last
	}{
		{"viewer", "/v1/me", "10.0.0.1:1", most, http.StatusTooManyRequests},
		{"operator", "/v1/me", "10.0.0.1:1", most, http.StatusTooManyRequests}, // another token has its own
		{"system", "/v1/me", "10.0.0.1:1", most + 1, http.StatusNoContent},
		{"", "/healthz", "10.0.0.1:1", most, http.StatusTooManyRequests},
		{"", "/readyz", "10.0.0.2:1", most, http.StatusTooManyRequests},
		{"", "/v1/me", "10.0.0.1:1", 0, http.StatusUnauthorized},
		{"wrong", "/v1/me", "10.0.0.3:1", 0, http.StatusTooManyRequests},
	} {
		let := 0
		var last *httptest.ResponseRecorder
		for range most + 1 {
			if last = call(x.token, x.path, x.from); last.Code == http.StatusNoContent {
				let++
			}
		}
		if let != x.let || last.Code != x.status {
			t.Errorf("%q %s from %s: %d let in, then %d", x.token, x.path, x.from, let, last.Code)
		}
		want := map[string]string{"Retry-After": "", "WWW-Authenticate": "", "Connection": "close"}
		switch last.Code {
		case http.StatusTooManyRequests:
			want["Retry-After"] = "1"
		case http.StatusUnauthorized:
			want["WWW-Authenticate"] = "Bearer"
		default:
			want["Connection"] = ""
		}
		for name, value := range want {
			if got := last.Header().Get(name); got != value {
				t.Errorf("%q %s: %d with %s %q, want %q", x.token, x.path, last.Code, name, got, value)
			}
		}
	}
}

// TestEncrypted: a server with a certificate answers nothing that is not encrypted. It, and one behind a proxy, may be
// reached from elsewhere.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	own := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	defer own.Close()
	at := Address{TLS: &tls.Config{Certificates: own.TLS.Certificates}}
	_, s := listenFor(t, at)
	resp, err := own.Client().Get("https://" + s.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Errorf("encrypted: %d", resp.StatusCode)
	}
	if resp, err := own.Client().Get("http://" + s.Addr().String() + "/healthz"); err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("not encrypted: %d", resp.StatusCode)
		}
	}
	own.CloseClientConnections()
	for name, at := range map[string]Address{
		"a certificate": at, "a proxy": {Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	} {
		at.Listen = "0.0.0.0:0"
		s, err := Listen(t.Context(), at, rightKeys{}, apitest.New().As)
		if err != nil {
			t.Errorf("with %s: %v", name, err)
			continue
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestProxy: behind a proxy only that one is answered, and strangers are told apart by what it adds, never by what they
// say themselves.
func TestProxy(t *testing.T) {
	t.Parallel()
	here := netip.MustParsePrefix("127.0.0.0/8")
	_, s := listenFor(t, Address{Folders: []string{t.TempDir()}, Proxies: []netip.Prefix{here}})
	if status, body := callAt(t, s, "viewer", "GET", "/v1/me", "", "Host", "troupe.example.com"); status != 200 {
		t.Errorf("through the proxy: %d %s", status, body)
	}
	d := newDoor(Address{Proxies: []netip.Prefix{here}}, nil, false)
	for _, x := range []struct {
		remote    string
		forwarded []string
		from      string
		listed    bool
	}{
		{"127.0.0.1:1", nil, "127.0.0.1", true},
		{"127.0.0.1:1", []string{"1.1.1.1"}, "1.1.1.1", true},
		{"127.0.0.1:1", []string{"9.9.9.9, 1.1.1.1"}, "1.1.1.1", true},
		{"127.0.0.1:1", []string{"9.9.9.9", "1.1.1.1"}, "1.1.1.1", true},
		{"127.0.0.1:1", []string{"x"}, "127.0.0.1", true},
		{"[::ffff:127.0.0.1]:1", []string{"1.1.1.1"}, "1.1.1.1", true},
		{"10.0.0.1:1", []string{"1.1.1.1"}, "10.0.0.1", false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr = x.remote
		r.Header["X-Forwarded-For"] = x.forwarded
		if from, listed := d.from(r); from != x.from || listed != x.listed {
			t.Errorf("%s with %q: %s, %t", x.remote, x.forwarded, from, listed)
		}
		if _, refused := d.admit(r); !x.listed && (refused == nil || refused.Status != http.StatusForbidden) {
			t.Errorf("%s is no proxy: %+v", x.remote, refused)
		}
	}
}

// TestListenRefuses: nothing listens beyond this machine without encryption.
func TestListenRefuses(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"0.0.0.0:0", "[::]:0", ":0"} {
		s, err := Listen(t.Context(), Address{Listen: at}, rightKeys{}, apitest.New().As)
		if err == nil {
			_ = s.Close(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), "would not be encrypted") {
			t.Errorf("%s: %v", at, err)
		}
	}
	if _, err := Listen(t.Context(), Address{Listen: "nowhere.invalid:1"}, rightKeys{}, apitest.New().As); err == nil {
		t.Error("a name that is none is listened on")
	}
}

// TestLimits: however many keys come, none is forgotten that has used up what it may, as long as there are few of
// these.
func TestLimits(t *testing.T) {
	t.Parallel()
	l := newLimits(0.000001, 2)
	for range 2 {
		if !l.take("stranger") {
			t.Fatal("the first two are refused")
		}
	}
	if !l.take("half") {
		t.Fatal("another one is refused")
	}
	for i := range 3 * mostKept {
		l.of(fmt.Sprint(i))
	}
	if l.take("stranger") {
		t.Error("many others have it forgotten")
	}
	if !l.take("half") || l.take("half") {
		t.Error("many others have half of it forgotten")
	}
	if len(l.keys) > mostKept {
		t.Errorf("%d keys are kept", len(l.keys))
	}
	for i := range 3 * mostKept {
		l.take(fmt.Sprint("used", i))
	}
	if len(l.keys) > mostKept {
		t.Errorf("of keys that are used %d are kept", len(l.keys))
	}
}
