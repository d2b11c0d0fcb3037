package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/workflow"
)

// models are two models that do what the seed says, and one that is not to be had.
type models struct {
	p  *process
	id string
}

func (m models) Provider(full string) (model.Provider, string, error) {
	if full == "sim/gone" {
		return nil, "", errors.New("nobody knows it any more")
	}
	if workflow.Follows(full) {
		if workflow.Under(full) == "sim/gone" {
			return nil, "", errors.New("nobody knows it any more")
		}
		return follower{m: models{m.p, full}}, full, nil
	}
	return models{m.p, full}, full, nil
}

func (m models) Cost(_ string, u troupe.Usage) (troupe.Money, bool) {
	return troupe.Price{Input: troupe.Dollar, Output: troupe.Dollar}.Cost(u), true
}

func (m models) MaxOutput(string) int { return 400 }

func (m models) Effort(_ string, wished troupe.Effort) troupe.Effort { return wished }

func (m models) Window(full string) int64 {
	if workflow.Follows(full) {
		return 0
	}
	return m.p.w.climate.window
}

func (m models) Name() string { return "sim" }

func (m models) Encoder() string { return "sim/1" }

func (m models) EncodeHead(h model.Head) ([]byte, error) {
	out := []byte(h.Model + "\n" + h.System + "\n")
	for _, t := range h.Tools {
		out = append(out, t.Name...)
	}
	return out, nil
}

// EncodeMessage is quick and tells messages apart; a real encoding would be most of a run.
func (m models) EncodeMessage(msg troupe.Message) ([]byte, error) {
	out := []byte("\n" + msg.Role + ":")
	for _, b := range msg.Blocks {
		out = append(out, b.Type...)
		out = strconv.AppendQuote(out, b.Text)
		if c := b.Call; c != nil {
			out = strconv.AppendQuote(append(out, c.Name...), c.Input)
		}
		if r := b.Result; r != nil {
			out = strconv.AppendQuote(strconv.AppendInt(out, int64(r.Call), 10), troupe.JoinText(r.Blocks))
		}
	}
	return out, nil
}

// Stream holds the prefix rule, takes its time, and then draws a reply or a fault.
func (m models) Stream(ctx context.Context, r model.Request, sink func(model.Delta)) (troupe.Reply, error) {
	w := m.p.w
	size := m.check(ctx, r)
	took := time.Duration(200+w.rng.IntN(4000)) * time.Millisecond
	if w.one(20) {
		took = time.Minute
	}
	w.sleep(ctx, took)
	if ctx.Err() != nil || m.p.dead {
		partial := []troupe.Block{troupe.Text("half a")}
		says(sink, partial)
		return troupe.Reply{}, &model.Error{
			Fault: troupe.FaultInterrupted, Message: "stopped", Partial: partial,
			Usage: troupe.Usage{Input: int64(size), Output: 1},
		}
	}
	w.calls++
	usage := troupe.Usage{Input: int64(size), Output: int64(w.rng.IntN(100))}
	if w.rng.IntN(1000) < w.climate.faults && w.calls < w.climate.calls {
		w.res.Faults++
		if err := w.drawFault(usage); err != nil {
			return troupe.Reply{}, err
		}
		reply := w.drawOddReply(usage)
		says(sink, reply.Blocks)
		return reply, nil
	}
	reply := w.drawReply(r.Agent.Session, usage)
	says(sink, reply.Blocks)
	return reply, nil
}

// check holds the prefix rule and returns the size of the request, in tokens.
func (m models) check(ctx context.Context, r model.Request) int {
	w := m.p.w
	size := len(r.Head)
	for _, b := range r.Messages {
		size += len(b)
	}
	// What was cancelled before it was sent is no request: its process may have lost the tree, and have it again by
	// now.
	if m.p.zombie || m.p.dead || ctx.Err() != nil {
		return size / 4
	}
	body := make([]byte, 0, size)
	body = append(body, r.Head...)
	for _, b := range r.Messages {
		body = append(body, b...)
	}
	before := w.sent[r.Agent.Session]
	switch {
	case r.Generation < before.generation:
		w.broken("session %s: a request of generation %d after one of generation %d", r.Agent.Session, r.Generation,
			before.generation)
	case r.Generation == before.generation && !bytes.HasPrefix(body, before.body):
		w.broken("session %s: the request for reply %d does not begin with the one before in generation %d",
			r.Agent.Session, r.Agent.Reply, r.Generation)
	}
	w.sent[r.Agent.Session] = sentBefore{r.Generation, body}
	m.checkFork(r, body)
	return size / 4
}

