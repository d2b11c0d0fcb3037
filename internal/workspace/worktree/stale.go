package worktree

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// unlockAgent removes the locks that git left in an agent's repository when the process that had the agent was killed:
// those from before a time, for what is at work since has its own. What is in such a lock was never in effect. One that
// cannot be removed is told by git, to the agent.
func unlockAgent(p place, before time.Time) {
	if before.IsZero() || p.ws.Kind != troupe.WorkspaceTree {
		return
	}
	root, err := agentDir(p.ws.Top)
	if err != nil {
		return // there is none, and a save says so
	}
	defer func() { _ = root.Close() }()
	for _, folder := range []string{".", "refs", "worktrees"} {
		_ = fs.WalkDir(root.FS(), folder, func(name string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil
			case e.IsDir() && folder == "." && name != ".":
				return fs.SkipDir
			case e.Type().IsRegular() && strings.HasSuffix(path.Base(name), ".lock"):
				removeOld(root, name, before)
			}
			return nil
		})
	}
}

func removeOld(root *os.Root, name string, before time.Time) {
	if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() && info.ModTime().Before(before) {
		_ = root.Remove(name)
	}
}
