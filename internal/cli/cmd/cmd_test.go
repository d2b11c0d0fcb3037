package cmd

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/httpd/httpdtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// leftWorld is a home whose tree no process runs.
type leftWorld struct{ *httpdtest.World }

func (leftWorld) Tree(context.Context, troupe.SessionID) (app.Tree, error) {
	return app.Tree{Sum: troupe.Tree{Root: httpdtest.Root}, Paths: map[troupe.SessionID]string{httpdtest.Child: "main/Auth Explorer"}}, nil
}

// noVariables is an environment without variables.
func noVariables(string) (string, bool) { return "", false }
