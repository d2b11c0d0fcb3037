//go:build amd64 || arm64

package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// A program of which it is known what it would change is not started if some of that is guarded, whoever starts it;
// what was granted counts, and all that is lacking is told at once.
func TestStartsAreAskedAbout(t *testing.T) {
	t.Parallel()
	file := func(r *room, name string) string { return filepath.Join(r.ws, name) }
	for name, tt := range map[string]struct {
		command string
		granted []string
		level   troupe.Level
		told    string
		out     string
	}{
		"from a script": {command: "bash -c '(exec -a git echo ran)'; (exec -a git echo ran)",
			told: "write bashrc, remove bashrc, create .mcp.json, create new folder, create new/HEAD"},
		"granted": {command: "(exec -a git echo ran)", granted: []string{"*"}, out: "ran"},
		"partly granted": {command: "(exec -a git echo ran)", granted: []string{".mcp.json"},
			told: "write bashrc, remove bashrc, create new folder, create new/HEAD"},
		"read-only": {command: "(exec -a git echo ran)", level: troupe.LevelReadOnly, out: "ran",
			told: "write bashrc, remove bashrc, create .mcp.json, create new folder, create new/HEAD"},
		"by its path": {command: "(exec -a /usr/bin/git echo ran)", level: troupe.LevelReadOnly, out: "ran",
			told: "write bashrc, remove bashrc, create .mcp.json, create new folder, create new/HEAD"},
		"in a folder named so": {command: "(exec -a /git/echo echo ran)", out: "ran"},
		"another program":      {command: "echo ran; (exec -a got echo again)", out: "ran\nagain"},
		"another command":      {command: "(exec -a git echo none)", out: "none"},
		"in its scratchpad":    {command: "(exec -a git echo notes)", out: "notes"},
		"in another place":     {command: "cd sub && (exec -a git echo ran); true", told: "create sub/.mcp.json"},
		"by its input": {command: "(exec -a git echo reads < bashrc) || echo no", out: "no",
			told: "create .mcp.json"},
		"its environment": {command: "(TREE=sub exec -a git echo ran) || echo no", out: "no",
			told: "create sub/.mcp.json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, Options{}).workspace()
			needLandlock(t, r)
			if !r.box.Support(t.Context()).Notify {
				t.Skip("nothing is watched here")
			}
			r.file("bashrc", "mine")
			r.file("sub/x", "x")
			pad := t.TempDir() // where nothing is guarded, whatever is said of it
			r.conf.Writable, r.conf.Scratchpad = append(r.conf.Writable, pad), pad
			guarded := []string{file(r, "bashrc"), file(r, ".mcp.json"), file(r, "new"), file(r, "sub/.mcp.json"), pad}
			r.conf.Guarded = func(path string) string {
				if troupe.WithinAny(path, guarded) {
					return "guarded"
				}
				return ""
			}
			r.conf.Starts = func(dir, input string, argv, environ []string) []string {
				switch {
				case slices.Contains(argv, "notes"):
					return []string{filepath.Join(pad, "x")}
				case slices.Contains(argv, "none"):
					return []string{file(r, "free")}
				case slices.Contains(argv, "reads") && strings.HasPrefix(input, "/proc/"):
					return []string{file(r, ".mcp.json")}
				case slices.Contains(argv, "reads"):
					t.Errorf("input %q", input)
					return nil
				case dir != r.ws || slices.Contains(environ, "TREE=sub"):
					return []string{file(r, "sub/.mcp.json")}
				}
				if input != "" {
					t.Errorf("%s is read", input)
				}
				return []string{guarded[0], guarded[1], file(r, "free"), file(r, "new/HEAD")}
			}
			if tt.level != "" {
				r.conf.Level, r.conf.Writable = tt.level, nil
			}
			for _, g := range tt.granted {
				for op, names := range map[troupe.AttemptOp][]string{troupe.OpWrite: {"bashrc"},
					troupe.OpRemove: {"bashrc"},
					troupe.OpCreate: {".mcp.json", "new/HEAD"}} {
					for _, n := range names {
						if g == "*" || g == n {
							r.conf.Granted = append(r.conf.Granted, troupe.Attempt{Op: op, Path: file(r, n)})
						}
					}
				}
				if g == "*" {
					r.conf.Granted = append(r.conf.Granted, troupe.Attempt{Op: troupe.OpCreate, Path: file(r, "new"),
						Kind: troupe.KindFolder})
				}
			}
			out, _, w := r.run(tt.command)
			var told []string
			for _, a := range w.Attempts {
				rel, _ := filepath.Rel(r.ws, a.Path)
				told = append(told, strings.TrimSpace(string(a.Op)+" "+rel+" "+string(a.Kind)))
			}
			if got := strings.Join(told, ", "); got != tt.told {
				t.Errorf("told %q, want %q", got, tt.told)
			}
			if !strings.Contains(out, tt.out) || tt.out == "" && strings.Contains(out, "ran") {
				t.Errorf("it printed %q, want %q", out, tt.out)
			}
		})
	}
}
