package chat

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// completer proposes commands at the beginning of a line and paths behind an @.
func completer(cwd, home string) func(before string) (int, []string) {
	return func(before string) (int, []string) {
		if strings.HasPrefix(before, "/") && !strings.ContainsAny(before, " \n") {
			var out []string
			for _, c := range commands() {
				if strings.HasPrefix("/"+c.name, before) {
					out = append(out, "/"+c.name+" ")
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
