package sqlite

import (
	"time"

	"github.com/troupe-dev/troupe"
)

// sessionColumns is what readSession reads, in its order.
const sessionColumns = `id, root, parent, reply, call, name, title, depth, cwd, type, model,
	status, waiting, cause, run, seq, input, output, cache_read, cache_write, cost, turns,
	tool_uses, result, error, created_at, started_at, ended_at, until, held_tokens, held_cost,
	held_turns`

// The columns of the other tables that a program writes, each list in one place: a repair saves what stands here.
const (
	leaseColumns    = `owner, epoch` // of sessions
	eventColumns    = `root, session, seq, at, kind, body`
	mailColumns     = `root, receiver, id, delivered, body`
	documentColumns = `root, hash, body`
	capsColumns     = `max_depth, max_active, max_total, max_tokens, max_cost, ask_above, max_turns` // of trees
	// treeColumns are what is counted of a tree, in readTree's order.
	treeColumns = `total, since_prompt, active, input, output, cache_read, cache_write, cost, turns, tool_uses,
	held_tokens, held_cost, held_turns`
)

func readSession(r row) troupe.Session {
	return troupe.Session{
		ID:        troupe.SessionID(r.text(0)),
		Root:      troupe.SessionID(r.text(1)),
		Parent:    troupe.SessionID(r.text(2)),
		Coord:     troupe.Coord{Reply: r.int(3), Call: r.int(4)},
		Name:      r.text(5),
		Title:     r.text(6),
		Depth:     r.int(7),
		Cwd:       r.text(8),
		Type:      r.text(9),
		Model:     r.text(10),
		Status:    troupe.Status(r.text(11)),
		Waiting:   troupe.WaitReason(r.text(12)),
		Cause:     troupe.Cause(r.text(13)),
		Run:       r.int(14),
		Seq:       r.int64(15),
		Tally:     readTally(r, 16),
		Result:    r.text(23),
		Error:     r.text(24),
		CreatedAt: readTime(r.int64(25)),
		StartedAt: readTime(r.int64(26)),
		EndedAt:   readTime(r.int64(27)),
		Until:     readTime(r.int64(28)),
		Reserved:  readReservation(r, 29),
	}
}

// sessionArgs are the values of sessionColumns, then the lease's.
func sessionArgs(s troupe.Session, l troupe.Lease) []any {
	u := s.Tally.Usage
	return []any{
		string(s.ID), string(s.Root), string(s.Parent), s.Coord.Reply, s.Coord.Call,
		s.Name, s.Title, s.Depth, s.Cwd, s.Type, s.Model,
		string(s.Status), string(s.Waiting), string(s.Cause), s.Run, s.Seq,
		u.Input, u.Output, u.CacheRead, u.CacheWrite, int64(s.Tally.Cost), s.Tally.Turns, s.Tally.ToolUses,
		s.Result, s.Error, writeTime(s.CreatedAt), writeTime(s.StartedAt), writeTime(s.EndedAt),
		writeTime(s.Until), s.Reserved.Tokens, int64(s.Reserved.Cost), s.Reserved.Turns,
		string(l.Owner), l.Epoch,
	}
}

// readTally reads the seven columns of a bill from column i on.
func readTally(r row, i int) troupe.Tally {
	return troupe.Tally{
		Usage: troupe.Usage{Input: r.int64(i), Output: r.int64(i + 1), CacheRead: r.int64(i + 2),
			CacheWrite: r.int64(i + 3)},
		Cost:     troupe.Money(r.int64(i + 4)),
		Turns:    r.int(i + 5),
		ToolUses: r.int(i + 6),
	}
}

func readReservation(r row, i int) troupe.Reservation {
	return troupe.Reservation{Tokens: r.int64(i), Cost: troupe.Money(r.int64(i + 1)), Turns: r.int(i + 2)}
}

func capsArgs(c troupe.Caps) []any {
	return []any{c.MaxDepth, c.MaxActive, c.MaxTotal, c.MaxTokens, int64(c.MaxCost), int64(c.AskAbove), c.MaxTurns}
}

// readCaps reads capsColumns from column i on.
func readCaps(r row, i int) troupe.Caps {
	return troupe.Caps{MaxDepth: r.int(i), MaxActive: r.int(i + 1), MaxTotal: r.int(i + 2), MaxTokens: r.int64(i + 3),
		MaxCost: troupe.Money(r.int64(i + 4)), AskAbove: troupe.Money(r.int64(i + 5)), MaxTurns: r.int64(i + 6)}
}

// writeTime stores a time as nanoseconds; the zero time, for which those are undefined, is 0.
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
