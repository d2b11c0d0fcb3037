package session

import (
	"fmt"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// StopMail addresses a stop to the run that a session has now, or is about to begin; live is
// false if it has none. A stop of the whole tree reaches tasks in the background even then.
func StopMail(r store.Reader, id troupe.SessionID, st troupe.Stop, now time.Time, mail troupe.MailID) (m troupe.Mail, live bool, err error) {
	s, err := r.Session(id)
	if err != nil {
		return m, false, fmt.Errorf("read session %s: %w", id, err)
	}
	st.Run = s.Run
	if !s.Status.Live() {
		unread, err := r.Unread(id)
		if err != nil {
			return m, false, fmt.Errorf("read the mail of session %s: %w", id, err)
		}
		for _, u := range unread {
			live = live || u.Wakes()
		}
		if live {
			st.Run++
		}
	} else {
		live = true
		if s.Status == troupe.Spawning {
			st.Run++
		}
	}
	return troupe.Mail{
		ID: mail, Root: s.Root, To: id, Kind: troupe.MailStop, SentAt: now, Stop: &st,
	}, live, nil
}

// StopTree is a stop with all that it has to reach at once. A stop of the whole tree is told to
// everybody below who is at work: on its way down it would not pass those whose run is over, or
// whom somebody else set going. Mail that nobody could act on is left out.
func StopTree(r store.Reader, id troupe.SessionID, st troupe.Stop, now time.Time, mail troupe.MailID) ([]troupe.Mail, error) {
	m, live, err := StopMail(r, id, st, now, mail)
	if err != nil || (!live && !st.Tree) {
		return nil, err
	}
	out := []troupe.Mail{m}
	if !st.Tree {
		return out, nil
	}
	all, err := r.Sessions(store.Filter{Root: m.Root})
	if err != nil {
		return nil, fmt.Errorf("list tree %s: %w", m.Root, err)
	}
	below := map[troupe.SessionID]bool{id: true}
	for _, s := range all {
		if !below[s.Parent] {
			continue
		}
		below[s.ID] = true
		m, live, err := StopMail(r, s.ID, st, now, mail+troupe.MailID(":"+s.ID))
		if err != nil {
			return nil, err
		}
		if live {
			m.Quiet = true // whoever would be told is being stopped as well
			out = append(out, m)
		}
	}
	return out, nil
}
