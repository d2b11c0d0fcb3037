package app

import (
	"maps"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// A fork that a person asked for works beside the prompts of the main agent, in the turns that these begin. What it
// changed is quoted by what the person asked of the fork.

// fork notes what a person asked of one.
func (l *logReader) fork(m troupe.Mail) {
	if m.Forked != nil && m.Forked.Task != nil && len(m.Blocks) > 0 {
		l.h.forks[troupe.SessionID(m.Forked.Task.ID)] = strings.TrimSpace(m.Blocks[0].Text)
	}
}

// dealForks says in each turn which forks changed files then.
func (h *history) dealForks() {
	for _, id := range slices.Sorted(maps.Keys(h.forks)) {
		path, known := h.names[id]
		if !known {
			continue
		}
		for i := range h.turns {
			by := func(agent string) bool { return agent == path || strings.HasPrefix(agent, path+"/") }
			if slices.ContainsFunc(h.turns[i].Files, func(f wire.FileChange) bool {
				return slices.ContainsFunc(f.Agents, by)
			}) {
				h.turns[i].Forks = append(h.turns[i].Forks, wire.ForkAsked{Agent: path, Asked: h.forks[id]})
			}
		}
	}
}
