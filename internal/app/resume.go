package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/model/workflow"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace"
)

func (a runs) resume(ctx context.Context, b wire.Begin) (begun wire.Begun, err error) {
	if err := fixedAtBirth(b); err != nil {
		return begun, err
	}
	s, err := a.findForResume(ctx, b)
	if err != nil {
		return begun, err
	}
	if err := a.maySteer(ctx, s.ID); err != nil {
		return begun, err
	}
	if s.Archived {
		return begun, archived(s)
	}
	if err := a.checkAwake(s, b.Wake); err != nil {
		return begun, err
	}
	t, err := a.app.tree(ctx, s.ID)
	if err != nil {
		return begun, err
	}
	if err := a.checkNotAtWork(ctx, t, s); err != nil {
		return begun, err
	}
	if err := errors.Join(folderIsThere(s), movedAway(a.app, s)); err != nil {
		return begun, err
	}
	if failed := s.Status.Ended() && s.Status != troupe.Completed; failed && b.Prompt == "" && !b.Wake && !b.Idle &&
		workflow.Follows(s.Model) {
		b.Prompt = "again" // without a word there would be nothing to do: with any, the failed steps begin again
	}
	ad := session.Adoption{Root: s.ID, Expect: t.Lease, Idle: b.Idle || b.Left, Quiet: b.Idle, Stops: b.Left,
		Wake:   b.Wake,
		Caller: &a.caller}
	if b.Prompt != "" {
		ad.Prompt, ad.MailID = words(b.Prompt, b.Images), promptID(a.caller, b.Once)
		said := asTyped(b.Prompt).only(b.Typed, a.app.Mask).bringing(b.Read)
		ad.Typed, ad.Read = said.typed, said.read
	}
	b.Cwd = s.Cwd
	p, err := readPolicy(a.app, b.Cwd, b.Trust)
	if err != nil {
		return begun, err
	}
	files := p.readAhead(ctx, a.app, b.Cwd)
	defer files.read()
	e, err := a.app.start(ctx)
	if err != nil {
		return begun, err
	}
	e.guard.sweepFolder(s.Cwd)
	authority, warnings, err := a.changes(ctx, e.tools.gate, b, p, s, &ad)
	if err == nil {
		err = mayBypass(a.caller, authority.Mode)
	}
	if err != nil {
		return begun, err
	}
	// The settings' limits are followed as its rules are.
	caps := askedCaps(p.settings.Caps(), given(b, ad.Settings.Given), t.Sum.Caps)
	ad.Caps = &caps
	profiles, problems, err := newProfiles(a.app, e.tools, p, b, files)
	if err != nil {
		return begun, err
	}
	if err := profiles.recall(ctx, a.app.trees.store, s.ID, ad.Settings.Definitions, p.trusted()); err != nil {
		return begun, err
	}
	e.guard.meet(b.Cwd, p, profiles.runs)
	warnings = append(warnings, e.lookAtServers(ctx, a.app, profiles, p, s.ID, b.Cwd, s.Type, authority)...)
	if b.Left {
		b.AskMS, b.Attended = ad.Settings.AskFor.Milliseconds(), ad.Settings.Attended
	}
	if b.Wake && b.AskMS == 0 {
		b.AskMS = ad.Settings.AskFor.Milliseconds() // what was asked waits on
	}
	if ad.Settings, ad.Definitions, err = a.runSettings(b, p.settings, profiles, *ad.Settings); err != nil {
		return begun, err
	}
	if isCommand(b.Prompt) {
		if err := a.command(ctx, e, p, profiles, s, b, &ad); err != nil {
			return begun, err
		}
	}
	// What is shown of this run begins behind what is there now.
	begun = wire.Begun{Root: s.ID, Warnings: append(problems, warnings...), After: map[troupe.SessionID]int64{}}
	for _, x := range t.Sessions {
		begun.After[x.ID] = x.Seq
		begun.Before = append(begun.Before, a.app.wireSession(x, t.Paths[x.ID], false))
	}
	if err := e.hub.Adopt(ctx, ad); err != nil {
		return wire.Begun{}, takenOver(s.ID, err)
	}
	a.app.followers.Moved(s.ID)
	return begun, nil
}

