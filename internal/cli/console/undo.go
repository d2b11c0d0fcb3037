package console

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/troupe-dev/troupe/internal/wire"
)

// UndoFlags are those of an undo, on the command line and in a conversation.
func UndoFlags(fs *pflag.FlagSet, o *wire.UndoOrder) {
	fs.IntVar(&o.Turn, "to", 0, "Back to before this `TURN` (see --list)")
	fs.StringVar(&o.Merge, "merge", "", "Take back this `MERGE` alone (see --list)")
	fs.BoolVar(&o.Redo, "redo", false, "Take the last undo back")
	fs.BoolVar(&o.Force, "force", false, "Replace what something else has changed since, too")
}

// KeptAs says of the undo of a merge whose worktree was pruned where the work still is; "" if it was not.
func KeptAs(u wire.Undo) string {
	if u.KeptAs == "" {
		return ""
	}
	ref := Line(u.KeptAs, 0)
	return fmt.Sprintf("Its worktree was pruned; all of its work is in %s, to have it as a branch: git branch %s %s\n",
		ref, Line(u.Merge.Name, 64), ref)
}

// CheckUndo refuses flags that do not go together.
func CheckUndo(fs *pflag.FlagSet, o wire.UndoOrder) error {
	to, merge := fs.Changed("to"), fs.Changed("merge")
	switch {
	case merge && o.Merge == "":
		return Usage("--merge takes what --list calls the merge, and it is empty; is a variable not set?")
	case merge && (to || o.Redo):
		return Usage("--merge takes one merge back and nothing else; --to and --redo do not go with it")
	case to && o.Turn < 1:
		return Usage("--to takes the number of a turn, the first is 1")
	case o.Redo && to:
		return Usage("--redo takes the last undo back, whatever turn it was to; --to does not go with it")
	}
	return nil
}
