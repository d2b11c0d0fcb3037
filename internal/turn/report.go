package turn

import (
	"encoding/json"
	"fmt"

	"github.com/troupe-dev/troupe"
)

// report is how far a run has come that has to end with an object. It begins anew with each run; after a restart it is
// what the log says, so nothing is asked for more often because a process went away.
type report struct {
	object json.RawMessage // as it was given with the last reply; nil: it was not
	wrong  string          // what is wrong with what was given last
	tries  int             // replies that were to bring it and did not
	at     int             // the last of them
}

// maxAskedAgain is how often in a run a model is asked again for its result.
const maxAskedAgain = 2

// over reports whether there is nothing left to ask for.
func (r *report) over() bool { return r.object != nil || r.tries > maxAskedAgain }

// reported notes what a call gave as the run's result.
func reported(s *State, r *troupe.Reported) {
	switch {
	case r == nil || len(s.Profile.Schema) == 0:
	case len(r.Object) > 0:
		s.report.object = r.Object
	default:
		s.report.wrong = r.Wrong
		missed(s)
	}
}

// unreported notes a reply that ends the run without a result. What was given with one before is not the result any
// more: the session was asked to go on.
func unreported(s *State) {
	if len(s.Profile.Schema) == 0 {
		return
	}
	s.report.object = nil
	if s.last.said && s.open == 0 && s.last.stop != troupe.StopMaxTokens && s.last.stop != troupe.StopRefusal {
		s.report.wrong = "it ended its turn without calling " + troupe.ReportTool
		missed(s)
	}
}

// missed counts a reply once, however many of its calls give what is not wanted.
func missed(s *State) {
	if s.report.at != s.reply {
		s.report.at = s.reply
		s.report.tries++
	}
}

// endReported ends a run that has given its result, or that was asked for it in vain.
func endReported(d *decision) Action {
	if r := &d.s.report; r.object == nil {
		return d.fail(troupe.CauseError, fmt.Sprintf("it gave no result that follows the schema which was asked for, "+
			"although it was asked again %d times: %s", maxAskedAgain, r.wrong))
	}
	return End{Status: troupe.Completed, Result: string(d.s.report.object)}
}

// askAgain is what a model is told that has ended its turn without a result. What is wrong with one that it gave it has
// read as the result of its call.
func askAgain() string {
	return "Your result has to be an object that follows a schema, and words are not read. Call " + troupe.ReportTool +
		" with it now; that ends your work. Where you could not do it, say so in the object, as far as its schema " +
		"has room."
}

// Structured is the object with which the run ends; nil: it ends with words.
func Structured(s *State) json.RawMessage { return s.report.object }
