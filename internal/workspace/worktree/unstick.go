package worktree

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// stuckAfter is how long a git is at work before it is looked whether it waits for a pipe; then in ever longer steps.
const stuckAfter = 2 * time.Second

// unstick sees to a git that runs in a folder until stop is called: where a pipe has the name of a file of rules, git
// opens it and waits for ever. It gets its end there, as if the file were empty. Nothing is removed: the folder may be
// a person's.
func unstick(folder string) (stop func()) {
	if feedFlags == 0 || folder == "" {
		return func() {}
	}
	done := make(chan struct{})
	t := time.AfterFunc(stuckAfter, func() {
		for wait := stuckAfter; ; wait *= 2 {
			feedPipes(folder, done)
			select {
			case <-done:
				return
			case <-time.After(wait):
			}
		}
	})
	return func() {
		t.Stop()
		close(done)
	}
}

func feedPipes(folder string, done <-chan struct{}) {
	_ = filepath.WalkDir(folder, func(at string, e fs.DirEntry, err error) error {
		select {
		case <-done:
			return fs.SkipAll
		default:
		}
		switch {
		case err != nil || e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case e.Type()&fs.ModeNamedPipe != 0 && ruled(e.Name()):
			feedPipe(folder, strings.TrimPrefix(strings.TrimPrefix(at, folder), "/"))
		}
		return nil
	})
}

// feedPipe has who reads a pipe come to its end. Who else had it open for reading has not: only git reads what is named
// so.
func feedPipe(folder, name string) {
	in, err := rootIn(folder, path.Dir(name))
	if err != nil {
		return
	}
	defer in.Close() //nolint:errcheck // nothing was written
	info, err := in.Lstat(path.Base(name))
	if err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return
	}
	if f, err := in.OpenFile(path.Base(name), feedFlags, 0); err == nil { // else nobody waits for it
		_ = f.Close()
	}
}
