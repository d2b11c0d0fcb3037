package session

import (
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

// input is something that happened outside an actor.
type input interface{ input() }

type (
	inNudge            struct{} // look again: a slot may be free, a wait may be over
	inAuthorityChanged struct{} // somebody was granted something: open requests may be settled by it
	inMail             struct{ mail troupe.Mail }
	inMove             struct { // the child is wanted in the background; of the session itself, all that it waits for
		child troupe.SessionID
		by    *troupe.Caller
		told  func(error) // hears what came of it; may be nil
	}
	inGranted struct { // the governor lets the call of that seal go
		seal     int64
		provider string
	}
	inWarm      struct{ seal int64 } // what the call of that seal begins with is in the provider's cache
	inModelDone struct {
		reply   troupe.Reply
		err     error
		took    time.Duration
		attempt int
	}
	inJudged struct {
		call   int
		job    *job
		judged *judged
	}
	inIntentsJudged struct { // what the judge said about calls that the session carries out itself
		calls []int
		jobs  []*job
		said  []*judgement // nil: it was told to stop
	}
	inRejudged struct { // what the gate says by now about a call that waits for an answer
		call     int
		job      *job
		request  *troupe.Request
		decision troupe.Decision
		version  int
	}
	inPlanRead struct { // the plan that a call wants approved
		call int
		job  *job
		text string
		err  error
	}
	inMidway struct { // a question in the middle of a call
		call int
		job  *job
		*midway
	}
	inToolDone struct {
		about  []Instruction // for the files that it has read or written
		call   int
		job    *job
		judged *judged
		out    tool.Output
		err    error
		// stopped: it was told to end before it had ended.
		stopped bool
		took    time.Duration
	}
	inOwnDone struct {
		task troupe.Task
		out  tool.Output
		err  error
		took time.Duration
	}
)

func (inNudge) input() {}

func (inHooksRan) input() {}

func (inAfterHooks) input() {}

func (inAuthorityChanged) input() {}

func (inMail) input() {}

func (inGranted) input() {}

func (inWarm) input() {}

func (inMove) input() {}

func (inOwnDone) input() {}

func (inModelDone) input() {}

func (inToolDone) input() {}

func (inJudged) input() {}

func (inIntentsJudged) input() {}

func (inPlanRead) input() {}

func (inRejudged) input() {}

func (inMidway) input() {}
