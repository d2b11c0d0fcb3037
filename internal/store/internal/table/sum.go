package table

import "github.com/troupe-dev/troupe"

// Sum is what several additions to the counts of a tree make together.
type Sum struct {
	all   troupe.TreeDelta
	since int // births since the last words of a person
}

// Add adds one.
func (s *Sum) Add(d troupe.TreeDelta) *Sum {
	if d.Prompted {
		s.all.Prompted, s.since = true, 0
	}
	s.since += d.Total
	s.all.Total += d.Total
	s.all.Active += d.Active
	s.all.Tally = s.all.Tally.Add(d.Tally)
	s.all.Reserved = s.all.Reserved.Add(d.Reserved)
	return s
}

// Statement adds the sum to the row of a tree, and sets what else is to be set there.
func (s *Sum) Statement(root troupe.SessionID, set string) (sql string, args []any) {
	d, u := s.all, s.all.Tally.Usage
	return `UPDATE trees SET total = total + ?, active = active + ?,
		input = input + ?, output = output + ?, cache_read = cache_read + ?, cache_write = cache_write + ?,
		cost = cost + ?, turns = turns + ?, tool_uses = tool_uses + ?,
		held_tokens = held_tokens + ?, held_cost = held_cost + ?, held_turns = held_turns + ?,
		since_prompt = CASE WHEN ? THEN 0 ELSE since_prompt END + ?` + set + ` WHERE root = ?`, []any{
			d.Total, d.Active, u.Input, u.Output, u.CacheRead, u.CacheWrite,
			int64(d.Tally.Cost), d.Tally.Turns, d.Tally.ToolUses, d.Reserved.Tokens, int64(d.Reserved.Cost),
			d.Reserved.Turns, d.Prompted, s.since, string(root)}
}
