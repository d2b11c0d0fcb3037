// Package fleet is how sessions come into a tree and how many may be there: the one
// function by which every session of every kind is born, the caps it enforces, and names.
// It holds no state; everything it decides is read and written in its caller's transaction.
package fleet

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// Birth is a session asked for.
type Birth struct {
	Root   troupe.SessionID
	Parent troupe.SessionID // "" for a root
	ID     troupe.SessionID // of a root; a child's follows from Parent and Coord
	Coord  troupe.Coord
	Name   string // "" means: make one from Title
	Title  string
	Depth  int
	Cwd    string

	Profile troupe.Profile
	// Offer is what its model is told of its tools for life, see troupe.Profile.Offer.
	Offer     Document
	Authority troupe.Authority
	Caps      *troupe.Caps     // roots only, as
	Settings  *troupe.Settings // these
	// Definitions is the document that the settings name, if they do.
	Definitions Document
	Prompt      []troupe.Block // its first mail
	Spoken
	Brief *troupe.Brief // what stands before that
	From  troupe.SessionID
	Manner
	Caller *troupe.Caller // who began the tree; roots only
}

// Manner is how a session goes to work.
type Manner struct {
	Background bool         // nobody waits for it
	Fork       *troupe.Fork // where it goes on from its parent's conversation; nil: it is no fork
	// Workspace is where its tools act; the zero value: in Cwd.
	Workspace troupe.Workspace
	// Free are the levels above it that the cap on depth does not count: those of members of a team.
	Free int
	// Team is the team that it leads from its birth on, with the members that are born with it; nil: none.
	Team *troupe.TeamChanged
	// Idle: its first run is over as it is born, and it begins to work when it is written to.
	Idle bool
}

// Spoken is what is known of how a person gave a prompt, see troupe.Mail.
type Spoken struct {
	Uses  *troupe.SkillUse   // the command that it begins with
	Typed *string            // what of it they typed; nil: all
	Read  []troupe.FileTouch // files that stand whole in it
}

// Document is a document of a tree, by the hash of its content; the zero value is none. One without a body is in the
// tree already.
type Document struct {
	Hash string
	Body []byte
}

// Keep puts the document into a tree.
func (d Document) Keep(tx store.Tx, root troupe.SessionID) error {
	if d.Hash == "" || d.Body == nil { // there is none, or the tree has it
		return nil
	}
	if err := tx.PutDocument(root, d.Hash, d.Body); err != nil {
		return fmt.Errorf("keep a document of tree %s: %w", root, err)
	}
	return nil
}

// Born is what became of a Birth: either State and Events, or Refused.
type Born struct {
	State  turn.State
	Lease  troupe.Lease
	Events []troupe.Event
	// Existed: the same birth had been carried out before; nothing was written. Events
	// is empty and State holds only what the projection says.
	Existed bool
	Refused error
}

// Spawn gives birth to sessions of one tree, in order, in the caller's transaction. Each is
// admitted at once while the tree has active slots and stays in Spawning otherwise, as does one that may change certain
// files only: whether another has to end before, its actor finds out. A
// birth that was carried out before, by the same coordinates, is found and not repeated. A
// refusal (a cap, a taken name) concerns one birth alone; only failures of the store are
// returned as an error, and then nothing happened.
func Spawn(tx store.Tx, owner troupe.OwnerID, now time.Time, births []Birth) ([]Born, error) {
	if len(births) == 0 {
		return nil, nil
	}
	root := births[0].Root
	tree, err := tx.Tree(root)
	if err != nil && !(errors.Is(err, troupe.ErrNotFound) && births[0].Parent == "") {
		return nil, fmt.Errorf("read tree %s: %w", root, err)
	}
	names := make(map[string]int) // names made up here: how many siblings have each
	var delta troupe.TreeDelta
	out := make([]Born, 0, len(births))
	for _, b := range births {
		if b.Parent != "" {
			b.ID = troupe.ChildID(b.Parent, b.Coord)
		}
		born, err := spawn(tx, owner, now, b, tree, names)
		if err != nil {
			return nil, err
		}
		if b.Parent == "" && b.Caps != nil {
			tree.Caps = *b.Caps // for those that are born with it
		}
		if born.Refused == nil && !born.Existed && b.Parent != "" {
			tree.Total++
			tree.SincePrompt++
			delta.Total++
			if born.State.Session.Active() {
				tree.Active++
				delta.Active++
			}
		}
		out = append(out, born)
	}
	if !delta.IsZero() {
		if err := tx.AddTree(root, delta); err != nil {
			return nil, fmt.Errorf("count births in tree %s: %w", root, err)
		}
	}
	return out, nil
}

