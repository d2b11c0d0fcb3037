package session

import (
	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

// recovered is turn.Recover, with the results of calls that certainly took effect in the place of those
// that leave it open: a session that knows what a file holds by now can go on changing it.
func (h *Hub) recovered(st *turn.State) []troupe.Body {
	bodies := turn.Recover(st)
	for i, body := range bodies {
		b, ok := body.(troupe.ToolFinished)
		if !ok {
			continue
		}
		c := st.Calls[b.Result.Call]
		if out, ok := h.landed(st, c); ok {
			out = h.maskOutput(out)
			b.Interrupt, b.Evidence = false, out.Evidence
			b.Result.IsError, b.Result.Blocks = out.IsError, out.Blocks
			bodies[i] = b
		}
	}
	return bodies
}

// landed is the result of a call that was cut off, if its tool finds that it took effect. A tool that panics over it
// has found nothing: it would end each process that takes the session up.
func (h *Hub) landed(st *turn.State, c turn.Call) (out tool.Output, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			out, ok = tool.Output{}, false
		}
	}()
	if h.d.Replay != nil {
		return tool.Output{}, false // what is played again did not happen here
	}
	t, ok := h.d.Tools.Find(c.Name)
	if !ok || t.Runner == nil {
		return tool.Output{}, false
	}
	env := tool.Env{
		Cwd: st.Session.Cwd, Absent: c.Absent,
		Seen: func(path string) (string, bool) { hash, ok := st.Files[path]; return hash, ok },
	}
	if kept := h.d.Kept; kept != nil {
		env.Kept = func(hash string) ([]byte, error) { return kept(st.Session.Root, hash) }
	}
	p, err := t.Prepare(env, c.Input)
	if err != nil {
		return tool.Output{}, false
	}
	lander, ok := p.(tool.Lander)
	if !ok {
		return tool.Output{}, false
	}
	return lander.Landed(env)
}
