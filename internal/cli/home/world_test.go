package home

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/checkout/checkouttest"
	"github.com/troupe-dev/troupe/internal/wire"
)

// worldPlay is what the agents of a world say and do.
const worldPlay = `
replies:
  - {contains: WRITE, turn: 1, calls: [{tool: Write, input: {file_path: written.txt, content: "work\n"}}]}
  - {contains: ASK, turn: 1, calls: [{tool: Write, input: {file_path: asked.txt, content: "work\n"}}]}
  - {contains: WEATHER, turn: 1, calls: [{tool: weather, input: {city: Oslo}}]}
  - {contains: CHILD, agent: main, turn: 1, calls: [{tool: Agent, input: {description: look, prompt: SLOW, subagent_type: Explore}}]}
  - {contains: REMEMBER, agent: main, turn: 1, calls: [{tool: Agent, input: {description: look, prompt: KEEP, subagent_type: keeper}}]}
  - {contains: KEEP, turn: 1, calls: [{tool: Write, input: {file_path: .claude/agent-memory/keeper/MEMORY.md, content: "Tabs.\n"}}]}
  - {contains: BOARD, turn: 1, calls: [{tool: TaskCreate, input: {subject: Look}}]}
  - {contains: PLAN, turn: 1, calls: [{tool: ExitPlanMode, input: {plan: "# Plan"}}]}
  - {contains: SLOW, delay: 10h, text: late}
  - text: done
`

// world is a server on a real home that has one of everything, for tests that call it as strangers and users do. Calls
// come through what it takes for its proxy, so that each may come from an address of its own.
type world struct {
	t         testing.TB
	s         *Served
	dir       string // the folder that it serves
	elsewhere string // a folder that it does not serve
	home      string
	base      string
	log       *watched
	late      atomic.Int64 // how much later its clock has it, in nanoseconds
	calls     atomic.Int64
	admin     string            // a token
	ids       map[string]string // of what there is, by what the cases call it
	doc       document
}

// watched keeps what a server logs.
type watched struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(b)
}

// panics are the lines that tell of one.
func (w *watched) panics() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range strings.Lines(w.out.String()) {
		if strings.Contains(line, "panic") {
			out = append(out, line)
		}
	}
	return out
}

// newWorld makes one. More is what its server is told besides.
func newWorld(t testing.TB, more ServeOptions) *world {
	t.Helper()
	repos := checkouttest.Serve(t)
	repo, bare := repos.Repository(t, "app")
	checkouttest.Commit(t, bare, "main", map[string]string{"a.txt": "x\n"})
	root, err := os.MkdirTemp("", "w") // a socket's path has to be short
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	w := &world{t: t, dir: filepath.Join(root, "project"), elsewhere: filepath.Join(root, "elsewhere"),
		home: filepath.Join(root, "home-of-troupe"), log: &watched{}, ids: map[string]string{"repo": repo}}
	play, user := filepath.Join(root, "play.yaml"), filepath.Join(root, "user")
	w.write(play, worldPlay)
	w.write(filepath.Join(w.home, "settings.json"), `{"model": "script:`+play+
		`", "notify": {"local_hosts": ["127.0.0.1:9"]}}`)
	w.write(filepath.Join(user, ".gitconfig"), "[http]\n\tsslCAInfo = "+repos.CA+
		"\n[user]\n\tname = Ann\n\temail = ann@example.com\n")
	w.write(filepath.Join(w.dir, "a.txt"), "x\n")
	w.write(filepath.Join(w.dir, ".claude/settings.json"), `{"permissions": {"allow": ["Bash(make)"]}}`)
	w.write(filepath.Join(w.dir, ".claude/agents/keeper.md"), "---\nname: keeper\ndescription: Keeps\n"+
		"tools: Read, Write\nmemory: project\n---\n\nYou keep.\n")
	w.write(filepath.Join(w.dir, ".claude/commands/greet.md"), "Greet.\n")
	w.write(filepath.Join(w.dir, "kit/.claude-plugin/plugin.json"), `{"name": "kit", "version": "1.0.0"}`)
	w.write(filepath.Join(w.elsewhere, "a.txt"), "x\n")
	for _, dir := range []string{w.dir, w.elsewhere} {
		checkouttest.Git(t, dir, "init", "--quiet", "--initial-branch=main")
		checkouttest.Git(t, dir, "add", ".")
		checkouttest.Git(t, dir, "commit", "--quiet", "--message", "first")
	}
	vars := map[string]string{"TROUPE_HOME": w.home, "HOME": user, "PATH": os.Getenv("PATH"),
		"GIT_CONFIG_NOSYSTEM": "1"}
	env := Env{Version: "v", Log: slog.New(slog.NewTextHandler(w.log, nil)),
		Now: func() time.Time { return time.Now().Add(time.Duration(w.late.Load())) },
		Lookup: func(name string) (string, bool) {
			v, ok := vars[name]
			return v, ok
		}}
	for name, v := range vars {
		env.Environ = append(env.Environ, name+"="+v)
	}
	w.outside(env)
	more.Listen, more.Folders, more.GitHosts = "127.0.0.1:0", append([]string{w.dir}, more.Folders...),
		[]string{repos.Host()}
	if w.s, err = Serve(t.Context(), env, more); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if p := w.log.panics(); len(p) > 0 {
			t.Errorf("it panicked: %s", p)
		}
	})
	w.base = "http://" + w.s.server.Addr().String()
	w.admin = w.signIn(w.s.Code)
	w.doc = readDocument(t, w.must("GET", "/openapi.json", w.admin, nil))
	return w
}

