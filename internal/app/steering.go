package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/model/workflow"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// steering implements api.Steering.
type steering struct{ bound }

// What people say to sessions that live: words, stops, answers. All of it is mail, committed
// before it is acted on. In the process that runs the tree the receiver acts at once; in any
// other the mail waits for the process that runs the tree next.

// post sends mail that build makes within one tree, as the caller's. here: this process runs it.
func (a bound) post(ctx context.Context, root troupe.SessionID, build func(store.Tx) ([]troupe.Mail, error)) (here bool,
	err error) {
	base := rand.Text()
	stamped := func(tx store.Tx) ([]troupe.Mail, error) {
		mail, err := build(tx)
		for i := range mail {
			m := &mail[i]
			m.Root, m.SentAt, m.Caller = root, a.app.env.Now(), &a.caller
			if m.ID == "" {
				m.ID = troupe.MailID(fmt.Sprintf("%s:%s:%d", m.Kind, base, i))
			}
		}
		return mail, err
	}
	for {
		if e := a.app.engine.Load(); e != nil {
			if here, err := e.hub.Send(ctx, root, stamped); here {
				return true, err
			}
		}
		held, err := a.checkHeard(ctx, root)
		if err != nil {
			return false, err
		}
		// A process that takes the tree over reads what was left for it in the transaction in which it
		// does so, and looks no more. What is left is left before that, or finds out who to ask.
		taken := false
		err = a.app.trees.store.Update(ctx, root, func(tx store.Tx) error {
			now, err := tx.Lease(root)
			if taken = now != held; err != nil || taken {
				return err
			}
			if err := notArchived(tx, root); err != nil {
				return err
			}
			mail, err := stamped(tx)
			for _, m := range mail {
				if err == nil {
					_, err = tx.Send(m)
				}
			}
			return err
		})
		if err != nil {
			return false, fmt.Errorf("leave mail in tree %s: %w", root, err)
		}
		if !taken {
			return false, nil
		}
	}
}

// checkHeard refuses what would be left in the home for a process that runs the tree and never looks
// there: it takes calls on its own socket. held is the lease under which nobody does.
func (a bound) checkHeard(ctx context.Context, root troupe.SessionID) (held troupe.Lease, err error) {
	err = a.app.trees.store.View(ctx, func(r store.Reader) (err error) {
		if err = notArchived(r, root); err == nil {
			held, err = r.Lease(root)
		}
		return err
	})
	if err != nil || a.app.isOwner(held.Owner) {
		return held, err
	}
	o, alive, err := a.app.trees.owner(ctx, held)
	if err != nil || !alive || o.Socket == "" {
		return held, err
	}
	return held, &troupe.UserError{
		Problem: fmt.Sprintf("session %s is run by process %d on %s, and not by this one", root, o.PID, o.Host),
		Hint:    "If that process is just ending, try again in a moment.", Err: troupe.ErrFenced,
	}
}

// tell sends one piece of mail.
func (a bound) tell(ctx context.Context, root troupe.SessionID, m troupe.Mail) error {
	_, err := a.post(ctx, root, func(store.Tx) ([]troupe.Mail, error) { return []troupe.Mail{m}, nil })
	return err
}

