package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

// conn runs statements on one connection, in a transaction that is open. It implements table.Conn and table.Ahead.
type conn struct {
	c     *pgx.Conn
	ctx   context.Context //nolint:containedctx // it never ends: the server ends a statement that takes too long
	texts *statements
	// waiting are statements whose answer nobody waits for.
	waiting *pgx.Batch
	// tree is the row of the transaction's tree with all that was added in it; nil: it has to be read.
	tree  *troupe.Tree
	added table.Sum
	dirty bool // something was added
	// events are rows that wait, column by column: one statement writes them all.
	events eventRows
	// must are those of waiting that have to change one row, by their places.
	must map[int]bool
	// known is where sessions of the tree stood when the transaction began, as far as that is known, and moved where
	// they stand now.
	known, moved map[troupe.SessionID]standing
	wrote        bool
}

type eventRows struct {
	root, session, kind []string
	seq, at             []int64
	body                [][]byte
}

// standing is under which lease a session is held, and the last event of its log.
type standing struct {
	lease troupe.Lease
	seq   int64
}

// errStale is the error of a write that met another row than was known of.
var errStale = errors.New("a session is not as it was left")

var (
	_ table.Conn  = (*conn)(nil)
	_ table.Ahead = (*conn)(nil)
)

// mostWaiting is how many statements wait at most: what they hold is in memory until then.
const mostWaiting = 200

// statement is a text in PostgreSQL's words.
type statement struct {
	text  string
	trees bool // it is about the rows of trees
	drops bool // it removes sessions
}

// statements are texts in PostgreSQL's words, by those with ?.
type statements struct{ known sync.Map }

// of has values stand as $1 and so on. No text of ours has a ? for anything else.
func (t *statements) of(sql string) statement {
	if s, ok := t.known.Load(sql); ok {
		return s.(statement) //nolint:errcheck,forcetypeassert // nothing else is stored
	}
	var b strings.Builder
	n := 0
	for i := 0; i < len(sql); i++ {
		if sql[i] != '?' {
			b.WriteByte(sql[i])
			continue
		}
		b.WriteByte('$')
		if i+1 == len(sql) || sql[i+1] < '0' || sql[i+1] > '9' { // else its number follows
			n++
			b.WriteString(strconv.Itoa(n))
		}
	}
	out := statement{text: b.String(), trees: strings.Contains(sql, "trees"),
		drops: strings.HasPrefix(sql, "DELETE FROM sessions")}
	t.known.Store(sql, out)
	return out
}

func values(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		if text, ok := a.(string); ok {
			a = storable(text)
		}
		out[i] = a
	}
	return out
}

// Events implements table.Ahead.
func (c *conn) Events(rows [][]any) {
	e := &c.events
	for _, row := range rows {
		r := make(table.Row, len(row))
		for i, v := range row {
			r[i] = v
		}
		e.root, e.session, e.kind = append(e.root, r.Text(0)), append(e.session, r.Text(1)), append(e.kind, r.Text(4))
		e.seq, e.at, e.body = append(e.seq, r.Int64(2)), append(e.at, r.Int64(3)), append(e.body, r.Bytes(5))
	}
	c.wrote = true
}

// settleEvents has the events written that wait.
func (c *conn) settleEvents() {
	e := c.events
	if len(e.seq) == 0 {
		return
	}
	c.waiting.Queue(`INSERT INTO events (root, session, kind, seq, at, body)
		SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bytea[])`,
		e.root, e.session, e.kind, e.seq, e.at, e.body)
	c.events = eventRows{}
}

// queue puts a statement behind those that wait. One about the rows of trees comes after what was added to them.
func (c *conn) queue(sql string, args ...any) {
	s := c.texts.of(sql)
	if s.trees {
		c.settle()
		c.tree = nil
	}
	if s.drops {
		c.known, c.moved = nil, map[troupe.SessionID]standing{}
	}
	c.waiting.Queue(s.text, values(args)...)
}

