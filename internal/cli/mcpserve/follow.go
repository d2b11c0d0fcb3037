package mcpserve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

type statusOf struct {
	Session string  `json:"session,omitempty"`
	Status  string  `json:"status,omitempty"`
	Ended   bool    `json:"ended"`
	Result  string  `json:"result,omitempty"`
	Error   string  `json:"error,omitempty"`
	Agents  []agent `json:"agents,omitempty"`
	// Requests are what waits for an answer.
	Requests []request `json:"requests,omitempty"`
}

type agent struct {
	Session string `json:"session"`
	Path    string `json:"path"`
	Type    string `json:"type"`
	Status  string `json:"status"`
	Waiting string `json:"waiting,omitempty"`
}

type request struct {
	ID        string            `json:"id"`
	Kind      string            `json:"kind"`
	From      string            `json:"from"`
	Why       string            `json:"why"`
	Action    string            `json:"action"`
	Questions []troupe.Question `json:"questions,omitempty"`
	// Server is the MCP server that asks them; none: the agent does.
	Server string `json:"server,omitempty"`
	// Wants is what a command wanted beyond its sandbox. Leave is for all of it.
	Wants []string `json:"wants,omitempty"`
}

func requestOf(r wire.Request) request {
	out := request{r.ID, string(r.Kind), r.Path, r.Why, r.Action, r.Questions, r.Server, nil}
	for _, w := range r.Wants {
		out.Wants = append(out.Wants, w.String())
	}
	return out
}

// asksAgent reports whether what is asked is for whoever gave the agent its work: its own questions, and not those of
// a server, which want a person.
func (r request) asksAgent() bool { return r.Kind == string(troupe.RequestQuestion) && r.Server == "" }

type statuses struct {
	Sessions []statusOf `json:"sessions"`
}

func (s *server) status(ctx context.Context, _ *mcp.CallToolRequest, in sessionInput) (out statuses, err error) {
	out.Sessions = []statusOf{}
	var roots []troupe.SessionID
	if in.Session != "" {
		found, err := s.find(ctx, in.Session)
		if err != nil {
			return out, err
		}
		roots = append(roots, found.Root)
	} else {
		s.mu.Lock()
		for root := range s.began {
			roots = append(roots, root)
		}
		s.mu.Unlock()
		slices.Sort(roots)
	}
	for _, root := range roots {
		st, err := s.statusOf(ctx, root)
		if err != nil {
			return out, err
		}
		out.Sessions = append(out.Sessions, st)
	}
	return out, nil
}

func (s *server) statusOf(ctx context.Context, root troupe.SessionID) (out statusOf, err error) {
	t, err := s.api.Tree(ctx, root)
	if err != nil {
		return out, err
	}
	out.Ended = true
	for _, a := range t.Sessions {
		out.Ended = out.Ended && a.Status.Ended()
		out.Agents = append(out.Agents, agent{string(a.ID), a.Path, a.Type, string(a.Status), string(a.Waiting)})
		if a.ID == root {
			out.Session, out.Status, out.Error = string(root), string(a.Status), a.Error
		}
	}
	if out.Ended {
		found, err := s.api.Find(ctx, string(root), s.o.Begin.Cwd)
		if err != nil {
			return out, err
		}
		out.Result = found.Result
	}
	open, err := s.api.Requests(ctx, root)
	for _, r := range open {
		out.Requests = append(out.Requests, requestOf(r))
	}
	return out, err
}

type waitInput struct {
	Session string `json:"session"`
	Seconds int    `json:"seconds,omitempty" jsonschema:"how long to wait at most; 600 without it"`
}

// usualWait is how long a program waits that does not say how long.
const usualWait = 600 * time.Second

// look is how often it is looked at what is so, whatever is heard.
const look = time.Second

// wait follows a tree. What is asked meanwhile goes to the program's user, if the program can ask one.
func (s *server) wait(ctx context.Context, r *mcp.CallToolRequest, in waitInput) (out statusOf, err error) {
	found, err := s.find(ctx, in.Session)
	if err != nil {
		return out, err
	}
	limit := usualWait
	if in.Seconds > 0 {
		limit = time.Duration(in.Seconds) * time.Second
	}
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	seen, err := s.api.Tree(ctx, found.Root)
	if err != nil {
		return out, err
	}
	from := map[troupe.SessionID]int64{}
	for _, a := range seen.Sessions {
		from[a.ID] = a.Seq
	}
	stream, err := s.api.Follow(waiting, wire.Follow{Root: found.Root, From: from})
	if err != nil {
		return out, err
	}
	defer stream.Close()
	p := progress{r: r}
	asked := map[string]bool{}
	for {
		out, err = s.statusOf(ctx, found.Root)
		if err != nil || out.Ended {
			return out, err
		}
		if p.n == 0 {
			p.say(waiting, out.atWork())
		}
		for _, q := range out.Requests {
			if asked[q.ID] {
				continue
			}
			asked[q.ID] = true
			if !s.put(waiting, r, q) {
				return out, nil // the program has to see to it
			}
		}
		next, done := context.WithTimeout(waiting, look)
		batch, err := stream.Next(next)
		done()
		switch {
		case waiting.Err() != nil && ctx.Err() == nil:
			return s.statusOf(ctx, found.Root)
		case err != nil && next.Err() == nil:
			return out, err
		}
		p.tell(waiting, batch.Events)
	}
}

// progress tells a program what agents do.
type progress struct {
	r *mcp.CallToolRequest
	n float64
}

