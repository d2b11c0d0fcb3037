package replay

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
)

func TestOrder(t *testing.T) {
	t.Parallel()
	r := sample()
	main2 := r.Lines[7].Call
	main2.Mail = []troupe.MailID{"b", "a"}
	r.Lines = append(r.Lines, Line{Call: &Call{
		Agent: "main", Run: 2, Reply: 3, Model: "anthropic/m", Mail: []troupe.MailID{"c"},
		Messages: []troupe.Message{{Role: troupe.Assistant, Blocks: []troupe.Block{troupe.Text("Done.")}}, user("c")},
		Said:     &Said{Blocks: []troupe.Block{troupe.Text("Again.")}},
	}})
	p := play(t, r, Place{})
	mail := func(ids ...troupe.MailID) []troupe.Mail {
		var out []troupe.Mail
		for _, id := range ids {
			out = append(out, troupe.Mail{ID: id, Kind: troupe.MailPrompt})
		}
		return out
	}
	at := func(status troupe.Status, run, reply int, unread []troupe.Mail, want string, wantHold bool) {
		t.Helper()
		now, hold := p.Order(troupe.Session{ID: rootID, Status: status, Run: run}, reply, false, unread)
		var got []string
		for _, m := range now {
			got = append(got, string(m.ID))
		}
		if strings.Join(got, " ") != want || hold != wantHold {
			t.Errorf("run %d, reply %d: of %d it reads %q, hold %v; want %q, %v", run, reply, len(unread), got, hold,
				want, wantHold)
		}
	}
	at(troupe.Running, 1, 1, mail("a", "x"), "", false) // a is for later, x for nobody
	main := p.main()
	main.want("Let me see.", user("fix it", where))
	// b has not come yet
	at(troupe.Running, 1, 2, nil, "", true)
	// the end of the child is a call's result
	at(troupe.Running, 1, 2, mail("a", "end:ab0123456789:1", "x", "c"), "end:ab0123456789:1 a", true)
	// a stop is never held
	at(troupe.Running, 1, 2, append(mail("b", "a"), troupe.Mail{ID: "s", Kind: troupe.MailStop}), "s b a", false)
	waits := []troupe.Mail{{ID: "b", Kind: troupe.MailTaskEnded}, {ID: "a", Kind: troupe.MailPrompt}}
	if now, _ := p.Order(troupe.Session{ID: rootID, Status: troupe.Running, Run: 1}, 2, true, waits); len(now) != 1 ||
		now[0].ID != "a" {
		t.Errorf("while a call waits it reads %v", now)
	}
	at(troupe.Running, 1, 2, mail("x"), "", false) // both were delivered
	main.fails(troupe.FaultRetry, result(1, 0, ended))
	main.want("Done.")
	at(troupe.Running, 1, 3, mail("c"), "", false) // that is for the next run: this one ends first
	at(troupe.Completed, 1, 3, mail("c"), "c", false)
	at(troupe.Running, 2, 3, nil, "", false) // it was seen, and is gone: delivered
	main.want("Again.", user("c"))
	at(troupe.Running, 2, 4, mail("y"), "y", false) // no call follows
	if _, hold := p.Order(troupe.Session{ID: "stranger"}, 1, false, nil); hold {
		t.Error("a stranger is held")
	}
}

func TestTold(t *testing.T) {
	t.Parallel()
	at := troupe.Coord{Reply: 1}
	running := troupe.Session{ID: childID, Run: 1, Status: troupe.Running}
	with := func(change func(*Tool)) player {
		r := sample()
		change(r.Lines[4].Tool)
		return play(t, r, Place{})
	}
	p := with(func(x *Tool) { x.Mail, x.Answer = "end:x:1", &troupe.Answer{By: "ada", Effect: troupe.Deny} })
	ans, asked := p.Answer(childID, at)
	if mail, ok := p.Reads(childID, at); mail != "end:x:1" || !ok || !asked || ans.By != "ada" || p.Cut(childID, at) ||
		p.Ready(childID, at) {
		t.Errorf("it read %q (%v), was answered %+v", mail, ok, ans)
	}
	p.Order(running, 2, true, []troupe.Mail{{ID: "end:x:1", Kind: troupe.MailTaskEnded}})
	if !p.Ready(childID, at) {
		t.Error("what it reads has come, and it does not begin")
	}
	p = with(func(x *Tool) { x.Mail, x.Waited = "end:x:1", true })
	if mail, ok := p.Reads(childID, at); mail != "" || !ok || p.Cut(childID, at) || !p.Ready(childID, at) {
		t.Errorf("a call that waited read %q (%v)", mail, ok)
	}
	if !with(func(x *Tool) { x.Moved = true }).Cut(childID, at) ||
		!with(func(x *Tool) { x.Waited = true }).Cut(childID, at) {
		t.Error("a wait is not cut short")
	}
	if mail, ok := p.Reads(rootID, at); mail != "" || !ok || !p.Ready(rootID, at) {
		t.Errorf("a birth read %q, %v", mail, ok)
	}
	if _, ok := p.Reads(rootID, troupe.Coord{Reply: 9}); ok || !p.Ready(rootID, troupe.Coord{Reply: 9}) {
		t.Error("something is known of a call that was not recorded")
	}
	if _, ok := p.Answer(rootID, at); ok {
		t.Error("nobody was asked about it")
	}
}

