package turn

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// board is what the agents of a tree have put down to be done. Its value does not change: what changes it makes
// another one, so copies of a state can share it, and boards the items in which they do not differ.
type board struct {
	Items []*troupe.BoardItem // by number; those that were deleted are not there
	made  int                 // items ever put on it
}

// maxBoard is how many items a board holds at once: enough for a hundred agents, and little enough to be told whole.
const maxBoard = 1000

// maxComments is how many comments an item holds: each change of it tells all of them.
const maxComments = 20

// mainName is what the main agent is called where it comments.
const mainName = "main"

// boardChanged puts the items of an event on the board.
func (f *fold) boardChanged(b troupe.BoardChanged) error {
	if f.s.Session.Depth > 0 {
		return f.refuse("the board stands in the log of the root")
	}
	board := f.s.Board
	board.Items = slices.Clone(board.Items)
	for _, item := range b.Items {
		n, err := strconv.Atoi(item.ID)
		i, there := board.find(item.ID)
		switch {
		case err != nil || n < 1 || n > board.made+1 || !there && n <= board.made:
			return f.refuse("item %q does not follow the %d there were", item.ID, board.made)
		case !there:
			board.made = n
			board.Items = append(board.Items, &item)
		case item.Status == troupe.BoardDeleted:
			board.Items = slices.Delete(board.Items, i, i+1)
		default:
			board.Items[i] = &item
		}
	}
	f.s.Board = board
	return nil
}

func (b board) find(id string) (int, bool) {
	i, _ := slices.BinarySearchFunc(b.Items, number(id), func(x *troupe.BoardItem, n int) int {
		return number(x.ID) - n
	})
	return i, i < len(b.Items) && b.Items[i].ID == id
}

// Do is what an intent about the board comes to: the items as they are afterwards, those that changed, and what
// the agent is told. An error is worded for the agent, and nothing has changed. By is the member of a team that wants
// it, "" the main agent: a member takes what nobody has, and leaves what another one has.
func (b board) Do(in troupe.Intent, by string) (changed []troupe.BoardItem, text string, err error) {
	switch in := in.(type) {
	case troupe.BoardCreate:
		return b.create(in, by)
	case troupe.BoardUpdate:
		if err := b.mayUpdate(in, by); err != nil {
			return nil, "", err
		}
		return b.update(in, by)
	case troupe.BoardQuery:
		if in.Item == "" {
			return nil, b.String(), nil
		}
		i, err := b.item(in.Item)
		if err != nil {
			return nil, "", err
		}
		return nil, b.whole(*b.Items[i]), nil
	}
	return nil, "", fmt.Errorf("%T is not about the board", in)
}

func (b board) create(in troupe.BoardCreate, by string) ([]troupe.BoardItem, string, error) {
	if len(b.Items) >= maxBoard {
		return nil, "", fmt.Errorf("the list has %d tasks, which is the most; delete those that are completed",
			maxBoard)
	}
	item := troupe.BoardItem{ID: strconv.Itoa(b.made + 1), Subject: in.Subject, Description: in.Description,
		ActiveForm: in.ActiveForm, Status: troupe.BoardPending, By: by}
	return []troupe.BoardItem{item}, fmt.Sprintf("Task #%s created: %s", item.ID, troupe.Escape(item.Subject)), nil
}

func (b board) update(in troupe.BoardUpdate, by string) ([]troupe.BoardItem, string, error) {
	at, err := b.item(in.Item)
	if err != nil {
		return nil, "", err
	}
	it := *b.Items[at]
	if by != "" && it.Owner == "" && in.Owner == "" &&
		(in.Status == troupe.BoardInProgress || in.Status == troupe.BoardCompleted) {
		in.Owner = by
	}
	for _, set := range []struct{ to, from *string }{
		{&it.Subject, &in.Subject}, {&it.Description, &in.Description}, {&it.ActiveForm, &in.ActiveForm},
		{&it.Owner, &in.Owner}, {(*string)(&it.Status), (*string)(&in.Status)},
	} {
		if *set.from != "" {
			*set.to = *set.from
		}
	}
	if in.Comment != "" {
		if len(it.Comments) >= maxComments {
			return nil, "", fmt.Errorf("task #%s has %d comments, which is the most; nothing was changed. Put what "+
				"counts into its description", it.ID, maxComments)
		}
		it.Comments = append(slices.Clone(it.Comments),
			troupe.BoardComment{By: cmp.Or(by, mainName), Text: in.Comment})
	}
	after := board{Items: slices.Clone(b.Items)}
	after.Items[at] = &it
	if err := after.link(at, in); err != nil {
		return nil, "", err
	}
	it = *after.Items[at]
	if open := after.blockers(it); in.Status == troupe.BoardInProgress && len(open) > 0 {
		return nil, "", fmt.Errorf("task #%s cannot be begun: it is blocked by %s", it.ID, numbers(open))
	}
	return b.report(after, it)
}

