package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
)

// exitQuit is how a shell shows the end by SIGQUIT.
const exitQuit = 128 + 3

// dump answers SIGQUIT, which asks a program what it is doing: the stacks of all goroutines go into a file,
// and one line says where it is.
func dump(c *console.Console) {
	stacks := make([]byte, 1<<20)
	for {
		n := runtime.Stack(stacks, true)
		if n < len(stacks) || n >= 64<<20 {
			stacks = stacks[:n]
			break
		}
		stacks = make([]byte, 2*len(stacks))
	}
	name := fmt.Sprintf("goroutines-%s-%d.txt", c.Now().UTC().Format("20060102-150405"), os.Getpid())
	said := ""
	for _, dir := range []string{home.StateFolder(c.Lookup), os.TempDir()} {
		path := filepath.Join(dir, name)
		if dir == "" || os.MkdirAll(dir, 0o700) != nil || os.WriteFile(path, stacks, 0o600) != nil {
			continue
		}
		said = "; what it was doing (a dump of its goroutines, for a bug report) is in " + path
		break
	}
	c.Warn(fmt.Sprintf("ended by SIGQUIT with exit code %d%s. What was logged is safe: go on with --resume.", exitQuit,
		said))
}