func TestWoken(t *testing.T) {
	t.Parallel()
	r := sample()
	at := troupe.Coord{Reply: 2}
	again := *r.Lines[5].Call
	again.Run, again.Reply, again.Mail = 2, 3, []troupe.MailID{troupe.CallMailID(rootID, at, 0)}
	r.Lines = append(r.Lines, Line{Tool: &Tool{Agent: "main", Reply: 2, Name: "SendMessage"}}, Line{Call: &again})
	p := play(t, r, Place{})
	if p.Ready(rootID, at) {
		t.Error("it is sent while the agent is at work")
	}
	p.Order(troupe.Session{ID: rootID, Run: 1, Status: troupe.Running}, 3, true,
		[]troupe.Mail{{ID: troupe.ChildEndedMailID(childID, 1), Kind: troupe.MailTaskEnded}})
	if !p.Ready(rootID, at) {
		t.Error("it is not sent although the agent has ended")
	}
}

func TestStopped(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(*Recording){
		"in a call": func(r *Recording) {
			r.Lines = r.Lines[:8]
			r.Lines[7].Call.Failed.Fault = troupe.FaultInterrupted
		},
		"between calls": func(r *Recording) { r.Lines = r.Lines[:7] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := sample()
			cut(&r)
			r.Lines[0].Agent.Status = troupe.Cancelled
			p := play(t, r, Place{})
			main, scout := p.main(), p.scout()
			main.want("Let me see.", user("fix it", where))
			scout.want("", user("look at /home/ada/porch/a.go", where))
			scout.want("it takes 3 s", result(1, 0, "package a"))
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			select {
			case <-p.Over():
				t.Error("it is over before the child has ended")
			default:
			}
			p.Order(troupe.Session{ID: childID, Run: 1, Status: troupe.Completed}, 3, false, nil)
			done := make(chan error, 1)
			go func() {
				_, err := main.say(ctx, result(1, 0, ended))
				done <- err
			}()
			<-p.Over()
			stop()
			var e *model.Error
			if err := <-done; !errors.As(err, &e) || e.Fault != troupe.FaultInterrupted {
				t.Errorf("it ends with %v", err)
			}
			p.same(r.Calls())
		})
	}
}

func TestStoppedBehind(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Lines[2].Agent.Status = troupe.Cancelled
	r.Lines = append(r.Lines[:4], r.Lines[6:]...)
	r.Lines[3].Call.Said, r.Lines[3].Call.Failed = nil, &Failed{Fault: troupe.FaultInterrupted}
	r.Lines = append(r.Lines, Line{Mail: &Sent{Agent: "main", Mail: troupe.Mail{Kind: troupe.MailStop}}})
	if n := len(r.Person()); n != 0 {
		t.Errorf("%d things cannot be done again", n)
	}
	p := play(t, r, Place{})
	main, scout := p.main(), p.scout()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := scout.say(ctx, user("look at /home/ada/porch/a.go", where))
		done <- err
	}()
	main.want("Let me see.", user("fix it", where))
	main.fails(troupe.FaultRetry, result(1, 0, ended))
	main.want("Done.")
	p.Order(troupe.Session{ID: rootID, Run: 1, Status: troupe.Completed}, 3, false, nil)
	<-p.Over()
	stop()
	if err := <-done; err == nil {
		t.Error("it was not stopped")
	}
	p.same(4)
	r.Lines[len(r.Lines)-1].Mail.Agent = "main/Scout"
	if n := len(r.Person()); n != 1 {
		t.Error("the stop of one agent can be done again")
	}
}