// settle has what was added to the tree written.
func (c *conn) settle() {
	if c.dirty && c.tree != nil {
		sql, args := c.added.Statement(c.tree.Root, c.Stamp())
		c.waiting.Queue(c.texts.of(sql).text, args...)
		c.wrote = true
	}
	c.added, c.dirty = table.Sum{}, false
}

// send runs what waits. The answer of the last of them is last's.
func (c *conn) send(last func(pgx.BatchResults) error) (err error) {
	n := c.waiting.Len()
	r := c.c.SendBatch(c.ctx, c.waiting)
	must := c.must
	c.waiting, c.must = &pgx.Batch{}, nil
	defer func() {
		if cerr := r.Close(); err == nil { // else it says the same once more
			err = cerr
		}
	}()
	for i := range n {
		if i == n-1 {
			return last(r)
		}
		if tag, err := r.Exec(); err != nil {
			return err
		} else if must[i] && tag.RowsAffected() != 1 {
			return errStale
		}
	}
	return nil
}

// Exec implements table.Conn.
func (c *conn) Exec(sql string, args ...any) (n int64, err error) {
	c.settleEvents()
	c.queue(sql, args...)
	err = c.send(func(r pgx.BatchResults) error {
		tag, err := r.Exec()
		n = tag.RowsAffected()
		return err
	})
	c.wrote = c.wrote || n > 0
	return n, err
}

// Later implements table.Ahead.
func (c *conn) Later(sql string, args ...any) error {
	if c.waiting.Len() >= mostWaiting {
		if _, err := c.Exec("SELECT 1"); err != nil {
			return err
		}
	}
	c.queue(sql, args...)
	if c.must == nil {
		c.must = map[int]bool{}
	}
	c.must[c.waiting.Len()-1], c.wrote = true, true
	return nil
}

// Fence implements table.Ahead.
func (c *conn) Fence(id troupe.SessionID, l troupe.Lease, seq int64) (holds, known bool) {
	at, known := c.moved[id]
	if !known {
		at, known = c.known[id]
	}
	return at == standing{l, seq}, known
}

// Stands implements table.Ahead.
func (c *conn) Stands(id troupe.SessionID, l troupe.Lease, seq int64) { c.moved[id] = standing{l, seq} }

// Query implements table.Conn.
func (c *conn) Query(each func(table.Row) error, sql string, args ...any) error {
	c.settleEvents()
	c.queue(sql, args...)
	return c.send(func(r pgx.BatchResults) error {
		rows, err := r.Query()
		if err != nil {
			return err
		}
		return eachRow(rows, each)
	})
}

func eachRow(rows pgx.Rows, each func(table.Row) error) error {
	defer rows.Close()
	for rows.Next() {
		vals, err := rows.Values()
		if err != nil {
			return err
		}
		out := make(table.Row, len(vals))
		for i, v := range vals {
			switch v := v.(type) {
			case string:
				out[i] = restored(v)
			case bool:
				if out[i] = int64(0); v {
					out[i] = int64(1)
				}
			case int32:
				out[i] = int64(v)
			default:
				out[i] = v
			}
		}
		if err := each(out); err != nil {
			return err
		}
	}
	return rows.Err()
}

// SameName implements table.Conn. The column's collation has letters of ASCII alone.
func (c *conn) SameName(value string) string { return `lower(name) = lower(` + value + ` COLLATE "C")` }

// Worded implements table.Conn. Of a title and a name, 200 characters are looked at.
func (c *conn) Worded(value string) string { return `strpos(words, ` + value + `) > 0` }

// Aside implements table.Conn. It knows how many rows each index has.
func (c *conn) Aside(cond string) string { return cond }

// Stamp implements table.Ahead.
func (c *conn) Stamp() string { return `, changed = pg_current_xact_id()::text::bigint` }

// Document implements table.Conn.
func (c *conn) Document() string { return `SELECT body FROM documents WHERE root = ? AND hash = ?` }

