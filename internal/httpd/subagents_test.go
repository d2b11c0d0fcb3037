//go:build unix

package httpd

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/wire"
)

// births is an api where every session was born in the background, under its own name.
type births struct{ api.API }

func (b births) Events(ctx context.Context, id troupe.SessionID, after int64, limit int) ([]troupe.Event, error) {
	if after == 0 && limit == 1 {
		return []troupe.Event{{Session: id, Seq: 1, Body: troupe.Created{Parent: apitest.Root, Name: "of " + string(id),
			Background: true}}}, nil
	}
	return b.API.Events(ctx, id, after, limit)
}

// piped serves a world over pipes; dial begins a stream.
func piped(t *testing.T, w *apitest.World) (dial func(query, last string) *bufio.Reader) {
	s := newServer(t.Context(), &operations{bind: func(c troupe.Caller) api.API { return births{w.As(c)} }},
		slog.New(slog.DiscardHandler), func(net.Conn) peer { return peer{pid: 1} }, admitPeer)
	l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	go func() { s.served <- s.http.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return func(query, last string) *bufio.Reader {
		c, there := net.Pipe()
		t.Cleanup(func() { c.Close() })
		l.conns <- there
		go fmt.Fprintf(c, "GET /v1/sessions/job/events?%s HTTP/1.0\r\nAccept: %s\r\nLast-Event-ID: %s\r\n\r\n", query,
			streamType, last)
		r := bufio.NewReader(c)
		message(t, r) // the head, and retry
		return r
	}
}

// told is one message of a stream.
type told struct {
	name, id string
	data     map[string]any
}

func hear(t *testing.T, r *bufio.Reader) (m told) {
	t.Helper()
	for line := range strings.Lines(message(t, r)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch key {
		case "event":
			m.name = value
		case "id":
			m.id = value
		case "data":
			if err := json.Unmarshal([]byte(value), &m.data); err != nil {
				t.Fatal(err)
			}
		}
	}
	return m
}

func (m told) String() string { return m.name + " " + m.id }

func agent(id troupe.SessionID, name string) *troupe.Task {
	return &troupe.Task{ID: troupe.TaskID(id), Kind: troupe.TaskAgent, Name: name, Title: "look"}
}

func ended(id troupe.SessionID, s troupe.Status, result, problem string) *troupe.Outcome {
	return &troupe.Outcome{Session: id, Run: 1, Name: "X", Status: s, Result: result, Error: problem,
		Tally: troupe.Tally{Turns: 3}}
}

// TestSubagentEvents: births and ends of sub-agents come as messages of their own ahead of the events that they are in,
// and whoever comes back with the id of any message gets all behind it, and nothing twice.
func TestSubagentEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := apitest.New()
		const other troupe.SessionID = "8n4000000000"
		for _, b := range []troupe.Body{
			troupe.ToolStarted{Reply: 1, Name: "Agent", Child: apitest.Child, Task: agent(apitest.Child, "X")},
			troupe.ToolStarted{Reply: 1, Name: "Bash", Task: &troupe.Task{ID: "b1.1", Kind: troupe.TaskShell}},
			troupe.MailDelivered{Mail: []troupe.Mail{
				{Kind: troupe.MailTaskEnded, Ended: ended(apitest.Child, troupe.Completed, strings.Repeat("ä", 300),
					"")},
				{Kind: troupe.MailPrompt, Blocks: []troupe.Block{troupe.Text("hello")}},
				{Kind: troupe.MailTaskEnded, Ended: &troupe.Outcome{Kind: troupe.TaskShell, Task: "b1.1"}},
				{Kind: troupe.MailTaskEnded, Ended: ended(other, troupe.Cancelled, "", "stopped")},
				{Kind: troupe.MailFork, OfTeam: troupe.OfTeam{Forked: &troupe.Forked{Task: agent(other, "F")}}},
			}},
			troupe.ToolFinished{Name: "Agent", Outcome: ended(other, troupe.MaxTurns, "", "its limit")},
			troupe.ToolFinished{Name: "Read"},
			troupe.VerifyStarted{Task: agent(other, "V")},
			troupe.VerifyEnded{Outcome: *ended(other, troupe.Failed, "", "no")},
			troupe.TeamChanged{Members: []troupe.Task{*agent(other, "M")}},
		} {
			w.Commit(apitest.Root, b)
		}
		dial := piped(t, w)
		first := dial("subagents=true&after=2", "")
		var all []told
		for len(all) == 0 || all[len(all)-1].id != "7k3f00000000:10" {
			all = append(all, hear(t, first))
		}
		var names []string
		for _, m := range all {
			names = append(names, m.String())
		}
		if d := cmp.Diff([]string{
			"subagent.spawned 7k3f00000000:2/1", " 7k3f00000000:3", " 7k3f00000000:4",
			"subagent.completed 7k3f00000000:4/1", "subagent.cancelled 7k3f00000000:4/2",
			"subagent.spawned 7k3f00000000:4/3",
			" 7k3f00000000:5", "subagent.failed 7k3f00000000:5/1", " 7k3f00000000:6", " 7k3f00000000:7",
			"subagent.spawned 7k3f00000000:7/1", " 7k3f00000000:8", "subagent.failed 7k3f00000000:8/1",
			" 7k3f00000000:9", "subagent.spawned 7k3f00000000:9/1", " 7k3f00000000:10",
		}, names); d != "" {
			t.Fatal(d)
		}
		for i, want := range map[int]map[string]any{
			0: {"type": "subagent.spawned", "subagent_id": "9m2000000000", "name": "X", "status": "spawning",
				"task": "look",
				"mode": "background"},
			3: {"type": "subagent.completed", "subagent_id": "9m2000000000", "name": "X", "status": "completed",
				"iterations": 3.0, "result": strings.Repeat("ä", 200) + "…"},
			4: {"type": "subagent.cancelled", "subagent_id": string(other), "name": "X", "status": "cancelled",
				"iterations": 3.0, "error": "stopped"},
			7: {"type": "subagent.failed", "subagent_id": string(other), "name": "X", "status": "max_iterations",
				"iterations": 3.0, "error": "its limit"},
		} {
			if d := cmp.Diff(want, all[i].data); d != "" {
				t.Error(d)
			}
		}
		for i, m := range all[:len(all)-1] {
			again := dial("subagents=true&after=2", m.id)
			for _, want := range all[i+1:] {
				if got := hear(t, again); got.String() != want.String() {
					t.Fatalf("behind %s comes %s, want %s", m, got, want)
				}
			}
		}
		// Who does not ask is told none, and none of its places means another one to it.
		plain := dial("after=2", "7k3f00000000:4/2")
		for seq := 5; seq <= 10; seq++ {
			if got := hear(t, plain).String(); got != fmt.Sprintf(" 7k3f00000000:%d", seq) {
				t.Errorf("without subagents comes %q", got)
			}
		}
	})
}