// mayUpdate refuses what a member of a team may not do with an item that is another one's: who did what stands in the
// log of the member alone, and others read the board as what the team has agreed on.
func (b board) mayUpdate(in troupe.BoardUpdate, by string) error {
	at, err := b.item(in.Item)
	if err != nil || by == "" {
		return err
	}
	was := *b.Items[at]
	wrote, owns := strings.EqualFold(was.By, by), strings.EqualFold(was.Owner, by)
	switch {
	case was.Owner != "" && !owns && (in.Status != "" || in.Owner != "" && !strings.EqualFold(in.Owner, was.Owner)):
		return fmt.Errorf("task #%s is %s's; the lead of the team can give it to another member", was.ID,
			troupe.Escape(was.Owner))
	case !wrote && (in.Subject != "" || in.Description != "" || in.ActiveForm != "" && !owns):
		return fmt.Errorf("task #%s was put down by %s, whose words these are; add a comment", was.ID,
			troupe.Escape(cmp.Or(was.By, troupe.LeadName)))
	case !wrote && in.Status == troupe.BoardDeleted:
		return fmt.Errorf("task #%s was put down by %s, who can delete it; say in a comment why it should go", was.ID,
			troupe.Escape(cmp.Or(was.By, troupe.LeadName)))
	case len(in.AddBlockedBy) > 0 && !wrote && !owns:
		return b.notYours(was)
	}
	for _, ref := range in.AddBlocks {
		other, err := b.item(ref)
		if err != nil {
			return err
		}
		if it := *b.Items[other]; !strings.EqualFold(it.By, by) && !strings.EqualFold(it.Owner, by) {
			return b.notYours(it)
		}
	}
	return nil
}

func (board) notYours(it troupe.BoardItem) error {
	return fmt.Errorf("what task #%s waits for is said by %s, who put it down, or by who has it; add a comment", it.ID,
		troupe.Escape(cmp.Or(it.By, troupe.LeadName)))
}

// link makes items wait for others. Items that would wait for each other are refused.
func (b board) link(at int, in troupe.BoardUpdate) error {
	id := b.Items[at].ID
	wait := func(i int, on string) {
		it := *b.Items[i] // which another board has as well
		if !slices.Contains(it.BlockedBy, on) {
			it.BlockedBy = append(slices.Clone(it.BlockedBy), on)
			slices.SortFunc(it.BlockedBy, func(x, y string) int { return number(x) - number(y) })
			b.Items[i] = &it
		}
	}
	for _, ref := range in.AddBlockedBy {
		other, err := b.item(ref)
		if err != nil {
			return err
		}
		wait(at, b.Items[other].ID)
	}
	for _, ref := range in.AddBlocks {
		other, err := b.item(ref)
		if err != nil {
			return err
		}
		wait(other, id)
	}
	if circle := b.circle(id); circle != nil {
		return fmt.Errorf("tasks %s would wait for each other; nothing was changed", numbers(circle))
	}
	return nil
}

// circle finds items that wait for each other, from one of them on; nil if there are none. Each is looked at once:
// there may be as many ways from one to another as their author likes.
func (b board) circle(id string) []string {
	seen := map[string]bool{}
	var from func(at string, way []string) []string
	from = func(at string, way []string) []string {
		i, ok := b.find(at)
		if seen[at] || !ok {
			return nil
		}
		seen[at], way = true, append(way, at)
		for _, by := range b.Items[i].BlockedBy {
			if by == id {
				return way
			}
			if c := from(by, way); c != nil {
				return c
			}
		}
		return nil
	}
	return from(id, nil)
}

// report says what an update has changed, and which items wait for nothing any more.
func (b board) report(after board, it troupe.BoardItem) (changed []troupe.BoardItem, text string, err error) {
	for i, now := range after.Items {
		gone := now.ID == it.ID && it.Status == troupe.BoardDeleted
		if was := b.Items[i]; gone || now != was && !equalItems(*now, *was) {
			changed = append(changed, *now)
		}
	}
	if len(changed) == 0 {
		return nil, "Nothing changed: " + b.line(it), nil
	}
	text = "Updated: " + after.line(it)
	if it.Status != troupe.BoardDeleted && it.Status != troupe.BoardCompleted {
		return changed, text, nil
	}
	var free []string
	for _, x := range after.Items {
		if slices.Contains(x.BlockedBy, it.ID) && x.Status == troupe.BoardPending && len(after.blockers(*x)) == 0 {
			free = append(free, x.ID)
		}
	}
	if len(free) > 0 {
		text += "\nNot blocked any more: " + numbers(free)
	}
	return changed, text, nil
}

