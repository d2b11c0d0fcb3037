package session_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// plays is what a model says: replies by the path of the agent that asks ("main", "main/X"),
// in order. The last one is repeated. Those of "" are anybody's who has none of his own.
type plays map[string][]troupe.Reply

func (p plays) reply(r model.Request) troupe.Reply {
	if summing(r) {
		return say("what was said so far")
	}
	all := p[r.Agent.Path]
	if len(all) == 0 {
		all = p[""]
	}
	if len(all) == 0 {
		return say("done by " + r.Agent.Path)
	}
	out := all[min(r.Agent.Reply, len(all))-1]
	out.Blocks = slices.Clone(out.Blocks) // a reply belongs to whoever gets it
	return out
}

// summing reports whether a request asks for a summary.
func summing(r model.Request) bool {
	return bytes.Contains(r.Messages[len(r.Messages)-1], []byte("is about to be replaced by what you write now"))
}

// reads is a model that reads n times, two seconds each, and then says something.
func reads(n int) []troupe.Reply {
	var out []troupe.Reply
	for i := range n {
		out = append(out, call(fmt.Sprintf("Read:%d", i)))
	}
	return append(out, say("read it all"))
}

// policy changes the settings of the loop.
func policy(change func(*troupe.Policy)) func(*process) {
	return func(p *process) { change(&p.settings.Policy) }
}

// beginAs begins a tree that differs from the usual one.
func (p *process) beginAs(caps troupe.Caps, change func(*fleet.Birth)) *process {
	p.t.Helper()
	b := fleet.Birth{
		Root: p.root, ID: p.root, Cwd: "/ws", Caps: &caps, Settings: &p.settings, Profile: role("main"),
		Authority: troupe.Authority{Mode: troupe.ModeBypass}, Prompt: []troupe.Block{troupe.Text("go")},
	}
	change(&b)
	if err := p.hub.Begin(p.t.Context(), b); err != nil {
		p.t.Fatal(err)
	}
	return p
}

// adopt goes on with the tree as another process.
func (h *home) adopt(reply func(model.Request) troupe.Reply, idle bool, change ...func(*process)) *process {
	h.t.Helper()
	q := h.start(reply, change...)
	if err := q.hub.Adopt(h.t.Context(), session.Adoption{Root: h.root, Expect: h.lease(), Idle: idle,
		Settings: &q.settings}); err != nil {
		h.t.Fatal(err)
	}
	return q
}

// send puts mail into a mailbox as a person does.
func (p *process) send(mail ...troupe.Mail) {
	p.t.Helper()
	for i := range mail {
		p.stops++
		mail[i].ID, mail[i].Root, mail[i].SentAt = troupe.MailID(fmt.Sprintf("mail%d", p.stops)), p.root, time.Now()
	}
	if _, err := p.hub.Send(p.t.Context(), p.root, func(store.Tx) ([]troupe.Mail, error) {
		return mail,
			nil
	}); err != nil {
		p.t.Fatal(err)
	}
}

func prompt(to troupe.SessionID, text string) troupe.Mail {
	return troupe.Mail{To: to, Kind: troupe.MailPrompt, Blocks: []troupe.Block{troupe.Text(text)}}
}

// pass lets virtual time go by.
func pass(d time.Duration) { <-time.After(d) } // virtual

// called finds a session by its name; "" is the root.
func (h *home) called(name string) troupe.Session {
	h.t.Helper()
	for _, s := range h.tree() {
		if s.Name == name {
			return s
		}
	}
	h.t.Errorf("there is no session %q", name)
	return troupe.Session{}
}

// end is the end of a task as it stands in its owner's log.
type end struct {
	run    int // of the owner
	result bool
	troupe.Outcome
}

// ends lists the ends of tasks in a session's log.
func (h *home) ends(id troupe.SessionID) (out []end) {
	run := 0
	for _, e := range h.events(id) {
		switch b := e.Body.(type) {
		case troupe.Started:
			run = b.Run
		case troupe.ToolFinished:
			if b.Outcome != nil && b.Mail != "" {
				out = append(out, end{run, true, *b.Outcome})
			}
		case troupe.MailDelivered:
			for _, m := range b.Mail {
				if m.Ended != nil {
					out = append(out, end{run, false, *m.Ended})
				}
			}
		}
	}
	return out
}

