package session_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
)

// inTeam has a process with the tools of teams: Member starts one by name, Dismiss asks one to come to an end, Add puts
// an item on the board, Do gives one a status, Wait has one wait for another and gives it an owner, and Leave answers
// one that asks to come to an end.
func inTeam(p *process) {
	var more []tool.Descriptor
	for _, name := range []string{"TeamCreate", "TeamDelete", "Member", "Dismiss", "Leave", "Add", "Do", "Wait"} {
		f := troupe.ToolFacts{Name: name}
		if name == "Member" {
			f.Schedule, f.Argument = troupe.Birth, troupe.AgentArgument
		}
		more = append(more, tool.Descriptor{ToolFacts: f, Intent: func(in string) (troupe.Intent, error) {
			return ofTeam(name, in), nil
		}})
	}
	for _, f := range tools().Callable() {
		d, _ := tools().Find(f.Name)
		if f.Name == "SendMessage" {
			d.Holder = troupe.AnyAgent
		}
		more = append(more, d)
	}
	p.deps = func(d *session.Deps) { d.Tools, d.Profiles = tool.NewSet(more...), team{p} }
}

// team makes agents that have all of inTeam's tools.
type team struct{ *process }

func (t team) Open([]byte) (session.Roles, error) { return t, nil }

func (t team) Resolve(_ troupe.Session, sp troupe.Spawn) (troupe.Profile, error) {
	out := leads("helper")
	out.Team = sp.Team
	return out, nil
}

func leads(kind string) troupe.Profile {
	p := role(kind)
	p.Tools = append(p.Tools, "Add", "Dismiss", "Do", "Leave", "Member", "TeamCreate", "TeamDelete", "Wait")
	slices.Sort(p.Tools)
	return p
}

func ofTeam(name, in string) troupe.Intent {
	first, rest, _ := strings.Cut(in, " ")
	switch name {
	case "TeamCreate":
		return troupe.TeamCreate{Team: troupe.Team{Name: in}}
	case "Member":
		return troupe.Spawn{Name: in, Description: in, Prompt: "help", Team: "t"}
	case "Dismiss":
		return troupe.SendMessage{To: in, Text: "please end", Type: troupe.MessageShutdown}
	case "Leave":
		return troupe.SendMessage{To: "lead", Text: rest, Type: troupe.MessageShutdownResponse,
			Re: troupe.MailID(first), Approve: rest == "gladly"}
	case "Add":
		return troupe.BoardCreate{Subject: in}
	case "Wait":
		on, owner, _ := strings.Cut(rest, " ")
		return troupe.BoardUpdate{Item: first, AddBlockedBy: []string{on}, Owner: owner}
	case "Do":
		return troupe.BoardUpdate{Item: first, Status: troupe.BoardStatus(rest)}
	}
	return troupe.TeamDelete{}
}

// lead begins a tree whose main agent leads.
func (p *process) lead() *process {
	p.t.Helper()
	return p.beginAs(troupe.Caps{MaxDepth: 1}, asLead)
}

