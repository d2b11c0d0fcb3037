// Package pgtest starts a PostgreSQL server for tests, on a socket in a temporary folder.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// errMissing is the error of Start where no server is installed.
var errMissing = errors.New("PostgreSQL is not installed here: no initdb in PATH or /usr/lib/postgresql/*/bin")

// Server is one that runs.
type Server struct {
	ctx      context.Context //nolint:containedctx // it never ends: Stop ends the server
	dir, bin string
	settings []string
	as       *syscall.Credential // nil: as who runs the test
	cmd      *exec.Cmd
}

// Start makes a database cluster and its server, which ends with Stop. As root it runs as another user, for it refuses
// to run as root.
func Start(ctx context.Context, settings ...string) (s *Server, err error) {
	s = &Server{ctx: context.WithoutCancel(ctx), settings: settings}
	if s.bin, err = find(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "troupe-pg-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	if os.Getuid() == 0 {
		if err := s.other(); err != nil {
			return nil, err
		}
	}
	out, err := s.command("initdb", "-D", s.data(), "-U", "troupe", "-A", "trust", "-E", "UTF8", "--locale=C", "-N").
		CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	return s, s.Run()
}

func find() (bin string, err error) {
	for _, name := range append([]string{"initdb"}, installed()...) {
		if path, err := exec.LookPath(name); err == nil {
			if path, err = filepath.EvalSymlinks(path); err == nil {
				return filepath.Dir(path), nil
			}
		}
	}
	return "", errMissing
}

func installed() []string {
	names, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is right
	slices.Reverse(names)
	return names
}

// other has the server run as a user that is not root.
func (s *Server) other() error {
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return err
	}
	uid, e1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, e2 := strconv.ParseUint(u.Gid, 10, 32)
	s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return errors.Join(e1, e2, os.Chown(s.dir, int(uid), int(gid)))
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.ctx, filepath.Join(s.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, &syscall.SysProcAttr{Credential: s.as, Setpgid: true}
	return cmd
}

// Run starts the server, again after Kill, and waits until it answers.
func (s *Server) Run() error {
	args := []string{"-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "logging_collector=off"}
	for _, set := range s.settings {
		args = append(args, "-c", set)
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the server has its own
	s.cmd = s.command("postgres", args...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	for range 600 {
		if s.command("pg_isready", "-q", "-h", s.dir, "-U", "troupe").Run() == nil {
			return nil
		}
		<-time.After(50 * time.Millisecond)
	}
	text, _ := os.ReadFile(log.Name()) // what there is of it
	return fmt.Errorf("the server does not answer: %s", text)
}

// Kill ends the server without a chance to write anything, as a power cut does, but for what the kernel has.
func (s *Server) Kill() error {
	if s.cmd == nil {
		return nil
	}
	err := s.cmd.Process.Signal(syscall.SIGQUIT) // its processes end at once, and none of them cleans up
	_ = s.cmd.Wait()                             // that it was killed is no failure
	s.cmd = nil
	return err
}

// Address is that of the database, with the tables in a schema.
func (s *Server) Address(schema string) string {
	q := url.Values{"host": {s.dir}, "search_path": {schema}}
	return "postgres://troupe@/postgres?" + q.Encode()
}

// Script runs SQL.
func (s *Server) Script(sql string) (string, error) {
	cmd := s.command("psql", "-h", s.dir, "-U", "troupe", "-d", "postgres", "-v", "ON_ERROR_STOP=1", "-qAt")
	cmd.Stdin = strings.NewReader(sql)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// Stop ends the server and removes all that was in it.
func (s *Server) Stop() error { return errors.Join(s.Kill(), os.RemoveAll(s.dir)) }