func (p *progress) tell(ctx context.Context, events []troupe.Event) {
	for _, e := range events {
		text := ""
		switch b := e.Body.(type) {
		case troupe.Created:
			text = "an agent begins: " + b.Title
		case troupe.ToolStarted:
			text = b.Name
		case troupe.ToolFinished:
			text = b.Name + " is done"
		case troupe.Replied:
			text = troupe.JoinText(b.Blocks)
		case troupe.Ended:
			text = "an agent ends: " + string(b.Outcome.Status)
		}
		if text != "" {
			p.say(ctx, text)
		}
	}
}

func (p *progress) say(ctx context.Context, text string) {
	p.n++
	token := p.r.Params.GetProgressToken()
	if token == nil {
		return
	}
	const most = 300
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	_ = p.r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: p.n,
		Message: text}) // one that is lost is followed by another
}

// atWork says how many agents are not done.
func (s *statusOf) atWork() string {
	n := 0
	for _, a := range s.Agents {
		if !troupe.Status(a.Status).Ended() {
			n++
		}
	}
	return fmt.Sprintf("%d of %d agents are not done", n, len(s.Agents))
}

type answerInput struct {
	Request string   `json:"request" jsonschema:"its id"`
	Allow   bool     `json:"allow" jsonschema:"false denies it, or leaves its questions without an answer"`
	Note    string   `json:"note,omitempty" jsonschema:"words for the agent"`
	Answers []string `json:"answers,omitempty" jsonschema:"to its questions: the label of an option, or words; several labels with commas between them where several may be chosen"`
}

type answered struct {
	Request string `json:"request"`
}

func (s *server) answer(ctx context.Context, _ *mcp.CallToolRequest, in answerInput) (out answered, err error) {
	if in.Request == "" {
		return out, errors.New("`request` must name one; status lists those that are open")
	}
	q, err := s.api.Request(ctx, in.Request)
	switch {
	case err != nil:
		return out, err
	case !s.mine(q.Root):
		return out, fmt.Errorf("request %s is of a session that this server did not begin", in.Request)
	case in.Allow && !requestOf(q).asksAgent() && !s.o.Answers:
		return out, errors.New("only a person allows what agents ask for: in `troupe requests`, or here if the " +
			"server " +
			"was started with --answers; you may deny it")
	}
	ans := wire.Answer{Allow: in.Allow, Note: in.Note}
	if in.Allow && len(q.Questions) > 0 {
		for i, text := range in.Answers {
			ans.Answers = append(ans.Answers, said(q.Questions, i, text))
		}
	}
	return answered{q.ID}, s.api.Answer(ctx, q.ID, ans)
}

func said(list []troupe.Question, i int, text string) troupe.Said {
	if i >= len(list) {
		return troupe.Said{Text: text}
	}
	words := []string{text}
	if list[i].Multi && list[i].Option(text) == "" {
		words = strings.Split(text, ",")
	}
	var said troupe.Said
	for _, w := range words {
		label := list[i].Option(strings.TrimSpace(w))
		if label == "" {
			return troupe.Said{Text: text}
		}
		said.Choices = append(said.Choices, label)
	}
	return said
}

// shown is a request for people: what agents and servers wrote stands in lines of its own, each with a mark before it,
// and nothing in it can pass for Troupe's words or be invisible.
func (r request) shown() string {
	var b strings.Builder
	from := console.VisibleLine(r.From)
	if r.Server != "" {
		from = "the MCP server " + console.VisibleLine(r.Server) + ", which " + from + " uses,"
	}
	b.WriteString(from + " asks, because " + console.VisibleLine(r.Why) + ":")
	for line := range strings.Lines(console.Source(r.Action)) {
		b.WriteString("\n| " + strings.TrimSuffix(line, "\n"))
	}
	if len(r.Wants) > 0 {
		b.WriteString("\nIt wanted:")
	}
	for _, w := range r.Wants {
		b.WriteString("\n- " + console.VisibleLine(w))
	}
	return b.String()
}

// put puts what an agent asks to the user of the program. It is false if that cannot be: then the request stays open,
// and whoever sees it may answer.
func (s *server) put(ctx context.Context, r *mcp.CallToolRequest, q request) bool {
	init := r.Session.InitializeParams()
	if init == nil || init.Capabilities == nil || init.Capabilities.Elicitation == nil {
		return false
	}
	properties, required := map[string]any{}, []string{}
	text := func(title string, more map[string]any) map[string]any {
		out := map[string]any{"type": "string", "title": title}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	for i, asked := range q.Questions {
		key := fmt.Sprintf("answer_%d", i+1)
		about := asked.Text
		if asked.Multi {
			about += " (several may be chosen, with commas between them)"
		}
		for _, o := range asked.Options {
			about += "\n- " + o.Label
		}
		properties[key], required = text(asked.Header, map[string]any{"description": about}), append(required, key)
	}
	if len(q.Questions) == 0 {
		properties["decision"] = text("Decision", map[string]any{"enum": []string{"allow", "deny"}})
		properties["note"] = text("Words for the agent", nil)
		required = append(required, "decision")
	}
	form := map[string]any{"type": "object", "properties": properties, "required": required}
	got, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: q.shown(), RequestedSchema: form})
	if err != nil || got.Action == "cancel" {
		return false
	}
	word := func(key string) string { v, _ := got.Content[key].(string); return v }
	ans := wire.Answer{Allow: got.Action == "accept", Note: word("note")}
	if len(q.Questions) == 0 {
		ans.Allow = ans.Allow && word("decision") == "allow"
	}
	for i := range q.Questions {
		if ans.Allow {
			ans.Answers = append(ans.Answers, said(q.Questions, i, word(fmt.Sprintf("answer_%d", i+1))))
		}
	}
	err = s.api.Answer(ctx, q.ID, ans)
	return err == nil || errors.Is(err, troupe.ErrNotFound) // another answer may have come first
}