// TestDismissed: a member that is asked to come to an end and does not is stopped when its time is up, whatever it
// does then; one that says something of its own is not, and what is asked later takes the wish back.
func TestDismissed(t *testing.T) {
	t.Parallel()
	slowly := []troupe.Reply{call("Bash:a"), call("Read:b"), call("Bash:c"), say("done")}
	tests := map[string]struct {
		main []troupe.Reply // after the member was begun
		took time.Duration  // that the member's tool takes
		want troupe.Status
	}{
		"it takes too long": {[]troupe.Reply{call("Dismiss:X"), say("ok")}, time.Hour, troupe.Cancelled},
		"it ends in time":   {[]troupe.Reply{call("Dismiss:X"), say("ok")}, time.Second, troupe.Completed},
		"it is to go on": {[]troupe.Reply{call("Dismiss:X"), call("SendMessage:X go on"), say("ok")}, time.Hour,
			troupe.Completed},
		"it was not at work": {[]troupe.Reply{call("TaskOutput:X"), call("Dismiss:X"), say("ok")}, 0, troupe.Completed},
	}
	for name, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			main := append([]troupe.Reply{call("TeamCreate:t"), call("Member:X")}, tt.main...)
			p := h.start(plays{"main": main, "main/X": slowly}.reply, func(p *process) {
				inTeam(p)
				with := p.deps
				p.deps = func(d *session.Deps) {
					with(d)
					d.Tools = taking(d.Tools, tt.took)
				}
			}).lead().end()
			for _, s := range p.tree() {
				if s.Name != "X" {
					continue
				}
				if s.Status != tt.want || s.Team != "t" {
					t.Errorf("%s: it is %s (%s), of team %q", name, s.Status, s.Error, s.Team)
				}
				if took := s.EndedAt.Sub(s.StartedAt); tt.want == troupe.Cancelled &&
					(took < troupe.ShutdownAfter || took > troupe.ShutdownAfter+time.Minute) {
					t.Errorf("%s: it was stopped after %s", name, took)
				}
			}
			h.checkTree()
			checkPrefix(t, p)
		})
	}
}

// TestPain19MailOfMembers: what members write arrives once and in the order in which each has written it, also at one
// who has ended; nobody's words wake themselves.
func TestPain19MailOfMembers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const members, words = 5, 6
		h := newHome(t)
		main := []string{"TeamCreate:t"}
		plan := plays{}
		for i := range members {
			var calls []string
			for n := range words {
				calls = append(calls, fmt.Sprintf("SendMessage:* word %d of X%d", n, i))
			}
			main = append(main, fmt.Sprintf("Member:X%d", i))
			plan[fmt.Sprintf("main/X%d", i)] = []troupe.Reply{call(calls[:words/2]...), call(calls[words/2:]...)}
		}
		plan["main"] = []troupe.Reply{call(main...)}
		p := h.start(func(r model.Request) troupe.Reply {
			if at := plan[r.Agent.Path]; r.Agent.Reply <= len(at) {
				return at[r.Agent.Reply-1]
			}
			return say("ok")
		}, inTeam).lead().end()
		for _, s := range p.tree() {
			got := make(map[string][]string)
			for _, e := range p.events(s.ID) {
				b, _ := e.Body.(troupe.MailDelivered)
				for _, m := range b.Mail {
					if m.Message != nil {
						got[m.Message.Name] = append(got[m.Message.Name], troupe.JoinText(m.Blocks))
					}
				}
			}
			if len(got[s.Name]) > 0 {
				t.Errorf("%q hears itself", s.Name)
			}
			for i := range members {
				from := fmt.Sprintf("X%d", i)
				var want []string
				for n := range words {
					want = append(want, fmt.Sprintf("word %d of %s", n, from))
				}
				if from != s.Name && !slices.Equal(got[from], want) {
					t.Errorf("%q has heard of %s: %q", s.Name, from, got[from])
				}
			}
		}
		h.checkTree()
		checkPrefix(t, p)
	})
}

