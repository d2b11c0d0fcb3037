package session_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
)

// with adds a tool to those that there are.
func with(d *session.Deps, add tool.Descriptor) {
	all := []tool.Descriptor{add}
	for _, f := range d.Tools.Facts() {
		t, _ := d.Tools.Known(f.Name)
		all = append(all, t)
	}
	d.Tools = tool.NewSet(all...)
}

// server is a tool whose server asks the user something, and waits a minute for the answer.
type server struct{ fake }

func (s server) Prepare(tool.Env, string) (tool.Prepared, error) { return s, nil }

func (server) Access() troupe.Access { return troupe.Access{Class: troupe.ClassExec} }

func (server) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ans, err := env.Question(ctx, "srv", []troupe.Question{{Header: "H", Text: "Q?",
		Options: []troupe.Option{{Label: "A"}, {Label: "B"}}}})
	if err != nil {
		return tool.Errorf("it gave up"), nil //nolint:nilerr // told
	}
	return tool.Output{Blocks: []troupe.Block{troupe.Text("answered: " + string(ans.Effect) + " " + ans.Note)}}, nil
}

// TestServerAsksAgain: a server that gave up waiting for an answer can ask again in a later call.
func TestServerAsksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(plays{"main": {call("Srv:"), call("Srv:"), say("ok")}}.reply, func(p *process) {
			p.deps = func(d *session.Deps) {
				with(d, tool.Descriptor{ToolFacts: troupe.ToolFacts{Name: "Srv", Class: troupe.ClassExec},
					Runner: server{fake{name: "Srv"}}})
			}
			p.settings.AskFor = time.Hour
		}).beginAs(troupe.Caps{}, func(b *fleet.Birth) { b.Profile.Tools = append(b.Profile.Tools, "Srv") })
		pass(90 * time.Second)
		wants(t, h.result(h.root, 1, 0), "it gave up")
		opened, _ := h.requests(h.root)
		if len(opened) != 2 {
			t.Fatalf("%d questions; the second call came to %q", len(opened), h.result(h.root, 2, 0))
		}
		m, you := allow(h.root, 2, 0, troupe.Allow), troupe.You(troupe.SurfaceCommand)
		m.Caller, m.Answer.Said = &you, []troupe.Said{{Choices: []string{"B"}}}
		p.send(m)
		p.end()
		wants(t, h.result(h.root, 2, 0), "answered: allow so it be")
		h.checkTree()
	})
}

// reader is the same and only reads, so that the log does not know that it runs.
type reader struct{ server }

func (r reader) Prepare(tool.Env, string) (tool.Prepared, error) { return r, nil }

func (reader) Access() troupe.Access { return troupe.Access{Class: troupe.ClassRead} }

// TestReaderAsksNobody: a tool that only reads and asks in the middle of a call is told that it cannot, and its session
// goes on.
func TestReaderAsksNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		h.start(plays{"main": {call("Srv:"), say("ok")}}.reply, func(p *process) {
			p.deps = func(d *session.Deps) {
				with(d, tool.Descriptor{ToolFacts: troupe.ToolFacts{Name: "Srv", Class: troupe.ClassRead},
					Runner: reader{server{fake{name: "Srv"}}}})
			}
			p.settings.AskFor = time.Hour
		}).beginAs(troupe.Caps{}, func(b *fleet.Birth) { b.Profile.Tools = append(b.Profile.Tools, "Srv") }).end()
		wants(t, h.result(h.root, 1, 0), "answered: deny a tool that only reads cannot ask in the middle of a call")
		if opened, _ := h.requests(h.root); len(opened) != 0 {
			t.Errorf("%d questions", len(opened))
		}
		h.checkTree()
	})
}

// TestQuestionsAreMasked: nothing that a person is asked shows a secret, on whatever surface.
func TestQuestionsAreMasked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asks := troupe.AskUser{Questions: []troupe.Question{{Header: "h hunter2", Text: "q hunter2",
			Default: "a hunter2",
			Options: []troupe.Option{{Label: "a hunter2", Description: "d hunter2"}, {Label: "b"}}}}}
		h := newHome(t)
		p := h.start(plays{"main": {call("Ask:"), say("ok")}}.reply, func(p *process) {
			p.deps = func(d *session.Deps) {
				with(d, tool.Descriptor{ToolFacts: troupe.ToolFacts{Name: "Ask", Holder: troupe.NamedAgents},
					Intent: func(string) (troupe.Intent, error) { return asks, nil }})
				d.Mask = strings.NewReplacer("hunter2", "***").Replace
			}
			p.settings.AskFor = time.Minute
		}).beginAs(troupe.Caps{}, func(b *fleet.Birth) { b.Profile.Tools = append(b.Profile.Tools, "Ask") })
		p.end()
		opened, _ := h.requests(h.root)
		if len(opened) != 1 {
			t.Fatalf("%d requests", len(opened))
		}
		told, err := json.Marshal(opened[0].RequestBody)
		if err != nil || strings.Contains(string(told), "hunter2") || strings.Count(string(told), "***") < 5 {
			t.Errorf("the request says %s, %v", told, err)
		}
		h.checkTree()
	})
}
