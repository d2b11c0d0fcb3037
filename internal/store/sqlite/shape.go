package sqlite

import (
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

// shape is what a row of a table, or an entry of an index, looks like in the file: a page does not say what it
// is of, so a salvage tells by the columns. Shapes are read from the schema; there is no other list of them.
type shape struct {
	table   string // "" for an index
	columns []string
	kinds   string // of each column: n null, t text, i integer, b blob; T, I, B: or null
	// least is how many columns the shortest row has. A column that was added to a table is not written into the
	// rows that are there; those end before it.
	least int
}

// shapesOf reads the shapes from the schema of a database.
func shapesOf(c *conn) (out []shape, err error) {
	var tables []string
	rowless := map[string]bool{} // tables that are kept as an index is
	err = c.query(func(r table.Row) error {
		tables = append(tables, r.Text(0))
		rowless[r.Text(0)] = r.Int64(1) != 0
		return nil
	}, `SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table'`)
	for _, table := range tables {
		s := shape{table: table}
		if err == nil {
			err = s.readTable(c, rowless[table])
		}
		if out = append(out, s); err == nil {
			out, err = addIndexes(c, out, s, rowless[table])
		}
	}
	return out, err
}

// readTable reads the columns in the order in which a row keeps them.
func (s *shape) readTable(c *conn, rowless bool) error {
	defer func() {
		if s.least == 0 { // the schema's own table, which requires nothing and does not grow
			s.least = len(s.columns)
		}
	}()
	order := "cid"
	if rowless {
		order = "CASE WHEN pk > 0 THEN pk ELSE 1000 + cid END" // the key stands first
	}
	return c.query(func(r table.Row) error {
		name, isKey, required := r.Text(0), r.Int64(4) != 0, r.Int64(2) != 0 || r.Int64(4) != 0
		kind := kindOf(r.Text(1))
		switch {
		case isKey && !rowless && kind == "I" && r.Int64(5) == 1:
			kind = "n" // the row number, which stands before the columns
		case required:
			kind = strings.ToLower(kind)
		}
		s.columns, s.kinds = append(s.columns, name), s.kinds+kind
		if required && r[3] == nil {
			s.least = len(s.columns) // only a column that may be missing can have been added
		}
		return nil
	}, `SELECT name, type, "notnull", dflt_value, pk, (SELECT count(*) FROM pragma_table_info(?1) WHERE pk > 0)
		FROM pragma_table_info(?1) ORDER BY `+order, s.table)
}

func kindOf(declared string) string {
	switch declared {
	case "TEXT":
		return "T"
	case "BLOB":
		return "B"
	}
	return "I"
}

// addIndexes adds the indexes of a table. The key of one without row numbers is the table itself.
func addIndexes(c *conn, out []shape, of shape, rowless bool) ([]shape, error) {
	var names []string
	err := c.query(func(r table.Row) error { names = append(names, r.Text(0)); return nil },
		`SELECT name FROM pragma_index_list(?) WHERE NOT (origin = 'pk' AND ?)`, of.table, rowless)
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		x := shape{}
		err = c.query(func(r table.Row) error {
			kind := "i" // a row number
			if i := slices.Index(of.columns, r.Text(0)); i >= 0 && of.kinds[i] != 'n' {
				kind = of.kinds[i : i+1]
			} else if r.Int64(1) == -2 {
				kind = "t" // an expression: ours are texts
			}
			x.columns, x.kinds = append(x.columns, r.Text(0)), x.kinds+kind
			return nil
		}, `SELECT coalesce(name, ''), cid FROM pragma_index_xinfo(?) ORDER BY seqno`, name)
		x.least = len(x.columns)
		out = append(out, x)
	}
	return out, err
}

// fits tells whether columns could be a row of this shape.
func (s *shape) fits(col []any) bool {
	if len(col) < s.least || len(col) > len(s.columns) {
		return false
	}
	for i, v := range col {
		kind, ok := s.kinds[i], false
		switch v.(type) {
		case nil:
			ok = kind < 'a' || kind == 'n'
		case string:
			ok = kind|0x20 == 't'
		case int64:
			ok = kind|0x20 == 'i'
		case []byte:
			ok = kind|0x20 == 'b'
		}
		if !ok {
			return false
		}
	}
	return true
}

// values takes columns of a row by their names. One that the row ends before is nil, which reads as 0 and "".
func (s *shape) values(col []any, names []string) table.Row {
	out := make(table.Row, len(names))
	for i, name := range names {
		if at := slices.Index(s.columns, name); at >= 0 && at < len(col) {
			out[i] = col[at]
		}
	}
	return out
}

// oldDocuments is what recognize calls a document of a database before version 8, with what it holds.
const oldDocuments = "documents before version 8"

// oldShapes are of rows as older versions wrote them, where that is more than columns which are missing at the end.
func oldShapes() []shape {
	return []shape{{table: oldDocuments, columns: []string{"root", "hash", "body"}, kinds: "ttb", least: 3}}
}

// eventKeys is what recognize calls an entry of the events' key.
const eventKeys = "the key of events"

// recognize says which table a row is of, and its shape; "" if it has the form of none.
func (s *salvage) recognize(col []any) (table string, is *shape) {
	for i := range s.shapes {
		if is = &s.shapes[i]; !is.fits(col) {
			continue
		}
		switch {
		case is.table != "":
			return is.table, is
		case slices.Equal(is.columns, []string{"root", "session", "seq", ""}):
			return eventKeys, is
		default:
			table = "an index"
		}
	}
	return table, nil
}

// columnList takes a list of columns, as it stands in a statement, apart.
func columnList(sql string) []string {
	return strings.FieldsFunc(sql, func(r rune) bool { return strings.ContainsRune(", \t\n", r) })
}

// valuesOf completes a statement that inserts a row of these columns.
func valuesOf(insertInto, columns string) string {
	return insertInto + " (" + columns + ") VALUES (?" + strings.Repeat(",?", len(columnList(columns))-1) + ")"
}
