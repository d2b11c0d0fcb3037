package e2e_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/troupe-dev/troupe/internal/store/postgres/pgtest"
)

// TestScriptsPostgres runs scripts of each part where a PostgreSQL server keeps the sessions. A script has one
// database, so none is among them that looks into troupe.db or has two homes.
func TestScriptsPostgres(t *testing.T) {
	t.Parallel()
	server, err := pgtest.Start(t.Context(), "fsync=off", "max_connections=500")
	if err != nil { // none is installed, or none can run here: `make test` says so in the end
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	var files []string
	for _, name := range strings.Fields("agents_parallel agents_changed attach background basics_commands budgets " +
		"clear " +
		"compact first_use fork hooks_ends limits_again log_follow names permissions_led permissions_twice " +
		"requests_futile " +
		"undo undo_merge worktree_auto worktree_enter worktree_handback worktree_unbrought worktrees") {
		files = append(files, filepath.Join("testdata", "script", name+".txtar"))
	}
	for _, name := range []string{"killed", "home", "workers", "schedule", "webhook", "notify", "stored_agents",
		"client_tools"} {
		files = append(files, filepath.Join("testdata", "postgres", name+".txtar"))
	}
	var n atomic.Int64
	t.Run("scripts", func(t *testing.T) {
		runScripts(t, testscript.Params{Files: files}, func(e *testscript.Env) {
			e.Setenv("TROUPE_DATABASE", server.Address(fmt.Sprintf("s%d", n.Add(1))))
		})
	})
}
