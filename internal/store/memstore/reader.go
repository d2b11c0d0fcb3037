package memstore

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// reader reads while its DB is locked.
type reader struct {
	db     *DB
	failed error
}

var _ store.Reader = (*reader)(nil)

func (r *reader) find(id troupe.SessionID) (*session, error) {
	if r.failed != nil {
		return nil, r.failed
	}
	s := r.db.sessions[id]
	if s == nil {
		return nil, fmt.Errorf("session %q: %w", id, troupe.ErrNotFound)
	}
	return s, nil
}

func (r *reader) Session(id troupe.SessionID) (troupe.Session, error) {
	s, err := r.find(id)
	if err != nil {
		return troupe.Session{}, err
	}
	return s.Session, nil
}

func (r *reader) Sessions(f store.Filter) (out []troupe.Session, err error) {
	if r.failed != nil {
		return nil, r.failed
	}
	from := r.db.births
	if f.Root != "" {
		from = nil
		if t := r.db.trees[f.Root]; t != nil {
			from = t.members
		}
	}
	behind := f.After == ""
	for i := range from {
		s := from[i]
		if f.Newest {
			s = from[len(from)-1-i]
		}
		if !behind {
			behind = s != nil && s.ID == f.After
			continue
		}
		if s == nil || !matches(f, s.Session) {
			continue
		}
		out = append(out, s.Session)
		if f.Limit > 0 && len(out) == f.Limit {
			break
		}
	}
	return out, nil
}

func matches(f store.Filter, s troupe.Session) bool {
	return (f.Root == "" || s.Root == f.Root) &&
		(f.Parent == "" || s.Parent == f.Parent) &&
		(!f.RootsOnly || s.Parent == "") &&
		strings.HasPrefix(string(s.ID), f.IDPrefix) &&
		(f.Name == "" || store.Lower(s.Name) == store.Lower(f.Name)) &&
		(f.Cwd == "" || s.Cwd == f.Cwd) &&
		(f.Status == "" || s.Status == f.Status) &&
		(f.Waiting == "" || s.Waiting == f.Waiting) &&
		(f.By == "" || s.By == f.By) &&
		(f.Archived == nil || s.Archived == *f.Archived) &&
		(f.Text == "" || strings.Contains(store.Lower(s.Title+"\x00"+s.Name), store.Lower(f.Text)))
}

func (r *reader) Lease(id troupe.SessionID) (troupe.Lease, error) {
	s, err := r.find(id)
	if err != nil {
		return troupe.Lease{}, err
	}
	return s.lease, nil
}

func (r *reader) Events(id troupe.SessionID, after int64, limit int) ([]troupe.Event, error) {
	s, err := r.find(id)
	if err != nil {
		return nil, err
	}
	after = min(max(after, 0), int64(len(s.events)))
	found := s.events[after:]
	if limit > 0 && len(found) > limit {
		found = found[:limit]
	}
	out := make([]troupe.Event, 0, len(found))
	for i, e := range found {
		body, err := troupe.DecodeBody(e.kind, e.body)
		if err != nil {
			return nil, fmt.Errorf("event %d of session %s: %w", after+int64(i)+1, id, err)
		}
		out = append(out, troupe.Event{
			Root: s.Root, Session: id, Seq: after + int64(i) + 1, At: readTime(e.at), Body: body,
		})
	}
	return out, nil
}

func (r *reader) Unread(to troupe.SessionID) (out []troupe.Mail, err error) {
	s, err := r.find(to)
	if err != nil {
		return nil, err
	}
	for _, sent := range s.unread {
		if sent.delivered != 0 {
			continue
		}
		var m troupe.Mail
		if err := json.Unmarshal(sent.body, &m); err != nil {
			return nil, fmt.Errorf("decode mail to session %s: %w", to, err)
		}
		out = append(out, m)
	}
	return out, nil
}

func (r *reader) Mailboxes(root troupe.SessionID) (out []troupe.SessionID, err error) {
	if r.failed != nil {
		return nil, r.failed
	}
	t := r.db.trees[root]
	if t == nil {
		return nil, nil
	}
	for _, s := range t.members {
		if s != nil && slices.ContainsFunc(s.unread, func(m *mail) bool { return m.delivered == 0 }) {
			out = append(out, s.ID)
		}
	}
	slices.Sort(out)
	return out, nil
}

