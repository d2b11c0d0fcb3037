package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// HarmfulConfig lists what in the repository around dir makes plain git commands that only
// look (status, diff, log, show, blame) run programs of the repository's choice or fetch from
// somewhere: keys of its configuration, a hook, those of a submodule that is checked out
// ("submodule lib: core.fsmonitor"). What the user's own configuration and the system's say
// does not count, unless it includes a file of the repository. Where there is no repository
// there is nothing to list. If git cannot be asked, nothing is known, and that is an error.
//
// It says what is so now, and nothing is kept of it. It starts one git process where there is
// no repository, and else three: for the configuration, the hook and the submodules; as many
// again for each submodule that is checked out.
func HarmfulConfig(ctx context.Context, dir string, environ []string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitDeadline)
	defer cancel()
	path, err := git.FindGit()
	if err != nil {
		return nil, fmt.Errorf("git configuration of %s: %w", dir, err)
	}
	// None of our settings: they would hide what a plain git does.
	h := harmSearch{git: git.Runner{Path: path, Env: git.Environ(environ)}}
	if err := h.look(ctx, dir, "", 0); err != nil {
		return nil, fmt.Errorf("git configuration of %s: %w", dir, err)
	}
	return h.found, nil
}

// A repository with more, or deeper, submodules is taken to be harmful rather than looked at.
const (
	maxSubmodules     = 50
	maxSubmoduleDepth = 5
)

type harmSearch struct {
	git    git.Runner
	found  []string
	looked int // submodules
}

func (h *harmSearch) add(prefix, what string) {
	if what = prefix + what; !slices.Contains(h.found, what) {
		h.found = append(h.found, what)
	}
}

// look asks about the repository around dir.
func (h *harmSearch) look(ctx context.Context, dir, prefix string, depth int) error {
	h.git.Dir = dir
	list := git.Capped{Limit: 8 << 20}
	if err := h.git.Stream(ctx, &list, "config", "--null", "--show-scope", "--show-origin", "--list"); err != nil {
		return err
	}
	if list.Cut {
		return errors.New("it is too large")
	}
	settings, err := parseSettings(list.Buf.String())
	if err != nil {
		return err
	}
	top, inside := repositoryTop(dir)
	for _, s := range settings {
		own := s.own(top) // without a .git above, that means a bare repository
		inside = inside || own
		if own && harmful(s.key, s.value) {
			h.add(prefix, s.key)
		}
	}
	if !inside {
		return nil
	}
	return h.repository(ctx, dir, prefix, depth)
}

// repository looks for the one hook that looking runs, and for submodules: git asks each of
// them for its state, by its own configuration.
func (h *harmSearch) repository(ctx context.Context, dir, prefix string, depth int) error {
	var hook git.Capped
	if err := h.git.Stream(ctx, &hook, "rev-parse", "--git-path", "hooks/post-index-change"); err != nil {
		return err
	}
	path := strings.TrimSuffix(hook.Buf.String(), "\n")
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
		h.add(prefix, "hooks/post-index-change")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.add(prefix, "core.hookspath") // what cannot be looked at
	}
	// With our settings: this command could run some of what was just found.
	links := &linkReader{}
	safe := git.Runner{Path: h.git.Path, Dir: dir, Env: h.git.Env, Settings: git.SafeSettings()}
	if err := safe.Stream(ctx, links, "ls-files", "--stage", "-z", "--", ":/"); err != nil {
		if len(h.found) > 0 {
			return nil // an implicit bare repository; enough is known of it
		}
		return err
	}
	for _, rel := range links.paths {
		sub := filepath.Join(dir, filepath.FromSlash(rel))
		if _, err := os.Lstat(filepath.Join(sub, ".git")); err != nil {
			continue // not checked out
		}
		if h.looked++; h.looked > maxSubmodules || depth == maxSubmoduleDepth || links.cut {
			h.add(prefix, "submodules")
			return nil
		}
		if err := h.look(ctx, sub, prefix+"submodule "+rel+": ", depth+1); err != nil {
			return fmt.Errorf("submodule %s: %w", rel, err)
		}
	}
	return nil
}

// setting is one line of a configuration.
type setting struct{ scope, origin, key, value string }

// own reports whether the repository says it, and not the user or the system.
func (s setting) own(top string) bool {
	switch s.scope {
	case "system", "global":
		file, ok := strings.CutPrefix(s.origin, "file:")
		if !ok || !filepath.IsAbs(file) {
			return !ok && s.origin != "command line:" && s.origin != "standard input:"
		}
		real, err := filepath.EvalSymlinks(file)
		return err != nil || troupe.Within(real, top)
	default:
		return true
	}
}

// parseSettings takes apart what git config --null --show-scope --show-origin writes: scope
// NUL origin NUL key LF value NUL. A key without a value has no LF and means true.
func parseSettings(text string) ([]setting, error) {
	var out []setting
	for text != "" {
		var s setting
		var ok bool
		for _, field := range []*string{&s.scope, &s.origin, &s.key} {
			if *field, text, ok = strings.Cut(text, "\x00"); !ok {
				return nil, errors.New("git wrote its configuration in an unknown form")
			}
		}
		if s.key, s.value, ok = strings.Cut(s.key, "\n"); !ok {
			s.value = "true"
		}
		out = append(out, s)
	}
	return out, nil
}

// linkReader picks the submodules out of what ls-files --stage -z writes, however many files
// there are: "mode id stage TAB path NUL".
type linkReader struct {
	entry []byte
	paths []string
	cut   bool // there are more
}

func (r *linkReader) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		end := bytes.IndexByte(b, 0)
		part := b
		if end >= 0 {
			part = b[:end]
		}
		// Only the first bytes of a file's entry matter, and all of a submodule's.
		if len(r.entry) < len(linkMode) || bytes.HasPrefix(r.entry, []byte(linkMode)) {
			r.entry = append(r.entry, part[:min(len(part), maxEntry-len(r.entry))]...)
		}
		if end < 0 {
			break
		}
		r.end()
		b = b[end+1:]
	}
	return n, nil
}

const (
	linkMode = "160000 "
	maxEntry = 8 << 10
)

func (r *linkReader) end() {
	if _, path, ok := strings.Cut(string(r.entry), "\t"); ok && bytes.HasPrefix(r.entry, []byte(linkMode)) {
		if len(r.paths) <= maxSubmodules {
			r.paths = append(r.paths, path)
		} else {
			r.cut = true
		}
	}
	r.entry = r.entry[:0]
}