func spawn(tx store.Tx, owner troupe.OwnerID, now time.Time, b Birth, tree troupe.Tree, names map[string]int) (Born,
	error) {
	if b.Parent != "" {
		// The same call again, after a crash: what it made is there, whatever the caps say now.
		if have, err := tx.Session(b.ID); err == nil {
			return Born{State: turn.State{Session: have}, Existed: true}, nil
		} else if !errors.Is(err, troupe.ErrNotFound) {
			return Born{}, fmt.Errorf("look for session %s: %w", b.ID, err)
		}
		if tree.Caps.MaxTotal > 0 && tree.SincePrompt >= tree.Caps.MaxTotal {
			idle, err := idleMembers(tx, b.Root)
			if err != nil {
				return Born{}, err
			}
			tree.SincePrompt -= idle
		}
		if err := capped(tree, b); err != nil {
			return Born{Refused: err}, nil
		}
	}
	lease := troupe.Lease{Owner: owner, Epoch: 1}
	s := troupe.Session{
		ID: b.ID, Root: b.Root, Parent: b.Parent, Coord: b.Coord, Name: b.Name, Title: b.Title,
		Depth: b.Depth, Cwd: b.Cwd, Workspace: b.Workspace, Type: b.Profile.Kind(), Model: b.Profile.Model,
		Team: b.Profile.Team, Status: troupe.Spawning, CreatedAt: now,
	}
	if b.Caller != nil {
		s.By = b.Caller.Name
	}
	name, err := insert(tx, s, lease, b.Caps, names)
	if errors.Is(err, troupe.ErrExists) {
		return Born{Refused: &nameTakenError{Name: name}}, nil
	}
	if err != nil {
		return Born{}, fmt.Errorf("insert session %s: %w", b.ID, err)
	}
	b.Name = name
	b.Profile.Offer = b.Offer.Hash
	for _, d := range []Document{b.Offer, b.Definitions} {
		if err := d.Keep(tx, b.Root); err != nil {
			return Born{}, err
		}
	}
	born := Born{Lease: lease}
	born.Events = birthEvents(b, now, b.Parent == "" || HasSlot(tree) && b.Profile.Writes == nil)
	if born.State, err = turn.Fold(born.Events); err != nil {
		return Born{}, err
	}
	if err := tx.Append(lease, born.State.Session, born.Events); err != nil {
		return Born{}, fmt.Errorf("write the birth of session %s: %w", b.ID, err)
	}
	return born, nil
}

// insert finds a free name: the one that was asked for or none, else "Title" or that with a number.
// Numbers may be left out: once a name is taken, the search goes on behind those that elder siblings may have.
// It returns the name it tried last. names remembers how far the counting has come, for a reply that starts many
// agents of one description.
func insert(tx store.Tx, s troupe.Session, l troupe.Lease, caps *troupe.Caps, names map[string]int) (string, error) {
	if s.Name != "" || s.Parent == "" {
		return s.Name, tx.Insert(s, l, caps)
	}
	base := nameFor(s.Title)
	for tries := 0; ; tries++ {
		if tries == 1 {
			// A reply with many agents is born in several transactions. However many of its elder siblings
			// have the name, they are not more than the calls before this one.
			names[base] = max(names[base], s.Coord.Call)
		}
		names[base]++
		switch n := names[base]; {
		case n == 1:
			s.Name = base
		case tries < maxNameTries:
			s.Name = fmt.Sprintf("%s %d", base, n)
		default:
			// The coordinates are unique among siblings.
			s.Name = fmt.Sprintf("%s %d.%d", base, s.Coord.Reply, s.Coord.Call+1)
		}
		if err := tx.Insert(s, l, caps); !errors.Is(err, troupe.ErrExists) || tries > maxNameTries {
			return s.Name, err
		}
	}
}

// maxNameTries bounds the search for a number when siblings of earlier replies have names.
const maxNameTries = 3

