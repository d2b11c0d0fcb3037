package worktree

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// Away is what is known of a workspace that goes to another home, beside the objects.
type Away struct {
	Workspace troupe.Workspace  `json:"workspace"`      // as it was
	Base      string            `json:"base"`           // the commit that it began with
	Head      string            `json:"head,omitempty"` // the caller's, on which that is; "" if it had none
	Branch    string            `json:"branch,omitempty"`
	Kept      map[string]string `json:"kept"`
	Ended     bool              `json:"ended,omitempty"`
	Tip       string            `json:"tip,omitempty"` // of its last end
}

// Pack writes all objects that a workspace needs elsewhere, as git packs them: those that its work and its base reach.
// ok is false if nothing was ever made, or nothing was changed.
func Pack(ctx context.Context, k *Keeper, ws troupe.Workspace, w io.Writer) (a Away, ok bool, err error) {
	p, err := k.place(ws)
	if err != nil {
		return a, false, err
	}
	ctx, release, err := k.hold(ctx, string(ws.Owner))
	if err != nil {
		return a, false, err
	}
	defer release()
	rec, err := readRecord(p.folder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && rec.Base.Commit == "" {
		return a, false, nil
	}
	if err != nil {
		return a, false, err
	}
	kept, err := readKept(p)
	if err != nil {
		return a, false, err
	}
	r, err := k.keeper(p)
	if err != nil {
		return a, false, err
	}
	a = Away{Workspace: rec.Workspace, Base: rec.Base.Commit, Head: rec.Base.Head, Branch: rec.Branch,
		Ended: rec.State == closed, Kept: carriedRefs(kept)}
	if rec.Result != nil {
		a.Tip = rec.Result.Tip
	}
	r.runner.In = strings.NewReader(revisions(a.ids()))
	err = r.runner.Stream(ctx, w, "pack-objects", "--revs", "--stdout", "--quiet")
	return a, err == nil, err
}

// ids are the objects that all others are reached from.
func (a *Away) ids() []string {
	ids := append(slices.Collect(maps.Values(a.Kept)), a.Base)
	if a.Tip != "" {
		ids = append(ids, a.Tip)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// carriedRefs are the kept refs that come from elsewhere. Repositories inside of the folder do not: what they have run
// was not looked at here.
func carriedRefs(all map[string]string) kept {
	out := kept{}
	for name, id := range all {
		of := slices.Contains([]string{keptBase, keptSaved, keptHead, keptEnd, keptLeft, keptMerged}, name) ||
			slices.ContainsFunc([]string{keptAgent, keptStashed, keptOld},
				func(in string) bool { return strings.HasPrefix(name, in) })
		short := strings.TrimPrefix(name, keptAgent)
		if of && isID(id) && goodRef(keptPrefix+name) && (short == name || goodRef("refs/"+short)) {
			out[name] = id
		}
	}
	return out
}

// Settle is where a workspace will be that was elsewhere, beside the folder in which its session works here. Of where
// it was nothing counts.
func Settle(k *Keeper, was troupe.Workspace, folder string) (troupe.Workspace, error) {
	ws := troupe.Workspace{Kind: was.Kind, Owner: was.Owner, Main: was.Main, From: folder, Of: folder, Top: folder,
		Folder: folder}
	// That it is merged by itself is leave, and a file from elsewhere gives none.
	if ws.Merge, _ = troupe.ParseMerge(string(was.Merge)); ws.Merge == troupe.MergeAuto {
		ws.Merge = ""
	}
	around := top(folder)
	if around != "" && was.Kind != troupe.WorkspaceCopy && was.Kind != troupe.WorkspaceEmpty {
		ws.Of = around
	}
	if was.Kind == troupe.WorkspaceReadOnly {
		return ws, nil
	}
	if was.Kind == troupe.WorkspaceTree {
		if around == "" {
			return ws, &troupe.UserError{Err: ErrNoRepository,
				Problem: fmt.Sprintf("an agent has a worktree, and %s is "+
					"in no git repository", folder), Hint: "Name a clone of the project: --cwd DIR"}
		}
	}
	if err := checkName(was.Name); err != nil {
		return ws, err
	}
	var p place
	for _, exact := range []bool{true, false} { // with something of its id behind it, if another one has the name
		err := k.name(&ws, Wish{Owner: was.Owner, Name: was.Name, Exact: exact})
		if err == nil {
			p, err = k.place(ws)
		}
		if err == nil {
			err = errors.Join(k.apart(ws), p.free())
		}
		if err != nil && !exact {
			return ws, err
		}
		if err == nil {
			break
		}
	}
	for _, there := range []string{p.folder, k.spent(ws.Owner)} {
		if _, err := os.Lstat(there); !errors.Is(err, fs.ErrNotExist) {
			return ws, errors.Join(err, taken(there))
		}
	}
	return ws, nil
}

// Unpack makes a keeper of what came from elsewhere. The folder is made when its session needs it. What is in the pack
// is taken for what its content says, and has to be all that the refs need.
func Unpack(ctx context.Context, k *Keeper, ws troupe.Workspace, a Away, pack io.Reader) (err error) {
	p, err := k.place(ws)
	if err != nil {
		return err
	}
	ctx, release, err := k.hold(ctx, string(ws.Owner))
	if err != nil {
		return err
	}
	defer release()
	refs := carriedRefs(a.Kept)
	a.Kept = refs
	if !isID(a.Base) || a.Tip != "" && !isID(a.Tip) {
		return fmt.Errorf("%.80q and %.80q are no ids of git's", a.Base, a.Tip)
	}
	var c *caller
	if ws.Kind == troupe.WorkspaceTree {
		if c, err = k.callerOf(ctx, ws.Of); err != nil {
			return err
		}
		if err := lent(ctx, p, c); err != nil {
			return err
		}
	}
	r, err := k.keeper(p)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p.folder, 0o700); err != nil {
		return err
	}
	if err := errors.Join(writeKeeper(p, c), k.step("keeper")); err != nil {
		return err
	}
	size := &counting{r: bufio.NewReader(pack)}
	if err := indexPack(ctx, r, size, len(a.Base)/2, "--threads=1"); err != nil {
		return err
	}
	all, err := reached(ctx, r, a.ids())
	if err == nil {
		err = own(ctx, p, r, slices.Collect(maps.Keys(all))) // else the loss of the other repository would be one here
	}
	if err != nil {
		return fmt.Errorf("not all is there that its refs need: %w", err)
	}
	if err := a.checkHead(ctx, r); err != nil {
		return err
	}
	for _, id := range []string{a.Base, a.Tip, a.Kept[keptSaved], a.Kept[keptHead]} {
		if id == "" {
			continue
		}
		if err := bounded(ctx, r, id); err != nil {
			return err
		}
		if n, err := weight(ctx, r, id); err != nil || n > packedFree && n > packedRatio*size.n {
			return errors.Join(err, fmt.Errorf("%d bytes of its objects stand for files of %d", size.n, n))
		}
	}
	rec := &record{Workspace: ws, State: asleep, Made: k.now(),
		Base: troupe.WorkspaceBase{Commit: a.Base, Head: a.Head}}
	if goodRef(a.Branch) {
		rec.Branch = a.Branch
	}
	if a.Ended {
		rec.State = closed
		rec.Result = &troupe.WorkspaceResult{Kind: ws.Kind, Name: ws.Name, Folder: ws.Folder, Base: a.Base,
			Tip: cmp.Or(a.Tip, a.Base), Gone: true}
		if rec.Result.Tip != a.Base {
			rec.Result.Unkept = "it came from another home, and was not brought here yet" // a look or a merge does it
		}
	}
	_, unname, err := k.hold(ctx, "names-"+k.project(ws.Of))
	if err != nil {
		return err
	}
	defer unname()
	if err := errors.Join(k.apart(ws), p.free()); err != nil {
		return err
	}
	return errors.Join(refs.write(p), k.write(p, rec), k.step("unpacked"))
}

// checkHead refuses what no workspace begins with: its base is the caller's commit, or one on it, or the first of all.
func (a *Away) checkHead(ctx context.Context, r repo) error {
	line, err := r.out(ctx, "rev-list", "--parents", "-n1", a.Base, "--")
	if err != nil {
		return err
	}
	if ids := strings.Fields(line); a.Head == "" && len(ids) == 1 || a.Head != "" && slices.Contains(ids, a.Head) {
		return nil
	}
	return fmt.Errorf("%.80q is not what its base %s is built on", a.Head, a.Base)
}

// Forget removes what Unpack has made for a session that did not come after all.
func Forget(k *Keeper, owner troupe.SessionID) error {
	if _, ok := troupe.ParseSessionID(string(owner)); !ok {
		return fmt.Errorf("%.40q is no session", owner)
	}
	return disk.RemoveTree(filepath.Join(k.data, string(owner)))
}
