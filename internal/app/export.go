package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/app/carry"
	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// ExportTo is where an export goes: to a file, which is there when all of it is, or to Out.
type ExportTo struct {
	File string
	Out  io.Writer
}

// Export writes a tree that sleeps, or has ended, for another home. It changes nothing here.
func Export(ctx context.Context, a *App, root troupe.SessionID, to ExportTo) (left []string, err error) {
	ctx = worktree.Looking(ctx, 0, api.Waits(ctx))
	s, err := a.trees.session(ctx, root)
	if err != nil {
		return nil, err
	}
	root = s.Root
	t, err := a.tree(ctx, root)
	if err != nil {
		return nil, err
	}
	s = t.Sessions[0]
	name := cmp.Or(s.Name, string(s.ID))
	if t.Running || s.AsleepAt.IsZero() && anyLive(t.Sessions) {
		return nil, &troupe.UserError{Problem: fmt.Sprintf("session %s has not ended, and is not asleep", name),
			Hint: "Put it away first: troupe sleep " + name, Code: troupe.ExitUsage}
	}
	if to.Out == nil {
		if err := Unwritten(to.File); err != nil {
			return nil, err
		}
	}
	// An import takes what lies there for what a killed one has left.
	ctx, release, err := worktree.Writing(ctx, a.keeper, a.dirs.Outputs())
	if err != nil {
		return nil, err
	}
	defer release()
	dir, err := importFolder(a)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, disk.RemoveTree(dir)) }()
	x := exporting{a: a, stage: carry.NewStage(dir)}
	x.stage.Troupe, x.stage.Root, x.stage.Name, x.stage.Folder, x.stage.At = a.env.Version, root, s.Name, s.Cwd,
		a.env.Now().UTC()
	if err := x.all(ctx, t); err != nil {
		return nil, err
	}
	if to.Out != nil {
		return x.left, x.stage.Write(to.Out)
	}
	temp, err := disk.Draft(to.File, 0o600, x.stage.Write)
	if err == nil {
		err = disk.Settle(temp, to.File)
	}
	if err != nil {
		return nil, &troupe.UserError{Problem: "the session cannot be exported: " + err.Error(), Err: err,
			Hint: "It is as it was. Name another file: troupe export " + name + " -o FILE"}
	}
	return x.left, nil
}