// outside begins sessions where no server is, in a folder that the server will not serve: one that has ended, with a
// worktree, and one that waits for an answer.
func (w *world) outside(env Env) {
	w.t.Helper()
	h, err := Open(w.t.Context(), env, troupe.SurfaceCommand)
	if err != nil {
		w.t.Fatal(err)
	}
	begin := func(b wire.Begin) string {
		b.Cwd = w.elsewhere
		begun, err := h.API.Begin(w.t.Context(), b)
		if err != nil {
			w.t.Fatal(err)
		}
		return string(begun.Root)
	}
	w.ids["outside"] = begin(wire.Begin{Prompt: "WRITE", Name: "theirs", Permissions: wire.Permissions{
		Mode: troupe.ModeAcceptEdits}, Role: wire.Role{Worktree: new("theirs")}})
	if err := h.API.Wait(w.t.Context(), troupe.SessionID(w.ids["outside"])); err != nil {
		w.t.Fatal(err)
	}
	memory := filepath.Join(w.home, "memory", w.ids["outside"], "mine") // as an agent of that session keeps it
	w.write(filepath.Join(memory, "MEMORY.md"), "Of elsewhere.\n")
	asks := troupe.SessionID(begin(wire.Begin{Prompt: "WRITE", Name: "asker", AskMS: time.Hour.Milliseconds()}))
	s, err := h.API.Follow(w.t.Context(), wire.Follow{Root: asks})
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	for w.ids["outside request"] == "" {
		if _, err := s.Next(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		open, err := h.API.Requests(w.t.Context(), asks)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range open {
			w.ids["outside request"] = r.ID
		}
	}
	if err := h.Close(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		w.t.Fatal(err)
	}
}

// signIn gives a token for a code.
func (w *world) signIn(code string) string {
	w.t.Helper()
	var in wire.SignedIn
	w.read(w.must("POST", "/v1/sign-in", "", map[string]any{"code": code, "label": "test"}), &in)
	return in.Token
}

// user adds a user, or changes one, and gives a token of theirs.
func (w *world) user(name string, right troupe.Right) string {
	w.t.Helper()
	var u wire.UserChanged
	w.read(w.must("POST", "/v1/users/change", w.admin, map[string]any{"name": name, "right": right, "invite": true}),
		&u)
	return w.signIn(u.Code)
}

func (w *world) read(b []byte, v any) {
	w.t.Helper()
	if err := json.Unmarshal(b, v); err != nil {
		w.t.Fatalf("%v: %s", err, b)
	}
}

// sent is a call.
type sent struct {
	method, path, token string
	body                []byte // nil: none
	header              http.Header
}

// got is its answer.
type got struct {
	status int
	header http.Header
	body   []byte
	took   time.Duration
}

// patience is how long any call may take. Those that wait for something are given up then.
const patience = 10 * time.Second

// client calls without keeping connections, of which a refused call leaves none.
func (w *world) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// call makes a call from an address of its own.
func (w *world) call(c *http.Client, x sent) (got, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	var body io.Reader
	if x.body != nil {
		body = bytes.NewReader(x.body)
	}
	r, err := http.NewRequestWithContext(ctx, x.method, w.base+x.path, body)
	if err != nil {
		return got{}, err
	}
	if x.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	n := w.calls.Add(1)
	r.Header.Set("X-Forwarded-For", "10."+strings.Join([]string{itoa(n >> 16 & 255), itoa(n >> 8 & 255), itoa(n & 255)},
		"."))
	if x.token != "" {
		r.Header.Set("Authorization", "Bearer "+x.token)
	}
	for name, v := range x.header {
		r.Header[name] = v
	}
	from := time.Now()
	resp, err := c.Do(r)
	if err != nil {
		return got{took: time.Since(from)}, err
	}
	defer resp.Body.Close()
	out := got{status: resp.StatusCode, header: resp.Header}
	if resp.Header.Get("Content-Type") == "text/event-stream" { // which has no end: its beginning will do
		line, err := bufio.NewReader(resp.Body).ReadString('\n')
		out.body, out.took = []byte(line), time.Since(from)
		return out, err
	}
	out.body, err = io.ReadAll(resp.Body)
	out.took = time.Since(from)
	return out, err
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // what tests send is always JSON
	}
	return string(b)
}

