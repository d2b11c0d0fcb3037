package postgres

// Kill ends a store as a killed process would: nothing is released, and it beats no more.
func (s *Store) Kill() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.life.end()
	s.pool.Close()
}
