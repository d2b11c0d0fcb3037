package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/memstore"
	"github.com/troupe-dev/troupe/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// home is a store that outlives the processes of a test.
type home struct {
	t    testing.TB
	db   *memstore.DB
	root troupe.SessionID
	n    int
}

func newHome(t testing.TB) *home {
	return &home{t: t, db: memstore.New(memstore.Options{}), root: "00000000root"}
}

// process is one run of the real driver: its hub, pool, and stand-ins for model and tools.
type process struct {
	*home
	hub  *session.Hub
	pool *session.Pool
	llm  *llm

	stops    int
	deps     func(*session.Deps)
	settings troupe.Settings
}

func (h *home) start(reply func(model.Request) troupe.Reply, change ...func(*process)) *process {
	h.t.Helper()
	h.n++
	p := &process{home: h, llm: &llm{version: "llm/1", reply: reply, encoded: make(map[string]int)}}
	p.settings.Policy = troupe.Policy{MaxAttempts: 5, MaxDenials: 3}
	for _, c := range change {
		c(p)
	}
	ctx := h.t.Context()
	owner := troupe.OwnerID(fmt.Sprintf("owner%d", h.n))
	st := h.db.Open()
	if _, err := st.Register(ctx, troupe.Owner{ID: owner}); err != nil {
		h.t.Fatal(err)
	}
	p.pool = session.NewPool(context.WithoutCancel(ctx))
	d := session.Deps{
		Store: st, Owner: owner, Models: p.llm, Tools: tools(), Profiles: p, Sched: p.pool,
		Now:         time.Now,
		Environment: func(string) session.Surroundings { return session.Surroundings{Place: "env"} },
		OutputDir:   func(troupe.SessionID) string { return "/out" },
	}
	if p.deps != nil {
		p.deps(&d)
	}
	p.hub = session.New(d)
	return p
}

func (p *process) begin(caps troupe.Caps) *process {
	p.t.Helper()
	return p.beginAs(caps, func(*fleet.Birth) {})
}

// end waits for the tree and closes the process.
func (p *process) end() *process {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 1000*time.Hour)
	defer cancel()
	if err := p.hub.Wait(ctx, p.root); err != nil {
		for _, s := range p.tree() {
			p.t.Logf("%s %q: %s, waits for %q", s.ID, s.Name, s.Status, s.Waiting)
			for _, e := range p.events(s.ID) {
				p.t.Logf("  %d %s %+v", e.Seq, e.Body.Kind(), e.Body)
			}
		}
		p.t.Fatal(err)
	}
	p.pool.Close()
	return p
}

func role(kind string) troupe.Profile {
	return troupe.Profile{Type: kind, Prompt: kind, Tools: []string{"Agent", "Bash", "Edit", "MergeWorktree",
		"Read", "SendMessage",
		"Sh", "TaskOutput", "TaskStop"}, Model: "llm/one", Mode: troupe.ModeBypass}
}

func (h *home) get(id troupe.SessionID) (s troupe.Session) {
	h.t.Helper()
	h.view(func(r store.Reader) (err error) { s, err = r.Session(id); return err })
	return s
}

func (h *home) lease() (l troupe.Lease) {
	h.t.Helper()
	h.view(func(r store.Reader) (err error) { l, err = r.Lease(h.root); return err })
	return l
}

func (h *home) events(id troupe.SessionID) (out []troupe.Event) {
	h.t.Helper()
	h.view(func(r store.Reader) (err error) { out, err = r.Events(id, 0, 0); return err })
	return out
}

func (h *home) tree() (all []troupe.Session) {
	h.t.Helper()
	h.view(func(r store.Reader) (err error) { all, err = r.Sessions(store.Filter{Root: h.root}); return err })
	return all
}

func (h *home) view(fn func(store.Reader) error) {
	h.t.Helper()
	if err := h.db.Open().View(h.t.Context(), fn); err != nil {
		h.t.Fatal(err)
	}
}