func equalItems(a, b troupe.BoardItem) bool {
	by := slices.Equal(a.BlockedBy, b.BlockedBy) && slices.Equal(a.Comments, b.Comments)
	return by && a.Subject == b.Subject && a.Description == b.Description && a.ActiveForm == b.ActiveForm &&
		a.Status == b.Status && a.Owner == b.Owner
}

// BegunBy are the ids of the items that an agent has in progress.
func (b board) BegunBy(owner string) (ids []string) {
	for _, it := range b.Items {
		if it.Status == troupe.BoardInProgress && strings.EqualFold(it.Owner, owner) {
			ids = append(ids, it.ID)
		}
	}
	return ids
}

// blockers are the items that keep one from being begun.
func (b board) blockers(it troupe.BoardItem) (open []string) {
	for _, id := range it.BlockedBy {
		if i, ok := b.find(id); ok && b.Items[i].Status != troupe.BoardCompleted &&
			b.Items[i].Status != troupe.BoardDeleted {
			open = append(open, id)
		}
	}
	return open
}

// item finds one by what an agent calls it.
func (b board) item(ref string) (int, error) {
	id := strings.TrimPrefix(strings.TrimSpace(ref), "#")
	i, ok := b.find(id)
	switch {
	case ok:
		return i, nil
	case len(b.Items) == 0:
		return 0, errors.New("there are no tasks on the list; TaskCreate makes one")
	}
	return 0, fmt.Errorf("there is no task #%s on the list; there are %s", troupe.Escape(id), b.ids())
}

func (b board) ids() string {
	var out []string
	for _, it := range b.Items {
		out = append(out, it.ID)
	}
	return numbers(out)
}

// maxNumbers is how many items are named in one sentence.
const maxNumbers = 20

func numbers(ids []string) string {
	more := ""
	if n := len(ids) - maxNumbers; n > 0 {
		ids, more = ids[:maxNumbers], fmt.Sprintf(" and %d more", n)
	}
	return "#" + strings.Join(ids, ", #") + more
}