// Explain implements table.Conn.
func (c *conn) Explain(doing string, err error) error { return explain(doing, err) }

// errNegative is the error of counts that would be less than nothing.
var errNegative = errors.New("a count of the tree would be less than nothing")

// AddTree implements table.Ahead. What it comes to is known, so that the row is written once for all of it.
func (c *conn) AddTree(root troupe.SessionID, d troupe.TreeDelta) (bool, error) {
	if c.tree == nil {
		if _, _, err := c.lock(root); err != nil {
			return false, err
		}
	}
	if c.tree == nil {
		return false, nil
	}
	t := *c.tree
	if d.Prompted {
		t.SincePrompt = 0
	}
	t.Total, t.SincePrompt, t.Active = t.Total+d.Total, t.SincePrompt+d.Total, t.Active+d.Active
	t.Tally, t.Reserved = t.Tally.Add(d.Tally), t.Reserved.Add(d.Reserved)
	u := t.Tally.Usage
	if min(int64(t.Total), int64(t.SincePrompt), int64(t.Active), u.Input, u.Output, u.CacheRead, u.CacheWrite,
		int64(t.Tally.Cost), int64(t.Tally.Turns), int64(t.Tally.ToolUses), t.Reserved.Tokens, int64(t.Reserved.Cost),
		int64(t.Reserved.Turns)) < 0 {
		return false, errNegative
	}
	*c.tree = t
	c.added.Add(d)
	c.dirty = true
	return true, nil
}

// Tree implements table.Ahead.
func (c *conn) Tree(root troupe.SessionID) (t troupe.Tree, known bool) {
	if c.tree == nil || c.tree.Root != root {
		return t, false
	}
	return *c.tree, true
}

// lockTree reads the row of a tree and holds it until the end of the transaction. It says which transaction changed it
// last, and the number of this one.
const lockTree = `SELECT ` + table.CapsColumns + `, ` + table.TreeColumns + `, name, changed,
	pg_current_xact_id()::text::bigint ` + table.FromTree + ` FOR NO KEY UPDATE OF t`

// lock takes the tree for this transaction. It is nil afterwards if there is none.
func (c *conn) lock(root troupe.SessionID) (xact, changed int64, err error) {
	err = c.Query(func(r table.Row) error {
		t := r.Scan().Tree(root)
		c.tree = &t
		xact, changed = r.Int64(len(r)-1), r.Int64(len(r)-2)
		return nil
	}, lockTree, string(root))
	return xact, changed, err
}

// begin opens a transaction and locks the tree. It gives the number of the transaction, and that of the one which
// changed the tree last.
func (c *conn) begin(root troupe.SessionID) (xact, changed int64, err error) {
	c.waiting.Queue("BEGIN")
	xact, changed, err = c.lock(root)
	if err != nil || c.tree != nil {
		return xact, changed, err
	}
	err = c.Query(func(r table.Row) error { xact = r.Int64(0); return nil },
		"SELECT pg_current_xact_id()::text::bigint")
	return xact, 0, err
}

// commit writes all that waits and ends the transaction, which is the process's commit of that number in the tree.
func (c *conn) commit(root troupe.SessionID, process string, number int64) error {
	if !c.dirty && c.wrote {
		c.waiting.Queue(`UPDATE trees SET changed = pg_current_xact_id()::text::bigint WHERE root = $1`, string(root))
	}
	if c.dirty || c.wrote {
		c.waiting.Queue(`INSERT INTO commits (root, process, number, at) VALUES ($1, $2, $3, clock_timestamp())
			ON CONFLICT (root, process) DO UPDATE SET number = excluded.number, at = excluded.at`, string(root), process,
			number)
	}
	c.settle()
	c.settleEvents()
	c.waiting.Queue("COMMIT")
	return c.send(func(r pgx.BatchResults) error {
		tag, err := r.Exec()
		if err == nil && tag.String() != "COMMIT" {
			err = fmt.Errorf("the transaction could not be committed: %s", tag)
		}
		return err
	})
}
