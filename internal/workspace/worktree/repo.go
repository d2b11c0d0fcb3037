package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// outputMost is how much of git's output is taken: a list of a million files.
const outputMost = 512 << 20

// strangeMost is how long one call on a repository that is not ours may take.
const strangeMost = 30 * time.Second

// repo runs git on one repository, with all of its places given by the environment.
type repo struct {
	runner git.Runner
	// all: no file is ignored, as in a copy.
	all bool
	// strange: it is not ours, so that nobody is told git's own words about it.
	strange bool
	common  string // where a strange one has its objects and refs
	// reads says how files of agents and their projects are read into it; nil: with the user's rights.
	reads func(ctx context.Context) (Reading, error)
}

// with adds to the environment: the last of a name counts.
func (r repo) with(env ...string) repo {
	r.runner.Env = slices.Concat(r.runner.Env, env)
	return r
}

// on makes a folder the work tree, and runs there.
func (r repo) on(folder string) repo {
	r.runner.Dir = folder
	return r.with("GIT_WORK_TREE=" + folder)
}

// set adds settings.
func (r repo) set(settings ...string) repo {
	r.runner.Settings = slices.Clone(r.runner.Settings)
	for _, s := range settings {
		r.runner.Settings = append(r.runner.Settings, "-c", s)
	}
	return r
}

func (r repo) run(ctx context.Context, args ...string) error {
	_, err := r.out(ctx, args...)
	return err
}

// feed runs git with an input.
func (r repo) feed(ctx context.Context, in string, args ...string) (string, error) {
	r.runner.In = strings.NewReader(in)
	return r.out(ctx, args...)
}

// out runs git and gives what it printed.
func (r repo) out(ctx context.Context, args ...string) (string, error) {
	out := git.Capped{Limit: outputMost}
	if r.strange {
		most := strangeMost
		if args[0] == "index-pack" || args[0] == "rev-list" { // as long as what there is to bring
			most = saveMost
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, most)
		defer cancel()
	}
	stop := unstick(r.runner.Dir)
	err := r.runner.Stream(ctx, &out, args...)
	if stop(); err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], r.unsaid(err))
	}
	if out.Cut {
		return "", fmt.Errorf("git %s printed too much", args[0])
	}
	return string(bytes.TrimSuffix(out.Buf.Bytes(), []byte("\n"))), nil
}

// unsaid leaves git's words about a stranger's repository out of an error.
func (r repo) unsaid(err error) error {
	if r.strange && !locked(err) { // a lock is named, with nothing in it
		return git.Unsaid(err)
	}
	return err
}

// saidIn reports whether git said so.
func saidIn(err error, words string) bool {
	e, ok := errors.AsType[*git.Error](err)
	return ok && strings.Contains(e.Text+e.Said, words)
}

// exited reports whether git ended with that code.
func exited(err error, code int) bool {
	exit, ok := errors.AsType[*git.Error](err)
	return ok && exit.Code == code
}

// fields are what stands between the zero bytes of a list.
func fields(list string) []string {
	list = strings.TrimSuffix(list, "\x00")
	if list == "" {
		return nil
	}
	return strings.Split(list, "\x00")
}

// lone are those of some commits that nothing of what is named reaches, each once, sorted.
func lone(ctx context.Context, r repo, ids []string, not ...string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list, err := r.feed(ctx, revisions(ids, not...), "rev-list", "--stdin")
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for id := range strings.Lines(list) {
		found[strings.TrimSpace(id)] = true
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	return slices.DeleteFunc(ids, func(id string) bool { return !found[id] }), nil
}

// revisions are what a walk begins with, and what it leaves out, as git reads them.
func revisions(ids []string, not ...string) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(id + "\n")
	}
	for _, id := range not {
		b.WriteString("^" + id + "\n")
	}
	return b.String()
}
