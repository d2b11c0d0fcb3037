package session

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// What is told of a monitor at a time, at most. All of it is in its output file, as far as that has room.
const (
	maxHeardLines = 50
	maxHeardBytes = 8 << 10
)

// heardGather is how long the first line waits for others: what a program prints in one go is told in one.
const heardGather = 200 * time.Millisecond

// monitor keeps what a monitor has said until its session is told. Whoever runs it adds lines, as fast as they come; of
// more than is told at a time the last ones are kept, since they say how things stand. What it holds when its process
// is killed is in the output file alone, as far as that has room.
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
func (hg *hearing) listen(t troupe.Task) (hear func(line string)) {
	if hg.monitors == nil {
		hg.monitors = make(map[troupe.TaskID]*monitor)
	}
	now := hg.a.h.d.Now
	m := &monitor{task: t, news: func() time.Time {
		hg.a.post(inNudge{})
		return now()
	}}
	hg.monitors[t.ID] = m
	return m.hear
}

// look sends the session what its monitors have said, if it is time for that. What was sent before is to be read first,
// so a session that is busy finds one piece of mail of each and not a heap of them. One that mail of tasks does not set
// to work is told when it works again.
func (hg *hearing) look(ctx context.Context) error {
	if err := hg.lookForEnds(ctx); err != nil {
		return err
	}
	if len(hg.monitors) == 0 || !hg.listens() {
		return nil
	}
	now, first := hg.a.h.d.Now(), time.Time{}
	for _, m := range hg.monitors {
		if from := m.from(); !from.IsZero() && (first.IsZero() || from.Before(first)) {
			first = from
		}
	}
	if first.IsZero() {
		return nil
	}
	if from := turn.HearsFrom(&hg.a.st); from.After(first) {
		first = from
	}
	if now.Before(first) {
		hg.lookAgain(now, first)
		return nil
	}
	var mail []troupe.Mail
	for _, t := range hg.a.st.OwnTasks() { // in the order in which they began
		mail = append(mail, hg.heardOf(hg.monitors[t.ID], now, false)...)
	}
	return hg.tell(ctx, mail)
}

// hold keeps the end of a monitor until it is told.
func (hg *hearing) hold(mail []troupe.Mail, now time.Time) {
	if len(hg.ends) == 0 {
		hg.ended = now
	}
	hg.ends = append(hg.ends, mail...)
}

// lookForEnds sends the session the ends of its monitors: the first with what ends just then, later ones together, as
// often as it is told of lines at the most. One that a call waits for, or that is told to stop, keeps none waiting.
func (hg *hearing) lookForEnds(ctx context.Context) error {
	if len(hg.ends) == 0 {
		return nil
	}
	now, from := hg.a.h.d.Now(), hg.ended.Add(heardGather)
	if next := hg.endTold.Add(turn.HeardEvery); next.After(from) {
		from = next
	}
	for i := range hg.ends {
		m := &hg.ends[i]
		if m.Ended == nil {
			continue
		}
		_, stops := hg.a.tasks.told[m.Ended.Task]
		if m.Quiet = m.Quiet || stops; stops || slices.ContainsFunc(hg.a.st.Calls, func(c turn.Call) bool {
			return c.Stage == turn.CallStarted && c.Wait != nil && c.Wait.Task == m.Ended.Task
		}) {
			from = now
		}
	}
	if now.Before(from) {
		hg.lookAgain(now, from)
		return nil
	}
	mail := hg.ends
	hg.ends, hg.endTold = nil, now
	return hg.tell(ctx, mail)
}

// lookAgain has the actor look at a time for what monitors have said.
func (hg *hearing) lookAgain(now, at time.Time) {
	if now.Before(hg.at) && !hg.at.After(at) {
		return // it will look before, and then see
	}
	hg.at = at
	hg.a.h.d.Sched.After(at.Sub(now), func() { hg.a.post(inNudge{}) })
}

// listens reports whether lines of monitors can be sent.
func (hg *hearing) listens() bool {
	for _, m := range hg.a.unread {
		if m.Kind == troupe.MailMonitor {
			return false
		}
	}
	s := &hg.a.st.Session
	return s.Status.Live() || hg.a.st.WokenBy(troupe.Mail{Kind: troupe.MailMonitor})
}

// heardOf is the mail with what a monitor has said, if it has said something.
func (hg *hearing) heardOf(m *monitor, now time.Time, quiet bool) []troupe.Mail {
	if m == nil {
		return nil
	}
	h := m.take(hg.a.h.d.Mask)
	if h == nil {
		return nil
	}
	h.Until = turn.HearsNext(&hg.a.st, now)
	hg.sent++
	return []troupe.Mail{{
		ID:   troupe.HeardMailID(hg.a.id, h.Task, hg.a.lease.Epoch, hg.a.st.Session.Seq, hg.sent),
		Root: hg.a.root, To: hg.a.id, From: hg.a.id,
		Kind: troupe.MailMonitor, SentAt: now, OfTeam: troupe.OfTeam{Heard: h}, Quiet: quiet,
	}}
}

// tell sends the session what its own tasks have to say. In a stopped tree it sets nobody to work.
func (hg *hearing) tell(ctx context.Context, mail []troupe.Mail) error {
	if len(mail) == 0 {
		return nil
	}
	err := hg.a.flush(ctx, func(tx store.Tx) error {
		stopped, err := treeStopped(tx, hg.a.id, hg.a.st.Session.Run, false)
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
		hg.a.receive(m)
	}
	return nil
}