// TestClaims: of items that many members want at once each has one owner; what a member that is stopped had begun is
// given back.
func TestClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		members, items := 100, 150
		switch {
		case testing.Short():
			members, items = 20, 40
		case os.Getenv("TROUPE_ALL_AGENTS") != "":
			items = 1000
		}
		h := newHome(t)
		first, claims := []string{"TeamCreate:t"}, []string(nil)
		for i := range items {
			first = append(first, fmt.Sprintf("Add:item %d", i))
			claims = append(claims, fmt.Sprintf("Do:%d in_progress", i+1))
		}
		for i := range members {
			first = append(first, fmt.Sprintf("Member:X%d", i))
		}
		p := h.start(func(r model.Request) troupe.Reply {
			switch {
			case r.Agent.Path == "main" && r.Agent.Reply == 1:
				return call(first...)
			case r.Agent.Path == "main" && r.Agent.Reply == 2:
				return call("TaskStop:X3")
			case r.Agent.Path != "main" && r.Agent.Reply == 1:
				return call(claims...)
			case r.Agent.Path == "main/X3":
				return call("Read:a")
			}
			return say("ok")
		}, inTeam).lead().end()
		owners := make(map[string]string)
		claimed, back := 0, 0
		for _, e := range p.events(p.root) {
			b, _ := e.Body.(troupe.BoardChanged)
			for _, it := range b.Items {
				switch was := owners[it.ID]; {
				case was != "" && it.Owner != "" && it.Owner != was:
					t.Errorf("item %s goes from %s to %s", it.ID, was, it.Owner)
				case was == "" && it.Owner != "":
					claimed++
				case was == "X3" && it.Owner == "" && it.Status == troupe.BoardPending:
					back++
				}
				owners[it.ID] = it.Owner
			}
		}
		won := 0
		for _, s := range p.tree() {
			for _, e := range p.events(s.ID) {
				if b, ok := e.Body.(troupe.ToolFinished); ok && b.Name == "Do" && !b.Result.IsError {
					won++
				}
			}
		}
		if claimed < items || claimed-back > items || won != claimed {
			t.Errorf("%d claims of %d items, %d given back, %d calls were told so", claimed, items, back, won)
		}
		for id, owner := range owners {
			if owner == "X3" {
				t.Errorf("item %s is still of the one that was stopped", id)
			}
		}
		h.checkTree()
	})
}

// TestIdleMembersCount: members that wait count toward no limit of agents, and not toward the depth.
func TestIdleMembersCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(func(r model.Request) troupe.Reply {
			switch {
			case r.Agent.Path == "main" && r.Agent.Reply == 1:
				return call("TeamCreate:t", "Member:A", "Member:B")
			case r.Agent.Path == "main" && r.Agent.Reply == 2:
				return call("TaskOutput:A", "TaskOutput:B")
			case r.Agent.Path == "main" && r.Agent.Reply == 3:
				return call("Agent:C", "Agent:D", "Agent:E")
			case r.Agent.Path == "main/A" && r.Agent.Reply == 1:
				return call("Agent:below")
			case r.Agent.Path == "main/A/below" && r.Agent.Reply == 1:
				return call("Agent:deeper")
			}
			return say("ok")
		}, inTeam)
		p.beginAs(troupe.Caps{MaxDepth: 1, MaxTotal: 4}, asLead).end()
		var names []string
		h.view(func(r store.Reader) error {
			all, err := r.Sessions(store.Filter{Root: p.root})
			for _, s := range all {
				names = append(names, s.Name)
			}
			return err
		})
		slices.Sort(names)
		if got := strings.Join(names, " "); got != " A B C D E below" && got != " A B C D below" {
			t.Errorf("there are %q", got)
		}
		wants(t, p.result(p.named("below"), 1, 0), "agents.max_depth is 1")
		h.checkTree()
	})
}

func asLead(b *fleet.Birth) { b.Profile = leads("main") }

// taking is a set of tools in which Bash takes its time, and stops when it is told to.
func taking(s tool.Set, d time.Duration) tool.Set {
	return s.Map(func(t tool.Descriptor) tool.Descriptor {
		if t.Name == "Bash" {
			t.Runner = takesTime{fake{name: "Bash"}, d}
		}
		return t
	})
}

type takesTime struct {
	fake
	d time.Duration
}

func (f takesTime) Prepare(tool.Env, string) (tool.Prepared, error) { return f, nil }

func (f takesTime) Run(ctx context.Context, _ tool.Env) (tool.Output, error) {
	select {
	case <-ctx.Done():
		return tool.Errorf("stopped"), nil
	case <-time.After(f.d):
		return tool.Output{}, nil
	}
}

// named is the id of an agent.
func (h *home) named(name string) (id troupe.SessionID) {
	for _, s := range h.tree() {
		if s.Name == name {
			id = s.ID
		}
	}
	return id
}

