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
func (f *fold) setTask(t troupe.Task) {
	t.Status, t.EndedAt, t.End = troupe.TaskRunning, time.Time{}, 0
	for i := range f.s.Tasks {
		if f.s.Tasks[i].ID == t.ID {
			f.s.Tasks[i] = t
			return
		}
	}
	ended := 0
	for i := range f.s.Tasks {
		if f.s.Tasks[i].Status != troupe.TaskRunning {
			ended++
		}
	}
	if ended > maxEndedTasks {
		first := slices.IndexFunc(f.s.Tasks, func(t troupe.Task) bool { return t.Status != troupe.TaskRunning })
		f.s.Tasks = slices.Delete(f.s.Tasks, first, first+1)
	}
	f.s.Tasks = append(f.s.Tasks, t)
}

// endTask notes the end of a task, which was when it was told and not when that was read; sent
// is zero if nobody wrote it down. A task that is not known, or had ended, was set going by
// somebody else: a person who wrote to a child. The end of an earlier run than the task's ends nothing.
func (f *fold) endTask(o troupe.Outcome, sent time.Time) {
	broughtHere(f, o)
	if f.s.Earlier(&o) {
		return
	}
	id, took := o.TaskID(), time.Duration(o.DurationMS)*time.Millisecond
	if silent := time.Duration(o.SilentMS) * time.Millisecond; silent > f.s.mute.silent {
		f.s.mute = mute{o.Name, silent}
	}
	for i := range f.s.Tasks {
		if t := &f.s.Tasks[i]; t.ID == id {
			end := f.e.At
			switch {
			case !sent.IsZero():
				end = sent
			case took > 0 && t.Status == troupe.TaskRunning:
				end = t.StartedAt.Add(took)
			}
			if end.After(f.e.At) {
				end = f.e.At
			}
			if t.Status != troupe.TaskRunning || end.Before(t.StartedAt) {
				t.StartedAt = end.Add(-took)
			}
			if !t.Kind.OfSession() && t.Status == troupe.TaskRunning && !t.Reads {
				commandEnded(f)
				for _, c := range o.Evidence.Commands {
					ran(f.s, &c)
				}
				if len(o.Evidence.Commands) == 0 {
					f.s.Evidence.Unseen++
				}
			}
			t.Status, t.EndedAt, t.End = o.TaskStatus(), end, f.e.Seq
			if o.Output != "" {
				t.Output = o.Output
			}
			return
		}
	}
	end := f.e.At
	if !sent.IsZero() && sent.Before(end) {
		end = sent
	}
	f.s.Tasks = append(f.s.Tasks, troupe.Task{
		ID: id, Kind: troupe.TaskAgent, Name: o.Name, Coord: o.Coord, Background: true, Output: o.Output,
		Status: o.TaskStatus(), StartedAt: end.Add(-took), EndedAt: end, End: f.e.Seq,
	})
}

// Earlier reports whether the outcome is of a run before the one that its task stands for by now.
func (s *State) Earlier(o *troupe.Outcome) bool {
	if o == nil {
		return false
	}
	id := o.TaskID()
	for i := range s.Tasks {
		if t := &s.Tasks[i]; t.ID == id {
			return o.Run < t.Run
		}
	}
	return false
}

