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

func runChild(what, path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	switch what {
	case "open":
		return openOnce(ctx, path)
	case "write":
		return writeForEver(ctx, path)
	default:
		return errors.New("no such child: " + what)
	}
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
	s, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	id := troupe.SessionID(fmt.Sprintf("%012d", os.Getpid()))
	_, err = s.Register(ctx, troupe.Owner{ID: troupe.OwnerID(id)})
	if err == nil {
		err = s.write(ctx, id, func(t *tx) error { return t.Insert(rootSession(id), troupe.Lease{}, nil) })
	}
	return errors.Join(err, s.Close())
}
