package postgres_test

import (
	"strconv"
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

// TestViewsComeOnline: a database of an earlier version is brought up to date while a process works in it. What that
// does meanwhile waits for a moment, and all of it is done.
func TestViewsComeOnline(t *testing.T) {
	t.Parallel()
	h := home{address: fresh(t)}
	old := h.Open(t)
	defer old.Close()
	root := troupe.ChildID("views", troupe.Coord{Reply: 1})
	if err := old.Update(t.Context(), root, func(tx store.Tx) error {
		return tx.Insert(troupe.Session{ID: root, Root: root, Cwd: "/", Type: "main", Model: "m/m",
			Status: troupe.Spawning, CreatedAt: time.Unix(1, 0)}, troupe.Lease{Owner: "o", Epoch: 1}, nil)
	}); err != nil {
		t.Fatal(err)
	}
	c, err := pgx.Connect(t.Context(), h.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if _, err := c.Exec(t.Context(), `DROP VIEW subagent_results; DROP VIEW agent_status;
		ALTER TABLE sessions DROP COLUMN archived; UPDATE version SET version = 3;
		CREATE INDEX roots_by_person ON sessions (begun_by, born) WHERE parent = '';
		CREATE INDEX roots_by_text ON sessions (born) INCLUDE (words) WHERE parent = ''`,
		pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	stop, began, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	sent := 0
	go func() {
		for {
			err := old.Update(t.Context(), root, func(tx store.Tx) error {
				_, err := tx.Send(troupe.Mail{ID: troupe.MailID(strconv.Itoa(sent)), Root: root, To: root,
					Kind: troupe.MailPrompt})
				return err
			})
			if sent++; sent == 1 {
				close(began)
			}
			select {
			case <-stop:
				ended <- err
				return
			default:
			}
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	<-began
	next := h.Open(t)
	defer next.Close()
	close(stop)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	err = next.View(t.Context(), func(r store.Reader) error {
		mail, err := r.Unread(root)
		if len(mail) != sent {
			t.Errorf("%d pieces of mail are there, %d were sent", len(mail), sent)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := c.QueryRow(t.Context(), `SELECT count(*) FROM agent_status WHERE NOT archived`).Scan(&n); err != nil ||
		n != 1 {
		t.Errorf("%d sessions, %v", n, err)
	}
}