func say(text string) troupe.Reply {
	return troupe.Reply{Stop: troupe.StopEndTurn, Blocks: []troupe.Block{troupe.Text(text)},
		Usage: troupe.Usage{Input: 1}}
}

// call asks for tools; "Name:input".
func call(calls ...string) troupe.Reply {
	r := troupe.Reply{Stop: troupe.StopToolUse, Usage: troupe.Usage{Input: 1}}
	for _, c := range calls {
		name, input, _ := strings.Cut(c, ":")
		r.Blocks = append(r.Blocks, troupe.Block{Type: troupe.CallBlock, Call: &troupe.Call{Name: name, Input: input}})
	}
	return r
}

// llm is a model whose replies are a function of the request.
type llm struct {
	version string
	window  int64
	reply   func(model.Request) troupe.Reply
	fail    func(model.Request) *model.Error
	takes   func(model.Request) time.Duration // nil: each reply takes a second

	mu       sync.Mutex
	encoded  map[string]int
	requests []model.Request
	busy     int
	peak     int
}

func (l *llm) Provider(string) (model.Provider, string, error) { return l, "one", nil }

func (l *llm) Cost(string, troupe.Usage) (troupe.Money, bool) { return 1, true }

func (l *llm) MaxOutput(string) int { return 100 }

func (l *llm) Effort(_ string, wished troupe.Effort) troupe.Effort { return wished }

func (l *llm) Window(string) int64 { return l.window }

func (l *llm) Name() string { return "llm" }

func (l *llm) Encoder() string { return l.version }

func (l *llm) EncodeHead(h model.Head) ([]byte, error) { return json.Marshal(h) }

func (l *llm) EncodeMessage(m troupe.Message) ([]byte, error) {
	b, err := json.Marshal(m)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.encoded[string(b)]++
	return b, err
}

func (l *llm) Stream(ctx context.Context, r model.Request, _ func(model.Delta)) (troupe.Reply, error) {
	l.mu.Lock()
	r.Messages = append([][]byte(nil), r.Messages...)
	l.requests = append(l.requests, r)
	l.busy++
	l.peak = max(l.peak, l.busy)
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.busy--
	}()
	took := time.Second
	if l.takes != nil {
		took = l.takes(r)
	}
	t := time.NewTimer(took)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return troupe.Reply{}, &model.Error{Fault: troupe.FaultInterrupted, Message: "stopped",
			Partial: []troupe.Block{troupe.Text("half a wo")}, Usage: troupe.Usage{Input: 3}}
	}
	if l.fail != nil {
		if err := l.fail(r); err != nil {
			return troupe.Reply{}, err
		}
	}
	return l.reply(r), nil
}

// tools is a set in which Read and Edit take a second; Read:meet waits until two of it are at
// work. An Agent's input is its name, "&" before it puts it into the background, and "%" makes it a fork, for which "!"
// behind it waits; "^" gives it a folder of its own, and "^+" has its work merged; "?" behind it has its work verified;
// behind "@" stand the files that
// it may change; those of
// the others are "TO message", a task or nothing.
func tools() tool.Set {
	var out []tool.Descriptor
	for _, f := range []troupe.ToolFacts{
		{Name: "Read", Schedule: troupe.Parallel, Argument: troupe.PathArgument},
		{Name: "Edit", Class: troupe.ClassEdit, Argument: troupe.PathArgument},
		{Name: "MergeWorktree", Class: troupe.ClassEdit, Holder: troupe.Parents},
		{Name: "Bash", Class: troupe.ClassExec, Argument: troupe.CommandArgument},
		{Name: "Sh", Class: troupe.ClassExec},
	} {
		out = append(out, tool.Descriptor{ToolFacts: f, Runner: fake{name: f.Name}})
	}
	for _, f := range []troupe.ToolFacts{
		{Name: "Agent", Schedule: troupe.Birth, Argument: troupe.AgentArgument},
		{Name: "SendMessage", Holder: troupe.Parents},
		{Name: "TaskOutput", Schedule: troupe.Parallel, Holder: troupe.Parents},
		{Name: "TaskStop", Holder: troupe.Parents},
	} {
		out = append(out, tool.Descriptor{ToolFacts: f, Intent: func(input string) (troupe.Intent,
			error) {
			return intent(f.Name, input), nil
		}})
	}
	return tool.NewSet(out...)
}

