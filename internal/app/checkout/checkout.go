// Package checkout makes folders of repositories that are elsewhere, for sessions that begin with the address of one.
//
// A checkout is a repository of its own with the files of one commit, and is never changed: who works from it has a
// worktree. So two sessions that begin with the same commit share one, and it can be made again. Its objects are its
// own; what the newest checkout of the same address has is not fetched again but linked.
//
// A remote is reached over https alone, through a proxy that lets the listed hosts through and no others, by git with
// the settings of its user (where the keys of private repositories are) and without redirects, hooks, filters and
// submodules. One that is cut off leaves a folder with a name of its own, which the next one of the address removes.
package checkout

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/proxy"
	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// Bounds of a checkout: a repository may be anybody's.
const (
	mostBytes = 8 << 30  // fetched, and once more as files
	mostFiles = 1 << 20  // of one commit
	mostSaid  = 64 << 20 // of what a remote says of its branches and tags
	fetchMost = MadeWithin
	askMost   = time.Minute
	watchEach = 500 * time.Millisecond
	// mostAtOnce is how many remotes are spoken to at once, and mostMemory what a git that does may keep in memory.
	mostAtOnce = 4
	mostMemory = 4 << 30
)

// MadeWithin is how long it may take to make a checkout, and so how long another one of the address waits for it.
const MadeWithin = 30 * time.Minute

// Options are what Checkouts need.
type Options struct {
	Folder string // that holds them
	// Hosts are those from which repositories are taken, in the forms that package proxy knows, each with "=github" or
	// "=gitlab" behind it where its name does not say how pull requests are opened there. None: no repository is.
	Hosts   []string
	Environ []string
	Roots   *x509.CertPool // that the APIs of hosts are known by; nil: the system's
	// Hold waits until no other process makes a checkout of a folder's name, and holds that until it is released.
	Hold func(ctx context.Context, folder string) (held context.Context, release func(), err error)
}

// Checkouts are the folders of repositories of a home. Its methods may be called by several goroutines.
type Checkouts struct {
	o     Options
	slots chan struct{}
}

// New has the checkouts of a folder.
func New(o Options) *Checkouts { return &Checkouts{o, make(chan struct{}, mostAtOnce)} }

// Folder holds all checkouts.
func (c *Checkouts) Folder() string { return c.o.Folder }

// Has reports whether a folder is a checkout's, or lies in one.
func (c *Checkouts) Has(folder string) bool {
	return c.o.Folder != "" && folder != c.o.Folder && troupe.Within(folder, c.o.Folder)
}

// Make has a checkout of what a source is now, and says which folder that is.
func (c *Checkouts) Make(ctx context.Context, s Source) (folder string, err error) {
	s, err = c.check(s)
	if err != nil {
		return "", err
	}
	ctx, release, err := c.o.Hold(ctx, filepath.Join(c.o.Folder, sum(s.URL)))
	if err != nil {
		return "", err
	}
	defer release()
	at, err := c.ask(ctx, s)
	if err != nil {
		return "", err
	}
	if folder := c.place(s.URL, at.commit); isThere(folder) {
		return folder, nil
	}
	if err := c.tidy(s.URL); err != nil {
		return "", err
	}
	out, err := c.reach(ctx, mostBytes)
	if err != nil {
		return "", err
	}
	defer out.close()
	return c.build(ctx, out, s, at)
}

// ask asks a remote what it has.
func (c *Checkouts) ask(ctx context.Context, s Source) (point, error) {
	if isCommit(s.Ref) {
		return point{commit: strings.ToLower(s.Ref)}, nil
	}
	out, err := c.reach(ctx, mostSaid)
	if err != nil {
		return point{}, err
	}
	defer out.close()
	return out.resolve(ctx, s)
}

// place is the folder of a commit, by all of its name: who makes two can have them begin alike. People see the
// repository's.
func (c *Checkouts) place(url, commit string) string {
	return filepath.Join(c.o.Folder, sum(url), commit, nameOf(url))
}

func isThere(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, ".git", "HEAD"))
	return err == nil
}

func sum(url string) string {
	h := sha256.Sum256([]byte(url))
	return hex.EncodeToString(h[:16])
}

// nameOf is what a repository is called: the end of its address.
func nameOf(url string) string {
	return strings.TrimSuffix(path.Base(url), ".git")
}

// draft is what names of folders begin with that are being made.
const draft = ".new-"

// tidy removes what was cut off before.
func (c *Checkouts) tidy(url string) error {
	left, err := filepath.Glob(filepath.Join(c.o.Folder, sum(url), draft+"*"))
	for _, folder := range left {
		err = errors.Join(err, disk.RemoveTree(folder))
	}
	return err
}

