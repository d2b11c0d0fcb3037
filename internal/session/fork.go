package session

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"weak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

//go:embed fork.md
var forkNotice string

// origin is what the forks of one reply share: what their parent had been told and had said, read from its log and
// encoded once.
type origin struct {
	at troupe.Fork
	turn.Origin

	mu       sync.Mutex
	encoded  inherited // the bytes of what was last asked for
	encoding string    // and what they were encoded for; "": they were not, and the words are still here
}

// inherited is the beginning of a fork's conversation, as bytes.
type inherited struct {
	messages [][]byte
	chain    [sha256.Size]byte
	fresh    int // messages at its end that no call of the parent has sent
	blocks   int // in them
}

// origins are those that sessions of a tree hold. An origin goes with the last fork that holds it.
type origins struct {
	mu    sync.Mutex
	known map[troupe.Fork]weak.Pointer[origin]
}

// read reads an origin from the log of the parent. staged are events of that log that are not written yet.
func read(r store.Reader, at troupe.Fork, staged []troupe.Event) (turn.Origin, error) {
	events, err := r.Events(at.Session, 0, int(at.Seq))
	if err != nil {
		return turn.Origin{}, fmt.Errorf("read session %s, which has a fork: %w", at.Session, err)
	}
	return turn.OriginOf(append(events, staged...), at)
}

// find returns an origin, which is read if no session holds it.
func (os *origins) find(r store.Reader, at troupe.Fork, staged []troupe.Event) (*origin, error) {
	os.mu.Lock()
	defer os.mu.Unlock()
	if o := os.known[at].Value(); o != nil {
		return o, nil
	}
	words, err := read(r, at, staged)
	if err != nil {
		return nil, err
	}
	o := &origin{at: at, Origin: words}
	if os.known == nil {
		os.known = make(map[troupe.Fork]weak.Pointer[origin])
	}
	for at, p := range os.known {
		if p.Value() == nil {
			delete(os.known, at)
		}
	}
	os.known[at] = weak.Make(o)
	return o, nil
}

// begin puts what the session's parent had been told and had said before the session's own conversation. Its words are
// let go once they are bytes; again reads them anew for a fork that is sent other bytes.
func (o *origin) begin(c *conversation, again func() (turn.Origin, error)) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	// The head is the parent's: forks that are sent to another model have another one.
	encoding := c.provider.Encoder() + "\n" + string(c.start[:])
	if o.encoding != encoding {
		words, err := o.Origin, error(nil)
		if o.encoding != "" {
			words, err = again()
		}
		if err != nil {
			return err
		}
		p, err := inherit(&words, c.provider, c.start)
		if err != nil {
			return err
		}
		o.encoded, o.encoding = p, encoding
		o.Sent, o.Reply = nil, nil
	}
	c.messages, c.chain = o.encoded.messages, o.encoded.chain
	c.fresh, c.blocks = o.encoded.fresh, o.encoded.blocks
	c.transcript.Opening = o.Answers
	return nil
}

// inherit encodes what the forks of a reply begin with.
func inherit(o *turn.Origin, p model.Provider, start [sha256.Size]byte) (inherited, error) {
	c := conversation{provider: p, chain: start}
	if err := c.encode(o.Sent); err != nil {
		return inherited{}, err
	}
	c.fresh, c.blocks = 0, 0
	if err := c.encode(o.Reply); err != nil {
		return inherited{}, err
	}
	return inherited{messages: c.messages[:len(c.messages):len(c.messages)], chain: c.chain, fresh: c.fresh,
		blocks: c.blocks}, nil
}

// fork is the birth that a call for a fork asks for: another session with the caller's own profile.
func (bs *births) fork(sp troupe.Spawn) (fleet.Birth, error) {
	at, err := turn.ForkPoint(&bs.a.st)
	if err != nil {
		return fleet.Birth{}, err
	}
	p := bs.a.tree.kinds().Fork(bs.a.st.Profile, sp)
	return fleet.Birth{Manner: fleet.Manner{Fork: at}, Profile: p, Offer: fleet.Document{Hash: p.Offer}}, nil
}

