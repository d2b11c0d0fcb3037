package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// audit reads a tree as any program could, from `troupe log --tree --json` and `troupe show
// --json`, and checks what must hold whatever happened to the processes that ran it: numbers
// are dense; every call has one result, and has it before the next model call; every end of
// a child's run and of a command in the background is told once; no mail is read twice; rows
// add up to the bill.
func audit(log, show string) ([]wire.Event, error) {
	events, err := parseEvents(log)
	if err != nil {
		return nil, err
	}
	var run wire.Report
	if err := json.Unmarshal([]byte(show), &run); err != nil {
		return nil, fmt.Errorf("troupe show --json: %w\n%s", err, show)
	}
	b := &book{sessions: make(map[troupe.SessionID]*account)}
	for _, e := range events {
		if err := b.add(e); err != nil {
			return events, fmt.Errorf("event %d of session %s (%s): %w", e.Seq, e.Session, e.Type, err)
		}
	}
	return events, errors.Join(b.close(), b.compare(run))
}

func parseEvents(log string) ([]wire.Event, error) {
	var events []wire.Event
	for line := range strings.Lines(log) {
		var e wire.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return nil, fmt.Errorf("a line of the log: %w\n%s", err, line)
		}
		if e.Type != "result" {
			events = append(events, e)
		}
	}
	return events, nil
}

type book struct{ sessions map[troupe.SessionID]*account }

type account struct {
	seq     int64
	parent  troupe.SessionID
	reply   int
	calls   int                      // of the last reply
	results map[int]int              // of the last reply, by call
	born    map[troupe.SessionID]int // children, by the calls that started them
	told    map[childRun]int         // ends of children this session was told of
	ended   map[int]bool             // own runs
	// children whose result, or their going on in the background, answered a call
	answered map[troupe.SessionID]struct{}
	mail     map[troupe.MailID]int64 // what was read, and at which event
	commands map[troupe.TaskID]int   // in the background; how often their end was told
}

type childRun struct {
	child troupe.SessionID
	run   int
}

func (b *book) add(e wire.Event) error {
	a := b.sessions[e.Session]
	if a == nil {
		a = &account{results: map[int]int{}, born: map[troupe.SessionID]int{}, told: map[childRun]int{},
			ended: map[int]bool{}, answered: map[troupe.SessionID]struct{}{}, mail: map[troupe.MailID]int64{},
			commands: map[troupe.TaskID]int{}}
		b.sessions[e.Session] = a
	}
	if e.Seq != a.seq+1 {
		return fmt.Errorf("follows event %d", a.seq)
	}
	a.seq = e.Seq
	body, err := troupe.DecodeBody(e.Type, e.Data)
	if err != nil {
		return err
	}
	switch body := body.(type) {
	case troupe.Created:
		a.parent = body.Parent
	case troupe.CallSealed:
		return a.settled()
	case troupe.Replied:
		a.reply, a.calls, a.results = body.Reply, 0, map[int]int{}
		for _, block := range body.Blocks {
			if block.Call != nil {
				a.calls++
			}
		}
	case troupe.ToolStarted:
		if body.Child != "" {
			a.born[body.Child]++
		}
	case troupe.ToolFinished:
		return a.finished(body)
	case troupe.MailDelivered:
		for _, m := range body.Mail {
			if err := a.read(m.ID); err != nil {
				return err
			}
			if m.Ended != nil {
				a.tell(*m.Ended)
			}
		}
	case troupe.TeamChanged: // its members were born idle, and this tells it
		for _, m := range body.Members {
			a.told[childRun{troupe.SessionID(m.ID), 1}]++
			a.answered[troupe.SessionID(m.ID)] = struct{}{}
		}
	case troupe.VerifyStarted:
		if body.Task != nil {
			a.born[troupe.SessionID(body.Task.ID)]++
			a.answered[troupe.SessionID(body.Task.ID)] = struct{}{}
		}
	case troupe.VerifyEnded:
		a.tell(body.Outcome)
		return a.read(body.Mail)
	case troupe.RequestAnswered:
		return a.read(body.Mail)
	case troupe.AuthorityChanged:
		return a.read(body.Mail)
	case troupe.ModelChanged:
		return a.read(body.Mail)
	case troupe.Ended:
		if a.ended[body.Outcome.Run] {
			return fmt.Errorf("run %d ends for the second time", body.Outcome.Run)
		}
		a.ended[body.Outcome.Run] = true
		if body.Cut != nil { // what was lost had their calls, and these answers
			for _, t := range body.Cut.Agents {
				a.born[troupe.SessionID(t.ID)]++
				a.answered[troupe.SessionID(t.ID)] = struct{}{}
			}
		}
		for id := range a.commands {
			for _, words := range body.Outcome.Stopped {
				if strings.Contains(words, "("+string(id)+", ") {
					a.commands[id]++ // told to the parent, with the end
				}
			}
		}
		return a.settled()
	}
	return nil
}

