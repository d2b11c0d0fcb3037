// Package worktree makes, keeps, rebuilds and ends the folders that agents work in: ADR 0041.
//
// A workspace has a keeper, a bare repository that is the runtime's own, and git is run under its configuration. What
// an agent can write, its repository included, is read there as data: no setting of it counts, no link out of its
// folder is followed, and nothing waits for a pipe. The one other repository that git is run in is the caller's, which
// may be another agent's: there our settings stand over its own, and no program that it names is run.
//
// Every operation can be done again after a process died at any moment of it. Those on one workspace exclude each
// other, between processes too, and so do the writes to one caller's repository; the other parts run side by side.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// Options are what a Keeper needs.
type Options struct {
	// Data is where the keepers are: Data/ID/{repo.git,record.json}. No agent may write there.
	Data string
	// Folders is where the folders of workspaces are: Folders/PROJECT-HASH/NAME.
	Folders string
	Environ []string // the user's
	Now     func() time.Time
	// Reading says how what is in the folder of a workspace, and in that which it is made from, is read. What git finds
	// at a name can be exchanged for a link by a command of an agent while git is at it, so it must not be able to read
	// more than such a command. The repository, which it writes, is given. nil: nothing confines commands here.
	Reading func(ctx context.Context, ws troupe.Workspace, repository string) (Reading, error)
}

// Reading is how files are read for a workspace.
type Reading struct {
	Start  git.Start // starts the git that reads them; nil: it has its user's rights
	Hidden []string  // what it cannot read, with all below
}

// Keeper has the workspaces of a home. It is safe for concurrent use.
type Keeper struct {
	data, folders string
	environ       []string
	now           func() time.Time
	reading       func(ctx context.Context, ws troupe.Workspace, repository string) (Reading, error)
	patience      time.Duration // with the locks of other programs
	free          func(folder string) (bytes int64, known bool)
	// step is called between operations, for tests that end the process there.
	step func(name string) error
	// asked is what git said of the last repository that was planned for.
	asked answers
}

// New makes a Keeper. Nothing is written before a workspace is opened.
func New(o Options) *Keeper {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Keeper{data: o.Data, folders: o.Folders, environ: o.Environ, now: o.Now, reading: o.Reading,
		patience: 30 * time.Second,
		free:     free,
		step:     func(string) error { return nil }}
}

// Making is how a workspace is to be made.
type Making struct {
	// Hidden says which files of the caller no agent may read. They are not carried over.
	Hidden func(path string) bool
	// Link are the names of ignored folders that lead to the caller's. Others are left out.
	Link     []string
	Progress func(done, all int)
	Made     func() // is called once it was made, and not where it was found; nil: nobody asks
	// Base is what the workspace began with before, and begins with again; nil: that is not known.
	Base *troupe.WorkspaceBase
	// Since is when this process took up the sessions that may work there: locks of git in the agent's repository that
	// are older are of processes that are gone. The zero value: none is.
	Since time.Time
	// Fill makes the folder of a workspace that is ByHook, at the path; nil: nothing can.
	Fill func(ctx context.Context, path string) error
}

// Ending is how a run in a workspace ends.
type Ending struct {
	// Message is the subject of the commit of what is not committed.
	Message string
	// Began is the tree that the folder had when the run began; "": what the workspace began with.
	Began string
	// Going is called when the folder is about to be removed, and is there still; nil: nothing is to be told.
	Going func(ctx context.Context)
	// Losing is told what of the folder no commit keeps and is to go with it, such as ignored files; nil: it stays
	// then.
	Losing func(what string)
	// Had says that the caller had all of it once, though its files show that no more.
	Had bool
	// If is what was known of it when nobody worked there: where it was opened since, it is not closed, and the error
	// is ErrOpened. nil: whoever closes it is the one that works there.
	If *Row
}

// ErrOpened is the error of an end that comes when somebody works there again.
var ErrOpened = errors.New("its agent has gone back to work meanwhile")

// place is where things of one workspace are.
type place struct {
	k      *Keeper
	ws     troupe.Workspace
	folder string // of the keeper and the record
	repo   string // the keeper
	making string // the folder while it is made
	leave  string // the folder while it is looked at for the last time
	gone   string // the folder when all of it can be had from kept refs
	// in is the workspace whose folder it was made from, if that is gone and work goes past it; see standing.
	in *record
}

