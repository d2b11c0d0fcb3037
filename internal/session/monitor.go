package session

import (
	"context"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// What is told of a monitor at a time, at most. All of it is in its output file.
const (
	maxHeardLines = 50
	maxHeardBytes = 8 << 10
)

// heardGather is how long the first line waits for others: what a program prints in one go is told in one.
const heardGather = 200 * time.Millisecond

// monitor keeps what a monitor has said until its session is told. Whoever runs it adds lines, as fast as they come; of
// more than is told at a time the last ones are kept, since they say how things stand. What it holds when its process is
// killed is in the output file alone.
type monitor struct {
	task  troupe.Task
	news  func() time.Time // tells the actor that there is something, and is when that was; it does not block
	mu    sync.Mutex
	since time.Time // when the first of lines came
	lines []string
	size  int
	left  int // lines that came before these and were not told
}

// hear adds a line.
func (m *monitor) hear(line string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := len(m.lines) == 0
	m.lines, m.size = append(m.lines, line), m.size+len(line)
	drop := 0
	for len(m.lines)-drop > maxHeardLines || m.size > maxHeardBytes && len(m.lines)-drop > 1 {
		m.size -= len(m.lines[drop])
		drop++
	}
	if m.left += drop; drop > 0 {
		m.lines = append(m.lines[:0], m.lines[drop:]...)
	}
	if first {
		m.since = m.news()
	}
}

// from is when what there is can be told; zero if there is nothing.
func (m *monitor) from() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.lines) == 0 {
		return time.Time{}
	}
	return m.since.Add(heardGather)
}

// take is what there is to tell, which is not told again; nil if there is nothing.
func (m *monitor) take(mask func(string) string) *troupe.Heard {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.lines) == 0 {
		return nil
	}
	out := &troupe.Heard{Task: m.task.ID, Name: m.task.Name, Output: m.task.Output, Left: m.left}
	for _, line := range m.lines {
		out.Lines = append(out.Lines, plain(mask(line)))
	}
	m.lines, m.size, m.left = nil, 0, 0
	return out
}

// listen has the session be told of the lines of a monitor.
func (ts *tasks) listen(t troupe.Task) (hear func(line string)) {
	if ts.monitors == nil {
		ts.monitors = make(map[troupe.TaskID]*monitor)
	}
	now := ts.a.h.d.Now
	m := &monitor{task: t, news: func() time.Time {
		ts.a.post(inNudge{})
		return now()
	}}
	ts.monitors[t.ID] = m
	return m.hear
}

// heard sends the session what its monitors have said, if it is time for that. What was sent before is to be read first,
// so a session that is busy finds one piece of mail of each and not a heap of them. One that mail of tasks does not set
// to work is told when it works again.
func (ts *tasks) heard(ctx context.Context) error {
	if len(ts.monitors) == 0 || !ts.listens() {
		return nil
	}
	now, first := ts.a.h.d.Now(), time.Time{}
	for _, m := range ts.monitors {
		if from := m.from(); !from.IsZero() && (first.IsZero() || from.Before(first)) {
			first = from
		}
	}
	if first.IsZero() {
		return nil
	}
	if from := ts.a.st.HearsFrom(); from.After(first) {
		first = from
	}
	if now.Before(first) {
		ts.lookAgain(now, first)
		return nil
	}
	var mail []troupe.Mail
	for _, t := range ts.a.st.Shells() { // in the order in which they began
		mail = append(mail, ts.heardOf(ts.monitors[t.ID], now, false)...)
	}
	return ts.tell(ctx, mail)
}

// lookAgain has the actor look at a time for what monitors have said.
func (ts *tasks) lookAgain(now, at time.Time) {
	if now.Before(ts.hearAt) && !ts.hearAt.After(at) {
		return // it will look before, and then see
	}
	ts.hearAt = at
	ts.a.h.d.Sched.After(at.Sub(now), func() { ts.a.post(inNudge{}) })
}

// listens reports whether lines of monitors can be sent.
func (ts *tasks) listens() bool {
	for _, m := range ts.a.unread {
		if m.Kind == troupe.MailMonitor {
			return false
		}
	}
	s := &ts.a.st.Session
	return s.Status.Live() || ts.a.st.WokenBy(troupe.Mail{Kind: troupe.MailMonitor})
}

// heardOf is the mail with what a monitor has said, if it has said something.
func (ts *tasks) heardOf(m *monitor, now time.Time, quiet bool) []troupe.Mail {
	if m == nil {
		return nil
	}
	h := m.take(ts.a.h.d.Mask)
	if h == nil {
		return nil
	}
	h.Until = ts.a.st.HearsNext(now)
	return []troupe.Mail{{
		ID: troupe.HeardMailID(ts.a.id, h.Task, ts.a.lease.Epoch, ts.a.st.Session.Seq), Root: ts.a.root, To: ts.a.id,
		From: ts.a.id, Kind: troupe.MailMonitor, SentAt: now, OfTeam: troupe.OfTeam{Heard: h}, Quiet: quiet,
	}}
}

// tell sends the session what its own tasks have to say. In a stopped tree it sets nobody to work.
func (ts *tasks) tell(ctx context.Context, mail []troupe.Mail) error {
	if len(mail) == 0 {
		return nil
	}
	err := ts.a.flush(ctx, func(tx store.Tx) error {
		stopped, err := treeStopped(tx, ts.a.id, ts.a.st.Session.Run, false)
		if err != nil {
			return err
		}
		for i := range mail {
			mail[i].Quiet = mail[i].Quiet || stopped
		}
		return sendAll(tx, mail)
	})
	if err != nil {
		return err
	}
	for _, m := range mail {
		ts.a.receive(m)
	}
	return nil
}
