package session

import (
	"context"
	"errors"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

// looks are what calls came to that were cut off. It is looked up while no transaction is open: files can be slow,
// and all sessions of a home wait for the one that writes. A transaction that needs a look that there is not yet is
// begun again with it.
type looks struct {
	found  map[cutOff]*tool.Output // nil: it may or may not have taken effect
	wanted []func()
}

// cutOff is a call of a session.
type cutOff struct {
	session troupe.SessionID
	troupe.Coord
}

// errLook ends a transaction that wants looks.
var errLook = errors.New("it is to be looked first what became of calls that were cut off")

// update runs fn in a transaction, with the looks that it wants.
func (l *looks) update(ctx context.Context, s store.Store, root troupe.SessionID, fn func(store.Tx) error) error {
	l.found = make(map[cutOff]*tool.Output)
	for {
		err := s.Update(ctx, root, func(tx store.Tx) error {
			l.wanted = nil
			if err := fn(tx); err != nil || l.wanted == nil {
				return err
			}
			return errLook
		})
		if !errors.Is(err, errLook) {
			return err
		}
		for _, look := range l.wanted {
			look()
		}
	}
}

// recovered is turn.Recover, with the results of calls that certainly took effect in the place of those
// that leave it open: a session that knows what a file holds by now can go on changing it.
func (h *Hub) recovered(st *turn.State, l *looks) []troupe.Body {
	bodies := turn.Recover(st)
	for i, body := range bodies {
		b, ok := body.(troupe.ToolFinished)
		if !ok || l == nil {
			continue
		}
		c := st.Calls[b.Result.Call]
		t, ok := h.d.Tools.Find(c.Name)
		if !ok || t.Runner == nil || t.Class != troupe.ClassEdit {
			continue
		}
		id := cutOff{st.Session.ID, troupe.Coord{Reply: c.Reply, Call: c.Index}}
		out, ok := l.found[id]
		if !ok {
			before := st.Clone()
			l.wanted = append(l.wanted, func() {
				if out, ok := h.landed(&before, c, t); ok {
					l.found[id] = &out
				} else {
					l.found[id] = nil
				}
			})
		}
		if out != nil {
			out := h.maskOutput(*out)
			b.Interrupt, b.Evidence = false, out.Evidence
			b.Result.IsError, b.Result.Blocks = out.IsError, out.Blocks
			bodies[i] = b
		}
	}
	return bodies
}

// landed is the result of a call that was cut off, if its tool finds that it took effect. A tool that panics over it
// has found nothing: it would end each process that takes the session up.
func (h *Hub) landed(st *turn.State, c turn.Call, t tool.Descriptor) (out tool.Output, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			out, ok = tool.Output{}, false
		}
	}()
	if h.d.Replay != nil {
		return tool.Output{}, false // what is played again did not happen here
	}
	env := tool.Env{
		Cwd: st.Session.Dir(), Absent: c.Absent,
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