func birthEvents(b Birth, now time.Time, admitted bool) []troupe.Event {
	bodies := []troupe.Body{
		troupe.Created{
			Parent: b.Parent, Coord: b.Coord, Name: b.Name, Title: b.Title, Depth: b.Depth,
			Cwd: b.Cwd, Workspace: b.Workspace, Profile: b.Profile, Authority: b.Authority, Caps: b.Caps,
			Settings:   b.Settings,
			Background: b.Background, Fork: b.Fork, Caller: b.Caller,
		},
	}
	if b.Team != nil {
		bodies = append(bodies, *b.Team)
	}
	if len(b.Prompt) > 0 {
		bodies = append(bodies, troupe.MailDelivered{Mail: []troupe.Mail{{
			ID: troupe.PromptMailID(b.ID), Root: b.Root, To: b.ID, From: b.From, Caller: b.Caller,
			Kind: troupe.MailPrompt, SentAt: now, Blocks: b.Prompt, Brief: b.Brief, Uses: b.Uses,
			Typed: b.Typed, Read: b.Read,
		}}})
	}
	switch {
	case b.Idle:
		bodies = append(bodies, troupe.Started{Run: 1}, troupe.Ended{Outcome: troupe.Outcome{Session: b.ID, Run: 1,
			Coord: b.Coord, Name: b.Name,
			Type: b.Profile.Kind(), Status: troupe.Completed, AsTold: troupe.AsTold{Team: b.Profile.Team}}})
	case admitted:
		bodies = append(bodies, troupe.Started{Run: 1, Caller: b.Caller})
	}
	events := make([]troupe.Event, len(bodies))
	for i, body := range bodies {
		events[i] = troupe.Event{Root: b.Root, Session: b.ID, Seq: int64(i + 1), At: now, Body: body}
	}
	return events
}

// HasSlot reports whether another session of the tree may be at work.
func HasSlot(t troupe.Tree) bool { return t.Caps.MaxActive == 0 || t.Active < t.Caps.MaxActive }

// Room says whether a model call that is expected to use r fits into what is left of a
// tree's limits. If it does not fit now but may once calls under way have ended, wait is set.
func Room(t troupe.Tree, r troupe.Reservation) (over turn.Bound, wait bool) {
	if over := overLimit(t); over.Limit != "" {
		return over, false
	}
	tokens := t.Tally.Usage.Total() + t.Reserved.Tokens + r.Tokens
	cost := t.Tally.Cost + t.Reserved.Cost + r.Cost
	turns := int64(t.Tally.Turns + t.Reserved.Turns + r.Turns)
	if (t.Caps.MaxTokens == 0 || tokens <= t.Caps.MaxTokens) && (t.Caps.MaxCost == 0 || cost <= t.Caps.MaxCost) &&
		(t.Caps.MaxTurns == 0 || turns <= t.Caps.MaxTurns) {
		return turn.Bound{}, false
	}
	if t.Reserved != (troupe.Reservation{}) {
		return turn.Bound{}, true
	}
	// Nobody else is at it, and the estimate is on the high side: one call may try.
	return turn.Bound{}, false
}

// Again is the limit for which an attempt that failed is not made again, or empty: what it cost, another one may cost,
// and no estimate has to stand for it.
func Again(t troupe.Tree, before troupe.Reservation) turn.Bound {
	tokens := t.Tally.Usage.Total()
	switch {
	case t.Caps.MaxCost > 0 && t.Tally.Cost+before.Cost > t.Caps.MaxCost:
		return turn.Bound{Limit: turn.TreeCost, Words: fmt.Sprintf("the tree has cost %s of its %s, and another "+
			"attempt at a call that failed may cost %s as before", t.Tally.Cost, t.Caps.MaxCost, before.Cost)}
	case t.Caps.MaxTokens > 0 && tokens+before.Tokens > t.Caps.MaxTokens:
		return turn.Bound{Limit: turn.TreeTokens, Words: fmt.Sprintf("the tree has used %d of its %d tokens, and "+
			"another attempt at a call that failed may use %d as before", tokens, t.Caps.MaxTokens, before.Tokens)}
	}
	return turn.Bound{}
}

// Near warns of a limit of the tree of which most is used up.
func Near(t troupe.Tree) troupe.BudgetWarned {
	tokens := t.Tally.Usage.Total()
	for _, b := range [...]turn.Bound{
		{Limit: turn.TreeCost, Used: float64(t.Tally.Cost), Of: float64(t.Caps.MaxCost),
			Words: fmt.Sprintf("all agents together have spent %s of %s", t.Tally.Cost, t.Caps.MaxCost)},
		{Limit: turn.TreeTokens, Used: float64(tokens), Of: float64(t.Caps.MaxTokens),
			Words: fmt.Sprintf("all agents together have used %d of %d tokens", tokens, t.Caps.MaxTokens)},
		{Limit: turn.TreeTurns, Used: float64(t.Tally.Turns), Of: float64(t.Caps.MaxTurns),
			Words: fmt.Sprintf("all agents together have had %d of %d model replies", t.Tally.Turns, t.Caps.MaxTurns)},
	} {
		if b.Near() {
			return b.Warning()
		}
	}
	return troupe.BudgetWarned{}
}

