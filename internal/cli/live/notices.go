package live

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Notices tells the little that whoever does not watch a run has to know while it goes on: that
// most of a limit is used up, and that it waits. It is used by one goroutine.
type Notices struct {
	warn   func(string)
	names  map[troupe.SessionID]string
	places places
	warned warnings
	until  time.Time // of the wait that was told last
}

// NewNotices makes notices that are told by warn.
func NewNotices(warn func(string)) *Notices {
	return &Notices{warn: warn, names: make(map[troupe.SessionID]string), places: make(places), warned: make(warnings)}
}

// Know tells the names of sessions whose beginning will not be seen.
func (n *Notices) Know(sessions []wire.Session) {
	know(n.names, sessions)
	n.places.know(sessions)
}

// shortWait is a pause that nobody needs to hear of.
const shortWait = 5 * time.Second

// Show tells what of the events is worth it. One wait is told once, however many agents share it.
func (n *Notices) Show(events []troupe.Event) {
	console.Arrange(events)
	for _, e := range events {
		n.places.take(e)
		for _, l := range console.SkillsOf(e.Body) {
			n.warn(n.of(e.Session) + ": " + l)
		}
		switch b := e.Body.(type) {
		case troupe.Created:
			n.names[e.Session] = b.Name
			if b.Depth > 0 { // those of the main agent are told as it begins
				for _, note := range b.Profile.Notes {
					n.warn(console.Line(cmp.Or(b.Name, b.Profile.Kind()), 40) + ": " + console.Line(note, 0))
				}
			}
		case troupe.Ended:
			if text := n.places.ended(e.Session, b.Outcome); text != "" {
				n.warn(n.of(e.Session) + ": " + text)
			}
		case troupe.MailDelivered:
			for _, m := range b.Mail {
				if m.Forked != nil && m.Forked.Refused != "" {
					n.warn(n.of(e.Session) + ": no fork was started: " + console.Line(m.Forked.Refused, 0))
				}
			}
		case troupe.HookRan:
			if text := console.Hook(b); text != "" {
				n.warn(n.of(e.Session) + ": " + text)
			}
		case troupe.BudgetWarned:
			if text, first := n.warned.take(e.Session, b); first {
				n.warn(n.of(e.Session) + ": " + text)
			}
		case troupe.ModelChanged:
			if b.Caller == nil { // it was not chosen
				n.warn(fmt.Sprintf("%s: goes on with %s: %s", n.of(e.Session), console.Model(b.Model),
					console.Line(b.Why, 160)))
			}
		case troupe.ModelFailed:
			if b.RetryAt.Sub(e.At) < shortWait || !b.RetryAt.After(n.until) {
				continue
			}
			n.until = b.RetryAt
			n.warn(fmt.Sprintf("%s: waits until %s, then tries again: %s", n.of(e.Session),
				console.Clock(b.RetryAt.Local(), e.At), console.Line(b.Message, 160)))
		}
	}
}

func (n *Notices) of(id troupe.SessionID) string {
	if name := n.names[id]; name != "" {
		return console.Line(name, 40)
	}
	return "main"
}

// warnings are those that were shown. Every agent is told of a limit of the tree; a person once.
type warnings map[string]bool

// take words a warning for people; first is false if it was shown already. What comes behind the
// figures is advice for the model.
func (w warnings) take(id troupe.SessionID, b troupe.BudgetWarned) (text string, first bool) {
	key := b.Limit
	if !strings.HasPrefix(key, "tree ") {
		key += " " + string(id)
	}
	text, _, _ = strings.Cut(b.Text, ";")
	first = !w[key]
	w[key] = true
	if b.Limit != troupe.LimitRepeats {
		text = "most of a limit is used up: " + text
	}
	return console.Line(text, 0), first
}

// Raise says how to go on after a limit was reached. Of what a reply may overshoot, the new limit has twice what is
// used: with less, the next call would not be made either. A call that would go beyond a limit is not made, so how much
// of each is used does not tell which one it was; but one that is used up, and does not begin anew, has to be raised
// too.
func Raise(r wire.Report) string {
	again, notes := fmt.Sprintf("go on with: troupe -p --resume %s", r.SessionID), []string(nil)
	for _, l := range r.Limits {
		lasts := l.Name == wire.LimitTokens || l.Name == wire.LimitCost || l.Name == wire.LimitAll
		if l.Name != r.Limit && (!lasts || l.Used < l.Limit) {
			continue
		}
		switch l.Name {
		case wire.LimitTokens:
			again += fmt.Sprintf(" --max-tokens %.0f", 2*max(l.Used, l.Limit))
			notes = append(notes, fmt.Sprintf("it has used %.0f of %.0f", l.Used, l.Limit))
		case wire.LimitCost:
			again += fmt.Sprintf(" --max-cost %.2f", max(2*l.Used, 2*l.Limit, 0.01))
			notes = append(notes, fmt.Sprintf("it has spent %s of %s", troupe.Dollars(l.Used), troupe.Dollars(l.Limit)))
		case wire.LimitAll:
			notes = append(notes, fmt.Sprintf("with more than the %s that agents.max_turns of the settings has for "+
				"all "+
				"agents", replies(l.Limit)))
		case wire.LimitTurns:
			notes = append(notes, fmt.Sprintf("it gets %s again; a new session takes a higher --max-turns",
				replies(l.Limit)))
		case wire.LimitTime:
			notes = append(notes, fmt.Sprintf("it gets %s again; a new session takes a longer --max-time",
				time.Duration(l.Limit)*time.Millisecond))
		}
	}
	if len(notes) > 0 {
		again += " (" + strings.Join(notes, "; ") + ")"
	}
	return again
}

func replies(n float64) string {
	if n == 1 {
		return "1 model reply"
	}
	return fmt.Sprintf("%.0f model replies", n)
}