func intent(name, input string) troupe.Intent {
	switch name {
	case "Agent":
		if bare, fork := strings.CutPrefix(input, "%"); fork {
			name := strings.TrimSuffix(bare, "!")
			return troupe.Spawn{Description: "helper", Name: name, Prompt: "help as " + name, Fork: true,
				Wait: name != bare}
		}
		bare := strings.TrimPrefix(input, "&")
		out := troupe.Spawn{Description: "helper", Prompt: "help", Background: bare != input}
		if out.Name = strings.TrimPrefix(bare, "^"); out.Name != bare {
			out.Workspace = troupe.WorkspaceTree
		}
		if merged := strings.TrimPrefix(out.Name, "+"); merged != out.Name {
			out.Name, out.Merge = merged, troupe.MergeAuto
		}
		if name, ok := strings.CutSuffix(out.Name, "?"); ok {
			out.Name, out.Verify = name, true
		}
		if name, globs, ok := strings.Cut(out.Name, "@"); ok {
			out.Name, out.Writes = name, strings.Split(globs, ",")
		}
		return out
	case "SendMessage":
		to, text, _ := strings.Cut(input, " ")
		bare := strings.TrimSuffix(text, "!")
		return troupe.SendMessage{To: to, Text: bare, Cancel: bare != text}
	case "TaskOutput":
		return troupe.TaskQuery{Task: input, Block: input != "", Timeout: time.Minute}
	default:
		return troupe.TaskStop{Task: input}
	}
}

// stop tells a session to stop, as a person does.
func (p *process) stop(id troupe.SessionID, st troupe.Stop) {
	p.t.Helper()
	_, err := p.hub.Send(p.t.Context(), p.root, func(tx store.Tx) ([]troupe.Mail, error) {
		p.stops++
		return session.StopTree(tx, id, st, time.Now(), troupe.MailID(fmt.Sprintf("stop%d", p.stops)))
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// Open and Resolve make it the types of agents.
func (p *process) Open([]byte) (session.Roles, error) { return p, nil }

func (p *process) Resolve(troupe.Session, troupe.Spawn) (troupe.Profile, error) {
	return role("helper"), nil
}

// Fork makes a profile a fork's, as the product does.
func (p *process) Fork(of troupe.Profile, _ troupe.Spawn) troupe.Profile {
	of.Fork, of.Mode = true, ""
	return of
}

func (p *process) Describe(_ troupe.Vocabulary, allowed func(string) bool, _ int) string {
	if allowed("helper") {
		return "agents: helper\n"
	}
	return ""
}

func (p *process) Workers(func(string) bool) string { return "" }

type fake struct{ name, input string }

func (f fake) Prepare(_ tool.Env, input string) (tool.Prepared, error) {
	return fake{f.name, input}, nil
}

func (f fake) Access() troupe.Access {
	if f.name == "Sh" {
		return troupe.Access{Class: troupe.ClassExec, Command: f.input}
	}
	if f.name == "Edit" {
		return troupe.Access{Class: troupe.ClassEdit, Writes: []string{"/ws/f"}}
	}
	return troupe.Access{Class: troupe.ClassRead, Reads: []string{"/ws/f"}}
}

func (f fake) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	if f.name == "Sh" {
		return f.confined(env), nil
	}
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-t.C:
		if path, wrote := strings.CutPrefix(f.input, "writes "); wrote {
			return tool.Output{Blocks: []troupe.Block{troupe.Text("wrote")},
				Evidence: troupe.Evidence{Files: []troupe.FileTouch{{Path: path, Wrote: true}}}}, nil
		}
		return tool.Output{Blocks: []troupe.Block{troupe.Text("did " + f.input)}}, nil
	case <-ctx.Done():
		return tool.Errorf("stopped"), nil
	}
}