// overLimit is the limit of the tree that its bill has reached, or empty.
func overLimit(t troupe.Tree) turn.Bound {
	switch {
	case t.Caps.MaxTokens > 0 && t.Tally.Usage.Total() >= t.Caps.MaxTokens:
		return turn.Bound{Limit: turn.TreeTokens,
			Words: fmt.Sprintf("the tree has used %d of its %d tokens", t.Tally.Usage.Total(), t.Caps.MaxTokens)}
	case t.Caps.MaxCost > 0 && t.Tally.Cost >= t.Caps.MaxCost:
		return turn.Bound{Limit: turn.TreeCost,
			Words: fmt.Sprintf("the tree has cost %s of its %s", t.Tally.Cost, t.Caps.MaxCost)}
	case t.Caps.MaxTurns > 0 && int64(t.Tally.Turns) >= t.Caps.MaxTurns:
		return turn.Bound{Limit: turn.TreeTurns, Words: fmt.Sprintf("the tree has had %d of its %d model replies "+
			"(agents.max_turns)", t.Tally.Turns, t.Caps.MaxTurns)}
	}
	return turn.Bound{}
}

// idleMembers counts the members of teams that wait for mail: they count toward no limit of agents.
func idleMembers(r store.Reader, root troupe.SessionID) (n int, err error) {
	all, err := r.Sessions(store.Filter{Root: root})
	if err != nil {
		return 0, fmt.Errorf("look for members of teams in tree %s: %w", root, err)
	}
	for _, s := range all {
		if s.Team != "" && s.Status.Ended() {
			n++
		}
	}
	return n, nil
}

func capped(t troupe.Tree, b Birth) error {
	switch {
	case t.Caps.MaxDepth == 0:
		return &capError{"sub-agents are switched off here (agents.max_depth is 0)"}
	case b.Depth-b.Free > t.Caps.MaxDepth:
		return &capError{fmt.Sprintf("an agent at depth %d cannot start sub-agents of its own (agents.max_depth is "+
			"%d); do the work yourself or report back what should be delegated", b.Depth-1, t.Caps.MaxDepth)}
	case t.Caps.MaxTotal > 0 && t.SincePrompt >= t.Caps.MaxTotal:
		return &capError{fmt.Sprintf("%d agents were started since the last prompt of a person, and "+
			"agents.max_total allows no more; go on with those there are, or end and say what is left to do: a new "+
			"prompt starts the count again, and agents.max_total in the settings or --max-agents raises the limit",
			t.SincePrompt)}
	}
	if over := overLimit(t); over.Limit != "" {
		return &capError{over.Words + "; no more agents are started"}
	}
	return nil
}

// capError is a birth that a limit of the tree refuses.
type capError struct{ Why string }

func (e *capError) Error() string { return e.Why }

// Unwrap makes it troupe.ErrCap.
func (e *capError) Unwrap() error { return troupe.ErrCap }

// nameTakenError is a birth whose name a sibling has.
type nameTakenError struct{ Name string }

func (e *nameTakenError) Error() string {
	return fmt.Sprintf("the name %q is taken by another agent here; choose another name", e.Name)
}

// Unwrap makes it troupe.ErrExists.
func (e *nameTakenError) Unwrap() error { return troupe.ErrExists }

const maxName = 48

// nameFor makes a name from a description: its first letter in upper case, nothing that
// would break a path ("main/Auth Explorer") or a terminal.
func nameFor(title string) string {
	name := []rune(clean(title))
	if len(name) > maxName {
		name = []rune(strings.TrimSpace(string(name[:maxName])))
	}
	if len(name) == 0 {
		return "Agent"
	}
	name[0] = unicode.ToUpper(name[0])
	return string(name)
}

// CheckName says what is wrong with a name that somebody chose.
func CheckName(name string) error {
	switch {
	case strings.EqualFold(name, "main"):
		return fmt.Errorf("the name %q is the main agent's", name)
	case strings.EqualFold(name, troupe.LeadName), strings.EqualFold(name, troupe.ParentName),
		name == troupe.EveryoneName:
		return fmt.Errorf("the name %q stands for another agent in messages; choose another name", name)
	case name != clean(name):
		return fmt.Errorf("the name %q must not hold slashes, control characters or spaces at its ends", name)
	case len([]rune(name)) > maxName:
		return fmt.Errorf("the name %q is longer than %d characters", name, maxName)
	}
	return nil
}

func clean(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r == '/' || unicode.IsSpace(r) || troupe.Unseen(r)
	}), " ")
}