// TestLongMessage: of a message that is too long the receiver has the beginning, and the file with all of it.
func TestLongMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		long := strings.Repeat("word ", 4000)
		kept := make(map[string]string)
		p := h.start(plays{
			"main":   {call("TeamCreate:t", "Member:A"), say("ok")},
			"main/A": {call("SendMessage:lead " + long), say("told")},
		}.reply, func(p *process) {
			inTeam(p)
			with := p.deps
			p.deps = func(d *session.Deps) {
				with(d)
				d.SaveResult = func(file, text string) error { kept[file] = text; return nil }
			}
		}).lead().end()
		wants(t, p.result(p.named("A"), 1, 0), "All of it is in /out/message-1.0.md, which the receiver is told.")
		if got := kept["/out/message-1.0.md"]; got != long {
			t.Errorf("%d bytes are kept of %d", len(got), len(long))
		}
		requests := p.llm.of(h.root)
		text := string(body(requests[len(requests)-1]))
		wants(t, text, "more bytes: all of it is in /out/message-1.0.md]")
		if n := strings.Count(text, "word "); n > 8<<10/5 {
			t.Errorf("the lead is sent %d words", n)
		}
	})
}

// TestOffers: a member that leaves what it is offered is offered no more than a few tasks: each costs it a model call.
func TestOffers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(func(r model.Request) troupe.Reply {
			if r.Agent.Path == "main" && r.Agent.Reply == 1 {
				return call("TeamCreate:t", "Add:1", "Add:2", "Add:3", "Add:4", "Add:5", "Member:X")
			}
			return say("not for me")
		}, inTeam).lead().end()
		offers := 0
		for _, s := range p.tree() {
			for _, e := range p.events(s.ID) {
				b, _ := e.Body.(troupe.MailDelivered)
				for _, m := range b.Mail {
					if strings.HasPrefix(troupe.JoinText(m.Blocks), "This task is open") {
						offers++
					}
				}
			}
		}
		if offers != 3 {
			t.Errorf("it was offered %d tasks", offers)
		}
		h.checkTree()
	})
}

// offered are the tasks that the member of a name was offered.
func (p *process) offered(name string) (items []string) {
	for _, s := range p.tree() {
		if s.Name != name {
			continue
		}
		for _, e := range p.events(s.ID) {
			b, _ := e.Body.(troupe.MailDelivered)
			for _, m := range b.Mail {
				if rest, ok := strings.CutPrefix(troupe.JoinText(m.Blocks), "This task is open: "); ok {
					items = append(items, rest[:2])
				}
			}
		}
	}
	return items
}

// TestOffersToTheIdle: members that are idle already are offered tasks that are put down later, each another one, and
// one that another gives back when it fails.
func TestOffersToTheIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(func(r model.Request) troupe.Reply {
			switch {
			case r.Agent.Path == "main" && r.Agent.Reply == 1:
				return call("TeamCreate:t", "Member:X", "Member:Y")
			case r.Agent.Path == "main" && r.Agent.Reply == 2:
				return call("TaskOutput:X", "TaskOutput:Y")
			case r.Agent.Path == "main" && r.Agent.Reply == 3:
				return call("Add:1", "Add:2")
			}
			return say("ok")
		}, inTeam).lead().end()
		if x, y := p.offered("X"), p.offered("Y"); len(x) == 0 || len(y) == 0 || x[0] == y[0] {
			t.Errorf("X was offered %v, and Y %v", x, y)
		}
		h.checkTree()
	})
}

