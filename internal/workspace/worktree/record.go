package worktree

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// States of a workspace.
const (
	making = "making" // the folder is not known to be whole
	made   = "made"   // an agent may work in it
	closed = "closed" // a run has ended; Result says what became of it
)

// record is what is known of a workspace beside its repositories. It is there before anything else of it.
type record struct {
	Workspace     troupe.Workspace
	Base          troupe.WorkspaceBase
	State         string
	Opened        int // how often an agent was let in
	Made, Changed time.Time
	// Inode and Born are of the folder that was about to get the name: an inode alone may be another folder's later.
	Inode uint64 `json:",omitempty"`
	Born  int64  `json:",omitempty"` // nanoseconds; 0 where the system does not say
	// Branch is what HEAD of the agent's repository stood for when it was read last; "" for a commit alone.
	Branch string `json:",omitempty"`
	// Carried are the ignored files that were copied from the caller, with what they were.
	Carried map[string]string `json:",omitempty"`
	// Own is the branch that it has in the caller's repository.
	Own string `json:",omitempty"`
	// Offered are the trees that were merged last, Brought the files of the caller's that were written then, and Handed
	// what the caller had when conflicts were handed back.
	Offered []string `json:",omitempty"`
	Brought []string `json:",omitempty"`
	Handed  []handed `json:",omitempty"`
	// Onto are commits that --into made, with what the workspace had then: a branch that reaches one has that.
	Onto []replayed `json:",omitempty"`
	// Declined are files of which the caller has taken its own side, with what the workspace had of each then.
	Declined map[string]string `json:",omitempty"`
	// Tips is a commit over the branches and tags that the agent's repository was born with, which the caller's keeps
	// while the folder is there; "" if the base reaches all of them.
	Tips string `json:",omitempty"`
	// Result is of the last end.
	Result *troupe.WorkspaceResult `json:",omitempty"`
	// in is that of its place, where it is listed; it is not written down.
	in *record
}

// replayed is what a workspace had, as a tree, and the commit that it is in.
type replayed struct{ Tree, Commit string }

// recordMost is more than any record has.
const recordMost = 16 << 20

func readRecord(folder string) (*record, error) {
	path := filepath.Join(folder, "record.json")
	data, err := disk.Read(path, recordMost)
	if err != nil {
		return nil, err
	}
	rec := &record{}
	if err := json.Unmarshal(data, rec); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return rec, nil
}

func (k *Keeper) write(p place, rec *record) error {
	rec.Changed = k.now()
	data, err := json.MarshalIndent(rec, "", "\t")
	if err == nil {
		err = os.MkdirAll(p.folder, 0o700)
	}
	if err == nil {
		err = disk.Replace(filepath.Join(p.folder, "record.json"), data, 0o600)
	}
	return err
}

// recordsOf are those of the tree that begins at a folder, the oldest first; "": of all trees.
func recordsOf(k *Keeper, of string) ([]*record, error) {
	raw, err := k.records()
	all := make([]*record, len(raw))
	for i, rec := range raw {
		stands := *rec
		stands.Workspace, stands.in = standing(k, raw, rec.Workspace)
		all[i] = &stands
	}
	all = slices.DeleteFunc(all, func(rec *record) bool { return of != "" && rec.Workspace.Of != of })
	slices.SortFunc(all, func(a, b *record) int { return a.Made.Compare(b.Made) })
	return all, err
}

// records are all workspaces that can be read. One that cannot hides none of the others.
func (k *Keeper) records() ([]*record, error) {
	entries, err := os.ReadDir(k.data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []*record
	for _, e := range entries {
		if _, ok := troupe.ParseSessionID(e.Name()); !ok || !e.IsDir() {
			continue
		}
		if rec, err := readRecord(filepath.Join(k.data, e.Name())); err == nil {
			all = append(all, rec)
		}
	}
	return all, nil
}

// Known are all workspaces that there are, made or to be made. Whole is false if some cannot be read, or not yet.
func Known(k *Keeper) (known []troupe.Workspace, whole bool, err error) {
	all, err := k.records()
	if err != nil {
		return nil, false, err
	}
	for _, rec := range all {
		known = append(known, rec.Workspace)
	}
	entries, err := os.ReadDir(k.data)
	ids := 0
	for _, e := range entries {
		if _, ok := troupe.ParseSessionID(e.Name()); ok && e.IsDir() {
			ids++
		}
	}
	return known, err == nil && ids == len(known), nil
}