// checkFork holds the first request of a fork to what its parent was sent for the reply that it goes on from, and
// remembers what replies were asked for with.
func (m models) checkFork(r model.Request, body []byte) {
	w := m.p.w
	w.watch.law.asked[askedFor{r.Agent.Session, r.Agent.Reply}] = sentFor{r.Model, body}
	st := w.watch.states[r.Agent.Session]
	if st == nil || st.Fork == nil || r.Agent.Reply > 1 || r.Generation > 1 {
		return
	}
	reply, ok := w.watch.law.said[*st.Fork]
	was, known := w.watch.law.asked[askedFor{st.Fork.Session, reply}]
	switch {
	case !ok:
		w.broken("session %s is a fork of a reply that its parent does not have: %+v", r.Agent.Session, *st.Fork)
	case known && was.model == r.Model && !bytes.HasPrefix(body, was.body):
		w.broken("session %s is a fork, and its first request does not begin with what its parent was sent for reply "+
			"%d",
			r.Agent.Session, reply)
	}
}

// drawFault is a call that brings no reply; nil if it is to bring an odd one.
func (w *world) drawFault(usage troupe.Usage) error {
	e := &model.Error{Usage: usage, Partial: []troupe.Block{troupe.Text("half a")}}
	switch n := w.rng.IntN(16); {
	case n < 5:
		e.Fault, e.Message, e.Throttled = troupe.FaultRetry, "overloaded", w.one(2)
		if w.one(2) {
			e.RetryAfter = time.Duration(1+w.rng.IntN(20)) * time.Second
		}
		if w.one(10) {
			e.RetryAfter = time.Hour
		}
	case n < 7:
		e.Fault, e.Message = troupe.FaultAuth, "the key has expired"
	case n < 8:
		e.Fault, e.Message = troupe.FaultNoModel, "no such model"
	case n < 10:
		e.Fault, e.Message = troupe.FaultTooLong, "too long"
	case n < 11:
		e.Fault, e.Message = troupe.FaultBad, "bad luck"
	case n < 12:
		e.Fault, e.Message = troupe.FaultInterrupted, "cut"
	default:
		return nil
	}
	return e
}

// drawOddReply is a reply that ends in an odd way, says nothing, or holds odd calls.
func (w *world) drawOddReply(usage troupe.Usage) troupe.Reply {
	r := troupe.Reply{Stop: troupe.StopEndTurn, Usage: usage, Model: "one"}
	switch w.rng.IntN(5) {
	case 0:
		r.Stop = troupe.StopRefusal
		r.Blocks = []troupe.Block{troupe.Text("no")}
	case 1:
		r.Stop = troupe.StopMaxTokens
		r.Blocks = []troupe.Block{troupe.Text("and then"), call("Edit", `{"cut`)}
	case 2:
		r.Stop = troupe.StopMaxTokens
		r.Blocks = []troupe.Block{troupe.Text("and so on and")}
	case 3: // nothing at all
	case 4:
		r.Stop = troupe.StopToolUse
		r.Blocks = []troupe.Block{call("Read", ""), call("Nothing", ""), call("Edit", "broken"),
			{Type: troupe.ThinkingBlock, Text: "hm"}}
	}
	return r
}

// call is a tool call under an id that all calls share, as some servers have it.
func call(name, input string) troupe.Block {
	return troupe.Block{Type: troupe.CallBlock, Call: &troupe.Call{Name: name, Input: input, ProviderID: "call_0"}}
}

// drawReply is words, or calls. A summary is words. Once enough was done nobody asks for more.
func (w *world) drawReply(id troupe.SessionID, usage troupe.Usage) troupe.Reply {
	r := troupe.Reply{Stop: troupe.StopEndTurn, Usage: usage, Model: "one",
		Blocks: []troupe.Block{troupe.Text(fmt.Sprintf("so it is (%d)", w.calls))}}
	st := w.watch.states[id]
	if st.Profile.Type == troupe.VerifierAgent {
		r.Blocks[0].Text += []string{"\nVERDICT: PASS", "\nVERDICT: FAIL", ""}[w.rng.IntN(3)]
	}
	if st.Compacting() || w.calls >= w.climate.calls || w.one(6) {
		return r
	}
	r.Stop = troupe.StopToolUse
	for range 1 + w.rng.IntN(4) {
		name, input := w.drawCall(id)
		r.Blocks = append(r.Blocks, call(name, input))
	}
	return r
}
