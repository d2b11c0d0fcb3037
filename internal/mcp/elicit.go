package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe"
)

// Ask puts what a server asks to a person. Only an answer whose effect is Allow is one.
type Ask func(ctx context.Context, server string, list []troupe.Question) (troupe.Answer, error)

// asks are the calls of a connection that are under way. A server does not say which of them a question belongs to:
// it goes to the one that began first.
type asks struct {
	mu   sync.Mutex
	list []*asking
	open int           // questions that are put, or wait to be
	turn chan struct{} // held by the one that is put
}

// mostOpen is how many questions of a server may be open at once. They are put one after another.
const mostOpen = 8

type asking struct {
	ask      Ask
	patience *patience
	resume   func() // its time stands until then, for a question is open; nil: it runs
	notes    []string
}

func (a *asks) begin(ask Ask, p *patience) *asking {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := &asking{ask: ask, patience: p}
	if a.open > 0 {
		out.resume = p.pause()
	}
	a.list = append(a.list, out)
	return out
}

func (a *asks) end(x *asking) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = slices.DeleteFunc(a.list, func(o *asking) bool { return o == x })
}

func (a *asks) first() *asking {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.list) == 0 {
		return nil
	}
	return a.list[0]
}

// enter opens a question, during which the time of no call of a tool runs: it may be of any. ok is false if too many
// are open.
func (a *asks) enter() (leave func(), ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == mostOpen {
		return nil, false
	}
	a.open++
	if a.turn == nil {
		a.turn = make(chan struct{}, 1)
	}
	if a.open == 1 {
		for _, x := range a.list {
			x.resume = x.patience.pause()
		}
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.open--; a.open > 0 {
			return
		}
		for _, x := range a.list {
			x.resume()
		}
	}, true
}

// notes are what the model is told of questions that were not answered.
func (a *asks) notes(x *asking) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return x.notes
}

func (a *asks) note(x *asking, format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	x.notes = append(x.notes, fmt.Sprintf("("+format+")", args...))
}

// Answers of a client to what a server asks.
const (
	accepted = "accept"
	declined = "decline"
	given    = "cancel" // up
)

// mostTries is how often a person is asked again whose answer is none that the server takes.
const mostTries = 3

// elicit has a person answer what a server asks. Whatever is no person's answer declines it.
func (c *conn) elicit(ctx context.Context, server string, q *mcp.ElicitParams) *mcp.ElicitResult {
	x := c.asks.first()
	if x == nil {
		return &mcp.ElicitResult{Action: declined} // no call is under way that it could be about
	}
	decline := func(why string) *mcp.ElicitResult {
		c.asks.note(x, "The MCP server %s asked the user something, which was declined: %s", server, why)
		return &mcp.ElicitResult{Action: declined}
	}
	f, err := formOf(server, q)
	switch {
	case err != nil:
		return decline(err.Error())
	case x.ask == nil:
		return decline("this call cannot ask")
	}
	leave, ok := c.asks.enter()
	if !ok {
		return decline("it asks too much at once")
	}
	defer leave()
	select {
	case c.asks.turn <- struct{}{}:
		defer func() { <-c.asks.turn }()
	case <-ctx.Done():
		return &mcp.ElicitResult{Action: given}
	}
	for ctx.Err() == nil {
		// The call may be over by now, and the question that of another.
		if x = c.asks.first(); x == nil || x.ask == nil {
			break
		}
		if out := c.put(ctx, x, server, f, decline); out != nil {
			return out
		}
	}
	return &mcp.ElicitResult{Action: given}
}

