// Package store is the contract of durable state: sessions and their logs, mail, trees and
// the processes that own them. Implementations live in subpackages named after their
// technology and all pass the suite in storetest, unchanged.
//
// Order and durability: when Update returns nil, everything its function wrote is durable
// and visible to every later View and Update, and it became so as a whole. Functions given
// to Update run one at a time per tree and may run more than once (a group commit that has
// to be split, a serialisation failure), so they must have no effect outside their Tx.
package store

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

// Store is one Troupe home's database. All methods are safe for concurrent use.
type Store interface {
	// Update runs fn in a transaction that touches only the tree of root. An error from
	// fn, or from the commit, means that nothing was written. It must not be called from
	// inside a function given to Update.
	Update(ctx context.Context, root troupe.SessionID, fn func(Tx) error) error
	// View runs fn over one consistent state. It may run more than once: where the database goes away in the middle.
	View(ctx context.Context, fn func(Reader) error) error

	// Register makes this process known as an owner and alive until release is called or
	// the process is gone. The id must be fresh.
	Register(ctx context.Context, o troupe.Owner) (release func() error, err error)
	// Owner returns what is known of an owner and whether its process is alive now.
	// An owner that was never registered is ErrNotFound.
	Owner(ctx context.Context, id troupe.OwnerID) (o troupe.Owner, alive bool, err error)

	Close() error
}

// Watcher is a Store that can tell of commits as they come, those of other processes included.
// It is optional: without it, whoever waits for commits of others has to look again.
type Watcher interface {
	// Watch calls fn after commits, soon and in their order, until ctx is over: for each session
	// with new events there is the last of them. Before the first, and whenever it has lost track,
	// it calls fn(nil): anything may have been committed until then. Nothing is missed after it.
	// The Store must not be closed before Watch has returned.
	Watch(ctx context.Context, fn func([]Commit)) error
}

// Commit says how far a session's log goes.
type Commit struct {
	Root, Session troupe.SessionID
	Seq           int64
}

// Reader reads one consistent state. What is not there is troupe.ErrNotFound. Slices are
// in order of birth, sending or sequence, and belong to the caller.
type Reader interface {
	Session(id troupe.SessionID) (troupe.Session, error)
	Sessions(f Filter) ([]troupe.Session, error)
	Lease(id troupe.SessionID) (troupe.Lease, error)
	// Events returns up to limit events (0: all) with Seq > after.
	Events(id troupe.SessionID, after int64, limit int) ([]troupe.Event, error)
	// Unread returns the mail to a session that no event has delivered yet.
	Unread(to troupe.SessionID) ([]troupe.Mail, error)
	// Mailboxes returns the sessions of a tree that have mail which no event has delivered yet.
	Mailboxes(root troupe.SessionID) ([]troupe.SessionID, error)
	Tree(root troupe.SessionID) (troupe.Tree, error)
	// Requests lists requests in the order in which they were opened.
	Requests(f RequestFilter) ([]troupe.Request, error)
	// Document returns the body that PutDocument kept in the tree under a hash.
	Document(root troupe.SessionID, hash string) ([]byte, error)
}

// Filter selects sessions; zero fields do not restrict. Results are in order of birth
// (parents before their children).
type Filter struct {
	Root      troupe.SessionID
	Parent    troupe.SessionID
	RootsOnly bool
	IDPrefix  string
	Name      string // compared without regard to (ASCII) case
	Cwd       string
	Status    troupe.Status
	Waiting   troupe.WaitReason
	By        string // who began the tree
	Text      string // stands in the title or name, without regard to (ASCII) case
	Archived  *bool  // whether it is archived
	// After is the session that the list goes on behind, in its order: the last of the page before. None is behind one
	// that is not there.
	After troupe.SessionID
	// Newest returns the latest born first, and Limit (if > 0) cuts the list.
	Newest bool
	Limit  int
}

