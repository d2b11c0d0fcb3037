package shell

import (
	"os"
	"path/filepath"
	"regexp"
	"sync"
)

// gitChanges finds commands by which git changes a repository. Two of them at once in one repository end with
// "index.lock: File exists", or with a HEAD that is not what it was. It is a guess that costs a wait if it is wrong.
var gitChanges = regexp.MustCompile(`(?:^|[\s;&|(])git\s(?:[^;&|\n]*\s)?(?:add|am|apply|cherry-pick|checkout|clean|commit|` +
	`merge|mv|pull|rebase|reset|restore|revert|rm|stash|switch)(?:$|[\s;&|)])`)

// repositories are the turns of commands that change them, by the folder that holds .git. The zero value is ready.
type repositories struct {
	mu    sync.Mutex
	turns map[string]*turns
}

// of is the queue for a command in a folder, nil if it needs none. As in any queue of commands, the next one begins
// if nothing moves for a while: what is at work may be a test that takes minutes before it commits.
func (r *repositories) of(command, cwd string) *turns {
	if !gitChanges.MatchString(command) {
		return nil
	}
	top := cwd
	for dir := cwd; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			top = dir
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turns == nil {
		r.turns = make(map[string]*turns)
	}
	if r.turns[top] == nil {
		r.turns[top] = &turns{limit: 1}
	}
	return r.turns[top]
}
