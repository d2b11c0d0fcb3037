package search_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/search"
)

// While the folder or the file to be searched is exchanged in a loop with a link that leads
// out of the workspace, nothing outside is shown.
func TestSwappedWhileSearching(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"out/f": "needle outside\n", "ws/d/f": "needle inside\n",
		"ws/f": "needle inside\n"})
	at := func(name string) string { return filepath.Join(dir, name) }
	for link, target := range map[string]string{"ws/l": "../out", "ws/g": "../out/f"} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			for _, p := range [][2]string{{"ws/d", "ws/l"}, {"ws/f", "ws/g"}} {
				if err := unix.Renameat2(unix.AT_FDCWD, at(p[0]), unix.AT_FDCWD, at(p[1]),
					unix.RENAME_EXCHANGE); err != nil {
					done <- err
					return
				}
			}
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
		}
	}()
	defer func() {
		close(stop)
		if err := <-done; err != nil {
			t.Skip("this file system cannot exchange two names:", err)
		}
	}()
	env := tool.Env{Cwd: at("ws")}
	shown := map[string]int{}
	for name, look := range map[string]func(string) (string, error){"ripgrep": nil, "own": noPrograms} {
		tries := 2000
		if name == "ripgrep" {
			tries = 100
		}
		grep := search.New(search.Options{LookPath: look})[1]
		for i := range tries {
			in, err := json.Marshal(map[string]any{"pattern": "needle", "path": []string{"d", "f"}[i%2],
				"output_mode": "content"})
			if err != nil {
				t.Fatal(err)
			}
			p, err := grep.Prepare(env, string(in))
			if err != nil {
				t.Fatal(err)
			}
			if reads := p.Access().Reads; strings.HasPrefix(reads[len(reads)-1], at("out")) {
				continue // the gate would not have it
			}
			out, err := p.Run(t.Context(), env)
			if err != nil {
				t.Fatal(err)
			}
			text := troupe.JoinText(out.Blocks)
			if strings.Contains(text, "outside") {
				t.Fatalf("%s shows %q", name, text)
			}
			if strings.Contains(text, "needle inside") {
				shown[name]++
			}
		}
	}
	if shown["own"] == 0 {
		t.Error("nothing was ever searched")
	}
	t.Logf("shown %v", shown)
}