// Lower is a text with its ASCII letters in lower case, as filters compare.
func Lower(s string) string {
	i := strings.IndexFunc(s, isUpper)
	if i < 0 {
		return s
	}
	b := []byte(s)
	for ; i < len(b); i++ {
		if isUpper(rune(b[i])) {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}

func isUpper(r rune) bool { return 'A' <= r && r <= 'Z' }

// RequestFilter selects requests; zero fields do not restrict.
type RequestFilter struct {
	Root     troupe.SessionID
	IDPrefix string
	// Open leaves out those that are settled, and those whose answer is on its way: mail under
	// troupe.AnswerMailID.
	Open bool
}

// Tx is a Reader that sees its own writes, and writes within one tree. ErrExists, ErrFenced
// and ErrNotFound leave it usable; after any other error (a write to another tree is one)
// Update fails, whatever its function returns.
type Tx interface {
	Reader
	// Insert adds a session that has no events yet (Seq 0) under a lease; for a root,
	// also its tree, with the given caps. An id, a coordinate or a sibling's name (among
	// roots: a non-empty root name) that is taken is troupe.ErrExists; names are compared
	// without regard to ASCII case. A parent that is not in the tree is troupe.ErrNotFound.
	Insert(s troupe.Session, l troupe.Lease, caps *troupe.Caps) error
	// Append adds events, whose Seq must follow the log without a gap, and makes s the
	// session's projection (s.Seq is the last event's). It is fenced: unless the session
	// is held under exactly l and its stored Seq is the one before the first event, it
	// returns troupe.ErrFenced. There is at least one event. What Insert set for life (ID,
	// Root, Parent, Coord, Depth, Cwd, Type, Team, CreatedAt) is not changed by it. Nor is a Name, but by an event
	// that gives a root another one: troupe.ErrExists if it is taken, and nothing is appended.
	Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error
	// Claim makes owner the holder of the session, under a new epoch.
	Claim(id troupe.SessionID, owner troupe.OwnerID) (troupe.Lease, error)
	// Send stores mail; false means that mail with this id and receiver was there already.
	// A receiver that is not in the tree is troupe.ErrNotFound.
	Send(m troupe.Mail) (sent bool, err error)
	// MarkDelivered records that the event seq delivered these. Mail that is not there or
	// was delivered before is troupe.ErrFenced: somebody else is reading this mailbox.
	MarkDelivered(to troupe.SessionID, seq int64, ids []troupe.MailID) error
	AddTree(root troupe.SessionID, d troupe.TreeDelta) error
	// SetCaps replaces a tree's caps.
	SetCaps(root troupe.SessionID, caps troupe.Caps) error
	// PutRequest makes r the row of a request of a session in the tree.
	PutRequest(r troupe.Request) error
	// PutDocument keeps body in the tree for its life, under the hash of its content, which is
	// not empty. Under a hash that is there already the first body stays. A tree that is not
	// there is troupe.ErrNotFound: in a birth the root is inserted first.
	PutDocument(root troupe.SessionID, hash string, body []byte) error
	// DeleteTree forgets a root, its descendants, their logs, mail and requests, and its documents.
	DeleteTree(root troupe.SessionID) error
}

// Records keeps small values that belong to no tree: the people of a server, their tokens, what it is to run. It is one
// of the named exceptions to "tables belong to a tree". All methods are safe for concurrent use; what returned without
// an error is durable. A record that Record.Check refuses is never there: to look for it or remove it is
// troupe.ErrNotFound, whoever sent its key; to put it, or to list its kind, is an error of its own.
type Records interface {
	// Record returns one; troupe.ErrNotFound.
	Record(ctx context.Context, kind, key string) (Record, error)
	// Records lists up to limit (0: all) of a kind whose key is greater than after, in the order of their keys' bytes.
	Records(ctx context.Context, kind, after string, limit int) ([]Record, error)
	// PutRecord writes r.Value, if r.Version is the version of what is there (0: nothing is), and returns the new one.
	// Else nothing is written and the error is troupe.ErrChanged. After any other error it may have been written.
	PutRecord(ctx context.Context, r Record) (version int64, err error)
	// DeleteRecord removes one, if version is the version of what is there; else it is troupe.ErrChanged, or
	// troupe.ErrNotFound if nothing is.
	DeleteRecord(ctx context.Context, kind, key string, version int64) error
}

// Record is one value. A version is never given twice in one store, to whatever record, those included that are gone:
// it can be an ETag.
type Record struct {
	Kind, Key string
	Version   int64
	Value     []byte
}

// Bounds of a record.
const (
	mostKind  = 64
	mostKey   = 512
	mostValue = 1 << 20
)

// Findable is troupe.ErrNotFound where no record can be.
func Findable(kind, key string) error {
	if err := (Record{Kind: kind, Key: key}).Check(); err != nil {
		return fmt.Errorf("%w: %w", err, troupe.ErrNotFound)
	}
	return nil
}

// Listable refuses a list behind what is no key.
func Listable(kind, after string) error { return Record{Kind: kind, Key: cmp.Or(after, "-")}.Check() }

// Check refuses a record that a store does not take: its kind and key are short texts, and its value is not large.
func (r Record) Check() error {
	for _, x := range []struct {
		what, text string
		most       int
	}{{"kind", r.Kind, mostKind}, {"key", r.Key, mostKey}} {
		if x.text == "" || len(x.text) > x.most || !utf8.ValidString(x.text) || strings.ContainsRune(x.text, 0) {
			return fmt.Errorf("the %s %.80q of a record is no text of 1 to %d bytes", x.what, x.text, x.most)
		}
	}
	if len(r.Value) > mostValue {
		return fmt.Errorf("record %s of kind %s has %d bytes, and may have %d", r.Key, r.Kind, len(r.Value), mostValue)
	}
	return nil
}