func (r *reader) Tree(root troupe.SessionID) (troupe.Tree, error) {
	if r.failed != nil {
		return troupe.Tree{}, r.failed
	}
	t := r.db.trees[root]
	if t == nil {
		return troupe.Tree{}, fmt.Errorf("tree %q: %w", root, troupe.ErrNotFound)
	}
	return troupe.Tree{
		Root: root, Name: r.db.sessions[root].Name, Caps: t.caps,
		Total: t.total, SincePrompt: t.sincePrompt, Active: t.active, Tally: t.tally, Reserved: t.reserved,
	}, nil
}

func (r *reader) Document(root troupe.SessionID, hash string) ([]byte, error) {
	if r.failed != nil {
		return nil, r.failed
	}
	if t := r.db.trees[root]; t != nil {
		if body, ok := t.documents[hash]; ok {
			return slices.Clone(body), nil
		}
	}
	return nil, fmt.Errorf("document %s of tree %q: %w", hash, root, troupe.ErrNotFound)
}

// writeTime and readTime do to a time what a database does.
func writeTime(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func readTime(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// checkSession repeats what the CHECK constraints of a database demand of a projection, so
// that a simulation stops where a real home would.
func checkSession(s troupe.Session) error {
	u := s.Tally.Usage
	isRoot := s.Parent == "" && s.ID == s.Root && s.Depth == 0 && s.Coord == troupe.Coord{}
	isChild := s.Parent != "" && s.ID != s.Root && s.Depth > 0 && s.Name != ""
	withCause := s.Status == troupe.Failed || s.Status == troupe.Cancelled || s.Status == troupe.MaxTurns
	started := s.Run > 0 && !s.StartedAt.IsZero()
	switch {
	case !isRoot && !isChild:
		return fmt.Errorf("it is neither a root nor a child: parent %q, depth %d, coord %v, name %q", s.Parent, s.Depth,
			s.Coord, s.Name)
	case !slices.Contains(troupe.Statuses(), s.Status):
		return fmt.Errorf("there is no status %q", s.Status)
	case (s.Status == troupe.Waiting) != slices.Contains(troupe.WaitReasons(), s.Waiting) ||
		(s.Status != troupe.Waiting && s.Waiting != ""):
		return fmt.Errorf("it is %s and waits for %q", s.Status, s.Waiting)
	case withCause != knownCause(s.Cause) || (!withCause && s.Cause != troupe.CauseNone):
		return fmt.Errorf("it is %s with cause %q", s.Status, s.Cause)
	case s.Status.Ended() == s.EndedAt.IsZero():
		return fmt.Errorf("it is %s and ended at %v", s.Status, s.EndedAt)
	case s.Run < 0 || (s.Run == 0 && !s.StartedAt.IsZero()):
		return fmt.Errorf("it is in run %d and started at %v", s.Run, s.StartedAt)
	case !started && s.Status != troupe.Spawning && s.Status != troupe.Failed && s.Status != troupe.Cancelled:
		return fmt.Errorf("it is %s in run %d, started at %v", s.Status, s.Run, s.StartedAt)
	case min(u.Input, u.Output, u.CacheRead, u.CacheWrite, int64(s.Tally.Cost), int64(s.Tally.Turns),
		int64(s.Tally.ToolUses)) < 0:
		return fmt.Errorf("its bill is below zero: %+v", s.Tally)
	case s.Reserved.Tokens < 0 || s.Reserved.Cost < 0 || s.Reserved.Turns < 0:
		return fmt.Errorf("it has reserved less than nothing: %+v", s.Reserved)
	case !s.Until.IsZero() && s.Status != troupe.Waiting:
		return fmt.Errorf("it is %s and waits until %v", s.Status, s.Until)
	}
	return nil
}

func knownCause(c troupe.Cause) bool {
	switch c {
	case troupe.CauseError, troupe.CausePermission, troupe.CauseLimit, troupe.CauseInterrupt,
		troupe.CauseRefusal, troupe.CauseNoModel:
		return true
	case troupe.CauseNone:
	}
	return false
}