func (a trees) session(ctx context.Context, id troupe.SessionID) (troupe.Session, error) {
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

// Send gives a session words: steering while it works, another run when it had ended.
func (a steering) Send(ctx context.Context, id troupe.SessionID, m wire.Message) (wire.Sent, error) {
	s, err := a.app.trees.session(ctx, id)
	if err != nil {
		return wire.Sent{}, err
	}
	if m.Text == "" && len(m.Images) == 0 {
		return wire.Sent{}, &troupe.UserError{Problem: "there is nothing to send", Hint: "Give the message some words.",
			Code: troupe.ExitUsage}
	}
	if err := a.maySteer(ctx, s.Root); err != nil {
		return wire.Sent{}, err
	}
	if m.Fork {
		depth, err := a.depthOf(ctx, s)
		if err == nil {
			err = forkable(s, m.Cancel, depth)
		}
		if err != nil {
			return wire.Sent{}, err
		}
	}
	prompt, stop := promptID(a.caller, m.Once), troupe.MailID("stop:"+rand.Text())
	said, err := a.command(ctx, s, a.app.Mask(m.Text))
	if err != nil {
		return wire.Sent{}, err
	}
	said = said.only(m.Typed, a.app.Mask).bringing(m.Read)
	blocks := words(said.text, m.Images)
	hosted := a.app.hosting(s.Root) != nil
	out := wire.Sent{Session: id, Mail: prompt, Effect: "resumes"}
	here, err := a.post(ctx, s.Root, func(tx store.Tx) ([]troupe.Mail, error) {
		if m.Fork {
			out.Effect = "forks"
			return []troupe.Mail{{ID: prompt, To: id, Kind: troupe.MailFork, Blocks: blocks, Uses: said.uses,
				Typed: said.typed, Read: said.read,
				OfTeam: troupe.OfTeam{Forked: &troupe.Forked{Title: title(troupe.JoinText(blocks))}}}}, nil
		}
		halt := troupe.Stop{Tree: s.Type != wire.AgentCoordinator, By: a.caller.String()}
		_, live, err := session.StopMail(tx, id, halt, a.app.env.Now(), stop)
		if err != nil {
			return nil, err
		}
		mail := []troupe.Mail{{ID: prompt, To: id, Kind: troupe.MailPrompt, Blocks: blocks, Uses: said.uses,
			Typed: said.typed, Read: said.read}}
		if !live {
			return mail, nil
		}
		out.Effect = "steers"
		if !m.Cancel || !hosted { // left for another process, it would end the run of the one that resumes it
			return mail, nil
		}
		stops, err := session.StopTree(tx, id, halt, a.app.env.Now(), stop)
		return append(mail, stops...), err
	})
	if !here {
		out.Effect = "waits"
	}
	return out, err
}

// depthOf is how deep agents of a session's tree may be: as of its run or, where none is, as the next one will have it.
func (a steering) depthOf(ctx context.Context, s troupe.Session) (int, error) {
	t, err := a.app.tree(ctx, s.Root)
	if err != nil || t.Running {
		return t.Sum.Caps.MaxDepth, err
	}
	p, err := a.app.policyOf(s.Cwd)
	if err != nil {
		return 0, err
	}
	return p.settings.Caps().MaxDepth, nil
}

// forkable says why a session cannot be forked, as far as that can be told from without. Depth is how deep agents may
// be there.
func forkable(s troupe.Session, cancel bool, depth int) error {
	out := &troupe.UserError{Code: troupe.ExitUsage}
	switch {
	case cancel:
		out.Problem = "a message is either for a fork or for the session that is to stop"
		out.Hint = "Send the fork its words, then stop the session: troupe stop " + string(s.ID)
	case s.Type == troupe.ForkAgent:
		out.Problem = "a fork is not forked again"
		out.Hint = "Send the words to it, or fork the agent that it was made of: " + string(s.Parent)
	case depth == 0:
		out.Problem = "there are no forks here: sub-agents are switched off (agents.max_depth is 0)"
		out.Hint = "Send it the words without a fork."
	case s.Depth+1 > depth:
		out.Problem = fmt.Sprintf("an agent at depth %d has no forks (agents.max_depth is %d)", s.Depth, depth)
		out.Hint = "Send it the words without a fork, or fork its main agent: troupe send " + string(s.Root) + " --fork"
	case s.Tally.Turns == 0:
		out.Problem = "there is nothing to fork yet: the session has no reply of its model"
		out.Hint = "Send it the words without a fork, or wait for its first reply."
	default:
		return nil
	}
	return out
}

// Stop ends the run of a session. A stop of the tree reaches its tasks in the background too,
// and does so after its own run has ended. One of a task ends that command in the background alone.
func (a steering) Stop(ctx context.Context, id troupe.SessionID, st wire.Stop) error {
	s, err := a.app.trees.session(ctx, id)
	if err != nil {
		return err
	}
	halt := troupe.Stop{Now: st.Now, Tree: st.Tree, Task: st.Task, By: a.caller.String()}
	if st.Task != "" {
		halt.Run = s.Run
		return a.tell(ctx, s.Root, troupe.Mail{To: id, Kind: troupe.MailStop, Stop: &halt})
	}
	mail := troupe.MailID("stop:" + rand.Text())
	_, err = a.post(ctx, s.Root, func(tx store.Tx) ([]troupe.Mail, error) {
		return session.StopTree(tx, id, halt, a.app.env.Now(), mail)
	})
	return err
}

// Background has a sub-agent that its parent waits for go on by itself; of a main agent, all that it waits for.
func (a steering) Background(ctx context.Context, id troupe.SessionID) error {
	s, err := a.app.trees.session(ctx, id)
	if err == nil {
		err = a.maySteer(ctx, s.Root)
	}
	if err != nil {
		return err
	}
	told := make(chan error, 1)
	e := a.app.hosting(s.Root)
	if e == nil || !s.Status.Live() || !e.hub.Move(s.Root, id, &a.caller, func(err error) { told <- err }) {
		return notMoved(id, session.ErrNotWaited)
	}
	ctx, cancel := context.WithTimeout(ctx, moveWithin)
	defer cancel()
	select {
	case err := <-told:
		return notMoved(id, err)
	case <-ctx.Done():
		return fmt.Errorf("move what %s waits for to the background: it does not answer: %w", id, ctx.Err())
	}
}

// moveWithin is far more than a session takes to move what it waits for. One that was lost meanwhile never answers.
const moveWithin = 10 * time.Second

// notMoved says what could not be moved to the background; nil if all was.
func notMoved(id troupe.SessionID, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, session.ErrNotWaited):
		return &troupe.UserError{
			Problem: fmt.Sprintf("%s is not an agent that another one waits for here", id),
			Hint:    "`troupe tasks` lists those that are at work.", Code: troupe.ExitUsage, Err: err,
		}
	}
	return &troupe.UserError{
		Problem: fmt.Sprintf("not all that %s waits for was moved to the background: %v", id, err),
		Hint:    "What was not moved goes on as it was.", Code: troupe.ExitUsage, Err: err,
	}
}

