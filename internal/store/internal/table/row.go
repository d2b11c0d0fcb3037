package table

import (
	"database/sql/driver"
	"encoding/json"
	"time"

	"github.com/troupe-dev/troupe"
)

// The columns that a program writes, each list in one place: what reads or writes them does so in its order, and a
// repair saves what stands here.
const (
	SessionColumns = `id, root, parent, reply, call, name, title, depth, cwd, type, model, status, waiting, cause, run, seq, ` +
		tallyColumns + `, result, error, created_at, started_at, ended_at, until, ` + heldColumns +
		`, cut, workspace, team, asleep_at, begun_by, archived`
	LeaseColumns    = `owner, epoch` // of sessions
	EventColumns    = `root, session, seq, at, kind, body`
	MailColumns     = `root, receiver, id, delivered, body`
	RequestColumns  = `root, id, session, reply, call, opened, settled, body, answer`
	DocumentColumns = `root, hash`
	BodyColumns     = `hash, body`
	CapsColumns     = `max_depth, max_active, max_total, max_tokens, max_cost, ask_above, max_turns` // of trees
	// TreeColumns are what is counted of a tree.
	TreeColumns = `total, since_prompt, active, ` + tallyColumns + `, ` + heldColumns
	// Of sessions and trees.
	tallyColumns = `input, output, cache_read, cache_write, cost, turns, tool_uses`
	heldColumns  = `held_tokens, held_cost, held_turns`
)

// Row is one row of a result, valid until the next one. A column has the type that the schema gives it.
type Row []driver.Value

func (r Row) Text(i int) string  { s, _ := r[i].(string); return s }
func (r Row) Int64(i int) int64  { n, _ := r[i].(int64); return n }
func (r Row) Int(i int) int      { return int(r.Int64(i)) }
func (r Row) Bytes(i int) []byte { b, _ := r[i].([]byte); return b }

// Args are the values of a row for a statement.
func (r Row) Args() []any {
	out := make([]any, len(r))
	for i, v := range r {
		out[i] = v
	}
	return out
}

// Scan reads a row column by column, in the order of the list that was asked for.
type Scan struct {
	row Row
	at  int
}

func (r Row) Scan() *Scan { return &Scan{row: r} }

func (s *Scan) text() string    { s.at++; return s.row.Text(s.at - 1) }
func (s *Scan) int64() int64    { s.at++; return s.row.Int64(s.at - 1) }
func (s *Scan) int() int        { return int(s.int64()) }
func (s *Scan) bytes() []byte   { s.at++; return s.row.Bytes(s.at - 1) }
func (s *Scan) time() time.Time { return ReadTime(s.int64()) }

// Session reads SessionColumns. Fields are read as they stand here: Go calls functions of a literal in that order.
func (s *Scan) Session() troupe.Session {
	return troupe.Session{
		ID:        troupe.SessionID(s.text()),
		Root:      troupe.SessionID(s.text()),
		Parent:    troupe.SessionID(s.text()),
		Coord:     troupe.Coord{Reply: s.int(), Call: s.int()},
		Name:      s.text(),
		Title:     s.text(),
		Depth:     s.int(),
		Cwd:       s.text(),
		Type:      s.text(),
		Model:     s.text(),
		Status:    troupe.Status(s.text()),
		Waiting:   troupe.WaitReason(s.text()),
		Cause:     troupe.Cause(s.text()),
		Run:       s.int(),
		Seq:       s.int64(),
		Tally:     s.tally(),
		Result:    s.text(),
		Error:     s.text(),
		CreatedAt: s.time(),
		StartedAt: s.time(),
		EndedAt:   s.time(),
		Until:     s.time(),
		Reserved:  s.held(),
		Cut:       s.int64() != 0,
		Workspace: readWorkspace(s.text()),
		Team:      s.text(),
		AsleepAt:  s.time(),
		By:        s.text(),
		Archived:  s.int64() != 0,
	}
}

// Lease reads LeaseColumns.
func (s *Scan) Lease() troupe.Lease {
	return troupe.Lease{Owner: troupe.OwnerID(s.text()), Epoch: s.int64()}
}

func (s *Scan) tally() troupe.Tally {
	return troupe.Tally{
		Usage: troupe.Usage{Input: s.int64(), Output: s.int64(), CacheRead: s.int64(), CacheWrite: s.int64()},
		Cost:  troupe.Money(s.int64()), Turns: s.int(), ToolUses: s.int(),
	}
}

func (s *Scan) held() troupe.Reservation {
	return troupe.Reservation{Tokens: s.int64(), Cost: troupe.Money(s.int64()), Turns: s.int()}
}

// Caps reads CapsColumns.
func (s *Scan) Caps() troupe.Caps {
	return troupe.Caps{MaxDepth: s.int(), MaxActive: s.int(), MaxTotal: s.int(), MaxTokens: s.int64(),
		MaxCost: troupe.Money(s.int64()), AskAbove: troupe.Money(s.int64()), MaxTurns: s.int64()}
}

// Tree reads CapsColumns, TreeColumns and the name of the root.
func (s *Scan) Tree(root troupe.SessionID) troupe.Tree {
	return troupe.Tree{Root: root, Caps: s.Caps(), Total: s.int(), SincePrompt: s.int(), Active: s.int(),
		Tally: s.tally(), Reserved: s.held(), Name: s.text()}
}

// SessionArgs are the values of SessionColumns, then the lease's.
func SessionArgs(s troupe.Session, l troupe.Lease) []any {
	u := s.Tally.Usage
	return []any{
		string(s.ID), string(s.Root), string(s.Parent), s.Coord.Reply, s.Coord.Call,
		s.Name, s.Title, s.Depth, s.Cwd, s.Type, s.Model,
		string(s.Status), string(s.Waiting), string(s.Cause), s.Run, s.Seq,
		u.Input, u.Output, u.CacheRead, u.CacheWrite, int64(s.Tally.Cost), s.Tally.Turns, s.Tally.ToolUses,
		s.Result, s.Error, WriteTime(s.CreatedAt), WriteTime(s.StartedAt), WriteTime(s.EndedAt),
		WriteTime(s.Until), s.Reserved.Tokens, int64(s.Reserved.Cost), s.Reserved.Turns, boolArg(s.Cut),
		writeWorkspace(s.Workspace), s.Team, WriteTime(s.AsleepAt), s.By, boolArg(s.Archived),
		string(l.Owner), l.Epoch,
	}
}

func CapsArgs(c troupe.Caps) []any {
	return []any{c.MaxDepth, c.MaxActive, c.MaxTotal, c.MaxTokens, int64(c.MaxCost), int64(c.AskAbove), c.MaxTurns}
}

// writeWorkspace stores where a session's tools act as JSON; none is "".
func writeWorkspace(w troupe.Workspace) string {
	if w.Kind == "" {
		return ""
	}
	out, err := json.Marshal(w)
	if err != nil {
		return "" // it holds texts alone, and they can be written
	}
	return string(out)
}

// readWorkspace reads it. What cannot be read is a workspace that nothing lies in: its session can do nothing rather
// than work in its caller's folder.
func readWorkspace(text string) (w troupe.Workspace) {
	if text == "" {
		return w
	}
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return troupe.Workspace{Kind: troupe.WorkspaceReadOnly, From: "/", Of: "/", Top: "/", Folder: "/"}
	}
	return w
}

// WriteTime stores a time as nanoseconds; the zero time, for which those are undefined, is 0.
func WriteTime(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func ReadTime(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

func boolArg(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