func TestStopByAgent(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Lines[2].Agent.Status = troupe.Cancelled
	r.Lines[3].Call.Stopped = true
	r.Lines = append(r.Lines[:5], r.Lines[6:]...)
	byAgent := play(t, r, Place{})
	scout := byAgent.scout()
	scout.want("", user("look at /home/ada/porch/a.go", where))
	session := troupe.Session{ID: childID, Status: troupe.Running, Run: 1}
	if _, hold := byAgent.Order(session, 2, false, nil); !hold {
		t.Error("it is not held for the stop")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var e *model.Error
	if _, err := scout.say(ctx, result(1, 0, "package a")); !errors.As(err, &e) || e.Fault != troupe.FaultInterrupted {
		t.Errorf("it ends with %v", err)
	}
	if m := byAgent.Verdict().Mismatch; m == nil || m.Kind != Missing {
		t.Errorf("only main's calls are missing, not %v", m)
	}
	r.Lines[3].Call.Stopped = false
	byPerson := play(t, r, Place{})
	scout = byPerson.scout()
	scout.want("", user("look at /home/ada/porch/a.go", where))
	if _, hold := byPerson.Order(session, 2, false, nil); hold {
		t.Error("it is held for a person")
	}
	scout.fails(troupe.FaultBad, result(1, 0, "package a"))
	byPerson.mismatch(Extra, "made a 2nd call", "was broken off there")
}

func TestStoppedAndWoken(t *testing.T) {
	t.Parallel()
	r := sample()
	first := r.Lines[3].Call
	first.Stopped, first.Said, first.Failed = true, nil, &Failed{Fault: troupe.FaultInterrupted}
	second := *r.Lines[5].Call
	second.Run, second.Reply, second.Mail, second.Messages = 2, 1, []troupe.MailID{"go on"},
		[]troupe.Message{user("go on")}
	r.Lines = append(r.Lines[:4], Line{Call: &second})
	p := play(t, r, Place{})
	scout := p.scout()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := scout.say(ctx, user("look at /home/ada/porch/a.go", where))
		done <- err
	}()
	select {
	case err := <-done:
		t.Errorf("it did not wait for the stop: %v", err)
	default:
	}
	stop()
	if err := <-done; err == nil {
		t.Error("it was not interrupted")
	}
	unread := []troupe.Mail{{ID: "go on", Kind: troupe.MailPrompt}}
	if now, hold := p.Order(troupe.Session{ID: childID, Status: troupe.Running, Run: 1}, 1, false,
		unread); len(now) > 0 || !hold {
		t.Errorf("the run that was stopped reads %v, hold %v", now, hold)
	}
	if now, _ := p.Order(troupe.Session{ID: childID, Status: troupe.Cancelled, Run: 1}, 1, false,
		unread); len(now) != 1 {
		t.Error("the next run does not begin")
	}
	scout.want("it takes 3 s", user("go on"))
}

func TestBackground(t *testing.T) {
	t.Parallel()
	r := sample()
	tool := r.Lines[4].Tool
	tool.Background, tool.End = true, &troupe.Outcome{Kind: troupe.TaskShell, Status: troupe.Failed, Result: "exit 1"}
	p := play(t, r, Place{})
	got, err := p.Serve(t.Context(), "main/Scout", 1, 0)
	if err != nil || troupe.JoinText(got.Blocks) != "exit 1" || !got.IsError {
		t.Errorf("it is served as %+v, %v", got, err)
	}
	tool.End.Status = troupe.Cancelled
	p = play(t, r, Place{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err = p.Serve(ctx, "main/Scout", 1, 0)
	}()
	select {
	case <-done:
		t.Error("it did not wait to be killed")
	default:
	}
	cancel()
	<-done
	if err != nil {
		t.Error(err)
	}
}

// TestStopIsNotEarly: an agent that another one stops has come as far by then as when it was recorded.
func TestStopIsNotEarly(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Lines = slices.DeleteFunc(r.Lines, func(l Line) bool {
		return l.Call != nil && l.Call.Agent == "main/Scout" && l.Call.Reply == 2
	})
	p := play(t, r, Place{})
	stop := troupe.Mail{ID: "s", Kind: troupe.MailStop, From: rootID}
	takes := func(at string, status troupe.Status, reply int, open bool, want bool) {
		t.Helper()
		running := troupe.Session{ID: childID, Run: 1, Status: status}
		if now, _ := p.Order(running, reply, open, []troupe.Mail{stop}); (len(now) == 1) != want {
			t.Errorf("%s it takes %v, want the stop: %v", at, now, want)
		}
	}
	takes("before its call", troupe.Running, 1, false, false)
	p.scout().want("", user("look at /home/ada/porch/a.go", where))
	takes("before its reply has come", troupe.Running, 1, false, false)
	takes("before its tool has run", troupe.Running, 2, true, false)
	if _, err := p.Serve(t.Context(), "main/Scout", 1, 0); err != nil {
		t.Fatal(err)
	}
	takes("then", troupe.Running, 2, true, true)
	stop.From = ""
	takes("from a person", troupe.Running, 1, false, true)
}