// delivered takes mail in: words wait for the next seal, everything else acts at once.
func (f *fold) delivered(b troupe.MailDelivered) error {
	for _, m := range b.Mail { // all of it, before any is taken in
		if f.s.Session.Status.Ended() && f.s.WokenBy(m) && m.Kind != troupe.MailCompact {
			return f.refuse("%s mail stays in the mailbox until a run has begun that can answer it", m.Kind)
		}
	}
	words, asks := false, false
	for _, m := range b.Mail {
		if m.Kind.Words() || m.Kind == troupe.MailCompact {
			f.s.again = nil
		}
		switch m.Kind {
		case troupe.MailStop:
			f.stopped(m)
		case troupe.MailCompact:
			f.s.window.wanted, f.s.window.hint = true, troupe.JoinText(m.Blocks)
			f.restartClock(m)
		case troupe.MailTaskEnded:
			words = true
			f.s.compactOnly = f.s.compactOnly && m.Quiet
			if m.Ended != nil {
				f.endTask(*m.Ended, m.SentAt)
				f.noteDenials(nil, troupe.ToolFinished{Outcome: m.Ended})
			}
		case troupe.MailMonitor:
			words = true
			f.s.compactOnly = f.s.compactOnly && m.Quiet
			if m.Heard != nil {
				heard(f.s, m.SentAt)
				f.s.window.pending += sizeOfLines(m.Heard.Lines)
			}
		case troupe.MailNotice:
			words = true
			if m.From == f.e.Session && m.Brief == nil && m.Caller == nil {
				f.s.nudges++
			}
		case troupe.MailPrompt, troupe.MailMessage:
			words, asks = true, true
			f.s.compactOnly = false
			f.said(m, len(b.Mail) == 1)
			f.restartClock(m)
			f.prompted(m)
			wishedAway(f, m)
			if m.Message != nil && m.Message.Streak > 0 {
				talkedTo(f, m.From, m.Message.Streak)
			}
			for _, touch := range m.Read {
				saw(f.s, touch)
			}
		case troupe.MailFork:
			if m.Forked.Task != nil {
				f.setTask(*m.Forked.Task)
				f.s.forks++
			}
			continue // its words are the fork's
		case troupe.MailBoard:
			continue // what comes of it is in events of their own
		case troupe.MailAnswer, troupe.MailGrant, troupe.MailModel:
			// Acted on by events of their own; here it came too late.
		}
		f.told(m.Brief)
		for _, block := range m.Blocks {
			f.s.window.pending += size(block)
		}
		if m.Ended != nil {
			f.s.window.pending += int64(min(len(m.Ended.Result), MaxResult))
		}
	}
	if words {
		f.s.mail = append(f.s.mail, f.e.Seq)
		f.s.refused.repeats = repeats{}
	}
	if asks {
		f.s.asked = append(f.s.asked, f.e.Seq)
	}
	return nil
}

// stopped notes a stop. A second one for the same run can only make it stronger.
func (f *fold) stopped(m troupe.Mail) {
	if m.Stop == nil || m.Stop.Task != "" {
		return // a command ends, and the run goes on
	}
	if m.Stop.Void {
		if f.s.halt.run == m.Stop.Run {
			f.s.halt = halt{}
		}
		return
	}
	h := halt{run: m.Stop.Run, taskStop: m.From != "" && !m.Quiet, now: m.Stop.Now, tree: m.Stop.Tree, quiet: m.Quiet,
		by: m.Stop.By, at: m.SentAt}
	if f.s.halt.run == h.run {
		h.taskStop = h.taskStop || f.s.halt.taskStop
		h.now, h.tree, h.quiet = h.now || f.s.halt.now, h.tree || f.s.halt.tree, h.quiet || f.s.halt.quiet
		if f.s.halt.by != "" {
			h.by = f.s.halt.by
		}
	}
	f.s.halt = h
}

// compacted puts a summary in the place of all that was said before.
func (f *fold) compacted(b troupe.Compacted) error {
	if !f.s.Compacting() {
		return f.refuse("no summary was asked for")
	}
	owes := f.s.Awaits() && !f.s.compactOnly // what was left unanswered when it was stopped stays so
	f.s.Generation, f.s.window = b.Generation, window{summary: f.e.Seq, fresh: true}
	f.s.instructed, f.s.last.seq, f.s.Summarized = nil, 0, true
	f.s.hooks.summary, f.s.hooks.held = f.e.Seq, nil
	f.told(b.Brief)
	for _, block := range b.Blocks {
		f.s.window.pending += size(block)
	}
	f.s.seal.open, f.s.seal.attempt, f.s.seal.unanswered = false, 0, owes
	f.s.seal.reply = f.s.reply // the call for the reply itself begins to count anew
	f.s.replied, f.s.Calls, f.s.fault = 0, nil, nil
	f.s.mail = slices.DeleteFunc(f.s.mail, func(seq int64) bool { return seq <= b.Covers })
	f.s.Session.Error, f.s.Session.Reserved = "", troupe.Reservation{}
	t := &f.s.Session.Tally
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

func sizeOfLines(lines []string) (n int64) {
	for _, line := range lines {
		n += int64(len(line))
	}
	return n
}

// OwnTasks lists the commands and monitors at work in the background.
func (s *State) OwnTasks() []troupe.Task {
	var out []troupe.Task
	for _, t := range s.Tasks {
		if !t.Kind.OfSession() && t.Status == troupe.TaskRunning {
			out = append(out, t)
		}
	}
	return out
}

// endOwn notes that the commands of a sub-agent end with its run. A root's go on: it is
// there to be told.
func (f *fold) endOwn() {
	for i := range f.s.Tasks {
		if t := &f.s.Tasks[i]; !t.Kind.OfSession() && t.Status == troupe.TaskRunning {
			t.Status, t.EndedAt, t.End = troupe.TaskKilled, f.e.At, f.e.Seq
		}
	}
}