// importFolder makes a folder for the parts of a file on its way.
func importFolder(a *App) (string, error) {
	all := filepath.Join(a.dirs.Data, "carried")
	if err := os.MkdirAll(all, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(all, "file-")
}

type exporting struct {
	a     *App
	stage *carry.Stage
	left  []string // what does not come
}

// all puts everything of a tree into parts.
func (x *exporting) all(ctx context.Context, t Tree) error {
	root, seq := t.Sessions[0], int64(0)
	err := x.a.trees.store.View(ctx, func(r store.Reader) error {
		if len(x.stage.Sessions) > 0 { // half of it is on the disk
			return fmt.Errorf("the database went away meanwhile: %w", troupe.ErrUnavailable)
		}
		now, err := r.Session(root.ID)
		if err != nil {
			return err
		}
		if held, err := r.Lease(root.ID); err != nil || held != t.Lease {
			return errors.Join(err, takenOver(root.ID, troupe.ErrFenced))
		}
		seq = now.Seq
		sessions, err := r.Sessions(store.Filter{Root: root.ID})
		if err != nil {
			return err
		}
		for _, s := range sessions {
			x.stage.Sessions = append(x.stage.Sessions, s.ID)
			err = errors.Join(err, x.stage.Put(carry.LogPart(s.ID),
				func(w io.Writer) error { return writeLog(r, s.ID, w) }))
		}
		return errors.Join(err,
			x.stage.Put(carry.Mail, func(w io.Writer) error { return writeMail(r, root.ID, w) }))
	})
	if err != nil {
		return err
	}
	for _, s := range t.Sessions {
		if err := x.files(s); err != nil {
			return err
		}
	}
	if err := x.shared(root.ID); err != nil {
		return err
	}
	if err := x.folders(ctx, t); err != nil {
		return err
	}
	again, err := x.a.tree(ctx, root.ID)
	if err == nil && (again.Lease != t.Lease || again.Sessions[0].Seq != seq) {
		err = &troupe.UserError{Problem: fmt.Sprintf("session %s was gone on with meanwhile", root.ID),
			Hint: "Put it away first: troupe sleep " + string(root.ID), Code: troupe.ExitUsage}
	}
	return err
}

func writeLog(r store.Reader, id troupe.SessionID, w io.Writer) error {
	enc := json.NewEncoder(w)
	for after := int64(0); ; {
		events, err := r.Events(id, after, 1000)
		if err != nil || len(events) == 0 {
			return err
		}
		for _, e := range events {
			body, err := troupe.EncodeBody(e.Body)
			if err == nil {
				err = enc.Encode(carry.Line{Seq: e.Seq, At: e.At, Kind: e.Body.Kind(), Body: body})
			}
			if err != nil {
				return err
			}
			after = e.Seq
		}
	}
}

func writeMail(r store.Reader, root troupe.SessionID, w io.Writer) error {
	boxes, err := r.Mailboxes(root)
	for _, id := range boxes {
		mail, uerr := r.Unread(id)
		for _, m := range mail {
			uerr = errors.Join(uerr, json.NewEncoder(w).Encode(m))
		}
		err = errors.Join(err, uerr)
	}
	return err
}

// files are the outputs and the plan of a session.
func (x *exporting) files(s troupe.Session) error {
	dir := x.a.outputDir(s.ID)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		part := carry.Outputs + string(s.ID) + "/" + e.Name()
		if e.Type().IsRegular() && x.stage.Good(part) {
			if err := x.file(part, filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	plan := plansOf(x.a).File(s)
	if info, err := os.Lstat(plan); err == nil && info.Mode().IsRegular() {
		return x.file(carry.PlanPart(s.ID), plan)
	}
	return nil
}

func (x *exporting) file(part, path string) error {
	return x.stage.Put(part, func(w io.Writer) error {
		f, err := os.OpenFile(path, disk.Flags, 0)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, f)
		return errors.Join(err, f.Close())
	})
}

// shared is the scratchpad. Links in it do not come.
func (x *exporting) shared(root troupe.SessionID) error {
	dir := scratchpadsOf(x.a).Folder(root)
	if dir == "" {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		part := carry.Pads + filepath.ToSlash(name)
		if !e.Type().IsRegular() || !x.stage.Good(part) {
			x.left = append(x.left, "in the scratchpad: "+troupe.VisibleLine(name)+", which is no plain file")
			return nil
		}
		return x.file(part, path)
	})
}

// folders are what is kept of the folders of agents' own.
func (x *exporting) folders(ctx context.Context, t Tree) error {
	rows, err := x.a.keeper.Names("")
	if err != nil {
		return err
	}
	of := make(map[troupe.SessionID]bool)
	for _, s := range t.Sessions {
		of[s.ID] = true
	}
	for _, row := range rows {
		if !of[row.Workspace.Session()] {
			continue
		}
		ws := row.Workspace
		var away worktree.Away
		var some bool
		if err := x.stage.Put(carry.Folders+string(ws.Owner)+".pack", func(w io.Writer) (err error) {
			away, some, err = worktree.Pack(ctx, x.a.keeper, ws, w)
			return err
		}); err != nil {
			return fmt.Errorf("pack the folder %s: %w", ws.Name, err)
		}
		if !some {
			continue
		}
		if err := x.stage.Put(carry.Folders+string(ws.Owner)+".json", func(w io.Writer) error {
			return json.NewEncoder(w).Encode(away)
		}); err != nil {
			return err
		}
		if row.There {
			x.left = append(x.left, fmt.Sprintf("in the folder %s: what no checkpoint has, such as ignored files",
				troupe.VisibleLine(ws.Name)))
		}
	}
	return nil
}
