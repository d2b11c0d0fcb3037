package turn_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// TestTaskEndsWhenItWasTold: a task's time is its own, however late its end is read.
func TestTaskEndsWhenItWasTold(t *testing.T) {
	t.Parallel()
	const took = 25 * time.Second
	for name, x := range map[string]struct {
		end  func(o troupe.Outcome) troupe.Body
		late time.Duration // when it began
		end2 bool          // it ends once more, set going by somebody else
		want time.Duration
	}{
		"as mail": {end: func(o troupe.Outcome) troupe.Body {
			return troupe.MailDelivered{Mail: []troupe.Mail{{ID: "e", Kind: troupe.MailTaskEnded,
				SentAt: epoch.Add(took), Ended: &o}}}
		}, want: took},
		"as a result": {end: func(o troupe.Outcome) troupe.Body {
			return troupe.ToolFinished{Result: troupe.Result{Reply: 1, Call: 1}, Outcome: &o}
		}, want: took},
		"twice": {end2: true, end: func(o troupe.Outcome) troupe.Body {
			return troupe.MailDelivered{Mail: []troupe.Mail{{ID: "e", Kind: troupe.MailTaskEnded,
				SentAt: epoch.Add(time.Minute), Ended: &o}}}
		}, want: took},
		"by a clock that was put back": {late: time.Second, end: func(o troupe.Outcome) troupe.Body {
			return troupe.MailDelivered{Mail: []troupe.Mail{{ID: "e", Kind: troupe.MailTaskEnded, SentAt: epoch,
				Ended: &o}}}
		}, want: took},
	} {
		l := born(t, troupe.Limits{}).turn(troupe.StopToolUse, "Bash", "TaskOutput")
		l.add(troupe.ToolFinished{Result: troupe.Result{Reply: 1},
			Task: &troupe.Task{ID: "b1.0", Kind: troupe.TaskShell, Background: true, StartedAt: epoch.Add(x.late)}})
		o := troupe.Outcome{Kind: troupe.TaskShell, Task: "b1.0", Status: troupe.Failed,
			DurationMS: took.Milliseconds()}
		late := func(b troupe.Body) {
			e := l.event(b)
			e.At = epoch.Add(time.Hour)
			if err := l.st.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		late(x.end(o))
		if x.end2 {
			late(x.end(o))
		}
		task, _ := l.st.Task("b1.0")
		if got := task.EndedAt.Sub(task.StartedAt); got != x.want || task.Status != troupe.TaskFailed {
			t.Errorf("%s: it took %s and ended as %s", name, got, task.Status)
		}
	}
	// One that nobody here began.
	l := born(t, troupe.Limits{})
	e := l.event(troupe.MailDelivered{Mail: []troupe.Mail{{ID: "e", Kind: troupe.MailTaskEnded, SentAt: epoch.Add(took),
		Ended: &troupe.Outcome{Session: "kid", Status: troupe.Completed, DurationMS: 5000}}}})
	e.At = epoch.Add(time.Hour)
	if err := l.st.Apply(e); err != nil {
		t.Fatal(err)
	}
	if task := l.st.Tasks[0]; task.EndedAt != epoch.Add(took) || task.EndedAt.Sub(task.StartedAt) != 5*time.Second {
		t.Errorf("it took %s", task.EndedAt.Sub(task.StartedAt))
	}
}

// TestMovedCommandIsATask: a command that was under way in the foreground and goes on in the background is a
// task at work, and its call has its result; the other calls of the reply go on.
func TestMovedCommandIsATask(t *testing.T) {
	t.Parallel()
	l := born(t, troupe.Limits{}).turn(troupe.StopToolUse, "Bash", "Bash")
	l.add(troupe.ToolStarted{Reply: 1, Name: "Bash"})
	l.add(troupe.ToolFinished{Result: troupe.Result{Reply: 1}, Task: &troupe.Task{ID: "b1.0", Kind: troupe.TaskShell,
		Background: true, StartedAt: epoch.Add(-time.Minute)}})
	if task, ok := l.st.Task("b1.0"); !ok || task.Status != troupe.TaskRunning || !task.Background ||
		task.StartedAt != epoch.Add(-time.Minute) {
		t.Errorf("the task is %+v", task)
	}
	if a, b := l.st.Calls[0].Stage, l.st.Calls[1].Stage; a != turn.CallDone || b != turn.CallPending {
		t.Errorf("the calls are %v and %v", a, b)
	}
	if len(l.st.OwnTasks()) != 1 {
		t.Errorf("commands at work: %+v", l.st.OwnTasks())
	}
}

// TestRefusedMailChangesNothing: mail of which one piece cannot be taken in leaves the state as it was, whatever
// stood before that piece.
func TestRefusedMailChangesNothing(t *testing.T) {
	t.Parallel()
	l := born(t, troupe.Limits{})
	l.add(troupe.Ended{Outcome: troupe.Outcome{Status: troupe.Completed}})
	before := l.st
	for _, first := range []troupe.Mail{
		{ID: "s", Kind: troupe.MailStop, Stop: &troupe.Stop{Run: 1}},
		{ID: "c", Kind: troupe.MailCompact, Blocks: []troupe.Block{{Type: troupe.TextBlock, Text: "what counts"}}},
	} {
		e := l.event(troupe.MailDelivered{Mail: []troupe.Mail{first, {ID: "p", Kind: troupe.MailPrompt}}})
		if err := l.st.Apply(e); err == nil {
			t.Fatal("an ended session took a prompt")
		}
		if !reflect.DeepEqual(before, l.st) {
			t.Errorf("refused mail, the first a %s, changed the state:\n%+v\n%+v", first.Kind, before, l.st)
		}
	}
}

// TestNoSuchEnd: an end that says no status is refused, as a damaged log may have one.
func TestNoSuchEnd(t *testing.T) {
	t.Parallel()
	for _, status := range []troupe.Status{"", "complefed", troupe.Running} {
		l := born(t, troupe.Limits{})
		if err := l.st.Apply(l.event(troupe.Ended{Outcome: troupe.Outcome{Status: status}})); err == nil {
			t.Errorf("%q ended a run", status)
		}
	}
}