// forkBrief is what every fork is told before what it is to do, in the same words.
func forkBrief() *troupe.Brief {
	return &troupe.Brief{Fork: troupe.Quote("system-reminder", strings.TrimSpace(forkNotice))}
}

// origin is what the fork of a session at a point has of it. It is read before the fork is born, which begins at once.
func (bs *births) origin(ctx context.Context, at troupe.Fork) (o *origin, err error) {
	err = bs.a.h.d.Store.View(context.WithoutCancel(ctx), func(r store.Reader) error {
		o, err = bs.a.tree.origins.find(r, at, bs.a.staged.events)
		return err
	})
	return o, err
}

// forkFor starts the fork that a person wants, and notes it where the session has its mail. One that cannot be is noted
// with the reason; an error is no reason, for the words stay in the mailbox then.
func (bs *births) forkFor(ctx context.Context, m troupe.Mail) error {
	b, why := bs.fork(troupe.Spawn{})
	var from *origin
	if why == nil {
		if from, why = bs.origin(ctx, *b.Fork); why != nil && !errors.Is(why, troupe.ErrDamaged) {
			return why
		}
	}
	s := &bs.a.st.Session
	b.Root, b.Parent, b.Coord, b.From = bs.a.root, bs.a.id, turn.NextFork(&bs.a.st), ""
	b.Title, b.Depth, b.Cwd = m.Forked.Title, s.Depth+1, s.Cwd
	b.Workspace = s.Workspace
	b.Prompt, b.Spoken, b.Brief, b.Background = m.Blocks, fleet.Spoken{Uses: m.Uses, Typed: m.Typed,
		Read: m.Read}, forkBrief(), true
	b.Caller = m.Caller
	for {
		err := bs.forkAt(ctx, m, b, from, why)
		if !errors.Is(err, errForkTaken) {
			return err
		}
		b.Coord.Call++
	}
}

// errForkTaken is a fork that is there already: a repair did not find all that were born. A birth and its note in the
// log are one transaction, so that it is never this very one, tried again.
var errForkTaken = errors.New("another fork has these coordinates")

// forkAt is forkFor with the coordinates of b. why is the reason for which there can be no fork.
func (bs *births) forkAt(ctx context.Context, m troupe.Mail, b fleet.Birth, from *origin, why error) error {
	defer bs.a.tree.buffer(troupe.ChildID(bs.a.id, b.Coord))()
	wish := *m.Forked
	m.Forked = &wish
	var born []fleet.Born
	err := bs.a.transact(ctx, func(tx store.Tx, emit func(troupe.Body) error) error {
		refused := why
		if refused == nil {
			var err error
			if born, err = fleet.Spawn(tx, bs.a.h.d.Owner, bs.a.h.d.Now(), []fleet.Birth{b}); err != nil {
				return err
			}
			if born[0].Existed {
				return errForkTaken
			}
			refused = born[0].Refused
		}
		if refused != nil {
			wish.Task, wish.Refused = nil, refused.Error()
		} else {
			wish.Task, wish.Refused = bs.a.h.agentTask(born[0].State.Session, b.Coord, true), ""
		}
		if err := tx.MarkDelivered(bs.a.id, bs.a.st.Session.Seq+1, []troupe.MailID{m.ID}); err != nil {
			return fmt.Errorf("mark mail delivered: %w", err)
		}
		return emit(troupe.MailDelivered{Mail: []troupe.Mail{m}})
	})
	if err == nil && wish.Task != nil {
		bs.a.tree.start(ctx, born[0], from)
	}
	return err
}

// give has a fork go on from the origin. One that was summarized has its files from there, and nothing else.
func (o *origin) give(a *actor) {
	if !a.st.Summarized {
		a.convo.origin = o
	}
	o.Give(&a.st)
}

// originGoneError is a fork that cannot go on, because what it goes on from cannot be read.
type originGoneError struct {
	at  troupe.Fork
	why error
}

func (e *originGoneError) Error() string {
	return fmt.Sprintf("the conversation that this fork goes on from cannot be read from the log of session %s: %v",
		e.at.Session, e.why)
}

func (e *originGoneError) Unwrap() error { return e.why }
