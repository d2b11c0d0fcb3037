package app

import (
	"path/filepath"
	"runtime"

	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/instruction"
)

// instructionSources are where people leave instructions for agents that work in a folder: an administrator, the user,
// and the project from its repository's root down to the folder.
func instructionSources(dirs config.Dirs, cwd string, hidden func(string) (string, bool)) instruction.Sources {
	s := instruction.Sources{Home: dirs.Home}
	if hidden != nil {
		s.Hidden = func(path string) bool { _, is := hidden(path); return is }
	}
	add := func(dir, root string, scope instruction.Scope) {
		s.Folders = append(s.Folders, instruction.Folder{Dir: dir, Root: root, Scope: scope})
	}
	for _, m := range config.ManagedFiles(runtime.GOOS) {
		add(filepath.Dir(m.Path), "", instruction.ScopeManaged)
	}
	if dirs.Home != "" {
		s.Shared = append(s.Shared, filepath.Join(dirs.Home, ".claude"))
		add(filepath.Join(dirs.Home, ".claude"), "", instruction.ScopeUser)
	}
	s.Shared = append(s.Shared, dirs.Config)
	add(dirs.Config, "", instruction.ScopeUser)
	folders := config.Folders(cwd)
	for _, dir := range folders {
		add(dir, folders[0], instruction.ScopeProject)
	}
	return s
}