// Compact has a session shorten its conversation; hint says what to keep.
func (a steering) Compact(ctx context.Context, id troupe.SessionID, hint string) error {
	s, err := a.app.trees.session(ctx, id)
	if err == nil {
		err = a.maySteer(ctx, s.Root)
	}
	if err != nil {
		return err
	}
	if workflow.Follows(s.Model) {
		return &troupe.UserError{Problem: string(id) + " follows a workflow, and goes by all of its conversation",
			Hint: "Nothing has to be shortened: it costs nothing.", Code: troupe.ExitUsage}
	}
	m := troupe.Mail{To: id, Kind: troupe.MailCompact}
	if hint != "" {
		m.Blocks = words(a.app.Mask(hint), nil)
	}
	return a.tell(ctx, s.Root, m)
}

// SetModel moves a session to another model. The call under way, if there is one, is still
// the old one's.
func (a steering) SetModel(ctx context.Context, id troupe.SessionID, name string) (full string, err error) {
	s, err := a.app.trees.session(ctx, id)
	if err == nil {
		err = a.maySteer(ctx, s.Root)
	}
	if err != nil {
		return "", err
	}
	if full, err = a.app.models.Resolve(name, "", s.Cwd); err != nil {
		return "", err
	}
	full = workflow.Moved(s.Model, full)
	if _, _, err := a.app.models.Provider(full); err != nil {
		return "", err
	}
	return full, a.tell(ctx, s.Root, troupe.Mail{To: id, Kind: troupe.MailModel, Model: full})
}

// SetMode changes the permission mode of a tree, from the next call on. A call that waits for
// an answer is judged again.
func (a steering) SetMode(ctx context.Context, root troupe.SessionID, mode troupe.Mode) error {
	if _, err := troupe.ParseMode(string(mode)); err != nil {
		return err
	}
	if err := mayBypass(a.caller, mode); err != nil {
		return err
	}
	s, err := a.app.trees.session(ctx, root)
	if err != nil {
		return err
	}
	p, err := a.app.policyOf(s.Cwd)
	if err != nil {
		return err
	}
	if config.AtMost(mode, p.all.Most()) != mode {
		return &troupe.UserError{
			Problem: fmt.Sprintf("mode %s is not allowed by settings (permissions.disableBypassPermissionsMode)", mode),
			Hint:    "Choose another one, such as " + string(p.all.Most()) + ".", Code: troupe.ExitUsage,
		}
	}
	events, err := a.app.trees.events(ctx, s.Root, 0, 1)
	if err != nil {
		return err
	}
	if len(events) > 0 {
		if b, ok := events[0].Body.(troupe.Created); ok && boundBy(b.Profile, mode) != mode {
			return &troupe.UserError{
				Problem: fmt.Sprintf("mode %s is more than %s may have: its definition says %s", mode, b.Profile.Type,
					b.Profile.Mode),
				Hint: "Begin another session as the main agent, or change the definition.", Code: troupe.ExitUsage,
			}
		}
	}
	m := troupe.Mail{To: s.Root, Kind: troupe.MailGrant, Mode: mode}
	if mode == troupe.ModeAuto {
		if m.Model, err = judgeOf(a.app, p, s.Model, s.Cwd); err != nil {
			return err
		}
	}
	return a.tell(ctx, s.Root, m)
}
