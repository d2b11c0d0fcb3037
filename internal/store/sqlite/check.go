package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

// shownDamage is how many damaged places Check names.
const shownDamage = 5

// Check looks whether the file is damaged: its pages, its indexes, and the rows that are no events; those
// are for whoever knows what follows what. It says where, or nothing. whole: there was time for all of it,
// before ctx was over.
func (s *Store) Check(ctx context.Context) (damage []string, whole bool, err error) {
	c, err := connect(ctx, s.path, readerPragmas)
	if err != nil {
		return nil, false, explain(s.path, "open the database to check it", err)
	}
	defer func() { err = errors.Join(err, c.close()) }()
	c.ctx = ctx // what is checked may be large
	more := 0
	err = c.query(func(r table.Row) error {
		switch text := strings.TrimPrefix(r.Text(0), "*** in database main ***\n"); {
		case text == "ok":
		case len(damage) < shownDamage:
			damage = append(damage, text)
		default:
			more++
		}
		return nil
	}, "PRAGMA integrity_check")
	if more > 0 {
		damage = append(damage, fmt.Sprintf("%d more", more))
	}
	decode := func(what string) func(table.Row) error {
		return func(r table.Row) error {
			if !json.Valid(r.Bytes(1)) {
				damage = append(damage, fmt.Sprintf("%s %s cannot be decoded", what, r.Text(0)))
			}
			return nil
		}
	}
	if err == nil {
		err = c.query(decode("mail"), "SELECT id, body FROM mail WHERE body IS NOT NULL")
	}
	if err == nil {
		err = c.query(decode("request"), "SELECT id, body FROM requests")
	}
	if err == nil {
		err = c.query(decode("document"), "SELECT hash, body FROM bodies")
	}
	if err == nil {
		err = c.query(func(r table.Row) error {
			damage = append(damage, fmt.Sprintf("session %s: the end of its log is missing: mail stands as read by "+
				"event %d, and the last one is %d", r.Text(0), r.Int64(1), r.Int64(2)))
			return nil
		}, `SELECT s.id, max(m.delivered), s.seq FROM sessions s JOIN mail m ON m.root = s.root AND m.receiver = s.id
			WHERE m.delivered > s.seq GROUP BY s.root, s.id`)
	}
	if ctx.Err() != nil {
		return damage, false, nil //nolint:nilerr // there was no time for the rest
	}
	if err == nil {
		return damage, true, nil
	}
	if err := explain(s.path, "check the database", err); !errors.Is(err, troupe.ErrDamaged) {
		return damage, true, err
	}
	return append(damage, err.Error()), true, nil
}
