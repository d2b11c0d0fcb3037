package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// steering implements api.Steering.
type steering struct{ use }

// What people say to sessions that live: words, stops, answers. All of it is mail, committed
// before anybody acts on it. In the process that runs the tree the receiver acts at once; in
// any other the mail waits for whoever runs the tree next.

// post sends mail that build makes within one tree.
func (a *App) post(ctx context.Context, root troupe.SessionID, build func(store.Tx) ([]troupe.Mail, error)) (here bool, err error) {
	a.mu.Lock()
	e := a.engine
	a.mu.Unlock()
	if e != nil {
		if here, err := e.hub.Send(ctx, root, build); here {
			return true, err
		}
	}
	err = a.store.Update(ctx, root, func(tx store.Tx) error {
		mail, err := build(tx)
		if err != nil {
			return err
		}
		for _, m := range mail {
			if _, err := tx.Send(m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("leave mail in tree %s: %w", root, err)
	}
	return false, nil
}

func (a *App) session(ctx context.Context, id troupe.SessionID) (troupe.Session, error) {
	var s troupe.Session
	err := a.store.View(ctx, func(r store.Reader) error {
		var err error
		s, err = r.Session(id)
		return err
	})
	if isNotFound(err) {
		return s, notFound(string(id))
	}
	return s, err
}

// mailID draws an id for mail that a person sends.
func mailID(kind string) (troupe.MailID, error) {
	var b [12]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("draw an id: %w", err)
	}
	return troupe.MailID(kind + ":" + hex.EncodeToString(b[:])), nil
}

// Send gives a session words: steering while it works, another run when it had ended.
func (a steering) Send(ctx context.Context, id troupe.SessionID, m wire.Message) (wire.Sent, error) {
	s, err := a.session(ctx, id)
	if err != nil {
		return wire.Sent{}, err
	}
	if m.Text == "" && len(m.Images) == 0 {
		return wire.Sent{}, &troupe.UserError{Problem: "there is nothing to send", Hint: "Give the message some words.", Code: 2}
	}
	prompt, err := mailID("prompt")
	if err != nil {
		return wire.Sent{}, err
	}
	stop, err := mailID("stop")
	if err != nil {
		return wire.Sent{}, err
	}
	r := Request{Prompt: a.Mask(m.Text), Images: m.Images}
	a.mu.Lock()
	hosted := a.engine != nil && a.engine.hub.Hosts(s.Root)
	a.mu.Unlock()
	out := wire.Sent{Session: id, Mail: prompt, Effect: "resumes"}
	here, err := a.post(ctx, s.Root, func(tx store.Tx) ([]troupe.Mail, error) {
		now := a.env.Now()
		halt := troupe.Stop{Tree: true, By: a.caller.String()}
		_, live, err := session.StopMail(tx, id, halt, now, stop)
		if err != nil {
			return nil, err
		}
		mail := []troupe.Mail{{ID: prompt, Root: s.Root, To: id, Kind: troupe.MailPrompt, SentAt: now, Caller: &a.caller, Blocks: words(r)}}
		if !live {
			return mail, nil
		}
		out.Effect = "steers"
		if !m.Cancel || !hosted { // left for somebody else, it would end the run of whoever resumes it
			return mail, nil
		}
		stops, err := session.StopTree(tx, id, halt, now, stop)
		return append(mail, stops...), err
	})
	if !here {
		out.Effect = "waits"
	}
	return out, err
}

// Stop ends the run of a session. A stop of the tree reaches its tasks in the background too,
// and does so after its own run has ended. One of a task ends that command in the background alone.
func (a steering) Stop(ctx context.Context, id troupe.SessionID, st wire.Stop) error {
	s, err := a.session(ctx, id)
	if err != nil {
		return err
	}
	stop, err := mailID("stop")
	if err != nil {
		return err
	}
	_, err = a.post(ctx, s.Root, func(tx store.Tx) ([]troupe.Mail, error) {
		if st.Task != "" {
			return []troupe.Mail{{
				ID: stop, Root: s.Root, To: id, Kind: troupe.MailStop, SentAt: a.env.Now(), Caller: &a.caller,
				Stop: &troupe.Stop{Run: s.Run, Task: st.Task, By: a.caller.String()},
			}}, nil
		}
		return session.StopTree(tx, id, troupe.Stop{Now: st.Now, Tree: st.Tree, By: a.caller.String()}, a.env.Now(), stop)
	})
	return err
}

// Background has a sub-agent that its parent waits for go on by itself.
func (a steering) Background(ctx context.Context, id troupe.SessionID) error {
	s, err := a.session(ctx, id)
	if err != nil {
		return err
	}
	a.mu.Lock()
	e := a.engine
	a.mu.Unlock()
	if e == nil || !s.Status.Live() || s.Parent == "" || !e.hub.Move(s.Root, id, &a.caller) {
		return &troupe.UserError{Problem: fmt.Sprintf("%s is not an agent that another one waits for here", id), Hint: "`troupe tasks` lists those that are at work.", Code: 2}
	}
	return nil
}

// Compact has a session shorten its conversation; hint says what to keep.
func (a steering) Compact(ctx context.Context, id troupe.SessionID, hint string) error {
	s, err := a.session(ctx, id)
	if err != nil {
		return err
	}
	mail, err := mailID("compact")
	if err != nil {
		return err
	}
	var blocks []troupe.Block
	if hint != "" {
		blocks = words(Request{Prompt: a.Mask(hint)})
	}
	_, err = a.post(ctx, s.Root, func(store.Tx) ([]troupe.Mail, error) {
		return []troupe.Mail{{ID: mail, Root: s.Root, To: id, Kind: troupe.MailCompact, SentAt: a.env.Now(), Caller: &a.caller, Blocks: blocks}}, nil
	})
	return err
}

// SetModel moves a session to another model. The call under way, if there is one, is still
// the old one's.
func (a steering) SetModel(ctx context.Context, id troupe.SessionID, name string) (full string, err error) {
	s, err := a.session(ctx, id)
	if err != nil {
		return "", err
	}
	if full, err = a.models.Resolve(name, "", s.Cwd); err != nil {
		return "", err
	}
	if _, _, err := a.models.Provider(full); err != nil {
		return "", err
	}
	mail, err := mailID("model")
	if err != nil {
		return "", err
	}
	_, err = a.post(ctx, s.Root, func(store.Tx) ([]troupe.Mail, error) {
		return []troupe.Mail{{ID: mail, Root: s.Root, To: id, Kind: troupe.MailModel, SentAt: a.env.Now(), Caller: &a.caller, Model: full}}, nil
	})
	return full, err
}

// SetMode changes the permission mode of a tree, from the next call on. A call that waits for
// an answer is judged again.
func (a steering) SetMode(ctx context.Context, root troupe.SessionID, mode troupe.Mode) error {
	if !slices.Contains(troupe.Modes(), mode) {
		return &troupe.UserError{Problem: fmt.Sprintf("there is no permission mode %q", mode), Hint: "The modes are " + modeNames() + ".", Code: 2}
	}
	s, err := a.session(ctx, root)
	if err != nil {
		return err
	}
	mail, err := mailID("mode")
	if err != nil {
		return err
	}
	_, err = a.post(ctx, s.Root, func(store.Tx) ([]troupe.Mail, error) {
		return []troupe.Mail{{ID: mail, Root: s.Root, To: s.Root, Kind: troupe.MailGrant, SentAt: a.env.Now(), Caller: &a.caller, Mode: mode}}, nil
	})
	return err
}