// folderIsThere demands the folder that a session works in.
func folderIsThere(s troupe.Session) error {
	if _, err := workspace.Resolve("/", s.Cwd); err != nil {
		return &troupe.UserError{
			Problem: fmt.Sprintf("session %s works in %s, which is not to be had: %v", s.ID, s.Cwd, err),
			Hint:    "Put the folder back, or begin a new session.", Code: troupe.ExitUsage, Err: err,
		}
	}
	return nil
}

// takenOver says what to do where another process was faster. Other errors stay as they are.
func takenOver(id troupe.SessionID, err error) error {
	if errors.Is(err, troupe.ErrAsleep) { // it was put away meanwhile
		return asleepSince(troupe.Session{ID: id}, time.Time{})
	}
	if errors.Is(err, troupe.ErrArchived) {
		return archived(troupe.Session{ID: id})
	}
	if !errors.Is(err, troupe.ErrFenced) {
		return err
	}
	return &troupe.UserError{
		Problem: fmt.Sprintf("another process has just taken session %s over", id),
		Hint:    fmt.Sprintf("`troupe log %s --follow` shows what it does.", id), Code: troupe.ExitUsage, Err: err,
	}
}

// fixedAtBirth refuses what only a new session can be given.
func fixedAtBirth(b wire.Begin) error {
	var asked []string
	for _, of := range []struct {
		asked bool
		what  string
	}{
		{b.Agent != "", "the agent"}, {b.Name != "", "the name"}, {b.MaxTurns > 0, "the limit of turns"},
		{b.MaxMS > 0, "the limit of time"}, {b.Team != nil, "the team"},
		{b.Tools != nil, "the tools that the client carries out"},
		{b.AppendText != "", "what is appended to the system prompt"},
		{b.Worktree != nil, "the worktree that it works in"}, {b.Workspace != "", "where it works"},
	} {
		if of.asked {
			asked = append(asked, of.what)
		}
	}
	if asked == nil {
		return nil
	}
	return &troupe.UserError{
		Problem: "fixed when a session is born, and not to be changed when it is resumed: " + strings.Join(asked, ", "),
		Hint:    "Leave it out when you resume; a session that used up its turns gets as many again.",
		Code:    troupe.ExitUsage,
	}
}

func (a runs) findForResume(ctx context.Context, b wire.Begin) (troupe.Session, error) {
	var s troupe.Session
	var err error
	if b.Continue {
		err = a.app.trees.store.View(ctx, func(rd store.Reader) error {
			s, err = newest(rd, b.Cwd, own(a.caller))
			return err
		})
	} else {
		s, err = a.app.trees.find(ctx, b.Resume, b.Cwd)
	}
	if err == nil && s.Parent != "" {
		err = &troupe.UserError{
			Problem: fmt.Sprintf("session %s is a sub-agent of %s", s.ID, s.Root),
			Hint:    fmt.Sprintf("Resume the whole tree: troupe -p --resume %s", s.Root), Code: troupe.ExitUsage,
		}
	}
	return s, err
}

