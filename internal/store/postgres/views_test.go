package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/postgres"
	"github.com/troupe-dev/troupe/internal/store/storetest"
)

func TestViews(t *testing.T) {
	t.Parallel()
	address := fresh(t)
	storetest.Views(t, home{address, postgres.Options{}}, func(sql string) (out []string) {
		t.Helper()
		c, err := pgx.Connect(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(t.Context())
		rows, err := c.Query(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatal(err)
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
			var text []string
			for _, v := range row.RawValues() { // plain SQL is answered in texts
				text = append(text, string(v))
			}
			return strings.Join(text, "|"), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	})
}

// TestViewsComeOnline: a database of the version before gets its views while a process works in it.
func TestViewsComeOnline(t *testing.T) {
	t.Parallel()
	h := home{address: fresh(t)}
	old := h.Open(t)
	defer old.Close()
	c, err := pgx.Connect(t.Context(), h.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if _,
		err := c.Exec(t.Context(), `DROP VIEW subagent_results; DROP VIEW agent_status; UPDATE version SET version = 3`,
		pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	root := troupe.ChildID("views", troupe.Coord{Reply: 1})
	err = old.Update(t.Context(), root, func(tx store.Tx) error {
		next := h.Open(t) // while this transaction is under way
		defer next.Close()
		return tx.Insert(troupe.Session{ID: root, Root: root, Cwd: "/", Type: "main", Model: "m/m",
			Status: troupe.Spawning, CreatedAt: time.Unix(1, 0)}, troupe.Lease{Owner: "o", Epoch: 1}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := c.QueryRow(t.Context(), `SELECT count(*) FROM agent_status`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d sessions, %v", n, err)
	}
}
