package app

import (
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/front"
	"github.com/troupe-dev/troupe/internal/instruction"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/skill"
)

// instructions remember what was found for agents that work in a folder. Without it each file that an agent reads would
// have all of it looked for.
type instructions struct {
	mu     sync.Mutex
	known  map[string]loadedAt
	skills map[string]*skillsAt // of folders, as they were read last
}

type loadedAt struct {
	instruction.Loaded

	at time.Time
	// skills are those that models are told of when a file is touched that they are for; nil: not looked for yet.
	skills *skillsAt
}

type skillsAt struct {
	signature string // of the folders that they were read from
	some      []skill.Skill
}

// skillsFor are the skills that are for a file which a session in a folder has read or written.
func (x *instructions) skillsFor(s skills, cwd, file string) (out []session.Instruction) {
	x.mu.Lock()
	defer x.mu.Unlock()
	had := x.known[cwd] // it was loaded just now
	if had.skills == nil {
		had.skills = s.limited(cwd, x.skills[cwd])
		if x.skills == nil || len(x.skills) > mostInstructed {
			x.skills = make(map[string]*skillsAt)
		}
		x.known[cwd], x.skills[cwd] = had, had.skills
	}
	folders := config.Folders(cwd)
	for _, k := range had.skills.some {
		if k.For(file, folders[0]) {
			out = append(out, session.Instruction{Paths: []string{k.Source, k.Real}, Skill: k.Name,
				Text: front.Listing("", []front.Entry{{Name: k.Name, Text: k.Description}}, 1000, "")})
		}
	}
	return out
}

// instructionsFresh is for how long what was found is used again. Files that come meanwhile are told later.
const instructionsFresh = 5 * time.Second

// load finds what is told in a folder. fresh: it is not remembered from before.
func (x *instructions) load(a *App, guard *guard, cwd string, fresh bool) instruction.Loaded {
	now := a.env.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	if had, ok := x.known[cwd]; ok && !fresh && now.Sub(had.at) < instructionsFresh && !now.Before(had.at) {
		return had.Loaded
	}
	found := instruction.Load(instructionSources(a.dirs, cwd, hiddenAt(guard, cwd).Path))
	if x.known == nil || len(x.known) > mostInstructed {
		x.known = make(map[string]loadedAt)
	}
	x.known[cwd] = loadedAt{Loaded: found, at: now}
	return found
}

// mostInstructed is how many folders are remembered.
const mostInstructed = 100

// blocks are files of instructions as a model reads them.
func (a *App) blocks(files []instruction.File) (out []session.Instruction) {
	for _, f := range files {
		out = append(out, session.Instruction{Paths: []string{f.Path, f.Real}, Text: a.Mask(f.Block())})
	}
	return out
}

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
