package session_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
)

// BenchmarkMembers has a team of 1,000 wait: what each of them takes in memory, its log in a store in memory included;
// what all of them take of a processor while nothing happens; and how long a message to one takes until its model is
// asked.
func BenchmarkMembers(b *testing.B) {
	const members = 1000
	h := newHome(b)
	calls := []string{"TeamCreate:t"}
	for i := range members {
		calls = append(calls, fmt.Sprintf("Member:X%d", i))
	}
	asked := make(chan time.Time, 10*members) // when a model was
	p := h.start(func(r model.Request) troupe.Reply {
		asked <- time.Now()
		if r.Agent.Path == "main" && r.Agent.Reply == 1 {
			return call(calls...)
		}
		return say("I wait")
	}, func(p *process) {
		inTeam(p)
		with := p.deps
		p.deps = func(d *session.Deps) {
			with(d)
			d.Models = forgetful{instant{p.llm}}
		}
	})
	before := heapAlloc()
	p.beginAs(troupe.Caps{MaxDepth: 1}, func(birth *fleet.Birth) { asLead(birth) })
	rest := func() {
		if err := p.hub.Wait(b.Context(), h.root); err != nil {
			b.Fatal(err)
		}
	}
	rest()
	for len(asked) > 0 {
		<-asked
	}
	var ids []troupe.SessionID
	h.view(func(r store.Reader) error {
		all, err := r.Sessions(store.Filter{Root: h.root, Parent: h.root})
		for _, s := range all {
			ids = append(ids, s.ID)
		}
		return err
	})
	if len(ids) != members {
		b.Fatalf("%d members were born", len(ids))
	}
	each := float64(heapAlloc()-before) / members
	const idle = 500 * time.Millisecond
	used := cpu(b)
	<-time.After(idle) // what is measured is what happens while nothing does
	used = cpu(b) - used
	var took time.Duration
	for i := 0; b.Loop(); i++ {
		sent := time.Now()
		p.send(prompt(ids[i%members], "how far are you?"))
		took += (<-asked).Sub(sent)
		rest()
		for len(asked) > 0 { // the lead's, who is told of the end
			<-asked
		}
	}
	b.ReportMetric(each/1024, "KB/member")
	b.ReportMetric(100*float64(used)/float64(idle), "idle-cpu-%")
	b.ReportMetric(took.Seconds()*1000/float64(b.N), "ms/message")
	p.pool.Close()
}
