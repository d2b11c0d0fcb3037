package app

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
)

// TakenStop is a stop of a session that is taken from a process that does not answer.
type TakenStop struct {
	Session troupe.SessionID
	Tree    bool
	By      troupe.Caller
}

// TakeFrom takes a tree from the process that has it in hand, and gives it to none: it is then as if that
// process had been killed. Whatever it commits for the tree from here on is refused, however late it wakes.
// A stop, if there is one, is logged as that process would have.
func (a *App) TakeFrom(ctx context.Context, root troupe.SessionID, stop *TakenStop) error {
	id, err := troupe.NewRootID(rand.Reader) // the id of no process
	if err != nil {
		return err
	}
	mail, now := troupe.MailID("stop:"+rand.Text()), a.env.Now()
	err = a.trees.store.Update(ctx, root, func(tx store.Tx) error {
		all, err := tx.Sessions(store.Filter{Root: root})
		for _, s := range all {
			if err == nil {
				_, err = tx.Claim(s.ID, troupe.OwnerID(id))
			}
		}
		if err != nil || stop == nil {
			return err
		}
		return session.StopTaken(tx, all, stop.Session, session.TakenStop{Owner: troupe.OwnerID(id),
			Stop: troupe.Stop{Now: true, Tree: stop.Tree, By: stop.By.String()}, Caller: stop.By, Mail: mail, Now: now})
	})
	if err != nil {
		return fmt.Errorf("take over tree %s: %w", root, err)
	}
	return nil
}
