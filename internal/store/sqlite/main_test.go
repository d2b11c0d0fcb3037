package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

// childEnv makes the test binary a process of its own: it names what to do, and on which path.
const childEnv = "TROUPE_SQLITE_TEST_CHILD"

func TestMain(m *testing.M) {
	if what, path, ok := strings.Cut(os.Getenv(childEnv), " "); ok {
		if err := runChild(what, path); err != nil {
			fmt.Println("ERROR", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// children are what the test binary can do as a process of its own.
var children = map[string]func(ctx context.Context, path string) error{
	"open": openOnce, "write": writeForEver, "fill": fill,
}

func runChild(what, path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	do, ok := children[what]
	if !ok {
		return errors.New("no such child: " + what)
	}
	return do(ctx, path)
}

// child prepares a process that does what on path.
func child(t *testing.T, binary, what, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Env = append(os.Environ(), childEnv+"="+what+" "+path)
	return cmd
}

// openOnce opens, registers an owner, writes a tree of its own, and closes.
func openOnce(ctx context.Context, path string) error {
	return openAs(ctx, path, troupe.SessionID(fmt.Sprintf("%012d", os.Getpid())))
}

func openAs(ctx context.Context, path string, id troupe.SessionID) error {
	s, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	_, err = s.Register(ctx, troupe.Owner{ID: troupe.OwnerID(id)})
	if err == nil {
		err = s.write(ctx, id, func(t *table.Tx) error { return t.Insert(rootSession(id), troupe.Lease{}, nil) })
	}
	return errors.Join(err, s.Close())
}
