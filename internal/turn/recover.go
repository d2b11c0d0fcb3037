package turn

import "github.com/troupe-dev/troupe"

// Recover lists what has to be logged before a session that another process left goes on:
// a model call that nobody will finish, and effects of which nobody knows whether they
// happened. Read-only calls and queued births need nothing: they are still pending. A call
// with a child needs nothing either, the child's end will come as mail; nor does one that
// waits for a task, it waits on; nor an open request, unless its call was under way meanwhile.
func Recover(s *State) []troupe.Body {
	var out []troupe.Body
	if s.seal.open {
		out = append(out, troupe.ModelFailed{
			Reply: s.seal.reply, Attempt: s.seal.attempt, Fault: troupe.FaultInterrupted,
			Message: "the process that made the call is gone",
		})
	}
	for i := range s.Calls {
		c := &s.Calls[i]
		midway := c.Stage == CallAsked && c.Request.Midway() // who asked is gone with the process
		if c.Stage != CallStarted && !midway || c.Child != "" || c.Wait != nil {
			continue
		}
		out = append(out, troupe.ToolFinished{
			Name: c.Name, Interrupt: true,
			Result: troupe.Result{
				Reply: c.Reply, Call: c.Index, ProviderID: c.ProviderID, IsError: true,
				Blocks: []troupe.Block{troupe.Text("interrupted: the process running this call was ended; it may or " +
					"may not have taken effect. Check before you try again.")},
			},
		})
	}
	return out
}

func lost(t *troupe.Task) string {
	if t.Kind == troupe.TaskMonitor {
		return "the process that ran it was ended, and the monitor with it; begin another if it is still wanted"
	}
	return "the process that ran it was ended, and the command with it; what it did until then stands"
}

// Lost lists the ends of commands and monitors in the background that the process before took with it.
// Their owner is told by mail, as of any other end.
func Lost(s *State) []troupe.Outcome {
	var out []troupe.Outcome
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if !t.Kind.OfSession() && t.Status == troupe.TaskRunning {
			out = append(out, troupe.Outcome{
				Kind: t.Kind, Task: t.ID, Coord: t.Coord, Name: t.Name, Status: troupe.Cancelled,
				Cause: troupe.CauseInterrupt, Output: t.Output,
				Error: lost(t),
			})
		}
	}
	return out
}