// TestLeaving: a member that ends because its lead asked it to gives back what it had begun, and is offered nothing.
func TestLeaving(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		replies := plays{
			"main":   {call("TeamCreate:t", "Add:1", "Add:2"), call("Member:X"), call("Dismiss:X"), say("ok")},
			"main/X": {call("Do:1 in_progress"), call("Bash:a"), say("bye")},
		}
		p := h.start(replies.reply, func(p *process) {
			inTeam(p)
			with := p.deps
			p.deps = func(d *session.Deps) {
				with(d)
				d.Tools = taking(d.Tools, time.Second)
			}
		}).lead().end()
		var last []troupe.BoardItem
		left := false
		for _, e := range p.events(p.root) {
			switch b := e.Body.(type) {
			case troupe.BoardChanged:
				last = b.Items
			case troupe.MailDelivered:
				for _, m := range b.Mail {
					left = left || m.Ended != nil && m.Ended.Left
				}
			}
		}
		if !left || len(last) != 1 || last[0].ID != "1" || last[0].Status != troupe.BoardPending ||
			last[0].Owner != "" {
			t.Errorf("it left: %t; the last change of the board is %+v", left, last)
		}
		if got := p.offered("X"); len(got) > 0 {
			t.Errorf("it was offered %v", got)
		}
		h.checkTree()
	})
}

// TestShutdownOfTheIdle: an idle member that is asked to come to an end is woken, answers with its agreement or with
// why not, and is stopped when its time is up; then it has left: what it had begun is open again, it is offered
// nothing, and whoever asks it once more is told so.
func TestShutdownOfTheIdle(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer string
		then   troupe.Reply
		want   troupe.Status
	}{
		"it agrees":                  {"gladly", say("bye"), troupe.Completed},
		"it says why not":            {"the tests are red", say("I stay"), troupe.Completed},
		"it does not come to an end": {"the tests are red", call("Bash:a"), troupe.Cancelled},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			var again atomic.Bool
			p := h.start(func(r model.Request) troupe.Reply {
				asked := lastMessage(h, "X", troupe.MessageShutdown)
				switch n := r.Agent.Reply; {
				case r.Agent.Path == "main" && n <= 4:
					return call([]string{"TeamCreate:t", "Member:X", "TaskOutput:X", "Dismiss:X"}[n-1])
				case r.Agent.Path == "main" && h.called("X").Status.Live():
					return call("TaskOutput:X")
				case r.Agent.Path == "main" && again.CompareAndSwap(false, true):
					return call("Add:2", "Dismiss:X")
				case r.Agent.Path == "main/X" && n == 1:
					return call("Add:1", "Do:1 in_progress")
				case r.Agent.Path == "main/X" && n == 3:
					return call("Leave:" + string(asked.ID) + " " + tt.answer)
				case r.Agent.Path == "main/X" && n == 4:
					return tt.then
				}
				return say("ok")
			}, func(p *process) {
				inTeam(p)
				with := p.deps
				p.deps = func(d *session.Deps) {
					with(d)
					d.Tools = taking(d.Tools, time.Hour)
				}
			}).lead().end()
			x := h.called("X")
			if x.Run != 2 || x.Status != tt.want {
				t.Fatalf("%s: in run %d it is %s (%s)", name, x.Run, x.Status, x.Error)
			}
			if took := x.EndedAt.Sub(lastMessage(h, "X", troupe.MessageShutdown).SentAt); tt.want == troupe.Cancelled &&
				(took < troupe.ShutdownAfter || took > troupe.ShutdownAfter+time.Minute) {
				t.Errorf("%s: it was stopped after %s", name, took)
			}
			said := lastMessage(h, "", troupe.MessageShutdownResponse)
			if said.Message == nil || said.Message.Approve != (tt.answer == "gladly") ||
				troupe.JoinText(said.Blocks) != tt.answer {
				t.Errorf("%s: the lead is told %+v", name, said)
			}
			if told := p.read("main"); !strings.Contains(told, `answers="`+string(said.Message.Re)+`" approve="`) {
				t.Errorf("%s: the lead reads %s", name, told)
			}
			last := p.board()
			if len(last) != 2 || last[0].Status != troupe.BoardPending || last[0].Owner != "" {
				t.Errorf("%s: the board is %+v", name, last)
			}
			if got := p.offered("X"); len(got) > 0 {
				t.Errorf("%s: it was offered %v", name, got)
			}
			if want := `"X" has ended already (` + string(tt.want) + `)`; !strings.Contains(p.read("main"), want) {
				t.Errorf("%s: who asks it once more is told %s", name, p.read("main"))
			}
			h.checkTree()
			checkPrefix(t, p)
		})
	}
}

