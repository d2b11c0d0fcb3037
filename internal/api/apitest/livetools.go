package apitest

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// asksClient calls a tool that whoever begins it carries out.
const asksClient = `
replies:
  - agent: main
    turn: 1
    calls: [{tool: weather, input: {city: Oslo}}]
  - agent: main
    contains: -3 degrees
    text: it is cold
`

// carriesOut begins a tree with a tool of its own, and carries it out.
func (l *live) carriesOut() {
	l.t.Helper()
	ctx, a := l.t.Context(), l.a
	l.write("client.yaml", asksClient)
	weather := wire.ClientTool{Name: "weather", Description: "Says how the weather is", ReadOnly: true,
		InputSchema: json.RawMessage(`{"type":"object","required":["city"]}`), DeadlineSeconds: 3600}
	begin := wire.Begin{Prompt: "go", Cwd: l.dir, Model: "script:client.yaml",
		Role: wire.Role{Tools: []wire.ClientTool{weather}}}
	read := begin
	read.Tools = []wire.ClientTool{{Name: "read", Description: "Reads"}}
	_, err := a.Begin(ctx, read)
	l.fails("a tool with the name of another", err, troupe.ErrExists)
	b, err := a.Begin(ctx, begin)
	l.ok(err)
	s, err := a.Follow(ctx, wire.Follow{Root: b.Root, From: b.After})
	l.ok(err)
	defer s.Close()
	open := l.open(s, b.Root)
	if r := open[0]; r.Kind != troupe.RequestTool || r.Tool != "weather" || string(r.Input) != `{"city":"Oslo"}` ||
		r.Call == nil || *r.Call != (troupe.Coord{Reply: 1}) || r.Until.Sub(r.Since).Round(time.Minute) != time.Hour {
		l.t.Errorf("the request is %+v", r)
	}
	l.fails("an answer that does not say what came of it", a.Answer(ctx, open[0].ID, wire.Answer{Allow: true}), nil)
	said := wire.Answer{Once: "k", Result: &troupe.Carried{Text: "-3 degrees"}}
	for range 2 {
		l.ok(a.Answer(ctx, open[0].ID, said))
	}
	l.ok(a.Wait(ctx, b.Root))
	l.ok(a.Answer(ctx, open[0].ID, said))
	said.Once = "k2"
	if err := a.Answer(ctx, open[0].ID, said); errors.Is(err, troupe.ErrNotFound) {
		l.t.Errorf("an answer that comes second: %v", err)
	} else {
		l.fails("an answer that comes second", err, nil)
	}
	if r, err := a.Report(ctx, b.Root); err != nil || r.Result != "it is cold" {
		l.t.Errorf("it came to %+v, %v", r, err)
	}
	l.caused("Answer", b.Root, 0, func(b troupe.Body) (*troupe.Caller, bool) {
		r, ok := b.(troupe.RequestAnswered)
		return r.Caller, ok
	})
}

// open waits until a tree has open requests.
func (l *live) open(s api.Stream, root troupe.SessionID) (open []wire.Request) {
	l.t.Helper()
	l.until(s, func() bool {
		var err error
		open, err = l.a.Requests(l.t.Context(), root)
		l.ok(err)
		return len(open) > 0
	})
	return open
}