// TestSubagentProgress: how far one is, at most once a second and the newest, without an id; events of its own log are
// not sent; what has ended and was told so is not told again.
func TestSubagentProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := apitest.New()
		r := piped(t, w)("subagents=true&after=2", "")
		is := func(want string) {
			t.Helper()
			got := hear(t, r)
			data, err := json.Marshal(got.data)
			if err != nil || got.id != "" || got.name != wire.SubagentProgress || string(data) != want {
				t.Fatalf("%s %s, %v\nwant %s", got, data, err, want)
			}
		}
		step := func(n int, tool string) {
			w.Commit(apitest.Child, troupe.Replied{Reply: n, Blocks: []troupe.Block{troupe.Text("so"),
				{Type: troupe.CallBlock, Call: &troupe.Call{Name: tool}}}})
		}
		const head = `"name":"Auth Explorer","status":"running","subagent_id":"9m2000000000","type":"subagent.progress"}`
		snapshot := hear(t, r)
		if snapshot.name != wire.SubagentProgress || snapshot.data["subagent_id"] != "9m2000000000" {
			t.Fatalf("the stream begins with %v", snapshot)
		}
		begun := time.Now()
		for n := range 40 {
			step(n+2, "Bash")
			<-time.After(20 * time.Millisecond) // virtual
		}
		step(42, "Read")
		is(`{"current_tool":"Read","iterations":42,` + head)
		if took := time.Since(begun); took > time.Second {
			t.Errorf("it came after %v", took)
		}
		w.Commit(apitest.Child, troupe.ToolStarted{Name: "Edit"})
		is(`{"current_tool":"Edit","iterations":42,` + head)
		if took := time.Since(begun); took < time.Second {
			t.Errorf("the next one came %v after the first", took)
		}
		<-time.After(2 * time.Second) // virtual
		w.Commit(apitest.Child, troupe.Ended{Outcome: *ended(apitest.Child, troupe.Completed, "done", "")})
		m := hear(t, r)
		if m.data["status"] != "completed" || m.data["current_tool"] != nil {
			t.Errorf("its end is %v", m.data)
		}
	})
}

