package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/content"
	"github.com/troupe-dev/troupe/internal/disk"
)

// undoEntry is the record of one undo: what it did, and from what it can be taken back. It
// is written before the first file is changed, and once more, Done, after the last. One
// that is not Done was cut off: each of its files holds From or To.
type undoEntry struct {
	Number int       `json:"number"`
	At     time.Time `json:"at"`
	Turn   int       `json:"turn,omitempty"`  // back to before this turn of the root,
	Last   int       `json:"last,omitempty"`  // which had come as far as this one
	Redo   int       `json:"redo,omitempty"`  // the undo that this one takes back
	Undid  string    `json:"undid,omitempty"` // the merge that this one takes back alone, and no turn
	Merge  string    `json:"merge,omitempty"` // it is no undo: a person merged this worktree
	// Owner is the one that the worktree was made for, and Declined are the files of which that merge kept the
	// folder's own side: by its undo they are undecided again.
	Owner    troupe.SessionID `json:"owner,omitempty"`
	Declined []string         `json:"declined,omitempty"`
	Files    []undoneFile     `json:"files"`
	Done     bool             `json:"done"`
}

// undoneFile is one file of it. From and To are hashes, "" for a file that is not there. Of a link they begin with
// “link:”, and are of where it leads.
type undoneFile struct {
	Path string `json:"path"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	Mode uint32 `json:"mode,omitempty"` // of the file that was there
	Exec bool   `json:"exec,omitempty"` // whether it can be executed was changed too
	// Lines, of a merge.
	Added   int `json:"added,omitempty"`
	Removed int `json:"removed,omitempty"`
}

// undone says which turns are put back now, and by which undo.
func (h *history) undone() map[int]int {
	out := make(map[int]int)
	for _, e := range h.entries {
		switch {
		case !e.Done, e.Undid != "":
		case e.Redo > 0:
			for n, by := range out {
				if by == e.Redo {
					delete(out, n)
				}
			}
		default:
			for n := max(1, e.Turn); n <= min(e.Last, len(h.turns)); n++ {
				if out[n] == 0 {
					out[n] = e.Number
				}
			}
		}
	}
	return out
}

// lastUndo is the newest undo that was not taken back.
func (h *history) lastUndo() (undoEntry, bool) {
	taken := make(map[int]bool)
	for _, e := range slices.Backward(h.entries) {
		switch {
		case e.Redo > 0 && e.Done:
			taken[e.Redo] = true
		case e.Redo == 0 && !taken[e.Number]:
			return e, true
		}
	}
	return undoEntry{}, false
}

// contents is where the tree's tools keep what they replace. It lies with the outputs of
// the root, and goes with them.
func (a *App) contents(root troupe.SessionID) *content.Store {
	return content.In(filepath.Join(a.outputDir(root), "content"))
}

// undoJournal is the folder of a tree's entries, a file for each.
type undoJournal struct {
	dir  string
	root troupe.SessionID
}

func (a *App) undoJournal(root troupe.SessionID) undoJournal {
	return undoJournal{filepath.Join(a.outputDir(root), "undo"), root}
}

// mergeJournal has what people merged into the tree's folder.
func mergeJournal(a *App, root troupe.SessionID) undoJournal {
	return undoJournal{filepath.Join(a.outputDir(root), "merged"), root}
}

func (j undoJournal) name(number int) string {
	return filepath.Join(j.dir, fmt.Sprintf("%06d.json", number))
}

// read returns all entries, the first first.
func (j undoJournal) read() ([]undoEntry, error) {
	var out []undoEntry
	for {
		data, err := disk.Read(j.name(len(out)+1), disk.Most)
		if errors.Is(err, fs.ErrNotExist) {
			return out, nil
		}
		var e undoEntry
		if err == nil {
			err = json.Unmarshal(data, &e)
		}
		if err != nil {
			return nil, fmt.Errorf("read what was undone in session %s: %w", j.root, err)
		}
		e.Number = len(out) + 1
		out = append(out, e)
	}
}

// begin writes a new entry. Of two processes that undo at the same moment, the second finds
// that its number is taken and is told so by fs.ErrExist.
func (j undoJournal) begin(e undoEntry) error {
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return err
	}
	temp, err := j.write(e)
	if err != nil {
		return err
	}
	name := j.name(e.Number)
	if err = os.Link(temp, name); err == nil || errors.Is(err, fs.ErrExist) {
		return errors.Join(err, os.Remove(temp))
	}
	if _, lerr := os.Lstat(name); lerr == nil {
		return errors.Join(fs.ErrExist, os.Remove(temp))
	}
	return disk.Settle(temp, name) // a file system without hard links
}

// finish replaces an entry by what came of it.
func (j undoJournal) finish(e undoEntry) error {
	e.Done = true
	temp, err := j.write(e)
	if err != nil {
		return err
	}
	return disk.Settle(temp, j.name(e.Number))
}

func (j undoJournal) write(e undoEntry) (temp string, err error) {
	data, err := json.Marshal(e)
	if err != nil {
		return "", err
	}
	return disk.Draft(j.name(e.Number), 0o600, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
