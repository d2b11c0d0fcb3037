package turn

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
)

// ForkPoint is where a fork of the session as it is now goes on from: behind its last whole reply. An error is for who
// wants the fork.
func ForkPoint(s *State) (*troupe.Fork, error) {
	switch {
	case s.Fork != nil || s.Profile.Fork:
		return nil, errForkOfFork
	case s.last.seq == 0:
		return nil, errNothingToFork
	}
	return &troupe.Fork{Session: s.Session.ID, Generation: s.last.generation, Seq: s.last.seq}, nil
}

// NextFork are the coordinates of the next fork that a person has made of the session. No call has them.
func NextFork(s *State) troupe.Coord { return troupe.Coord{Call: s.forks} }

// Origin is what a fork has of its parent: the conversation up to a reply, and what the parent knew then.
type Origin struct {
	// Sent are the messages that the parent's model had been sent, and Reply what it answered.
	Sent  []troupe.Message
	Reply []troupe.Message
	// Answers are the results of the calls in the reply as forks have them.
	Answers []troupe.Block
	At      time.Time // of the reply
	Model   string    // that gave it
	// What follows is of the parent's state then.
	files      map[string]string
	context    int64
	told       string
	instructed []string
}

// OriginOf reads the origin of forks from the log that they refer to, from its beginning.
func OriginOf(events []troupe.Event, at troupe.Fork) (Origin, error) {
	var o Origin
	var t Transcript
	var s State
	for _, e := range events {
		if e.Seq > at.Seq {
			break
		}
		if err := s.Apply(e); err != nil {
			return o, fmt.Errorf("%w: %w", troupe.ErrDamaged, err)
		}
		sent, err := t.Add(e)
		if err != nil {
			return o, fmt.Errorf("%w: %w", troupe.ErrDamaged, err)
		}
		o.Sent, o.At = append(o.Sent, sent...), e.At
		if _, ok := e.Body.(troupe.Compacted); ok {
			o.Sent = nil
		}
	}
	if s.last.seq != at.Seq {
		return o, fmt.Errorf("%w: session %s has no reply at event %d, where a fork goes on from", troupe.ErrDamaged,
			at.Session, at.Seq)
	}
	var err error
	if o.Reply, err = t.Peek(troupe.Event{Session: at.Session, Seq: at.Seq}, []int64{at.Seq}); err != nil {
		return o, fmt.Errorf("%w: %w", troupe.ErrDamaged, err)
	}
	for i := range s.Calls {
		c := &s.Calls[i]
		o.Answers = append(o.Answers, troupe.Block{Type: troupe.ResultBlock, Result: &troupe.Result{
			Reply: c.Reply, Call: c.Index, ProviderID: c.ProviderID,
			Blocks: []troupe.Block{troupe.Text(troupe.ForkPlaceholder)},
		}})
	}
	o.Model = s.Session.Model
	o.files, o.context, o.told, o.instructed = s.Files, s.window.context, s.told, s.instructed
	return o, nil
}

// Context is how many tokens the parent's conversation had then.
func (o *Origin) Context() int64 { return o.context }

// Give has a fork know what its parent did: files that were read count as read, and what was told as told. What its
// own log says since stands above it.
func (o *Origin) Give(s *State) {
	files := maps.Clone(s.Files)
	if s.Files = maps.Clone(o.files); s.Files == nil {
		s.Files = make(map[string]string)
	}
	s.Files = known(s.Files, s.Session.Workspace)
	maps.Copy(s.Files, files)
	if s.Summarized {
		return // the parent's words are gone
	}
	if s.told == "" {
		s.told = o.told
	}
	for _, file := range o.instructed {
		if !slices.Contains(s.instructed, file) { // it may have been given before
			s.instructed = append(slices.Clip(s.instructed), file)
		}
	}
	if s.reply == 0 {
		s.window.context = o.context
	}
}

var (
	errForkOfFork = forkError("a fork starts no forks of its own: do the work here, or start an agent of another " +
		"type with all that it needs in its prompt")
	errNothingToFork = forkError("there is nothing to fork yet: the conversation has no reply since it began, or " +
		"since its summary")
)

// forkError is why there is no fork.
type forkError string

func (e forkError) Error() string { return string(e) }