// TestSubagentOrder: once the end of a run was told, nothing of that run is, in whichever order the logs of the session
// and of its sub-agent are read. What a sub-agent did before the stream began is not read.
func TestSubagentOrder(t *testing.T) {
	t.Parallel()
	root := func(b troupe.Body) troupe.Event { return troupe.Event{Session: apitest.Root, Seq: 3, Body: b} }
	child := func(b troupe.Body) troupe.Event { return troupe.Event{Session: apitest.Child, Body: b} }
	var (
		told  = root(troupe.ToolFinished{Outcome: ended(apitest.Child, troupe.Completed, "done", "")})
		works = child(troupe.Replied{Reply: 3})
		end   = child(troupe.Ended{Outcome: *ended(apitest.Child, troupe.Completed, "done", "")})
		again = child(troupe.Started{Run: 2})
	)
	for name, tt := range map[string]struct {
		events []troupe.Event
		want   string // the status that is told
	}{
		"its own log first":      {[]troupe.Event{works, end, told}, ""},
		"the session's first":    {[]troupe.Event{told, works, end}, ""},
		"in between":             {[]troupe.Event{works, told, end}, ""},
		"not told yet":           {[]troupe.Event{works, end}, "completed"},
		"another run":            {[]troupe.Event{works, end, told, again}, "running"},
		"another run, late news": {[]troupe.Event{told, works, end, again}, "running"},
	} {
		x := &subagents{api: births{apitest.New().As(troupe.Caller{})}, of: apitest.Root}
		f := wire.Follow{Root: apitest.Root, Only: apitest.Root, From: map[troupe.SessionID]int64{apitest.Root: 2}}
		if err := x.begin(t.Context(), &f); err != nil {
			t.Fatal(err)
		}
		if f.Only != "" || f.From[apitest.Root] != 2 || f.From[apitest.Child] == 0 {
			t.Errorf("%s: it follows %+v", name, f)
		}
		if n := len(x.due(time.Now())); n > 1 {
			t.Errorf("%s: it begins with %d messages", name, n)
		}
		for _, e := range tt.events {
			if _, err := x.take(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		got := ""
		for _, m := range x.due(time.Now().Add(time.Minute)) {
			got += m.Status
		}
		if got != tt.want {
			t.Errorf("%s: %q is told, want %q", name, got, tt.want)
		}
	}
}

// TestCursor: places in a log, and within the messages of an event, are read as they are written.
func TestCursor(t *testing.T) {
	t.Parallel()
	for _, c := range []cursor{{"7k3f00000000", 0, 0}, {"7k3f00000000", 12, 0}, {"7k3f00000000", 0, 3}} {
		if got, err := parseCursor(c.String()); err != nil || got != c {
			t.Errorf("%v: %v %v", c, got, err)
		}
	}
	for _, text := range []string{"", "7k3f00000000", "7k3f00000000:", "7k3f00000000:-1", "7k3f00000000:1/",
		"7k3f00000000:1/-1",
		"7k3f00000000:1/x", "7k3f00000000:/1", "7k3f00000000:1/2/3"} {
		if got, err := parseCursor(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func FuzzCursor(f *testing.F) {
	for _, text := range []string{"7k3f00000000:12", "7k3f00000000:12/3", "x:1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCursor(text)
		if err != nil {
			return
		}
		if again, err := parseCursor(c.String()); err != nil || again != c {
			t.Fatalf("%q: %v, and then %v %v", text, c, again, err)
		}
	})
}
