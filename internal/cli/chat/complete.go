package chat

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// completer proposes commands at the beginning of a line, what they take behind them, and paths behind an @.
func completer(cwd, home string, values func(command string) []string,
	skills func() []wire.Skill) func(before string) (int, []string) {
	return func(before string) (int, []string) {
		if name, typed, ok := strings.Cut(before, " "); ok && strings.HasPrefix(name, "/") &&
			!strings.ContainsAny(typed, " \n") {
			full, _ := findCommand(name[1:])
			var out []string
			for _, w := range values(full) {
				if strings.HasPrefix(w, typed) {
					out = append(out, w)
				}
			}
			return len(name) + 1, out
		}
		if strings.HasPrefix(before, "/") && !strings.ContainsAny(before, " \n") {
			var out []string
			for _, c := range commands() {
				if strings.HasPrefix("/"+c.name, before) {
					out = append(out, "/"+c.name+" ")
				}
			}
			for _, s := range skills() {
				if strings.HasPrefix("/"+s.Name, before) && !slices.Contains(out, "/"+s.Name+" ") {
					out = append(out, "/"+s.Name+" ")
				}
			}
			return 0, out
		}
		from := strings.LastIndexAny(before, " \n\t(") + 1
		if !strings.HasPrefix(before[from:], "@") {
			return 0, nil
		}
		return from, completePath(cwd, home, before[from+1:])
	}
}

// valuesOf are the words that a command takes, as far as they can be known before it.
func valuesOf(ctx context.Context, a api.API, cwd string) func(command string) []string {
	return func(command string) (out []string) {
		switch command {
		case "mode":
			for _, m := range troupe.Modes() {
				out = append(out, string(m))
			}
		case "model":
			out, _ = console.ModelWords(ctx, a.Machine(), cwd)
		case "diff", "merge", "worktrees":
			list, _ := a.Setup().Workspaces().Worktrees(ctx, wire.WorktreeQuery{Cwd: cwd, Names: true})
			for _, w := range list {
				out = append(out, w.Name)
			}
		case "resume":
			out, _ = console.SessionWords(ctx, a, cwd)
			for i, w := range out {
				out[i], _, _ = strings.Cut(w, "\t")
			}
		}
		return out
	}
}

// most entries of a folder that are looked at: completion must be quick in any of them.
const completeEntries = 5000

func completePath(cwd, home, typed string) []string {
	dir, begin := "", typed
	if i := strings.LastIndexByte(typed, '/'); i >= 0 {
		dir, begin = typed[:i+1], typed[i+1:]
	}
	full := (&attacher{cwd: cwd, home: home}).absolute(dir)
	f, err := os.Open(full)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // it was only read
	entries, err := f.ReadDir(completeEntries)
	if err != nil {
		return nil
	}
	var out []string
	for _, name := range sortedNames(entries) {
		if !strings.HasPrefix(name, begin) || (begin == "" && strings.HasPrefix(name, ".")) ||
			strings.ContainsAny(name, " \n") {
			continue
		}
		if info, err := os.Stat(filepath.Join(full, name)); err == nil && !info.IsDir() {
			name += " "
		}
		out = append(out, "@"+dir+name)
	}
	return out
}

// sortedNames are the names of entries; those of folders end with a slash.
func sortedNames(entries []os.DirEntry) []string {
	out := make([]string, 0, len(entries))
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