// must makes a call that is answered with a 2xx.
func (w *world) must(method, path, token string, body any) []byte {
	w.t.Helper()
	x := sent{method: method, path: path, token: token}
	if body != nil {
		x.body = []byte(jsonOf(body))
	}
	c := w.client()
	defer c.CloseIdleConnections()
	a, err := w.call(c, x)
	if err != nil || a.status/100 != 2 {
		w.t.Fatalf("%s %s %.300s: %d %.2000s, %v", method, path, x.body, a.status, a.body, err)
	}
	return a.body
}

// begins begins a session in the served folder and says its id. The server's admin asks.
func (w *world) begins(prompt string, more map[string]any) string {
	w.t.Helper()
	b := map[string]any{"cwd": w.dir, "prompt": prompt}
	for k, v := range more {
		b[k] = v
	}
	var begun wire.Begun
	w.read(w.must("POST", "/v1/sessions", w.admin, b), &begun)
	return string(begun.Root)
}

// ended begins a session and waits until it has.
func (w *world) ended(prompt string, more map[string]any) string {
	w.t.Helper()
	id := w.begins(prompt, more)
	w.must("POST", "/v1/sessions/"+id+"/wait", w.admin, nil)
	return id
}

// until waits for an event of a type in the log of a session.
func (w *world) until(id, kind string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", w.base+"/v1/sessions/"+id+"/events?tree=true", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Authorization", "Bearer "+w.admin)
	c := w.client()
	defer c.CloseIdleConnections()
	resp, err := c.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	for in := bufio.NewReader(resp.Body); ; {
		line, err := in.ReadString('\n')
		if strings.Contains(line, `"type":"`+kind+`"`) {
			return
		}
		if err != nil {
			w.t.Fatalf("%s: no %s came: %v", id, kind, err)
		}
	}
}

// asks begins a session that asks, and says which request waits.
func (w *world) asks() (session, request string) {
	w.t.Helper()
	session = w.begins("ASK", map[string]any{"ask_ms": time.Hour.Milliseconds()})
	w.until(session, "request.opened")
	var open []wire.Request
	w.read(w.must("GET", "/v1/requests?root="+session, w.admin, nil), &open)
	if len(open) != 1 {
		w.t.Fatalf("%d requests are open", len(open))
	}
	return session, open[0].ID
}

// weather is a tool that whoever begins with it carries out.
func (w *world) weather() map[string]any {
	return map[string]any{"name": "weather", "description": "Says how the weather is", "deadline_seconds": 3600}
}

// called begins a session that calls it, and says which request waits.
func (w *world) called() (request string) {
	w.t.Helper()
	session := w.begins("WEATHER", map[string]any{"tools": []any{w.weather()}})
	w.until(session, "request.opened")
	var open []wire.Request
	w.read(w.must("GET", "/v1/requests?root="+session, w.admin, nil), &open)
	if len(open) != 1 || open[0].Kind != troupe.RequestTool {
		w.t.Fatalf("open are %+v", open)
	}
	return open[0].ID
}

// child begins a session that waits for a sub-agent, which never ends by itself, and says which these are.
func (w *world) child() (root, child string) {
	w.t.Helper()
	root = w.begins("CHILD", nil)
	w.until(root, "model.sealed")
	for child == "" {
		var tree wire.Tree
		w.read(w.must("GET", "/v1/sessions/"+root+"/tree", w.admin, nil), &tree)
		if i := slices.IndexFunc(tree.Sessions, func(s wire.Session) bool { return s.Parent != "" }); i >= 0 {
			child = string(tree.Sessions[i].ID)
		}
	}
	return root, child
}

// path fills in a path of the description.
func filled(path string, with map[string]string) string {
	for name, v := range with {
		path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(v))
	}
	return path
}
