package session

import (
	"slices"
	"sync"
)

// slots are the sessions of a tree that wait for others of it.
type slots struct {
	mu         sync.Mutex
	queued     []*actor // Spawning, in order of arrival: they wait for an active slot
	overBudget []*actor // their next call waits for room in the tree's limits
}

// enqueue remembers a session that found no active slot.
func (s *slots) enqueue(a *actor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.gone() {
		return
	}
	at, found := slices.BinarySearchFunc(s.queued, a.order, func(x *actor, o int64) int { return int(x.order - o) })
	if !found {
		s.queued = slices.Insert(s.queued, at, a)
	}
}

// dequeue takes out a session that was admitted. If it is not there any more, it was told of
// a free slot while it got one by itself; that slot is for another one to try.
func (s *slots) dequeue(a *actor) {
	if !s.remove(a) && a.st.Session.Depth > 0 {
		s.release(1)
	}
}

// remove takes out a session that does not wait for a slot any more.
func (s *slots) remove(a *actor) (found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.queued, a)
	if i >= 0 {
		s.queued = slices.Delete(s.queued, i, i+1)
	}
	return i >= 0
}

// release lets up to n queued sessions try again for a slot.
func (s *slots) release(n int) {
	s.mu.Lock()
	n = min(n, len(s.queued))
	first := slices.Clone(s.queued[:n])
	s.queued = slices.Delete(s.queued, 0, n)
	s.mu.Unlock()
	for _, a := range first {
		a.post(inNudge{})
	}
}

// queueForBudget remembers a session whose call may not fit into the tree's limits now.
func (s *slots) queueForBudget(a *actor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !a.gone() && !slices.Contains(s.overBudget, a) {
		s.overBudget = append(s.overBudget, a)
	}
}

func (s *slots) leaveBudgetQueue(a *actor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.overBudget = slices.DeleteFunc(s.overBudget, func(x *actor) bool { return x == a })
}

// retryBudget lets the sessions try again whose calls found no room: a call has ended.
func (s *slots) retryBudget() {
	s.mu.Lock()
	all := slices.Clone(s.overBudget)
	s.mu.Unlock()
	for _, a := range all {
		a.post(inNudge{})
	}
}

// clear forgets all of them; they have been killed before.
func (s *slots) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queued, s.overBudget = nil, nil
}
