// Package mcpserve offers Troupe to other programs as an MCP server: they start agents, follow, steer and stop them,
// and have their results.
//
// A program gets no more than the person gave it who started the server: the folder, the mode and the rules are those
// of the command line, and no argument of a call changes them. It reaches the sessions that this server began and
// those below them, and no others. What an agent asks goes to the program's own user where the program can ask one;
// the program itself answers questions, and allows calls only if the command line says so.
//
// Calls run side by side, each in the goroutine that the SDK gives it; those that wait end with their request, and
// with the server. Sessions belong to the home that the server was opened with.
package mcpserve

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Options are what a server is started with.
type Options struct {
	Version string
	// Begin is what every session begins with; a call brings its prompt, name and type of agent.
	Begin wire.Begin
	// Answers: the program may allow what agents ask for.
	Answers bool
	// Patience is how long the program may read nothing of what it is told; 0: a minute.
	Patience time.Duration
}

// Serve answers on a pair of streams until the input ends, or the program at the other end reads nothing any more.
func Serve(ctx context.Context, a api.API, in io.Reader, out io.Writer, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{api: a, o: o, began: map[troupe.SessionID]bool{}}
	w := &patient{out: out, most: cmp.Or(o.Patience, time.Minute), gaveUp: cancel}
	r := &lines{in: bufio.NewReader(in), out: w}
	err := s.server().Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(r), Writer: quiet{w}})
	if w.late() {
		return &troupe.UserError{Problem: fmt.Sprintf("the program at the other end has read nothing for %v", w.most),
			Hint: "What its agents had under way can be resumed; `troupe sessions` lists it.", Code: troupe.ExitFailed}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("serve MCP: %w", err)
	}
	return nil
}

// quiet is an output that the SDK does not close.
type quiet struct{ io.Writer }

func (quiet) Close() error { return nil }

type server struct {
	api api.API
	o   Options

	mu    sync.Mutex
	began map[troupe.SessionID]bool // roots
}

const instructions = "Troupe runs coding agents in one folder. start begins one and returns its session; wait " +
	"follows " +
	"it until it ends, wants an answer, or the time is over; result is what it came to. send steers it, or has an " +
	"ended one go on."

func (s *server) server() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "troupe", Version: s.o.Version},
		&mcp.ServerOptions{Instructions: instructions})
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	add(srv, "start", "Begin an agent on a task in the folder of this server. It works by itself, may start agents of "+
		"its own, and returns at once with the session's id.", nil, s.start)
	add(srv, "status", "How a session and the agents below it are, and what they ask; without one, of all sessions "+
		"that this server began.", reads, s.status)
	add(srv, "wait", "Follow a session until it ends, asks something that this client cannot be asked, or the time is "+
		"over. Tells its progress meanwhile, and puts what is asked to the user of the client that can be asked.", nil,
		s.wait)
	add(srv, "send", "Say something to a session or to an agent below one: it steers one at work, and has one that "+
		"ended go on.", nil, s.send)
	add(srv, "stop", "Stop a session with all that it has at work, or one agent below it.", nil, s.stop)
	add(srv, "result", "What the last run of a session came to: its final words, files, cost, and what was denied.",
		reads, s.result)
	add(srv, "answer", "Answer what an agent asks (see status). Questions take `answers`, one for each in their order.",
		nil, s.answer)
	return srv
}

// add adds a tool whose failures are results, so that a model can mend its call.
func add[In, Out any](srv *mcp.Server, name, doc string, a *mcp.ToolAnnotations,
	fn func(context.Context, *mcp.CallToolRequest, In) (Out, error)) {
	mcp.AddTool(srv, &mcp.Tool{Name: name, Description: doc, Annotations: a},
		func(ctx context.Context, r *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
			out, err := fn(ctx, r, in)
			return nil, out, err
		})
}

type startInput struct {
	Prompt string `json:"prompt" jsonschema:"the task, with all that the agent has to know"`
	Agent  string `json:"agent,omitempty" jsonschema:"the type of agent to run as, such as Explore; the main agent without it"`
	Name   string `json:"name,omitempty" jsonschema:"a name for the session"`
}

type began struct {
	Session  string   `json:"session"`
	Warnings []string `json:"warnings,omitempty"`
}

