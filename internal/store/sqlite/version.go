package sqlite

import (
	"fmt"
	"math/bits"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

// version reads user_version, and refuses a file that is not ours or newer than we are, or whose numbers
// are damaged: one that has our tables is ours, whatever it says.
func version(c *conn, path string) (int, error) {
	v, err := c.number("PRAGMA user_version")
	if err != nil {
		return 0, explain(path, "open the database", err)
	}
	id, err := c.number("PRAGMA application_id")
	if err != nil {
		return 0, explain(path, "open the database", err)
	}
	if id == applicationID && 0 < v && v <= schemaVersion {
		return int(v), nil
	}
	tables, err := c.number("SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return 0, explain(path, "open the database", err)
	}
	ours, err := c.number("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('trees', 'sessions', " +
		"'events', 'mail')")
	if err != nil {
		return 0, explain(path, "open the database", err)
	}
	switch {
	case id != applicationID && ours == 4:
		return 0, damaged(path, "it has the tables of Troupe and the mark of another program", fmt.Errorf("%#x", id),
			"")
	case id != applicationID && (id != 0 || v != 0 || tables != 0):
		return 0, &troupe.UserError{
			Problem: fmt.Sprintf("%s is a database of another program; it was left as it is.", path),
			Hint:    "Point TROUPE_HOME at another folder, or move the file away.",
		}
	case v < 0 || v == 0 && tables != 0 || v > schemaVersion && !mayBeNewer(c, v):
		return 0, damaged(path, "its version cannot be right", fmt.Errorf("%d", v), "")
	case v > schemaVersion:
		return 0, &troupe.UserError{
			Problem: fmt.Sprintf("the database %s has version %d, and this troupe knows versions up to %d; it was "+
				"left as it is.", path, v, schemaVersion),
			Hint: "Install the newer troupe again, or point TROUPE_HOME at another folder.",
			Err:  fmt.Errorf("database version %d, known up to %d: %w", v, schemaVersion, troupe.ErrNewer),
		}
	}
	return int(v), nil
}

// mostVersions is more versions than there will be.
const mostVersions = 10_000

// mayBeNewer tells a newer version from a damaged number. Each version changes the schema, so a number that
// is one bit off and stands with the very schema of this version is damaged.
func mayBeNewer(c *conn, v int64) bool {
	if v >= mostVersions {
		return false
	}
	return bits.OnesCount64(uint64(v^schemaVersion)) > 1 || !isCurrentSchema(c)
}

// isCurrentSchema compares the schema with that of a new database.
func isCurrentSchema(c *conn) bool {
	dir, err := os.MkdirTemp("", "troupe-schema-")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	draft := filepath.Join(dir, "new.db")
	if makeDraft(c.ctx, draft, draft) != nil {
		return false
	}
	fresh, err := connect(c.ctx, draft, readerPragmas)
	if err != nil {
		return false
	}
	defer fresh.close() //nolint:errcheck // only read from
	want, err1 := schemaOf(fresh)
	have, err2 := schemaOf(c)
	return err1 == nil && err2 == nil && want == have
}

func schemaOf(c *conn) (text string, err error) {
	err = c.query(func(r table.Row) error { text += r.Text(0) + "\n"; return nil },
		"SELECT coalesce(sql, '') FROM sqlite_schema ORDER BY name, coalesce(sql, '')")
	return text, err
}
