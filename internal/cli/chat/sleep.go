package chat

import (
	"context"

	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// sleepTree is /sleep. It ends the conversation.
func sleepTree(ctx context.Context, v *conversation, _ string) error {
	root := v.tree.root
	return v.tree.held(ctx, func() error {
		slept, err := v.trees.api.Sleep(ctx, root, wire.Sleep{})
		if err != nil {
			return err
		}
		v.say("The conversation is " + console.Slept(v.c, string(root), slept))
		v.letGo()
		v.leave = true
		return nil
	})
}
