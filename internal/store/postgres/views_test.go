package postgres_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

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
		defer c.Close(t.Context()) //nolint:errcheck // it only read
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
