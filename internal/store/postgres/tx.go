package postgres

import (
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

// tx adds how documents are kept here: each tree has its own.
type tx struct{ *table.Tx }

var _ store.Tx = tx{}

// PutDocument implements store.Tx.
func (t tx) PutDocument(root troupe.SessionID, hash string, body []byte) error {
	doing := fmt.Sprintf("put document %s of tree %s", hash, root)
	if err := t.InTree(root, doing); err != nil {
		return err
	}
	if body == nil {
		body = []byte{} // nil is NULL
	}
	n, err := t.Exec(doing, `INSERT INTO documents (`+table.DocumentColumns+`, body) SELECT ?,?,?
		WHERE EXISTS (SELECT 1 FROM trees WHERE root = ?) ON CONFLICT (root, hash) DO NOTHING`,
		string(root), hash, body, string(root))
	if err != nil || n == 1 {
		return err
	}
	return t.MustExist(root, doing)
}

// DeleteTree implements store.Tx.
func (t tx) DeleteTree(root troupe.SessionID) error {
	if err := t.Tx.DeleteTree(root); err != nil {
		return err
	}
	if _, err := t.Exec("delete tree "+string(root), `DELETE FROM documents WHERE root = ?`, string(root)); err != nil {
		return err
	}
	_, err := t.Exec("note that tree "+string(root)+" was removed", `INSERT INTO removed (root, changed)
		VALUES (?, pg_current_xact_id()::text::bigint) ON CONFLICT DO NOTHING`, string(root))
	return err
}
