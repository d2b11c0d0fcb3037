package postgres

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/troupe-dev/troupe"
)

const (
	// idleLimit is how long a transaction may stand still: a process that was stopped inside of one holds its tree no
	// longer.
	idleLimit = 2 * time.Second
	// lockLimit is how long a tree is waited for that another process holds.
	lockLimit = 10 * time.Second
	// statementLimit is how long one statement may take.
	statementLimit = 30 * time.Second
	connectTime    = 5 * time.Second
	// defaultSchema is where the tables are, unless the address names another search_path.
	defaultSchema = "troupe"
	searchPath    = "search_path"
)

// Options of Open. The zero value is what Troupe runs with.
type Options struct {
	Connections int // for functions; 0 means 8. Two more beat, tell and watch
	Batch       int // most Updates in one commit; 0 means 256
}

//go:embed schema/*.sql
var schema embed.FS

// Open opens the database at an address, postgres://USER:PASSWORD@HOST/NAME, and makes its tables if it has none. They
// are in the schema that search_path names there, or in one called troupe.
func Open(ctx context.Context, address string, o Options) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, &troupe.UserError{Problem: "the address of the database cannot be read: " + withoutSecret(err),
			Hint: "It looks like postgres://USER:PASSWORD@HOST/NAME.", Code: troupe.ExitUsage, Err: err}
	}
	cfg.MaxConns = 8
	if o.Connections > 0 {
		cfg.MaxConns = int32(min(o.Connections, 1000)) //nolint:gosec // it was just bounded
	}
	if o.Batch <= 0 {
		o.Batch = 256
	}
	set := cfg.ConnConfig.RuntimeParams
	if set[searchPath] == "" {
		set[searchPath] = defaultSchema
	}
	set["application_name"] = "troupe"
	set["idle_in_transaction_session_timeout"] = millis(idleLimit)
	set["lock_timeout"] = millis(lockLimit)
	set["statement_timeout"] = millis(statementLimit)
	set["timezone"] = "UTC"
	cfg.ConnConfig.ConnectTimeout = connectTime
	dialer := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 2 * time.Second,
		Interval: time.Second, Count: 3}}
	cfg.ConnConfig.DialFunc = dialer.DialContext
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), cfg)
	if err != nil {
		return nil, explain("open the database", err)
	}
	s := &Store{pool: pool, process: rand.Text(), ctx: context.WithoutCancel(ctx), batch: o.Batch,
		lanes:  map[troupe.SessionID]*lane{},
		memory: map[troupe.SessionID]remembered{}, room: mostRemembered}
	if err := s.migrate(ctx); err != nil {
		pool.Close()
		return nil, explain("open the database", err)
	}
	s.life = begin(s)
	return s, nil
}

// withoutSecret is pgx's error without the address, which may hold a password.
func withoutSecret(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, "`"); i >= 0 {
		text = strings.TrimPrefix(text[i+1:], ": ")
	}
	return text
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func (s *Store) schema() string { return s.pool.Config().ConnConfig.RuntimeParams[searchPath] }

// channel is where processes tell each other what has changed.
func (s *Store) channel() string { return "troupe_" + s.schema() }

// migrate brings the tables to this version. Processes that come at once do so one after the other.
func (s *Store) migrate(ctx context.Context) error {
	files, err := schema.ReadDir("schema")
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, s.pool, func(t pgx.Tx) error {
		var encoding string
		if err := t.QueryRow(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('troupe schema', 0))::text,
			current_setting('server_encoding')`).Scan(nil, &encoding); err != nil {
			return err
		}
		if encoding != "UTF8" {
			return &troupe.UserError{Problem: "the database has the encoding " + encoding + ", and Troupe needs UTF8",
				Hint: "Make another one: createdb --encoding=UTF8 --template=template0 NAME"}
		}
		in := pgx.Identifier{s.schema()}.Sanitize()
		if _, err := t.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS `+in); err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `CREATE TABLE IF NOT EXISTS version (version BIGINT NOT NULL)`); err != nil {
			return err
		}
		var version int
		err := t.QueryRow(ctx, `SELECT version FROM version`).Scan(&version)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if version > len(files) {
			return &troupe.UserError{Err: troupe.ErrNewer,
				Problem: fmt.Sprintf("the database has version %d, and this troupe knows versions up to %d", version,
					len(files)), Hint: "Install the newer troupe."}
		}
		for _, f := range files[version:] {
			text, err := schema.ReadFile("schema/" + f.Name())
			if err != nil {
				return err
			}
			if _, err := t.Exec(ctx, string(text), pgx.QueryExecModeSimpleProtocol); err != nil {
				return fmt.Errorf("make the tables (%s): %w", f.Name(), err)
			}
		}
		if version == len(files) {
			return nil
		}
		if _, err := t.Exec(ctx, `DELETE FROM version`); err != nil {
			return err
		}
		_, err = t.Exec(ctx, `INSERT INTO version VALUES ($1)`, len(files))
		return err
	})
}

// Stats describes the database for people.
type Stats struct {
	Address string // without a password
	Bytes   int64
	Version int // of the schema
}

// Stats looks at the database as it is now.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	c := s.pool.Config().ConnConfig
	out := Stats{Address: fmt.Sprintf("postgres://%s@%s/%s, schema %s", c.User,
		net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))), c.Database, s.schema())}
	err := s.pool.QueryRow(ctx, `SELECT (SELECT version FROM version), coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'`,
		s.schema()).Scan(&out.Version, &out.Bytes)
	return out, explain("look at the database", err)
}