// put asks a person in the name of a call. The result is nil if the call ended meanwhile.
func (c *conn) put(ctx context.Context, x *asking, server string, f form, decline func(string) *mcp.ElicitResult,
) *mcp.ElicitResult {
	asked, cancel := context.WithCancel(ctx)
	defer cancel()
	defer x.patience.after(cancel)()
	problem := ""
	for range mostTries {
		ans, err := x.ask(asked, server, f.ask(problem))
		switch {
		case asked.Err() != nil && ctx.Err() == nil:
			c.asks.end(x)
			return nil
		case err != nil:
			return &mcp.ElicitResult{Action: given}
		case ans.Effect != troupe.Allow && ans.Note != "":
			return decline(ans.Note)
		case ans.Effect != troupe.Allow:
			return decline("by " + ans.By)
		}
		content, yes, err := f.content(ans.Said)
		switch {
		case err != nil:
			problem = err.Error()
		case !yes:
			return decline("by " + ans.By)
		default:
			return &mcp.ElicitResult{Action: accepted, Content: content}
		}
	}
	return decline("no answer was one that it takes: " + problem)
}

// patience is the time that a call may take. It does not run while a person is asked.
type patience struct {
	cancel context.CancelCauseFunc
	after  func(func()) (stop func() bool) // has something done when the call is over

	mu     sync.Mutex
	timer  *time.Timer
	left   time.Duration
	since  time.Time
	pauses int
}

func withPatience(ctx context.Context, d time.Duration) (context.Context, *patience) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &patience{cancel: cancel, left: d}
	p.after = func(f func()) func() bool { return context.AfterFunc(ctx, f) }
	p.run()
	return ctx, p
}

func (p *patience) run() {
	p.since = time.Now()
	p.timer = time.AfterFunc(p.left, func() { p.cancel(context.DeadlineExceeded) })
}

// pause stops the time until the returned function is called, and those of all other pauses.
func (p *patience) pause() (resume func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pauses++; p.pauses == 1 && p.timer.Stop() {
		p.left -= time.Since(p.since)
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.pauses--; p.pauses == 0 {
			p.run()
		}
	}
}

func (p *patience) end() {
	p.cancel(nil)
	p.pause() // for good
}

// form is what a server asks, as a person is asked it.
type form struct {
	server, message string
	fields          []field
}

// field is one thing that it wants to know.
type field struct {
	name     string
	about    string
	kind     string
	values   []string // of a choice, as the server has them
	labels   []string // and as people read them
	many     bool
	required bool
	low, up  *float64
	min, max *int
}

// mostFields and mostChoices bound what a person is asked at once.
const (
	mostFields  = 20
	mostChoices = 50
	leaveOut    = "(leave it out)"
)

func formOf(server string, q *mcp.ElicitParams) (form, error) {
	f := form{server: server, message: words(q.Message)}
	if q.Mode == "url" || q.URL != "" {
		return f, fmt.Errorf("it wants an address to be opened in a browser, and Troupe opens none")
	}
	if f.message == "" {
		return f, fmt.Errorf("it does not say what it wants to know")
	}
	data, err := json.Marshal(q.RequestedSchema)
	if err != nil {
		return f, fmt.Errorf("its form cannot be read: %w", err)
	}
	err = f.read(data)
	return f, err
}

// words are a server's, for a person: bounded, and without what cannot be seen or looks like the runtime's own.
func words(s string) string { return text(s) }

// ask are the questions of the form. problem is what was wrong with the answer before.
func (f form) ask(problem string) []troupe.Question {
	head := "The MCP server " + f.server + " says:\n> " + strings.ReplaceAll(f.message, "\n", "\n> ")
	if problem != "" {
		head = "The answer was not taken: " + problem + "\n" + head
	}
	if len(f.fields) == 0 {
		return []troupe.Question{{Header: "MCP server", Text: head, Options: []troupe.Option{{Label: "Yes"},
			{Label: "No"}}}}
	}
	var out []troupe.Question
	for i, x := range f.fields {
		q := troupe.Question{Header: x.name, Multi: x.many, Text: "> " + strings.ReplaceAll(x.about, "\n", "\n> ")}
		if i == 0 {
			q.Text = head + "\n" + q.Text
		}
		for _, label := range x.labels {
			q.Options = append(q.Options, troupe.Option{Label: label})
		}
		if !x.required {
			q.Options = append(q.Options, troupe.Option{Label: leaveOut})
		}
		out = append(out, q)
	}
	return out
}
