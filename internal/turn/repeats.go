package turn

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// repeats counts the replies in a row that asked for nothing but what one of the last few had asked for, with the same
// results: whoever reads the same again says the same again. What comes in between, such as a message, begins the
// count anew. So does a reply that waits, for a task, for a person or with a command that takes its time.
type repeats struct {
	seen  [longestCircle][sha256.Size]byte // of the last replies: their calls with their results
	times int
	told  bool
	at    time.Time // of the last reply
}

const (
	longestCircle = 4 // replies
	longEnough    = 5 * time.Second
)

// repeated counts the last reply, whose calls all have their results.
func repeated(f *fold) {
	r := &f.s.refused.repeats
	denied := true // such replies are counted by themselves
	sum := sha256.New()
	for i := range f.s.Calls {
		c := &f.s.Calls[i]
		if c.result == nil || c.Wait != nil {
			*r = repeats{}
			return
		}
		denied = denied && c.deny
		part := func(s string) { fmt.Fprintf(sum, "%d %s", len(s), s) }
		part(c.Name)
		part(c.Input)
		fmt.Fprint(sum, c.result.Result.IsError, len(c.result.Result.Blocks))
		for _, b := range c.result.Result.Blocks {
			part(b.Text)
			if b.Image != nil {
				part(string(b.Image.Data))
			}
		}
	}
	if denied || f.s.refused.answered || f.s.Profile.Workflow || f.e.At.Sub(r.at) >= longEnough {
		*r = repeats{}
		return
	}
	this := [sha256.Size]byte(sum.Sum(nil))
	if !slices.Contains(r.seen[:], this) {
		r.times, r.told = 0, false
	}
	r.times++
	r.seen[f.s.reply%longestCircle] = this
}

// circling finds that the session is about to go in a circle once more than it may.
func circling(d *decision) (end Action, ok bool) {
	most := d.in.Settings.Policy.MaxRepeats
	if most == 0 || d.s.refused.repeats.times < most {
		return nil, false
	}
	var names []string
	cause := troupe.CauseError
	for i := range d.s.Calls {
		c := &d.s.Calls[i]
		if name := value(c.Name, maxValue); !slices.Contains(names, name) {
			names = append(names, name)
		}
		if c.deny {
			cause = troupe.CausePermission
		}
	}
	why := fmt.Sprintf("stopped: it made the same calls %d times in a row, with the same results (%s)",
		d.s.refused.repeats.times, strings.Join(names, ", "))
	if cause == troupe.CausePermission {
		why += needs(d.s)
	}
	return End{troupe.Failed, cause, d.s.last.text, why, troupe.LimitRepeats}, true
}

// warnsOfCircle finds that the session has gone half of the way that it may go in a circle, and was not told.
func warnsOfCircle(d *decision) (troupe.BudgetWarned, bool) {
	r, most := d.s.refused.repeats, d.in.Settings.Policy.MaxRepeats
	if most == 0 || r.told || r.times < most/2 {
		return troupe.BudgetWarned{}, false
	}
	return troupe.BudgetWarned{Limit: troupe.LimitRepeats, Text: fmt.Sprintf("the same calls were made %d times in a "+
		"row, with the same results; do something else, or end your turn and say what is in the way: after %d times "+
		"the run is ended", r.times, most)}, true
}
