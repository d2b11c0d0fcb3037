package turn

import (
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
)

// maxEndedTasks bounds the tasks that a session remembers after their end. The log has
// them all.
const maxEndedTasks = 200

// setTask notes a task that begins, goes on in the background, or begins another run.
func (s *State) setTask(t troupe.Task) {
	t.Status, t.EndedAt, t.End = troupe.TaskRunning, time.Time{}, 0
	for i := range s.Tasks {
		if s.Tasks[i].ID == t.ID {
			s.Tasks[i] = t
			return
		}
	}
	ended := 0
	for i := range s.Tasks {
		if s.Tasks[i].Status != troupe.TaskRunning {
			ended++
		}
	}
	if ended > maxEndedTasks {
		first := slices.IndexFunc(s.Tasks, func(t troupe.Task) bool { return t.Status != troupe.TaskRunning })
		s.Tasks = slices.Delete(s.Tasks, first, first+1)
	}
	s.Tasks = append(s.Tasks, t)
}

// endTask notes the end of a task, which was when it was told and not when that was read; sent
// is zero if nobody wrote it down. A task that is not known, or had ended, was set going by
// somebody else: a person who wrote to a child.
func (s *State) endTask(e troupe.Event, o troupe.Outcome, sent time.Time) {
	id, took := o.TaskID(), time.Duration(o.DurationMS)*time.Millisecond
	for i := range s.Tasks {
		if t := &s.Tasks[i]; t.ID == id {
			end := e.At
			switch {
			case !sent.IsZero():
				end = sent
			case took > 0 && t.Status == troupe.TaskRunning:
				end = t.StartedAt.Add(took)
			}
			if end.After(e.At) {
				end = e.At
			}
			if t.Status != troupe.TaskRunning || end.Before(t.StartedAt) {
				t.StartedAt = end.Add(-took)
			}
			t.Status, t.EndedAt, t.End = o.TaskStatus(), end, e.Seq
			if o.Output != "" {
				t.Output = o.Output
			}
			return
		}
	}
	end := e.At
	if !sent.IsZero() && sent.Before(end) {
		end = sent
	}
	s.Tasks = append(s.Tasks, troupe.Task{
		ID: id, Kind: troupe.TaskAgent, Name: o.Name, Coord: o.Coord, Background: true, Output: o.Output,
		Status: o.TaskStatus(), StartedAt: end.Add(-took), EndedAt: end, End: e.Seq,
	})
}

// delivered takes mail in: words wait for the next seal, everything else acts at once.
func (s *State) delivered(e troupe.Event, b troupe.MailDelivered) error {
	words, asks := false, false
	for _, m := range b.Mail {
		if s.Session.Status.Ended() && m.Wakes() && m.Kind != troupe.MailCompact {
			return s.refuse(e, "%s mail stays in the mailbox until a run has begun that can answer it", m.Kind)
		}
		switch m.Kind {
		case troupe.MailStop:
			s.stopped(m)
		case troupe.MailCompact:
			s.window.wanted, s.window.hint = true, troupe.JoinText(m.Blocks)
			s.restartClock(e, m)
		case troupe.MailTaskEnded:
			words = true
			s.compactOnly = s.compactOnly && m.Quiet
			if m.Ended != nil {
				s.endTask(e, *m.Ended, m.SentAt)
				s.noteDenials(nil, troupe.ToolFinished{Outcome: m.Ended})
			}
		case troupe.MailNotice:
			words = true
			if m.From == e.Session {
				s.nudges++
			}
		case troupe.MailPrompt:
			words, asks = true, true
			s.compactOnly = false
			s.restartClock(e, m)
		case troupe.MailAnswer, troupe.MailGrant, troupe.MailModel:
			// Acted on by events of their own; here it came too late.
		}
		for _, block := range m.Blocks {
			s.window.pending += size(block)
		}
		if m.Ended != nil {
			s.window.pending += int64(min(len(m.Ended.Result), MaxResult))
		}
	}
	if words {
		s.mail = append(s.mail, e.Seq)
	}
	if asks {
		s.asked = append(s.asked, e.Seq)
	}
	return nil
}

// stopped notes a stop. A second one for the same run can only make it stronger.
func (s *State) stopped(m troupe.Mail) {
	if m.Stop == nil || m.Stop.Task != "" {
		return // a command ends, and the run goes on
	}
	if m.Stop.Void {
		if s.halt.run == m.Stop.Run {
			s.halt = halt{}
		}
		return
	}
	h := halt{run: m.Stop.Run, taskStop: m.From != "" && !m.Quiet, now: m.Stop.Now, tree: m.Stop.Tree, quiet: m.Quiet,
		by: m.Stop.By, at: m.SentAt}
	if s.halt.run == h.run {
		h.taskStop = h.taskStop || s.halt.taskStop
		h.now, h.tree, h.quiet = h.now || s.halt.now, h.tree || s.halt.tree, h.quiet || s.halt.quiet
		if s.halt.by != "" {
			h.by = s.halt.by
		}
	}
	s.halt = h
}

// compacted puts a summary in the place of all that was said before.
func (s *State) compacted(e troupe.Event, b troupe.Compacted) error {
	if !s.Compacting() {
		return s.refuse(e, "no summary was asked for")
	}
	owes := s.Awaits() && !s.compactOnly // what was left unanswered when it was stopped stays so
	s.Generation, s.window = b.Generation, window{summary: e.Seq, fresh: true}
	for _, block := range b.Blocks {
		s.window.pending += size(block)
	}
	s.seal.open, s.seal.attempt, s.seal.unanswered = false, 0, owes
	s.seal.reply = s.reply // the call for the reply itself begins to count anew
	s.replied, s.Calls, s.fault = 0, nil, nil
	s.mail = slices.DeleteFunc(s.mail, func(seq int64) bool { return seq <= b.Covers })
	s.Session.Error, s.Session.Reserved = "", troupe.Reservation{}
	t := &s.Session.Tally
	t.Usage, t.Cost = t.Usage.Add(b.Usage), t.Cost+b.Cost
	return nil
}

// imageSize is what an image counts for, in bytes of text: providers bill one of full size
// with some 1,600 tokens.
const imageSize = 1600 * bytesPerToken

// size is about how much of the window a block takes, in bytes of text.
func size(b troupe.Block) int64 {
	if b.Type == troupe.ImageBlock {
		return imageSize
	}
	return int64(len(b.Text))
}

// Shells lists the commands at work in the background.
func (s *State) Shells() []troupe.Task {
	var out []troupe.Task
	for _, t := range s.Tasks {
		if t.Kind == troupe.TaskShell && t.Status == troupe.TaskRunning {
			out = append(out, t)
		}
	}
	return out
}

// endShells notes that the commands of a sub-agent end with its run. A root's go on: it is
// there to be told.
func (s *State) endShells(e troupe.Event) {
	for i := range s.Tasks {
		if t := &s.Tasks[i]; t.Kind == troupe.TaskShell && t.Status == troupe.TaskRunning {
			t.Status, t.EndedAt, t.End = troupe.TaskKilled, e.At, e.Seq
		}
	}
}