func (s *server) start(ctx context.Context, _ *mcp.CallToolRequest, in startInput) (out began, err error) {
	if in.Prompt == "" {
		return out, errors.New("`prompt` must not be empty")
	}
	b := s.o.Begin
	b.Prompt, b.Name = in.Prompt, in.Name
	if in.Agent != "" {
		if b.Agent != "" {
			return out, fmt.Errorf("this server runs every session as %s; leave `agent` out", b.Agent)
		}
		b.Agent = in.Agent
	}
	got, err := s.api.Begin(ctx, b)
	if err != nil {
		return out, err
	}
	s.mu.Lock()
	s.began[got.Root] = true
	s.mu.Unlock()
	return began{Session: string(got.Root), Warnings: got.Warnings}, nil
}

// find finds a session that the program may reach.
func (s *server) find(ctx context.Context, ref string) (wire.Session, error) {
	if ref == "" {
		return wire.Session{}, errors.New("`session` must name one: its id, its name, or a path such as main/Explorer")
	}
	found, err := s.api.Find(ctx, ref, s.o.Begin.Cwd)
	if err != nil {
		return found, err
	}
	if !s.mine(found.Root) {
		return wire.Session{}, fmt.Errorf("session %s was not begun by this server, which reaches no others", ref)
	}
	return found, nil
}

func (s *server) mine(root troupe.SessionID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.began[root]
}

type sendInput struct {
	Session string `json:"session"`
	Text    string `json:"text"`
}

type sent struct {
	// Effect: steers, resumes or waits.
	Effect string `json:"effect"`
}

func (s *server) send(ctx context.Context, _ *mcp.CallToolRequest, in sendInput) (out sent, err error) {
	found, err := s.find(ctx, in.Session)
	if err != nil {
		return out, err
	}
	got, err := s.api.Send(ctx, found.ID, wire.Message{Text: in.Text})
	if err != nil || got.Effect != "resumes" {
		return sent{got.Effect}, err
	}
	return sent{got.Effect}, s.resumed(ctx, found)
}

// mostResuming is how long a session may take to begin again that was told to go on.
const mostResuming = 10 * time.Second

// resumed waits until a session that was told to go on does, so that the next wait does not find the end of before.
func (s *server) resumed(ctx context.Context, before wire.Session) error {
	ctx, cancel := context.WithTimeout(ctx, mostResuming)
	defer cancel()
	tick := time.NewTicker(look / 20)
	defer tick.Stop()
	for {
		now, err := s.api.Find(ctx, string(before.ID), s.o.Begin.Cwd)
		if err != nil || now.Run > before.Run {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("session %s was told, and has not begun to go on yet; status tells when it does",
				before.ID)
		}
	}
}

type stopInput struct {
	Session string `json:"session"`
	Now     bool   `json:"now,omitempty" jsonschema:"interrupt it; without this the step it is in is finished"`
}

func (s *server) stop(ctx context.Context, _ *mcp.CallToolRequest, in stopInput) (out statusOf, err error) {
	found, err := s.find(ctx, in.Session)
	if err != nil {
		return out, err
	}
	if err := s.api.Stop(ctx, found.ID, wire.Stop{Now: in.Now, Tree: true}); err != nil {
		return out, err
	}
	return s.statusOf(ctx, found.Root)
}

type sessionInput struct {
	Session string `json:"session,omitempty"`
}

type resultOf struct {
	Session  string          `json:"session"`
	Status   string          `json:"status"`
	Result   string          `json:"result"`
	Error    string          `json:"error,omitempty"`
	CostUSD  float64         `json:"cost_usd"`
	Duration string          `json:"duration"`
	Denials  []troupe.Denial `json:"denials,omitempty"`
}

func (s *server) result(ctx context.Context, _ *mcp.CallToolRequest, in sessionInput) (out resultOf, err error) {
	found, err := s.find(ctx, in.Session)
	if err != nil {
		return out, err
	}
	if found.ID != found.Root {
		return resultOf{Session: string(found.ID), Status: string(found.Status), Result: found.Result,
			Error: found.Error, CostUSD: found.CostUSD, Duration: duration(found.DurationMS)}, nil
	}
	r, err := s.api.Report(ctx, found.Root)
	return resultOf{Session: string(r.SessionID), Status: string(r.Status), Result: r.Result, Error: r.Error,
		CostUSD: r.CostUSD, Duration: duration(r.DurationMS), Denials: r.Denials}, err
}

func duration(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }
