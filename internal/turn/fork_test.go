package turn_test

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// recorded is a life whose events are kept.
func recorded(t *testing.T, fork *troupe.Fork) (add func(bodies ...troupe.Body), st *turn.State,
	events func() []troupe.Event) {
	t.Helper()
	l := &life{t: t}
	var all []troupe.Event
	add = func(bodies ...troupe.Body) {
		t.Helper()
		for _, b := range bodies {
			all = append(all, l.event(b))
			l.add(b)
		}
	}
	add(troupe.Created{Name: "x", Profile: troupe.Profile{Type: "main", Beginning: troupe.Beginning{Fork: fork != nil}},
		Fork: fork},
		troupe.MailDelivered{Mail: []troupe.Mail{{ID: "p", Kind: troupe.MailPrompt,
			Blocks: []troupe.Block{troupe.Text("go")}}}},
		troupe.Started{Run: 1})
	return add, &l.st, func() []troupe.Event { return all }
}

// replied is a model call and its reply with calls.
func replied(st *turn.State, input int64, tools ...string) []troupe.Body {
	n := st.Reply() + 1
	blocks := []troupe.Block{troupe.Text("I go on.")}
	for i, name := range tools {
		blocks = append(blocks, troupe.Block{Type: troupe.CallBlock,
			Call: &troupe.Call{Reply: n, Index: i, Name: name}})
	}
	stop := troupe.StopEndTurn
	if len(tools) > 0 {
		stop = troupe.StopToolUse
	}
	return []troupe.Body{troupe.CallSealed{Reply: n, Generation: st.Generation, Refs: st.Refs()},
		troupe.Replied{Reply: n, Stop: stop, Blocks: blocks, Usage: troupe.Usage{Input: input}}}
}

// touched is the result of a call that read or wrote a file.
func touched(st *turn.State, call int, path, hash string) troupe.Body {
	return troupe.ToolFinished{Name: st.Calls[call].Name, Result: troupe.Result{Reply: st.Reply(), Call: call},
		Evidence: troupe.Evidence{Files: []troupe.FileTouch{{Path: path, Hash: hash}}}}
}

// TestOrigin: a fork knows what its parent did at the reply that it goes on from, and what its own log says stands
// above that.
func TestOrigin(t *testing.T) {
	t.Parallel()
	add, st, events := recorded(t, nil)
	add(replied(st, 900, "Read", "Read")...)
	add(touched(st, 0, "/ws/a", "parent"), touched(st, 1, "/ws/b", "parent"))
	add(replied(st, 2000, "Agent", "Read")...)
	at, err := turn.ForkPoint(st)
	if err != nil {
		t.Fatal(err)
	}
	add(touched(st, 1, "/ws/c", "later"))
	o, err := turn.OriginOf(events(), *at)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Sent) != 3 || len(o.Reply) != 1 || len(o.Answers) != 2 || o.Context() != 2000 {
		t.Errorf("%d messages, reply %v, %d answers, %d tokens", len(o.Sent), o.Reply, len(o.Answers), o.Context())
	}
	for _, b := range o.Answers {
		if troupe.JoinText(b.Result.Blocks) != troupe.ForkPlaceholder {
			t.Errorf("the answer %+v", b.Result)
		}
	}
	add, young, _ := recorded(t, at)
	o.Give(young)
	if n := young.Context(); n < 2000 {
		t.Errorf("before its first reply its conversation is taken for %d tokens", n)
	}
	add(replied(young, 10, "Edit")...)
	add(touched(young, 0, "/ws/a", "own"))
	young.Files["/ws/b"] = "parent"
	o.Give(young) // as after a restart
	for file, hash := range map[string]string{"/ws/a": "own", "/ws/b": "parent", "/ws/c": ""} {
		if young.Files[file] != hash {
			t.Errorf("it has %q of %s, want %q", young.Files[file], file, hash)
		}
	}
	if n := young.Context(); n > 100 {
		t.Errorf("after a reply its conversation is taken for %d tokens, which its provider has counted", n)
	}
	if _, err := turn.OriginOf(events(), troupe.Fork{Session: at.Session, Generation: 1, Seq: at.Seq - 1}); err == nil {
		t.Error("an event that is no reply was gone on from")
	}
	if _, err := turn.ForkPoint(young); err == nil || !strings.Contains(err.Error(), "no forks of its own") {
		t.Errorf("the fork of a fork: %v", err)
	}
}

