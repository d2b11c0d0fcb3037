package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/store/sqlite"
	"github.com/troupe-dev/troupe/internal/store/storetest"
)

func TestViews(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "troupe.db")
	storetest.Views(t, home{path, sqlite.Options{}}, func(statement string) (out []string) {
		t.Helper()
		db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		rows, err := db.QueryContext(t.Context(), statement)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		for err == nil && rows.Next() {
			texts, to := make([]string, len(columns)), make([]any, len(columns))
			for i := range to {
				to[i] = &texts[i]
			}
			err = rows.Scan(to...)
			out = append(out, strings.Join(texts, "|"))
		}
		if err != nil || rows.Err() != nil {
			t.Fatal(err, rows.Err())
		}
		return out
	})
}
