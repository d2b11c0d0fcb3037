package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

// The children of one reply are born in transactions that double in size: the first of a
// large fan-out are at work while the last are still being written, and the last do not wait
// for one commit after another behind those of their elder siblings. No transaction keeps
// everybody else's waiting for longer than mostBirths take.
const (
	firstBirths = 4
	mostBirths  = 256
)

// birth is a call that asks for a child, judged and resolved.
type birth struct {
	call       int
	decision   troupe.Decision
	background bool
	asked      string  // the call's own prompt, without what the definition puts before it
	from       *origin // of a fork
	fleet.Birth
}

// spawn carries out calls that ask for children. The children, their first events and the
// parent's note of each are one transaction.
func (bs *births) spawn(ctx context.Context, calls []int, environment func(folder string) Surroundings) error {
	calls, err := bs.reborn(ctx, calls)
	if err != nil {
		return err
	}
	births, err := bs.plan(ctx, calls, environment)
	if err != nil || len(births) == 0 {
		return err
	}
	asked := make([]fleet.Birth, len(births))
	ids := make([]troupe.SessionID, len(births))
	for i := range births {
		asked[i] = births[i].Birth
		ids[i] = troupe.ChildID(bs.a.id, births[i].Coord)
	}
	defer bs.a.tree.buffer(ids...)()
	var born []fleet.Born
	err = bs.a.transact(ctx, func(tx store.Tx, emit func(troupe.Body) error) error {
		var err error
		if born, err = fleet.Spawn(tx, bs.a.h.d.Owner, bs.a.h.d.Now(), asked); err != nil {
			return err
		}
		for i, b := range born {
			c := bs.a.st.Calls[births[i].call]
			if b.Refused != nil {
				out := tool.Errorf("no agent was started: %v", b.Refused)
				err = emit(troupe.ToolFinished{Name: c.Name,
					Result: troupe.Result{Reply: c.Reply, Call: c.Index, ProviderID: c.ProviderID, Blocks: out.Blocks,
						IsError: true}})
			} else {
				err = bs.emitBirth(emit, c, births[i], b)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, b := range born {
		if b.Refused == nil && !b.Existed {
			bs.a.tree.setAwaited(b.State.Session.ID, !births[i].background)
			bs.a.tree.start(ctx, b, births[i].from)
		}
	}
	return nil
}

// plan decodes, judges and resolves births. Calls that come to nothing get their result.
func (bs *births) plan(ctx context.Context, calls []int,
	environment func(folder string) Surroundings) ([]birth, error) {
	var births []birth
	for _, i := range calls {
		c := bs.a.st.Calls[i]
		t, _ := bs.a.h.d.Tools.Find(c.Name) // it is scheduled as a birth, so it is there
		intent, err := t.Intent(c.Input)
		sp, _ := intent.(troupe.Spawn)
		sp = sp.Settled(bs.a.tree.settings().Fork && !bs.a.st.Profile.Coordinates)
		if err != nil {
			if err := bs.a.calls.finishText(i, err.Error()); err != nil {
				return nil, err
			}
			continue
		}
		d, settled, err := bs.a.calls.judgeIntent(i, t.Intended(sp), func() string { return describeSpawn(sp) })
		if err != nil {
			return nil, err
		}
		if settled {
			continue
		}
		b, err := bs.resolve(c, sp)
		var from *origin
		if err == nil && b.Fork != nil {
			if from, err = bs.origin(ctx, *b.Fork); err != nil && !errors.Is(err, troupe.ErrDamaged) {
				return nil, err
			}
		}
		if err != nil {
			if err := bs.a.calls.finishText(i, "no agent was started: "+err.Error()); err != nil {
				return nil, err
			}
			continue
		}
		sp.Background = b.Background
		b.Prompt = []troupe.Block{troupe.Text(strings.TrimSpace(b.Profile.InitialPrompt + "\n\n" + sp.Prompt))}
		if b.Profile.Workflow { // which the prompt has only named
			b.Prompt = []troupe.Block{troupe.Text(b.Profile.InitialPrompt)}
		}
		if b.Fork != nil {
			b.Brief = forkBrief()
			if b.Workspace != bs.a.st.Session.Workspace { // else it was told in what the fork goes on from
				b.Brief.Workspace = whereItWorks(b.Workspace)
			}
		} else {
			b.Brief = bs.childBrief(environment(b.Cwd), b, sp.Background)
		}
		if b.Profile.Team != "" {
			b.Brief.Team = asMember(*bs.a.st.Team, b.Name)
		}
		births = append(births, birth{call: i, decision: d, background: sp.Background, asked: sp.Prompt, from: from,
			Birth: b})
	}
	births, err := bs.askAhead(births)
	if err != nil {
		return nil, err
	}
	return bs.affordable(births)
}

func (bs *births) resolve(c turn.Call, sp troupe.Spawn) (fleet.Birth, error) {
	s := bs.a.st.Session
	if sp.Name != "" {
		if err := fleet.CheckName(sp.Name); err != nil {
			return fleet.Birth{}, err
		}
	}
	if err := bs.joins(sp); err != nil {
		return fleet.Birth{}, err
	}
	if bs.a.st.Profile.Coordinates {
		if sp.Fork {
			return fleet.Birth{}, errors.New("a coordinator starts no forks: a worker needs nothing of this " +
				"conversation but what its prompt says")
		}
		sp.Background = true
	}
	if sp.Team != "" {
		sp.Team = bs.a.st.Team.Name
	}
	b, err := bs.role(sp)
	if err != nil {
		return fleet.Birth{}, err
	}
	b.Root, b.Parent, b.Coord, b.From = bs.a.root, bs.a.id, troupe.Coord{Reply: c.Reply, Call: c.Index}, bs.a.id
	if hasSubagents(bs.a) && s.Depth >= maxNested {
		return b, errors.New("subagents of a subagent start no others: do the work yourself, or say in your answer " +
			"what is left")
	}
	b.Name, b.Title, b.Depth = sp.Name, sp.Description, s.Depth+1
	b.Authority = authorityOf(bs.a.h, bs.a.id, b.Coord, sp, b.Profile)
	b.Background = sp.Background || b.Profile.Background
	switch {
	case sp.Team != "":
		b.Background, b.Free = true, 1
	case s.Team != "":
		b.Background, b.Free = false, 1
	case b.Profile.Workflow, bs.a.tree.chain.free(bs.a.id):
		b.Free = 1
	}
	b.Cwd = s.Cwd
	if b.Workspace, err = workspaceOf(bs.a.h, s, b.Coord, sp, b.Profile, bs.a.place.makes()); err != nil {
		return b, err
	}
	// those of a fork are not what its parent is bound to: that holds anyway
	b.Profile.Verify = sp.Verify
	if b.Profile.Writes = sp.Writes; sp.Writes != nil {
		if b.Workspace.Kind == troupe.WorkspaceReadOnly {
			return b, errors.New("`writes` is for an agent that may change files, and this one has its folder to " +
				"read only")
		}
		_, err = bs.a.h.gate.Writes(sp.Writes, (&troupe.Session{Cwd: b.Cwd, Workspace: b.Workspace}).Dir())
	}
	return b, err
}

// NoFolder is what stands before the reason why there is no folder for a child.
const NoFolder = "cannot be had: "

// workspaceOf settles where a child works: as the call says, else as its type does, else where its parent s does. hook
// says that a hook can make a folder.
func workspaceOf(h *Hub, s troupe.Session, at troupe.Coord, sp troupe.Spawn, p troupe.Profile, hook bool,
) (troupe.Workspace, error) {
	kind := cmp.Or(sp.Workspace, p.Workspace)
	if m := sp.Merge; m != "" && m != troupe.MergeKeep && !kind.Made() && kind != troupe.WorkspaceIsolated {
		return s.Workspace, fmt.Errorf("`merge` %s is for an agent with a folder of its own, and this one has none; "+
			"give `isolation` worktree or copy with it, or leave it out", m)
	}
	if kind == "" || kind == troupe.WorkspaceShared {
		return s.Workspace, nil
	}
	w, err := h.d.Workspaces.Plan(s, Wish{Kind: kind, Title: cmp.Or(sp.Name, sp.Description),
		ID: troupe.ChildID(s.ID, at), Hook: hook})
	if err != nil {
		return w, fmt.Errorf("a workspace %q %s%w", kind, NoFolder, err)
	}
	w.Merge = cmp.Or(sp.Merge, p.Merge)
	if p.Merge == troupe.MergeAsk { // of its definition, which no call loosens
		w.Merge = p.Merge
	}
	if w.Merge == troupe.MergeKeep || !w.Kind.Made() {
		w.Merge = ""
	}
	return w, nil
}

// role is as whom a child is born, and what it is offered.
func (bs *births) role(sp troupe.Spawn) (b fleet.Birth, err error) {
	if sp.Fork {
		return bs.fork(sp)
	}
	b.Profile, err = bs.a.tree.kinds().Resolve(bs.a.st.Session, sp)
	if err != nil {
		return b, err
	}
	b.Profile.Effort = cmp.Or(b.Profile.Effort, bs.a.st.Profile.Effort)
	tools := toolsOf(bs.a, &b.Profile)
	withoutClients(&b.Profile, &bs.a.st.Profile, tools)
	b.Offer, err = bs.a.h.offer(tools, b.Profile.Tools)
	return b, err
}

// authorityOf is what a child is born with. One whose own definition has it plan, and which can show its plan, has a
// file for it.
func authorityOf(h *Hub, parent troupe.SessionID, at troupe.Coord, sp troupe.Spawn, p troupe.Profile,
) troupe.Authority {
	out := troupe.Authority{Mode: p.Mode}
	if plans := h.d.Plans; plans != nil && p.Mode == troupe.ModePlan && slices.ContainsFunc(p.Tools,
		func(name string) bool { t, _ := h.d.Tools.Find(name); return t.Holder == troupe.Planners }) {
		out.Planning = &troupe.Planning{File: plans.File(troupe.Session{
			ID: troupe.ChildID(parent, at), Parent: parent, Title: sp.Description,
		})}
	}
	return out
}

// start gives a session that was just born its actor and sets it going. A fork goes on from an origin.
func (t *tree) start(ctx context.Context, b fleet.Born, from *origin) {
	a := newActor(t, b.State, b.Lease)
	a.convo.whole = true
	if a.st.Fork != nil {
		from.give(a)
	}
	for _, e := range b.Events {
		if err := a.convo.add(e); err != nil {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.lose(fmt.Errorf("session %s: %w", a.id, err))
			return
		}
	}
	if !t.add(a) {
		return
	}
	t.h.debug(ctx, b.Events)
	t.h.d.Notify(a.root, a.id, b.State.Session.Seq, b.Events)
	a.post(inNudge{})
}
