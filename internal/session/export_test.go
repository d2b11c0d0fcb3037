package session

// Kept counts what the hub holds: trees, kinds of sessions and descriptions of folders.
func (h *Hub) Kept() (trees, kinds, folders int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.folders.mu.Lock()
	defer h.folders.mu.Unlock()
	return len(h.trees), len(h.heads.known) + len(h.offers.known), len(h.folders.known)
}