func (k *Keeper) place(ws troupe.Workspace) (place, error) {
	if _, ok := troupe.ParseSessionID(string(ws.Owner)); !ok {
		return place{}, fmt.Errorf("%q is no session", ws.Owner)
	}
	if !ws.Kind.Made() || ws.Top == k.folders || !troupe.Within(ws.Top, k.folders) ||
		filepath.Clean(ws.Top) != ws.Top || !troupe.Within(ws.Folder, ws.Top) {
		return place{}, fmt.Errorf("%s is no folder for a workspace", ws.Top)
	}
	if err := checkName(ws.Name); err != nil {
		return place{}, err
	}
	below, _, _ := strings.Cut(strings.TrimPrefix(ws.Top, strings.TrimSuffix(k.folders, "/")+"/"), "/")
	folder, project := filepath.Join(k.data, string(ws.Owner)), filepath.Join(k.folders, below)
	id := string(ws.Owner)
	return place{k: k, ws: ws, folder: folder, repo: filepath.Join(folder, "repo.git"),
		making: filepath.Join(project, ".making-"+id), leave: filepath.Join(project, ".leave-"+id),
		gone: filepath.Join(project, ".gone-"+id)}, nil
}

// keeper runs git under the configuration of the workspace's keeper.
func (k *Keeper) keeper(p place) (repo, error) {
	path, err := git.FindGit()
	if err != nil {
		return repo{}, &troupe.UserError{Problem: "no workspace can be made or kept: " + err.Error(),
			Hint: "install git, 2.38 or newer", Err: err}
	}
	env := append(git.Environ(k.environ), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_DIR="+p.repo)
	r := repo{runner: git.Runner{Path: path, Dir: p.repo, Env: env, Settings: git.SafeSettings()},
		all: p.ws.Kind != troupe.WorkspaceTree}
	if k.reading != nil {
		r.reads = func(ctx context.Context) (Reading, error) { return k.reading(ctx, p.ws, p.repo) }
	}
	return r, nil
}

// Open makes the workspace, or finds it as it is, or rebuilds it from the newest of what is kept.
func (k *Keeper) Open(ctx context.Context, ws troupe.Workspace, m Making) (troupe.WorkspaceBase, error) {
	p, err := k.place(ws)
	if err != nil {
		return troupe.WorkspaceBase{}, err
	}
	ctx, release, err := k.hold(ctx, string(ws.Owner))
	if err != nil {
		return troupe.WorkspaceBase{}, err
	}
	defer release()
	rec, err := readRecord(p.folder)
	known := err == nil
	if errors.Is(err, fs.ErrNotExist) {
		rec, err = p.unspend(ctx)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		rec, err = k.claim(ctx, p, m.Base)
	case err == nil && rec.Workspace.Top != ws.Top:
		err = fmt.Errorf("the workspace of %s is %s", ws.Owner, rec.Workspace.Top)
	}
	if err != nil {
		return troupe.WorkspaceBase{}, err
	}
	err = p.open(ctx, rec, m)
	if errors.Is(err, errBaseGone) && m.Base == nil && unborn(p, rec) {
		// No agent knows it: it begins with what the caller has now.
		if err := abandon(ctx, p); err != nil {
			return troupe.WorkspaceBase{}, err
		}
		if rec, err = k.claim(ctx, p, nil); err != nil {
			return troupe.WorkspaceBase{}, err
		}
		err = p.open(ctx, rec, m)
	}
	if err != nil {
		gone := errors.Is(err, errBaseGone)
		switch {
		case rec.Base.Commit == "" || gone && !known: // there is nothing to show, or to go on with
			err = errors.Join(err, unmade(p, known && rec.Base.Commit == ""))
		case gone: // what was done there is in the keeper, and can be gone on with once that commit is back
			err = &troupe.UserError{Problem: firstLine(err), Err: err,
				Hint: fmt.Sprintf("bring that commit back (git fetch it from where it is), and go on; what the agent "+
					"did is kept in %s", p.repo)}
		}
		return troupe.WorkspaceBase{}, err
	}
	return rec.Base, nil
}

// unmade removes what there is of a workspace that was never made, and what a hook that was killed may have left: the
// name would be taken by it for ever. Where that cannot be removed, it stays known whose it is.
func unmade(p place, left bool) error {
	if left && p.ws.ByHook && p.k.straight(p.ws.Top) == nil {
		if err := disk.RemoveTree(p.ws.Top); err != nil {
			return err
		}
	}
	return disk.RemoveTree(p.folder)
}

// claim writes the record of a workspace that is new: of two that want one name at once, the first has it.
func (k *Keeper) claim(ctx context.Context, p place, base *troupe.WorkspaceBase) (*record, error) {
	_, release, err := k.hold(ctx, "names-"+k.project(p.ws.Of))
	if err != nil {
		return nil, err
	}
	defer release()
	if err := errors.Join(p.free(), k.apart(p.ws)); err != nil {
		return nil, err
	}
	rec := &record{Workspace: p.ws, State: making, Made: k.now()}
	if base != nil {
		rec.Base = *base
	}
	return rec, k.write(p, rec)
}

func (p place) open(ctx context.Context, rec *record, m Making) error {
	if err := p.putBack(); err != nil {
		return err
	}
	there, other, err := p.has(rec)
	if p.ws.ByHook && rec.Base.Commit == "" {
		there, other = false, false // what is there is a hook's, which did not come to its end
	}
	if other && rec.State == making {
		err = taken(p.ws.Top)
	} else if other {
		err = p.aside()
	}
	if err != nil {
		return err
	}
	if there {
		unlockAgent(p, m.Since)
	} else if err := p.make(ctx, rec, m); err != nil {
		return err
	} else if m.Made != nil {
		m.Made()
	}
	rec.State = made
	rec.Opened++
	return p.k.write(p, rec)
}

// there reports whether the folder is at its place, and whole.
func (p place) there(rec *record) (bool, error) {
	info, err := os.Lstat(p.ws.Top)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.IsDir() || !rec.isOf(p.ws.Top, info) {
		return false, taken(p.ws.Top)
	}
	return true, nil
}

// isOf reports whether a folder is the one that was made: another one of its name, whoever made that, has nothing of
// the agent's, and what is missing in it was not removed by the agent.
func (rec *record) isOf(folder string, info fs.FileInfo) bool {
	if rec.Inode == 0 {
		return rec.State != making
	}
	return inode(info) == rec.Inode && (rec.Born == 0 || bornAt(folder) == rec.Born)
}

// has reports whether the folder is there; another one in its place is as good as none.
func (p place) has(rec *record) (there, other bool, err error) {
	there, err = p.there(rec)
	if _, taken := errors.AsType[*troupe.UserError](err); taken {
		return false, true, nil
	}
	return there, false, err
}

// aside moves what stands in the place of the folder out of the way. It is nobody's to remove.
func (p place) aside() error {
	if _, err := os.Lstat(p.ws.Top); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return os.Rename(p.ws.Top, fmt.Sprintf("%s.other-%d", p.ws.Top, p.k.now().UnixNano()))
}

// make fills the folder beside its place, and moves it there whole.
func (p place) make(ctx context.Context, rec *record, m Making) error {
	r, err := p.k.keeper(p)
	if err != nil {
		return err
	}
	var c *caller
	if p.ws.Kind == troupe.WorkspaceTree {
		if c, err = p.k.callerOf(ctx, p.ws.Of); err != nil {
			return err
		}
	}
	if err := lent(ctx, p, c); err != nil {
		return err
	}
	if err := errors.Join(writeKeeper(p, c), p.k.step("keeper")); err != nil {
		return err
	}
	if p.ws.ByHook && rec.Base.Commit == "" {
		return p.byHook(ctx, r, rec, m)
	}
	if err := p.base(ctx, r, c, rec, m); err != nil {
		return err
	}
	if c != nil {
		if err := p.born(ctx, r, c, rec); err != nil {
			return err
		}
	}
	if err := p.k.apart(p.ws); err != nil {
		return err
	}
	err = below(p, func() error { return errors.Join(disk.RemoveTree(p.making), os.Mkdir(p.making, 0o700)) })
	if err := errors.Join(err, p.k.step("folder")); err != nil {
		return err
	}
	if err := p.fill(ctx, r, c, rec, m); err != nil {
		// What is half made is of no use, and may be what a disk is full of.
		return errors.Join(p.full(err), disk.RemoveTree(p.making))
	}
	return p.settle(rec)
}

// settle gives the folder that was made its name.
func (p place) settle(rec *record) error {
	info, err := os.Lstat(p.making)
	if err != nil {
		return err
	}
	rec.Inode, rec.Born, rec.State = inode(info), bornAt(p.making), making
	if err := errors.Join(p.k.write(p, rec), p.k.step("named")); err != nil {
		return err
	}
	if _, err := os.Lstat(p.ws.Top); err == nil {
		return taken(p.ws.Top)
	}
	if err := takePlace(p, p.making); err != nil {
		return err
	}
	return p.k.step("settled")
}
