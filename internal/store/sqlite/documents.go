package sqlite

import (
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

// tx adds how documents are kept here: their bodies stand once for all trees.
type tx struct{ *table.Tx }

var _ store.Tx = tx{}

// PutDocument implements store.Tx.
func (t tx) PutDocument(root troupe.SessionID, hash string, body []byte) error {
	doing := fmt.Sprintf("put document %s of tree %s", hash, root)
	if err := t.InTree(root, doing); err != nil {
		return err
	}
	n, err := t.Exec(doing, `INSERT INTO documents (`+table.DocumentColumns+`) SELECT ?,?
		WHERE EXISTS (SELECT 1 FROM trees WHERE root = ?) ON CONFLICT (root, hash) DO NOTHING`,
		string(root), hash, string(root))
	if err != nil {
		return err
	}
	if n == 0 {
		return t.MustExist(root, doing)
	}
	known := false
	err = t.Query(doing, func(table.Row) error { known = true; return nil }, `SELECT 1 FROM bodies WHERE hash = ?`,
		hash)
	if err != nil || known {
		return err // another tree brought it
	}
	if body == nil {
		body = []byte{} // nil is NULL
	}
	_, err = t.Exec(doing, `INSERT INTO bodies (`+table.BodyColumns+`) VALUES (?,?)`, hash, body)
	return err
}

// DeleteTree implements store.Tx.
func (t tx) DeleteTree(root troupe.SessionID) error {
	doing := "delete tree " + string(root)
	if err := t.InTree(root, doing); err != nil {
		return err
	}
	if _, err := t.Exec(doing, `DELETE FROM bodies WHERE hash IN (SELECT hash FROM documents WHERE root = ?1)
		AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.hash = bodies.hash AND d.root <> ?1)`,
		string(root)); err != nil {
		return err
	}
	return t.Tx.DeleteTree(root)
}