// TestForkPoint: there is something to fork from the first reply on, and after a summary only from the next one; a fork
// that goes on from there is sent nothing of what was before the summary.
func TestForkPoint(t *testing.T) {
	t.Parallel()
	add, st, events := recorded(t, nil)
	refused := func(when string) {
		t.Helper()
		if at, err := turn.ForkPoint(st); err == nil || !strings.Contains(err.Error(), "nothing to fork yet") {
			t.Errorf("%s: %+v, %v", when, at, err)
		}
	}
	refused("before the first reply")
	add(replied(st, 10)...)
	if at, err := turn.ForkPoint(st); err != nil || at.Seq != 5 || at.Generation != 1 {
		t.Errorf("%+v, %v", at, err)
	}
	add(troupe.CallSealed{Reply: 2, Generation: 2, Compact: true},
		troupe.Compacted{Generation: 2, Blocks: []troupe.Block{troupe.Text("in short")}, Covers: st.SealedAt()})
	refused("after a summary")
	add(replied(st, 10)...)
	at, err := turn.ForkPoint(st)
	if err != nil || at.Seq != 9 || at.Generation != 2 {
		t.Fatalf("after the next reply: %+v, %v", at, err)
	}
	o, err := turn.OriginOf(events(), *at)
	if err != nil || len(o.Sent) != 1 || troupe.JoinText(o.Sent[0].Blocks) != "in short" {
		t.Errorf("a fork is sent %+v, %v", o.Sent, err)
	}
}

// TestGiveAfterASummary: a summary of its own has taken away what a fork was told in its parent's conversation, but not
// which files count as read. What else begins a generation takes nothing away.
func TestGiveAfterASummary(t *testing.T) {
	t.Parallel()
	add, st, events := recorded(t, nil)
	add(troupe.MailDelivered{Mail: []troupe.Mail{{ID: "n", Kind: troupe.MailNotice, Brief: &troupe.Brief{
		Instructions: "of docs", About: []string{"/ws/docs/AGENTS.md"}}},
		{ID: "h", Kind: troupe.MailNotice, Brief: &troupe.Brief{Holds: "what holds"}}}})
	add(replied(st, 10, "Read")...)
	add(touched(st, 0, "/ws/a", "parent"))
	add(replied(st, 10)...)
	at, err := turn.ForkPoint(st)
	if err != nil {
		t.Fatal(err)
	}
	o, err := turn.OriginOf(events(), *at)
	if err != nil {
		t.Fatal(err)
	}
	asked := troupe.CallSealed{Reply: 2, Generation: 2, Compact: true}
	for name, since := range map[string][]troupe.Body{
		"nothing": nil,
		"a summary": {asked, troupe.Compacted{Generation: 2, Blocks: []troupe.Block{troupe.Text("in short")},
			Covers: 6}},
		"a failed summary":  {asked, troupe.ModelFailed{Reply: 2, Attempt: 1, Fault: troupe.FaultBad}},
		"one under way":     {asked},
		"another model":     {troupe.ModelChanged{Model: "llm/two"}},
		"other bytes":       {troupe.CallSealed{Reply: 2, Generation: 2, Because: "the tools have changed"}},
		"two that did fail": {asked, troupe.ModelFailed{Reply: 2}, asked, troupe.ModelFailed{Reply: 2}},
	} {
		add, fork, _ := recorded(t, at)
		add(replied(fork, 10)...)
		add(since...)
		o.Give(fork)
		summed := name == "a summary"
		if fork.Instructed("/ws/docs/AGENTS.md") == summed || (fork.Told() == "what holds") == summed ||
			fork.Files["/ws/a"] != "parent" {
			t.Errorf("after %s: instructed %v, told %q, files %v", name, fork.Instructed("/ws/docs/AGENTS.md"),
				fork.Told(), fork.Files)
		}
	}
}

// TestForksOfALostEnd: coordinates that the lost end of a log gave to forks of people stay taken, and no call is for
// those forks.
func TestForksOfALostEnd(t *testing.T) {
	t.Parallel()
	l := born(t, troupe.Limits{}).turn(troupe.StopEndTurn)
	task := func(c troupe.Coord) troupe.Task {
		return troupe.Task{ID: troupe.TaskID(troupe.ChildID("r", c)), Kind: troupe.TaskAgent, Coord: c}
	}
	l.add(troupe.Ended{Outcome: troupe.Outcome{Status: troupe.Failed}, Cut: &troupe.Cut{Reply: 2,
		Agents: []troupe.Task{task(troupe.Coord{Call: 2}), task(troupe.Coord{Call: 1}), task(troupe.Coord{Reply: 2})}}})
	if at := turn.NextFork(&l.st); at != (troupe.Coord{Call: 3}) {
		t.Errorf("the next fork is at %+v", at)
	}
	if before := l.st.BornBefore(3); len(before) != 1 || before[0] != task(troupe.Coord{Reply: 2}).ID {
		t.Errorf("a call may be for %v", before)
	}
}