// build makes the checkout of a source that is not there yet. Until all of it is there it has another name.
func (c *Checkouts) build(ctx context.Context, out *remote, s Source, at point) (folder string, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchMost)
	defer cancel()
	all := filepath.Join(c.o.Folder, sum(s.URL))
	if err := os.MkdirAll(all, 0o700); err != nil {
		return "", fmt.Errorf("make a folder for %s: %w", s, err)
	}
	temp, err := os.MkdirTemp(all, draft)
	if err != nil {
		return "", fmt.Errorf("make a folder for %s: %w", s, err)
	}
	defer func() { err = errors.Join(err, disk.RemoveTree(temp)) }()
	made := filepath.Join(temp, nameOf(s.URL))
	if err := os.Mkdir(made, 0o700); err != nil {
		return "", fmt.Errorf("make a folder for %s: %w", s, err)
	}
	r := out.in(made)
	if err := begin(ctx, r, at); err != nil {
		return "", s.failed(err)
	}
	if err := link(all, made); err != nil {
		return "", fmt.Errorf("take over what is here of %s: %w", s, err)
	}
	if at.commit, err = fetch(ctx, r, s, at); err != nil {
		return "", s.failed(err)
	}
	folder = c.place(s.URL, at.commit)
	if isThere(folder) { // it moved meanwhile to one that is there
		return folder, nil
	}
	if err := fill(ctx, c, made, s, at); err != nil {
		return "", s.failed(err)
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Dir(folder)), 0o700); err != nil {
		return "", fmt.Errorf("keep the checkout of %s: %w", s, err)
	}
	// A folder without the repository in it is what a broken disk left.
	if err := disk.RemoveTree(filepath.Dir(folder)); err != nil {
		return "", fmt.Errorf("keep the checkout of %s: %w", s, err)
	}
	if err := os.Rename(temp, filepath.Dir(folder)); err != nil {
		return "", fmt.Errorf("keep the checkout of %s: %w", s, err)
	}
	return folder, nil
}

// begin makes an empty repository.
func begin(ctx context.Context, r git.Runner, at point) error {
	format := "sha1"
	if len(at.commit) == 64 {
		format = "sha256"
	}
	return r.Stream(ctx, nothing{}, "init", "--quiet", "--template=", "--initial-branch=main",
		"--object-format="+format)
}