// String lists the board for an agent, an item a line.
func (b board) String() string {
	if len(b.Items) == 0 {
		return "There are no tasks on the list."
	}
	var out strings.Builder
	for _, it := range b.Items {
		out.WriteString(b.line(*it) + "\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// line is an item for agents. What a member wrote is quoted and named as its: the lead's messages tell it to others.
func (b board) line(it troupe.BoardItem) string {
	subject := troupe.Escape(it.Subject)
	if it.By != "" {
		subject = strconv.Quote(subject)
	}
	text := fmt.Sprintf("#%s [%s] %s", it.ID, it.Status, subject)
	if it.Owner != "" {
		text += " (" + troupe.Escape(it.Owner) + ")"
	}
	if it.By != "" {
		text += ", put down by " + troupe.Escape(it.By)
	}
	if open := b.blockers(it); len(open) > 0 {
		text += ", blocked by " + numbers(open)
	}
	return text
}

// inset has all lines of a text stand behind what is the runtime's.
func inset(text string) string {
	return "    " + strings.NewReplacer("\r\n", "\n    ", "\n", "\n    ", "\r", "\n    ", "\v", "\n    ", "\f",
		"\n    ",
		"\u0085", "\n    ", "\u2028", "\n    ", "\u2029", "\n    ").Replace(troupe.Escape(text))
}

// whole tells all of an item.
func (b board) whole(it troupe.BoardItem) string {
	text := b.line(it)
	if it.Description != "" {
		text += "\n" + inset(it.Description)
	}
	var blocks []string
	for _, x := range b.Items {
		if slices.Contains(x.BlockedBy, it.ID) {
			blocks = append(blocks, x.ID)
		}
	}
	if len(blocks) > 0 {
		text += "\nblocks: " + numbers(blocks)
	}
	for _, c := range it.Comments {
		text += "\ncomment by " + troupe.Escape(c.By) + ": " + strings.TrimSpace(inset(c.Text))
	}
	return text
}

// Open reports whether there is something left to be done.
func (b board) Open() bool {
	return slices.ContainsFunc(b.Items, func(x *troupe.BoardItem) bool { return x.Status != troupe.BoardCompleted })
}

// Keeper is an item that waits for nothing, and what waits for it, directly or not.
type Keeper struct {
	Item    troupe.BoardItem
	Waiting []troupe.BoardItem // those with an owner
	// Circle are the other owners of these for whom the owner of the item waits itself.
	Circle []string
}

// Waits reports whether an agent has an item that waits for this one.
func (k Keeper) Waits(owner string) bool {
	return slices.ContainsFunc(k.Waiting, func(x troupe.BoardItem) bool { return strings.EqualFold(x.Owner, owner) })
}

// Keeping are the items that have an owner, wait for nothing, and keep items of others waiting.
func (b board) Keeping() (out []Keeper) {
	behind, before := map[string][]string{}, map[string][]string{}
	for _, it := range b.Items {
		before[it.ID] = b.blockers(*it)
		for _, on := range before[it.ID] {
			behind[on] = append(behind[on], it.ID)
		}
	}
	for _, it := range b.Items {
		if it.Status == troupe.BoardCompleted || it.Owner == "" || len(b.blockers(*it)) > 0 {
			continue
		}
		k, waits, own, others := Keeper{Item: *it}, waiting(behind, it.ID), []string(nil), false
		for _, x := range b.Items {
			if x.Owner != "" && x.Status != troupe.BoardCompleted && waits[x.ID] {
				k.Waiting = append(k.Waiting, *x)
				if strings.EqualFold(x.Owner, it.Owner) {
					own = append(own, x.ID)
				} else {
					others = true
				}
			}
		}
		awaited := waiting(before, own...)
		for _, x := range k.Waiting {
			if awaited[x.ID] && !strings.EqualFold(x.Owner, it.Owner) {
				k.Circle = append(k.Circle, x.Owner)
			}
		}
		if others {
			out = append(out, k)
		}
	}
	return out
}

// waiting are the items that wait for some, directly or not; behind are those that wait for each.
func waiting(behind map[string][]string, next ...string) map[string]bool {
	out := map[string]bool{}
	for len(next) > 0 {
		on := next[0]
		next = next[1:]
		for _, x := range behind[on] {
			if !out[x] {
				out[x], next = true, append(next, x)
			}
		}
	}
	return out
}

// Lines lists items, a line each.
func (b board) Lines(items []troupe.BoardItem) string {
	var out strings.Builder
	for _, it := range items {
		out.WriteString(b.line(it) + "\n")
	}
	return out.String()
}

func number(id string) int { n, _ := strconv.Atoi(id); return n }

// Freed are the items that the changed ones, completed or gone, have let go: pending, and blocked by nothing any more.
func (b board) Freed(changed []troupe.BoardItem) (free []troupe.BoardItem) {
	done := func(id string) bool {
		return slices.ContainsFunc(changed, func(c troupe.BoardItem) bool {
			return c.ID == id && (c.Status == troupe.BoardCompleted || c.Status == troupe.BoardDeleted)
		})
	}
	for _, x := range b.Items {
		if x.Status == troupe.BoardPending && slices.ContainsFunc(x.BlockedBy, done) && len(b.blockers(*x)) == 0 {
			free = append(free, *x)
		}
	}
	return free
}

// GivenBack are the items that an owner who is gone had in progress, as they are without it.
func (b board) GivenBack(owner string) (items []troupe.BoardItem) {
	for _, x := range b.Items {
		if x.Status == troupe.BoardInProgress && strings.EqualFold(x.Owner, owner) {
			back := *x
			back.Status, back.Owner = troupe.BoardPending, ""
			items = append(items, back)
		}
	}
	return items
}

// Next are the items that a member of the team could take up: its own first, then those without an owner.
func (b board) Next(member string) (items []troupe.BoardItem) {
	var others []troupe.BoardItem
	for _, x := range b.Items {
		switch {
		case x.Status != troupe.BoardPending || len(b.blockers(*x)) > 0:
		case strings.EqualFold(x.Owner, member):
			items = append(items, *x)
		case x.Owner == "":
			others = append(others, *x)
		}
	}
	return append(items, others...)
}

// Pending are the items that wait for nothing and were not begun.
func (b board) Pending() (items []troupe.BoardItem) {
	for _, x := range b.Items {
		if x.Status == troupe.BoardPending && len(b.blockers(*x)) == 0 {
			items = append(items, *x)
		}
	}
	return items
}

// Opens reports whether a change has left an item that anybody can take, or has freed one.
func (b board) Opens(changed []troupe.BoardItem) bool {
	free := func(x troupe.BoardItem) bool {
		return x.Status == troupe.BoardPending && x.Owner == "" && len(b.blockers(x)) == 0
	}
	return slices.ContainsFunc(changed, free) || slices.ContainsFunc(b.Freed(changed), free)
}

// Line is an item in one line, for an agent.
func (b board) Line(it troupe.BoardItem) string { return b.line(it) }
