package checkout

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/proxy"
	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// remote runs git with a way to the listed hosts.
type remote struct {
	runner git.Runner
	proxy  *proxy.Proxy
	done   func()

	mu      sync.Mutex
	refused string // a host that git wanted to reach besides; "" for none
}

// reach opens the way, on which the hosts may send so many bytes, once few enough others are open.
func (c *Checkouts) reach(ctx context.Context, most int64) (*remote, error) {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r := &remote{done: func() { <-c.slots }}
	if err := c.open(ctx, r, most); err != nil {
		r.done()
		return nil, err
	}
	return r, nil
}

func (c *Checkouts) open(ctx context.Context, r *remote, most int64) error {
	path, err := git.FindGit()
	if err != nil {
		return &troupe.UserError{Problem: "a repository cannot be checked out: " + err.Error(),
			Hint: "Install git on the machine of the server."}
	}
	r.proxy, err = proxy.Start(ctx, proxy.Options{Allow: c.names(), Most: most, Log: func(host string, allowed bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !allowed {
			r.refused = host
		}
	}})
	if err != nil {
		return err
	}
	env := slices.Concat(git.Environ(c.o.Environ), r.proxy.Environ(), []string{
		"GIT_ALLOW_PROTOCOL=https",
		// The last one counts, and settings of git's user for one host stand over these: that is who lists hosts.
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.proxy", "GIT_CONFIG_VALUE_0=" + r.proxy.Address(),
	})
	r.runner = git.Runner{Path: path, Dir: "/", Env: env, Settings: git.RemoteSettings(),
		Memory: mostMemory}
	return nil
}

func (r *remote) close() {
	_ = r.proxy.Close() // nothing is under way through it any more
	r.done()
}

// in is git in a folder.
func (r *remote) in(folder string) git.Runner {
	out := r.runner
	out.Dir = folder
	return out
}

// point is what a source is at a moment.
type point struct {
	ref    string // the whole name of a branch or tag; "" where a commit was named
	commit string
}

// resolve asks a remote what it has.
func (r *remote) resolve(ctx context.Context, s Source) (point, error) {
	ctx, cancel := context.WithTimeout(ctx, askMost)
	defer cancel()
	args := []string{"ls-remote", "--symref", "--", s.URL, "HEAD"}
	if s.Ref != "" {
		args = []string{"ls-remote", "--", s.URL, "refs/heads/" + s.Ref, "refs/tags/" + s.Ref,
			"refs/tags/" + s.Ref + "^{}",
			s.Ref}
	}
	out := git.Capped{Limit: 1 << 20}
	if err := r.runner.Stream(ctx, &out, args...); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.refused != "" {
			err = fmt.Errorf("%w (it leads to %s, which is not listed)", err, r.refused)
		}
		return point{}, s.failed(err)
	}
	at := pick(out.String(), s.Ref)
	if at.commit == "" {
		return at, &troupe.UserError{Problem: fmt.Sprintf("%s has no %s", s.URL, wanted(s.Ref)),
			Hint: "Name a branch, a tag or a whole commit with --ref.", Code: troupe.ExitUsage}
	}
	return at, nil
}

func wanted(ref string) string {
	if ref == "" {
		return "commit yet"
	}
	return fmt.Sprintf("branch or tag %q", ref)
}

// pick finds in what git prints of a remote's names what is meant: a branch before a tag before a whole name.
func pick(listed, ref string) (at point) {
	ids, head := map[string]string{}, ""
	for l := range strings.Lines(listed) {
		id, name, found := strings.Cut(strings.TrimRight(l, "\n"), "\t")
		if to, symbolic := strings.CutPrefix(id, "ref: "); found && symbolic && name == "HEAD" {
			head = to
		} else if found && isCommit(id) {
			ids[name] = id
		}
	}
	if ref == "" {
		if id := ids["HEAD"]; strings.HasPrefix(head, "refs/heads/") && goodRef(head) {
			return point{head, id}
		}
		return point{commit: ids["HEAD"]}
	}
	for _, name := range []string{"refs/heads/" + ref, "refs/tags/" + ref, ref} {
		if id := ids[name]; id != "" {
			if of := ids[name+"^{}"]; of != "" {
				id = of // a tag has an object of its own
			}
			return point{name, id}
		}
	}
	return at
}

// isCommit reports whether a name is that of an object.
func isCommit(name string) bool {
	return (len(name) == 40 || len(name) == 64) && strings.Trim(strings.ToLower(name), "0123456789abcdef") == ""
}
