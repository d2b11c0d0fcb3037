package script

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/troupe-dev/troupe/internal/model"
)

// conditions are what a request must meet for an entry to answer it. Those that are not
// given are met by every request.
type conditions struct {
	agents   []string
	names    []string
	turn     span
	attempt  span
	contains []string
	matches  *regexp.Regexp
}

// span is a range of numbers from 1 on; to 0 means without end.
type span struct{ from, to int }

func (s span) has(n int) bool { return n >= s.from && (s.to == 0 || n <= s.to) }

func (s span) String() string {
	switch s.to {
	case 0:
		return fmt.Sprintf("%d-", s.from)
	case s.from:
		return fmt.Sprint(s.from)
	default:
		return fmt.Sprintf("%d-%d", s.from, s.to)
	}
}

// miss returns the first condition that a request does not meet, in words, and how many it
// met before that; "" if it meets all. The cheap conditions come first: most entries are
// ruled out without the last message being decoded.
func (c *conditions) miss(a model.Agent, attempt int, said *lastWords) (met int, why string) {
	if len(c.agents) > 0 {
		if !slices.Contains(c.agents, a.Type) {
			return met, fmt.Sprintf("it is for agent %s", strings.Join(c.agents, ", "))
		}
		met++
	}
	if len(c.names) > 0 {
		if !slices.ContainsFunc(c.names, func(s string) bool { return strings.EqualFold(s, a.Name) }) {
			return met, fmt.Sprintf("it is for the name %s", strings.Join(c.names, ", "))
		}
		met++
	}
	if c.turn != (span{}) {
		if !c.turn.has(a.Reply) {
			return met, fmt.Sprintf("it is for turn %s", c.turn)
		}
		met++
	}
	if c.attempt != (span{}) {
		if !c.attempt.has(attempt) {
			return met, fmt.Sprintf("it is for attempt %s, and this is number %d", c.attempt, attempt)
		}
		met++
	}
	for _, s := range c.contains {
		if !strings.Contains(said.get(), s) {
			return met, fmt.Sprintf("the last message does not contain %q", s)
		}
		met++
	}
	if c.matches != nil {
		if !c.matches.MatchString(said.get()) {
			return met, fmt.Sprintf("the last message does not match %q", c.matches)
		}
		met++
	}
	return met, ""
}

// choose finds the first entry that answers a request. If there is none, the error shows
// what was looked for and which entries came close.
func (p *Provider) choose(r model.Request, attempt int, said *lastWords) (*entry, error) {
	type near struct {
		line, met int
		why       string
	}
	var misses []near
	for i := range p.file.entries {
		e := &p.file.entries[i]
		met, why := e.when.miss(r.Agent, attempt, said)
		if why == "" {
			return e, nil
		}
		misses = append(misses, near{e.line, met, why})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "no entry answers this. The last message ends: %q.", tail(said.get(), 300))
	sort.SliceStable(misses, func(i, j int) bool { return misses[i].met > misses[j].met })
	for i, m := range misses[:min(len(misses), 3)] {
		if i == 0 {
			b.WriteString(" Closest:")
		}
		fmt.Fprintf(&b, " line %d (%s);", m.line, m.why)
	}
	return nil, fmt.Errorf("%s", strings.TrimSuffix(b.String(), ";"))
}

func tail(s string, n int) string {
	s = strings.TrimSpace(s)
	if len(s) <= n {
		return s
	}
	return "…" + strings.ToValidUTF8(s[len(s)-n:], "")
}