// changes works out what the session is told before it goes on: another model, another
// authority. A model that cannot be had any more stops the resuming before anything of the
// session is touched.
func (a runs) changes(ctx context.Context, tools *gate.Tools, b wire.Begin, p *policy, s troupe.Session,
	ad *session.Adoption) (authority troupe.Authority, warnings []string, err error) {
	full := s.Model
	if b.Model != "" {
		if full, err = a.app.models.Resolve(b.Model, "", b.Cwd); err != nil {
			return authority, nil, err
		}
		full = workflow.Moved(s.Model, full)
	}
	if _, _, err := a.app.models.Provider(full); err != nil {
		if b.Model != "" {
			return authority, nil, err
		}
		return authority, nil, a.modelGone(s, err)
	}
	events, err := a.app.trees.events(ctx, s.ID, 0, 0)
	if err != nil {
		return authority, nil, err
	}
	st, err := turn.Fold(events)
	if err != nil {
		return authority, nil, fmt.Errorf("read session %s: %w", s.ID, err)
	}
	ad.Settings = &st.Settings
	if full != s.Model || b.Effort != "" && b.Effort != st.Profile.Effort {
		ad.Events = append(ad.Events, troupe.ModelChanged{Model: full, Effort: b.Effort, Why: "it was chosen",
			Caller: ad.Caller})
		if less := a.app.models.lessEffort(full, cmp.Or(b.Effort, st.Profile.Effort)); less != "" {
			warnings = append(warnings, less)
		}
	}
	if b.Prompt == "" && s.Status.Ended() && !st.Awaits() && !b.Idle {
		// Its own run is over. What it left in the background may not be: then the tree goes on,
		// and whatever comes of that wakes it.
		if ad.Idle, err = a.app.trees.unfinished(ctx, s.ID, &st); err != nil {
			return authority, nil, err
		}
	}
	if b.Wake && b.Prompt == "" && s.Status.Ended() && !st.Awaits() {
		ad.Idle, ad.Quiet = true, true // it is as it was: at rest
	}
	if b.Prompt == "" && s.Status.Ended() && !st.Awaits() && !ad.Idle {
		return authority, nil, &troupe.UserError{
			Problem: fmt.Sprintf("session %s has ended (%s); there is nothing left to continue", s.ID,
				s.Status),
			Hint: fmt.Sprintf(`Give it a new prompt: troupe -p --resume %s "..."`, s.ID), Code: troupe.ExitUsage,
		}
	}
	if err := a.checkPrice(b, full); err != nil {
		return authority, nil, err
	}
	authority, more, err := authorityFor(a.bound, tools, b, p, &st.Authority, st.Profile.Tools...)
	if err != nil {
		return authority, nil, err
	}
	authority.Mode = boundBy(st.Profile, authority.Mode)
	authority = plansOf(a.app).planned(authority, &st.Authority, "", s)
	if !sameAuthority(authority, st.Authority) {
		ad.Events = append(ad.Events, troupe.AuthorityChanged{Authority: authority, Caller: ad.Caller})
	}
	return authority, append(warnings, more...), nil
}

// modelGone says what to do where the model of a session is not to be had any more.
func (a runs) modelGone(s troupe.Session, err error) error {
	out := &troupe.UserError{
		Problem: fmt.Sprintf("session %s works with the model %s, which is not to be had: ", s.ID, s.Model),
		Code:    troupe.ExitUsage, Err: err,
	}
	others := a.app.models.askable()
	script := strings.HasPrefix(s.Model, "script/")
	if len(others) == 0 && !script {
		out.Problem += err.Error() // which tells how to set one up
		return out
	}
	var why *troupe.UserError
	if errors.As(err, &why) {
		err = errors.New(why.Problem)
	}
	other, none := a.app.models.choose()
	switch {
	case len(others) == 0:
		other = "NAME"
	case none != nil:
		other = others[0] + "/NAME (`troupe models` lists them)"
	}
	command := "troupe -p"
	if a.caller.Surface == troupe.SurfaceChat {
		command = "troupe"
	}
	out.Problem += err.Error()
	out.Hint = fmt.Sprintf("Go on with another one: %s --resume %s --model %s", command, s.ID, other)
	return out
}

// unfinished reports whether a tree whose root's run is over has something left to do: agents
// at work, mail that asks for a run or for a fork, commands whose end was not told.
func (a trees) unfinished(ctx context.Context, root troupe.SessionID, st *turn.State) (bool, error) {
	left := false
	err := a.store.View(ctx, func(r store.Reader) (err error) { left, err = unfinished(r, st); return err })
	if err != nil {
		return false, fmt.Errorf("look what is left to do in tree %s: %w", root, err)
	}
	return left, nil
}

// unfinished is that of a root's state.
func unfinished(r store.Reader, st *turn.State) (left bool, err error) {
	if len(st.OwnTasks()) > 0 {
		return true, nil
	}
	all, err := r.Sessions(store.Filter{Root: st.Session.ID})
	if err != nil {
		return false, err
	}
	left = anyLive(all)
	boxes, err := r.Mailboxes(st.Session.ID)
	for _, s := range all {
		if left || !slices.Contains(boxes, s.ID) {
			continue
		}
		mail, uerr := r.Unread(s.ID)
		if uerr != nil {
			return false, uerr
		}
		left = slices.ContainsFunc(mail, func(m troupe.Mail) bool { return s.WokenBy(m) || m.Kind == troupe.MailFork })
	}
	return left, err
}
