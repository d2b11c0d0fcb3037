// Package cmd is the commands that each fit in a file: they look at sessions, talk to them,
// and tell what holds on this machine. What runs agents has packages of its own beside it.
package cmd

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
)

// All makes every command of this package.
func All(c *console.Console, runner Runner) []*cobra.Command {
	return []*cobra.Command{
		newRecord(c, runner), newReplay(c, runner),
		newSessions(c), newShow(c), newLog(c), newAttach(c), newSend(c), newStop(c), newSleep(c), newRename(c),
		newArchive(c), newExport(c),
		newImport(c),
		newTasks(c), newBoard(c),
		newCost(c),
		newContext(c),
		newRequests(c),
		newAnswer(c),
		newAgents(c), newSkills(c), newStyles(c), newWorkflow(c), newPlans(c), newHooks(c), newMCP(c), newPlugins(c),
		newPermissions(c), newRemove(c),
		newDoctor(c),
		newModels(c), newMemory(c),
		newUndo(c), newWorktrees(c), newDiff(c), newMerge(c), newPush(c),
		newServe(c), newWorker(c), newLogin(c), newLogout(c), newUsers(c), newAdmin(c), newSchedule(c), newWebhook(c),
		newNotify(c),
		newDocs(c), newVersion(c),
	}
}

// inHome makes what a command runs of a function that needs an open home.
func inHome(c *console.Console, fn func(context.Context, api.API, []string) error) func(*cobra.Command,
	[]string) error {
	return func(cmd *cobra.Command, args []string) error {
		return c.With(cmd.Context(), troupe.SurfaceCommand,
			func(h *home.Home) error { return fn(cmd.Context(), h.API, args) })
	}
}

// hinted adds to the hint of an error. The use cases say what can be done about it, and a command which flag of its own
// does that.
func hinted(err error, more string) error {
	user, ok := errors.AsType[*troupe.UserError](err)
	if !ok {
		return err
	}
	out := *user
	out.Hint = strings.TrimSpace(out.Hint + " " + more)
	return &out
}

// oneSession wants exactly one argument, a session.
func oneSession(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return console.Usage("troupe %s takes one session: an id, the beginning of one, a name, or a path "+
			"such as \"main/Auth Explorer\"; main is the newest of this folder", cmd.Name())
	}
	return nil
}

func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "Print JSON")
}

// jsonList prints a list as JSON; an empty one is [] and not null.
func jsonList[T any](c *console.Console, list []T) error {
	if list == nil {
		list = []T{}
	}
	return c.JSON(list)
}
