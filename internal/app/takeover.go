package app

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// TakeFrom takes a tree from the process that has it in hand, and gives it to none: it is then as if that
// process had been killed. Whatever it commits for the tree from here on is refused, however late it wakes.
func (a *App) TakeFrom(ctx context.Context, root troupe.SessionID) error {
	nobody, err := troupe.NewRootID(rand.Reader) // the id of no process
	if err != nil {
		return err
	}
	err = a.trees.store.Update(ctx, root, func(tx store.Tx) error {
		all, err := tx.Sessions(store.Filter{Root: root})
		for _, s := range all {
			if err == nil {
				_, err = tx.Claim(s.ID, troupe.OwnerID(nobody))
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("take over tree %s: %w", root, err)
	}
	return nil
}