// board is the task list as the lead's log has it.
func (h *home) board() (items []troupe.BoardItem) {
	for _, e := range h.events(h.root) {
		b, _ := e.Body.(troupe.BoardChanged)
		for _, it := range b.Items {
			if i := slices.IndexFunc(items, func(was troupe.BoardItem) bool { return was.ID == it.ID }); i >= 0 {
				items[i] = it
			} else {
				items = append(items, it)
			}
		}
	}
	return items
}

// read is all that the model of an agent was sent.
func (p *process) read(path string) (text string) {
	for _, r := range p.llm.requests {
		if r.Agent.Path == path {
			text = string(bytes.Join(r.Messages, []byte("\n")))
		}
	}
	return strings.NewReplacer(`\"`, `"`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(text)
}

// lastMessage is the last message of that type which an agent has read; "": the main agent.
func lastMessage(h *home, name string, of troupe.MessageType) (last troupe.Mail) {
	for _, s := range h.tree() {
		if s.Name != name {
			continue
		}
		for _, e := range h.events(s.ID) {
			b, _ := e.Body.(troupe.MailDelivered)
			for _, m := range b.Mail {
				if m.Message != nil && m.Message.Type == of {
					last = m
				}
			}
		}
	}
	return last
}

// TestGivenBackToWhoWaits: what a member that is stopped had begun is given back also where a call of its lead's waits
// for its end, or asks for it when it has come, so that it is in no other message.
func TestGivenBackToWhoWaits(t *testing.T) {
	t.Parallel()
	for name, calls := range map[string][]string{
		"it waits": {"TaskOutput:X"}, "it asks later": {"Read:slowly", "TaskOutput:X"},
		"it has not read it yet": {"TaskOutput:X", "Read:x"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			h.start(func(r model.Request) troupe.Reply {
				switch {
				case r.Agent.Path == "main" && r.Agent.Reply == 1:
					return call("TeamCreate:t", "Add:1", "Member:X", "Member:Y")
				case r.Agent.Path == "main" && r.Agent.Reply == 2:
					if name == "it has not read it yet" {
						<-time.After(time.Minute) // virtual: the end comes while the model thinks
					}
					return call(calls...)
				case r.Agent.Path == "main/X" && r.Agent.Reply == 1:
					return call("Do:1 in_progress")
				}
				return say("ok")
			}, inTeam, func(p *process) {
				p.llm.fail = func(r model.Request) *model.Error {
					if r.Agent.Path == "main/X" && r.Agent.Reply > 1 {
						return &model.Error{Fault: troupe.FaultBad, Message: "no such model"}
					}
					return nil
				}
			}).lead().end()
			if x := h.called("X"); x.Status != troupe.Failed {
				t.Fatalf("%s: it is %s", name, x.Status)
			}
			if last := h.board(); len(last) != 1 || last[0].Status != troupe.BoardPending || last[0].Owner != "" {
				t.Errorf("%s: the board is %+v", name, last)
			}
			h.checkTree()
		})
	}
}

