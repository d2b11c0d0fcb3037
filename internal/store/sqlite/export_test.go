package sqlite

import "errors"

// Kill lets go of what the kernel would take from a killed process: its locks and its
// files. It releases no owner.
func (s *Store) Kill() error {
	s.ownersMu.Lock()
	var err error
	for id, l := range s.owned {
		err = errors.Join(err, l.close())
		delete(s.owned, id)
	}
	s.ownersMu.Unlock()
	return errors.Join(err, s.Close())
}