// result is the text that answered a call.
func (h *home) result(id troupe.SessionID, reply, call int) string {
	h.t.Helper()
	for _, e := range h.events(id) {
		if b, ok := e.Body.(troupe.ToolFinished); ok && b.Result.Reply == reply && b.Result.Call == call {
			return troupe.JoinText(b.Result.Blocks)
		}
	}
	h.t.Errorf("call %d.%d of %s has no result", reply, call, id)
	return ""
}

func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in …%s", part, text[max(0, len(text)-800):])
		}
	}
}

// of lists the requests of one session, in order.
func (l *llm) of(id troupe.SessionID) (out []model.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.requests {
		if r.Agent.Session == id {
			out = append(out, r)
		}
	}
	return out
}

// checkTree says what must hold of any tree that has come to rest: rows are the folds of their
// logs, each call has one result, each end is told once, nothing is at work, no mail is left.
func (h *home) checkTree() {
	h.t.Helper()
	ends, told := make(map[troupe.MailID]int), make(map[troupe.MailID]int)
	for _, s := range h.tree() {
		st, err := turn.Fold(h.events(s.ID))
		if err != nil || st.Session != s {
			h.t.Errorf("%q: its row differs from its log (%v):\nrow %+v\nlog %+v", s.Name, err, s, st.Session)
		}
		if s.Status.Live() {
			h.t.Errorf("%q is still %s %s", s.Name, s.Status, s.Waiting)
		}
		for _, task := range st.Tasks {
			if task.Status == troupe.TaskRunning {
				h.t.Errorf("%q has a task at work: %+v", s.Name, task)
			}
		}
		h.view(func(r store.Reader) error {
			unread, err := r.Unread(s.ID)
			for _, m := range unread {
				h.t.Errorf("%q never read %s", s.Name, m.ID)
			}
			return err
		})
		h.checkLog(s, ends, told)
	}
	for id := range ends {
		if told[id] != 1 {
			h.t.Errorf("the end %s is %d times in the parent's log", id, told[id])
		}
	}
}

func (h *home) checkLog(s troupe.Session, ends, told map[troupe.MailID]int) {
	h.t.Helper()
	calls := make(map[troupe.Coord]int)
	for _, e := range h.events(s.ID) {
		switch b := e.Body.(type) {
		case troupe.Replied:
			for _, block := range b.Blocks {
				if c := block.Call; c != nil {
					calls[troupe.Coord{Reply: c.Reply, Call: c.Index}]++
				}
			}
		case troupe.ToolFinished:
			calls[troupe.Coord{Reply: b.Result.Reply, Call: b.Result.Call}]--
			told[b.Mail]++
		case troupe.TeamChanged: // its members were born idle, and this tells it
			for _, m := range b.Members {
				told[troupe.ChildEndedMailID(troupe.SessionID(m.ID), 1)]++
			}
		case troupe.MailDelivered:
			for _, m := range b.Mail {
				told[m.ID]++
			}
		case troupe.Ended:
			if s.Parent != "" {
				ends[troupe.ChildEndedMailID(s.ID, b.Outcome.Run)]++
			}
		}
	}
	for c, n := range calls {
		if n != 0 {
			h.t.Errorf("%q: call %v has %d results too few", s.Name, c, n)
		}
	}
}

// checkPrefix holds the prefix rule over all requests of some processes, in order.
func checkPrefix(t testing.TB, ps ...*process) {
	t.Helper()
	last := make(map[troupe.SessionID]model.Request)
	for _, p := range ps {
		for _, r := range p.llm.requests {
			before, ok := last[r.Agent.Session]
			if ok && before.Generation == r.Generation && !bytes.HasPrefix(body(r), body(before)) {
				t.Errorf("%s: the request for reply %d does not begin with the one before, in generation %d",
					r.Agent.Path, r.Agent.Reply, r.Generation)
			}
			if ok && r.Generation < before.Generation {
				t.Errorf("%s: generation %d comes after %d", r.Agent.Path, r.Generation, before.Generation)
			}
			last[r.Agent.Session] = r
		}
	}
}

func readTree(root troupe.SessionID, into *troupe.Tree) func(store.Reader) error {
	return func(r store.Reader) (err error) { *into, err = r.Tree(root); return err }
}
