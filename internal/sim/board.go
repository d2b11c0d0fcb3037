package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// listedItem is a thing to do, as the calls about it have said so far.
type listedItem struct {
	status        troupe.BoardStatus
	owner, author string
	by            []string // what it waits for, in order
}

// listUpdate reads an update as it is drawn: an item, its status, its owner, what it blocks and what blocks it.
func listUpdate(input string) (up troupe.BoardUpdate) {
	var owner, blocks, by string
	_, _ = fmt.Sscan(input, &up.Item, &up.Status, &owner, &blocks, &by) // a call that is refused may be anything
	up.Owner = strings.Trim(owner, "-")
	if blocks != "0" && blocks != "" {
		up.AddBlocks = []string{blocks}
	}
	if by != "0" && by != "" {
		up.AddBlockedBy = []string{by}
	}
	return up
}

// listed: what a call about the list is told to have done is what the log's list has from there on: who does a task,
// how far it is, and what waits for what. Nothing else of the list has changed.
func (h *watch) listed(st *turn.State, e troupe.Event, b troupe.ToolFinished) {
	text := troupe.JoinText(b.Result.Blocks)
	if h.led { // its members have the list changed too, by mail
		return
	}
	if b.Result.IsError || b.Name != "TaskCreate" && b.Name != "TaskUpdate" {
		return
	}
	if h.list == nil {
		h.list = make(map[string]*listedItem)
	}
	var id string
	if n, _ := fmt.Sscanf(text, "Task #%s created", &id); n == 1 {
		h.list[strings.TrimSuffix(id, ":")] = &listedItem{status: troupe.BoardPending}
	}
	if strings.HasPrefix(text, "Updated: ") {
		i := slices.IndexFunc(st.Calls, func(c turn.Call) bool {
			return c.Reply == b.Result.Reply && c.Index == b.Result.Call
		})
		if i < 0 {
			h.w.broken("session %s: event %d is the result of a call that is not there", e.Session, e.Seq)
			return
		}
		h.updated(listUpdate(strings.Trim(st.Calls[i].Input, "&")))
	}
	var want, have []string
	for id, it := range h.list {
		want = append(want, fmt.Sprintf("#%s [%s] (%s) %v", id, it.status, it.owner, it.by))
	}
	for _, it := range st.Board.Items {
		have = append(have, fmt.Sprintf("#%s [%s] (%s) %v", it.ID, it.Status, it.Owner, it.BlockedBy))
	}
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(want, have) {
		h.w.broken("session %s: with event %d, %q, the list is %q; the calls about it made it %q", e.Session, e.Seq,
			text, have, want)
	}
}

func (h *watch) updated(up troupe.BoardUpdate) {
	it := h.list[up.Item]
	if it == nil {
		return // the comparison finds it
	}
	it.status = up.Status
	if up.Owner != "" {
		it.owner = up.Owner
	}
	wait := func(on *listedItem, by string) {
		if on != nil && !slices.Contains(on.by, by) {
			on.by = append(on.by, by)
			slices.Sort(on.by) // of one figure each
		}
	}
	for _, by := range up.AddBlockedBy {
		wait(it, by)
	}
	for _, other := range up.AddBlocks {
		wait(h.list[other], up.Item)
	}
	if up.Status == troupe.BoardDeleted {
		delete(h.list, up.Item)
	}
}

// listRestated: a summary is told what is to be done, how far each is, and whose it is.
func (h *watch) listRestated(st *turn.State, b troupe.Compacted) {
	if st.Session.Depth > 0 {
		return
	}
	list, open := h.list, false
	if h.led { // its members have the list changed too: the log's own is all there is
		list = make(map[string]*listedItem)
		for _, it := range st.Board.Items {
			list[it.ID] = &listedItem{status: it.Status, owner: it.Owner, author: it.By}
		}
	}
	for _, it := range list {
		open = open || it.status != troupe.BoardCompleted
	}
	text := troupe.JoinText(b.Blocks)
	for id, it := range list {
		line := fmt.Sprintf("#%s [%s] a part", id, it.status)
		if it.author != "" { // a member's words
			line = fmt.Sprintf("#%s [%s] %q", id, it.status, "a part")
		}
		if it.owner != "" {
			line += " (" + it.owner + ")"
		}
		if it.author != "" {
			line += ", put down by " + it.author
		}
		if open && !strings.Contains(text, line) {
			h.w.broken("session %s: its summary does not say of the list: %s", st.Session.ID, line)
		}
	}
}
