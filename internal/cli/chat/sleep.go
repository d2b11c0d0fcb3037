package chat

import (
	"context"

	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// sleepWithinMS is how long what is under way has to come to its end.
const sleepWithinMS = 10_000

// sleepTree is /sleep. It ends the conversation.
func sleepTree(ctx context.Context, v *conversation, _ string) error {
	root := v.tree.root
	return v.tree.held(ctx, func() error {
		slept, err := v.trees.api.Sleep(ctx, root, wire.Sleep{WithinMS: sleepWithinMS})
		if err != nil {
			return err
		}
		v.say("The conversation is " + console.Slept(v.c, string(root), slept))
		v.letGo()
		v.leave = true
		return nil
	})
}