// TestCircleWhileAnotherWorks: of members that wait for each other one is asked to go on though another member is at
// work with something else; not so where it only keeps others waiting, or while one of the circle works.
func TestCircleWhileAnotherWorks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		third, works string
		atOnce       bool // X is asked, and not when who works has ended
	}{
		"a circle":               {"Wait:3 2 X", "Z", true}, // what is X's waits for what is Y's
		"none":                   {"Wait:3 1 X", "Z", false},
		"its owner works":        {"Wait:3 2 X", "X", false},
		"one of the circle does": {"Wait:3 2 X", "Y", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			h, began := newHome(t), time.Now()
			p := h.start(func(r model.Request) troupe.Reply {
				switch {
				case r.Agent.Path == "main" && r.Agent.Reply == 1:
					return call("TeamCreate:t", "Add:1", "Add:2", "Add:3", "Wait:2 1 Y", tt.third, "Member:Z",
						"Member:X",
						"Member:Y")
				case r.Agent.Path == "main/X" && r.Agent.Reply == 1:
					if tt.works == "X" {
						return call("Do:1 in_progress", "Bash:a")
					}
					return call("Do:1 in_progress")
				case r.Agent.Path == "main/"+tt.works && r.Agent.Reply == 1:
					return call("Bash:a")
				}
				return say("ok")
			}, inTeam, func(p *process) {
				with := p.deps
				p.deps = func(d *session.Deps) {
					with(d)
					d.Tools = taking(d.Tools, time.Hour)
				}
			}).lead().end()
			asked := lastMessage(h, "X", troupe.MessageAssigned)
			after := asked.SentAt.Sub(began)
			if !strings.Contains(troupe.JoinText(asked.Blocks), "Go on with this task of yours") ||
				after < time.Hour != tt.atOnce {
				t.Errorf("%s: after %s X is told %q", name, after, troupe.JoinText(asked.Blocks))
			}
			if told := p.read("main"); !strings.Contains(told, "X was asked to go on with it.") {
				t.Errorf("%s: the lead reads %s", name, told)
			}
			h.checkTree()
			checkPrefix(t, p)
		})
	}
}

// TestDiscardNamesWhoWorks: a team of which some work is not ended, and it is said which these are.
func TestDiscardNamesWhoWorks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(func(r model.Request) troupe.Reply {
			switch {
			case r.Agent.Path == "main" && r.Agent.Reply == 1:
				return call("TeamCreate:t", "Member:X", "Member:Y", "Member:Z")
			case r.Agent.Path == "main" && r.Agent.Reply == 2:
				return call("TaskOutput:Y")
			case r.Agent.Path == "main" && r.Agent.Reply == 3:
				return call("TeamDelete:")
			case r.Agent.Path != "main/Y" && r.Agent.Reply == 1:
				return call("Bash:a")
			}
			return say("ok")
		}, inTeam, func(p *process) {
			with := p.deps
			p.deps = func(d *session.Deps) {
				with(d)
				d.Tools = taking(d.Tools, time.Hour)
			}
		}).lead().end()
		if got := p.result(p.root, 3, 0); !strings.HasPrefix(got, `the team "t" still works: "X", "Z". Send each`) {
			t.Errorf("it is told %q", got)
		}
		for _, e := range p.events(p.root) {
			if b, ok := e.Body.(troupe.TeamChanged); ok && b.Team == nil {
				t.Error("the team was ended")
			}
		}
		h.checkTree()
	})
}

// TestDiscardedGivesBack: what members of a team had begun is given back when their team is no more.
func TestDiscardedGivesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		var deleted atomic.Bool
		p := h.start(func(r model.Request) troupe.Reply {
			switch {
			case r.Agent.Path == "main" && r.Agent.Reply == 1:
				return call("TeamCreate:t", "Add:1", "Member:X")
			case r.Agent.Path == "main/X" && r.Agent.Reply == 1:
				return call("Do:1 in_progress")
			case r.Agent.Path == "main" && h.called("X").Status == troupe.Completed &&
				deleted.CompareAndSwap(false, true):
				return call("TeamDelete:")
			}
			return say("ok")
		}, inTeam).lead().end()
		var last troupe.BoardItem
		for _, e := range p.events(p.root) {
			if b, ok := e.Body.(troupe.BoardChanged); ok {
				last = b.Items[0]
			}
		}
		if last.Status != troupe.BoardPending || last.Owner != "" {
			t.Errorf("the task is %s of %q", last.Status, last.Owner)
		}
		h.checkTree()
	})
}