// read notes mail that the log says was read. Events that no mail brought have none.
func (a *account) read(id troupe.MailID) error {
	if id == "" {
		return nil
	}
	if at, ok := a.mail[id]; ok {
		return fmt.Errorf("mail %s was read at event %d already", id, at)
	}
	a.mail[id] = a.seq
	return nil
}

// tell notes an end that the session was told of.
func (a *account) tell(o troupe.Outcome) {
	if o.Kind == troupe.TaskShell {
		a.commands[o.Task]++
		return
	}
	a.told[childRun{o.Session, o.Run}]++
}

func (a *account) finished(body troupe.ToolFinished) error {
	r := body.Result
	if r.Reply != a.reply || r.Call >= a.calls {
		return fmt.Errorf("a result of call %d of reply %d, but reply %d has %d calls", r.Call, r.Reply, a.reply,
			a.calls)
	}
	if a.results[r.Call]++; a.results[r.Call] > 1 {
		return fmt.Errorf("call %d of reply %d has its second result", r.Call, r.Reply)
	}
	if o := body.Outcome; o != nil {
		a.tell(*o)
		a.answered[o.Session] = struct{}{}
	}
	switch t := body.Task; {
	case t != nil && t.Kind == troupe.TaskShell:
		a.commands[t.ID] = 0
	case t != nil:
		a.answered[troupe.SessionID(t.ID)] = struct{}{}
	}
	return a.read(body.Mail)
}

// settled: every call of the last reply has its result.
func (a *account) settled() error {
	if len(a.results) != a.calls {
		return fmt.Errorf("%d of the %d calls of reply %d have a result", len(a.results), a.calls, a.reply)
	}
	return nil
}

// close checks what holds once nothing runs any more.
func (b *book) close() error {
	var errs []error
	for id, a := range b.sessions {
		if len(a.ended) == 0 {
			errs = append(errs, fmt.Errorf("session %s never ended", id))
		}
		for child, n := range a.born {
			if n != 1 || b.sessions[child] == nil {
				errs = append(errs, fmt.Errorf("session %s started child %s %d times", id, child, n))
			}
		}
		for task, n := range a.commands {
			if n != 1 {
				errs = append(errs, fmt.Errorf("the end of command %s of session %s was told %d times", task, id, n))
			}
		}
		up := b.sessions[a.parent]
		if up == nil {
			continue
		}
		for run := range a.ended {
			if n := up.told[childRun{id, run}]; n != 1 {
				errs = append(errs, fmt.Errorf("the end of run %d of session %s is %d times in its parent's log", run,
					id, n))
			}
		}
		if _, ok := up.answered[id]; !ok {
			errs = append(errs, fmt.Errorf("session %s answered no call of its parent", id))
		}
	}
	return errors.Join(errs...)
}

// compare holds the bill against the rows.
func (b *book) compare(run wire.Report) error {
	var errs []error
	if len(run.Agents) != len(b.sessions) {
		errs = append(errs, fmt.Errorf("%d agents in the report, %d sessions in the log", len(run.Agents),
			len(b.sessions)))
	}
	var usage troupe.Usage
	var cost float64
	for _, ag := range run.Agents {
		usage, cost = usage.Add(ag.Usage), cost+ag.CostUSD
	}
	if usage != run.Usage || math.Abs(cost-run.CostUSD) > 1e-9 {
		errs = append(errs, fmt.Errorf("the agents' %+v $%v is not the tree's %+v $%v", usage, cost, run.Usage,
			run.CostUSD))
	}
	return errors.Join(errs...)
}
