package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Wish is what a birth asks for.
type Wish struct {
	Owner troupe.SessionID
	Kind  troupe.WorkspaceKind
	// Name is what to call it; "": a name is made of Title. Exact: a person chose it, so that nothing of the id is
	// added.
	Name  string
	Exact bool
	Title string
	From  string // the folder in which the caller's tools act
	// Hook: where there is no repository a hook makes it.
	Hook bool
}

// Plan settles where a workspace will be. It changes nothing, and refuses what cannot be made.
func (k *Keeper) Plan(ctx context.Context, w Wish) (troupe.Workspace, error) {
	var none troupe.Workspace
	from, err := filepath.Abs(w.From)
	if err == nil {
		from, err = filepath.EvalSymlinks(from)
	}
	if err != nil {
		return none, &troupe.UserError{Problem: fmt.Sprintf("%s cannot be worked beside: %v", w.From, err), Err: err}
	}
	ws := troupe.Workspace{Kind: w.Kind, Owner: w.Owner, From: from, Of: from, Top: from, Folder: from}
	around := top(from)
	var needs []want
	switch w.Kind {
	case troupe.WorkspaceReadOnly:
		if around != "" {
			ws.Of = around
		}
		return ws, nil
	case troupe.WorkspaceTree:
		if around == "" && w.Hook {
			ws.Kind, ws.ByHook = troupe.WorkspaceCopy, true
			break
		}
		if around == "" {
			return none, &troupe.UserError{Err: ErrNoRepository,
				Problem: fmt.Sprintf("there can be no worktree of %s: it is in no git repository", from),
				Hint:    copyHint + "; a hook of WorktreeCreate can make worktrees with another version control"}
		}
		ws.Of = around
		if needs, err = k.asked.needs(ctx, k, around); err != nil {
			return none, err
		}
	case troupe.WorkspaceCopy, troupe.WorkspaceEmpty:
	default:
		return none, fmt.Errorf("no folder is made for %q", w.Kind)
	}
	if err := k.name(&ws, w); err != nil {
		return none, err
	}
	p, err := k.place(ws)
	if err != nil {
		return none, err
	}
	if err := k.apart(ws); err != nil { // the name of one whose folder is gone is taken, too
		return none, err
	}
	if err := p.free(); err != nil {
		return none, err
	}
	if err := p.roomFor(needs...); err != nil {
		return none, err
	}
	return ws, nil
}

// name gives the workspace its name, and with it its folder and its branch.
func (k *Keeper) name(ws *troupe.Workspace, w Wish) error {
	id := string(w.Owner)
	switch {
	case w.Exact && w.Name != "":
		ws.Name = w.Name
	case w.Name != "":
		ws.Name = w.Name
		if suffix := "-" + id[:min(6, len(id))]; len(w.Name) <= nameMost-len(suffix) {
			ws.Name += suffix
		}
	default:
		ws.Name = slug(w.Title, 32) + "-" + id[:min(6, len(id))]
	}
	if err := checkName(ws.Name); err != nil {
		return err
	}
	folders, err := filepath.Abs(k.folders)
	if err != nil {
		return err
	}
	ws.Top = filepath.Join(folders, k.project(ws.Of), filepath.FromSlash(ws.Name))
	if _, err := os.Lstat(ws.Top); !w.Exact && !errors.Is(err, os.ErrNotExist) {
		ws.Name = slug(w.Title, 32) + "-" + id // six characters of an id are not always enough
		ws.Top = filepath.Join(folders, k.project(ws.Of), ws.Name)
	}
	ws.Folder = ws.Top
	if ws.Kind == troupe.WorkspaceTree {
		ws.Folder = ws.Top + strings.TrimPrefix(ws.From, strings.TrimSuffix(ws.Of, "/"))
		ws.Branch = "troupe/" + ws.Name
	}
	return nil
}
