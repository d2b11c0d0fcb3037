package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/tool"
)

// treeTools is what Roles also are where a tree has tools beside those that every tree has: those of servers, which
// its sessions share. They come with the tree and go with it.
type treeTools interface {
	// Tools are all tools of an agent with this profile. It may have been born when its type was another.
	Tools(p *troupe.Profile) tool.Set
	// Ended is told that a run of a session is over, and must not block.
	Ended(id troupe.SessionID)
	// News is what became of the tools of a session that was born with this profile since it was last asked: words
	// for its model, or "".
	News(id troupe.SessionID, p troupe.Profile) string
	// Close ends what they run. It waits for it.
	Close()
}

// treeRoles is what a tree knows of the roles of its agents. Its methods are called with the tree's mu held.
type treeRoles struct {
	Roles
	own treeTools // nil: the tree has the tools that every one has
}

func rolesOf(r Roles) treeRoles {
	own, _ := r.(treeTools)
	return treeRoles{r, own}
}

// tools are those of an agent with this profile.
func (r treeRoles) tools(h *Hub, p *troupe.Profile) tool.Set {
	if r.own == nil {
		return h.d.Tools.For(p)
	}
	return r.own.Tools(p).For(p)
}

func (r *treeRoles) replace(h *Hub, with Roles) {
	r.close(h)
	*r = rolesOf(with)
}

// close lets go of what the tree's own tools run. It does not wait: the scheduler does.
func (r *treeRoles) close(h *Hub) {
	if own := r.own; own != nil {
		r.own = nil
		h.d.Sched.Go(func(context.Context) { own.Close() })
	}
}

// toolsOf are the tools of an agent with this profile in the tree of a session.
func toolsOf(a *actor, p *troupe.Profile) tool.Set {
	a.tree.mu.Lock()
	r := a.tree.roles
	a.tree.mu.Unlock()
	return r.tools(a.h, p)
}

// tellTools tells the session before its next reply which of its tools came and went.
func (ex *exchange) tellTools() error {
	a := ex.a
	a.tree.mu.Lock()
	own := a.tree.roles.own
	a.tree.mu.Unlock()
	if own == nil {
		return nil
	}
	text := own.News(a.id, a.st.Profile)
	if text == "" {
		return nil
	}
	return a.stage(troupe.MailDelivered{Mail: []troupe.Mail{{
		ID: troupe.NewsMailID(a.id, a.st.Session.Seq), Root: a.root, To: a.id, From: a.id, Kind: troupe.MailNotice,
		SentAt: a.h.d.Now(), Blocks: []troupe.Block{troupe.Text(text)},
	}}})
}

// ServiceOf is what a program that stays may touch, for a session and under the line of authority that starts it. No
// line leaves it more than the workspace, unless the level is none and no session of it is bound.
func ServiceOf(home string, s troupe.Session, roots []string, line []gate.Layer,
	level troupe.Level) Confine {
	for i := range line {
		if b := line[i].Sandbox; b != "" {
			level = level.Meet(b)
		}
	}
	return Confine{
		Session: s, Level: level, Reach: level != troupe.LevelReadOnly,
		Unreadable: gate.Unreadable(line, roots, home), Hides: gate.HidesFor(line, roots, home),
		Unwritable: gate.Unwritable(line, roots, home), Keeps: gate.Kept(line, roots, home),
		Outside: gate.KeptTo(line, ""), Whole: gate.WholeOf(line), Unreached: gate.Unreached(line),
	}
}

// service implements tool.Service.
func (c *candidate) service(ctx context.Context, level troupe.Level, shared bool) (*troupe.Confinement, []string,
	error) {
	s := c.self
	if shared {
		s = troupe.Session{ID: s.Root, Root: s.Root, Cwd: s.Cwd}
	}
	return Hold(ctx, c.h.d.Guard, ServiceOf(c.h.d.Home, s, c.roots(), c.tree.chain.chain(s.ID), level))
}

// Hold makes the confinement of a program that stays; nil: it has none. What is to change nothing is not started where
// the kernel cannot hold it to that.
func Hold(ctx context.Context, guard Guard, ask Confine) (*troupe.Confinement, []string, error) {
	levels, _ := guard.Machine()
	switch held := slices.Contains(levels, ask.Level); {
	case !held && ask.Level != troupe.LevelNone && guard.Hidden(PlaceOf(ask.Session)).Bound != nil:
		return nil, nil, errors.New("it was not started: agents of this server see their own project alone, and this " +
			"machine cannot hold it to that")
	case !held && ask.Level != troupe.LevelWorkspace && ask.Level != troupe.LevelNone:
		return nil, nil, errors.New("it was not started: nothing is to be changed here, and this machine cannot " +
			"hold it to that")
	case ask.Level == troupe.LevelNone, !held:
		return nil, nil, nil
	}
	return guard.Confine(ctx, ask)
}

// byName lists the tools that a session has by name alone, those of a server on one line, in at most room bytes.
func byName(p troupe.Profile, room int) string {
	if !slices.Contains(p.Tools, "ToolSearch") {
		return ""
	}
	var servers []string
	names := map[string][]string{}
	for _, name := range p.Deferred {
		server, own, ok := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
		if !ok || own == "resources" || own == "*" {
			continue
		}
		if names[server] == nil {
			servers = append(servers, server)
		}
		names[server] = append(names[server], own)
	}
	if len(servers) == 0 {
		return ""
	}
	const head = "Tools of MCP servers that you have by name alone. ToolSearch tells what they take, and CallMcpTool " +
		"calls " +
		"them:\n"
	var full, short strings.Builder
	for _, s := range servers {
		fmt.Fprintf(&full, "- mcp__%s__: %s\n", s, strings.Join(names[s], ", "))
		fmt.Fprintf(&short, "- mcp__%s__: %d tools\n", s, len(names[s]))
	}
	if full.Len() <= room {
		return head + full.String()
	}
	return head + short.String()
}