// link takes over the packs of the newest checkout of the same address. Packs are never written again.
func link(all, made string) error {
	newest, when := "", time.Time{}
	there, err := filepath.Glob(filepath.Join(all, "*", "*", ".git", "objects", "pack"))
	if err != nil {
		return err
	}
	for _, packs := range there {
		if info, err := os.Stat(packs); err == nil && info.ModTime().After(when) && !troupe.Within(packs, made) {
			newest, when = packs, info.ModTime()
		}
	}
	if newest == "" {
		return nil
	}
	entries, err := os.ReadDir(newest)
	if err != nil {
		return err
	}
	into := filepath.Join(made, ".git", "objects", "pack")
	for _, ending := range []string{".pack", ".rev", ".idx"} { // a pack counts once its index is there
		for _, e := range entries {
			if filepath.Ext(e.Name()) != ending || !strings.HasPrefix(e.Name(), "pack-") {
				continue
			}
			if err := os.Link(filepath.Join(newest, e.Name()), filepath.Join(into, e.Name())); err != nil &&
				!errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// fetch brings a commit with its history, and says which it is: a branch may have moved meanwhile.
func fetch(ctx context.Context, r git.Runner, s Source, at point) (commit string, err error) {
	const into = "refs/troupe-checkout"
	what := at.ref
	if what == "" {
		what = at.commit
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var over atomic.Bool
	go watch(ctx, filepath.Join(r.Dir, ".git", "objects"), func() { over.Store(true); cancel() })
	err = r.Stream(ctx, nothing{}, "-c", "fetch.unpackLimit=1", "fetch", "--quiet", "--no-write-fetch-head",
		"--no-recurse-submodules", "--no-auto-maintenance", s.URL, "+"+what+":"+into)
	if over.Load() {
		err = fmt.Errorf("it is larger than %d GB", mostBytes>>30)
	}
	if err != nil {
		return "", err
	}
	if commit, err = line(ctx, r, "rev-parse", "--verify", into+"^{commit}"); err != nil {
		return "", err
	}
	if err := r.Stream(ctx, nothing{}, "update-ref", "-d", into); err != nil {
		return "", err
	}
	at.commit = commit
	for _, kv := range [][2]string{{"remote.origin.url", s.URL},
		{"remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"}, {keyRef, at.ref}} {
		if err := r.Stream(ctx, nothing{}, "config", kv[0], kv[1]); err != nil {
			return "", err
		}
	}
	return commit, head(ctx, r, at)
}

// keyRef is the setting that says which branch or tag a checkout is of; "" is none, for a commit was named.
const keyRef = "troupe.ref"

// head has a branch of the name that the remote's has at the commit, or no branch.
func head(ctx context.Context, r git.Runner, at point) error {
	branch, is := strings.CutPrefix(at.ref, "refs/heads/")
	if !is {
		return r.Stream(ctx, nothing{}, "update-ref", "--no-deref", "HEAD", at.commit)
	}
	for _, args := range [][]string{
		{"update-ref", "refs/heads/" + branch, at.commit}, {"update-ref", "refs/remotes/origin/" + branch, at.commit},
		{"symbolic-ref", "HEAD", "refs/heads/" + branch}, {"config", "branch." + branch + ".remote", "origin"},
		{"config", "branch." + branch + ".merge", "refs/heads/" + branch},
	} {
		if err := r.Stream(ctx, nothing{}, args...); err != nil {
			return err
		}
	}
	return nil
}

// fill writes the files. Filters, which the settings of git's user may define, are off.
func fill(ctx context.Context, c *Checkouts, made string, s Source, at point) error {
	r, err := git.Open(ctx, made, c.o.Environ)
	if err != nil {
		return err
	}
	if err := small(ctx, *r, at.commit); err != nil {
		return err
	}
	return r.Stream(ctx, nothing{}, "reset", "--hard", "--quiet", at.commit)
}

// small refuses a commit whose files are too many or too large.
func small(ctx context.Context, r git.Runner, commit string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	sizes := counted{stop: stop}
	err := r.Stream(ctx, &sizes, "ls-tree", "-r", "-z", "--format=%(objectsize)", commit)
	switch {
	case sizes.files > mostFiles:
		return fmt.Errorf("it has more than %d files", mostFiles)
	case err != nil:
		return err
	case sizes.bytes > mostBytes:
		return fmt.Errorf("its files are larger than %d GB", mostBytes>>30)
	}
	return nil
}

// counted adds up sizes that git prints, and stops it once there are too many.
type counted struct {
	files, bytes int64
	rest         []byte
	stop         func()
}

func (c *counted) Write(b []byte) (int, error) {
	c.rest = append(c.rest, b...)
	for {
		one, more, found := bytes.Cut(c.rest, []byte{0})
		if !found {
			return len(b), nil
		}
		c.rest = more
		if c.files++; c.files > mostFiles {
			c.stop()
			return len(b), nil
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(one)), 10, 64); err == nil { // a submodule has none
			c.bytes += n
		}
	}
}

// watch ends a fetch that brings too much, packed or not.
func watch(ctx context.Context, objects string, end func()) {
	tick := time.NewTicker(watchEach)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		all := int64(0)
		err := filepath.WalkDir(objects, func(_ string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				if info, ierr := e.Info(); ierr == nil {
					all += max(info.Size(), 4<<10) // what a small one takes
				}
			}
			if all > mostBytes {
				return fs.SkipAll
			}
			return nil // it was moved meanwhile
		})
		if err != nil || all > mostBytes {
			end()
			return
		}
	}
}

// Of says what a folder is a checkout of, by what stands in its repository, which no agent writes.
func (c *Checkouts) Of(ctx context.Context, folder string) (Source, error) {
	rest, err := filepath.Rel(c.o.Folder, folder)
	parts := strings.Split(rest, string(filepath.Separator))
	if err != nil || !c.Has(folder) || len(parts) < 3 {
		return Source{}, fmt.Errorf("%s is no checkout", folder)
	}
	r, err := git.Open(ctx, filepath.Join(c.o.Folder, parts[0], parts[1], parts[2]), c.o.Environ)
	if err != nil {
		return Source{}, err
	}
	url, err := line(ctx, *r, "config", "--local", "remote.origin.url")
	if err != nil {
		return Source{}, err
	}
	ref, err := line(ctx, *r, "config", "--local", keyRef)
	return Source{URL: url, Ref: ref}, err
}

// line is what git prints on one.
func line(ctx context.Context, r git.Runner, args ...string) (string, error) {
	var out git.Capped
	err := r.Stream(ctx, &out, args...)
	return strings.TrimRight(out.String(), "\n"), err
}

// nothing takes what is printed and keeps none of it.
type nothing struct{}

func (nothing) Write(b []byte) (int, error) { return len(b), nil }

// check refuses a source before anything is asked for, and says how it is named from now on.
func (c *Checkouts) check(s Source) (Source, error) {
	s = s.tidy()
	switch {
	case c.o.Folder == "" || len(c.o.Hosts) == 0:
		return s, &troupe.UserError{Problem: "this server takes no repositories",
			Hint: "Its admin lists hosts: troupe serve --git-host github.com. Or name one of its folders with --cwd.",
			Code: troupe.ExitUsage}
	case s.bad() != "":
		return s, &troupe.UserError{Problem: fmt.Sprintf("%.200q cannot be checked out: %s", s.URL, s.bad()),
			Hint: "Give an address such as https://github.com/you/app, and a branch, tag or commit with --ref.",
			Code: troupe.ExitUsage}
	case !(proxy.Options{Allow: c.names()}).Admits(s.hostPort()):
		return s, &troupe.UserError{Problem: fmt.Sprintf("this server takes repositories from %s, and not from %s",
			strings.Join(c.names(), ", "), s.hostPort()),
			Hint: "Its admin lists hosts with --git-host.", Code: troupe.ExitPermission}
	}
	return s, nil
}
