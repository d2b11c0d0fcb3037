package worktree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe"
)

// nameMost is how long a name may be, in bytes.
const nameMost = 64

// checkName refuses what would be no good folder, or no good branch, in any system.
func checkName(name string) error {
	why := ""
	switch {
	case name == "":
		why = "is empty"
	case len(name) > nameMost:
		why = fmt.Sprintf("has more than %d characters", nameMost)
	case filepath.IsAbs(name) || name[0] == '/':
		why = "is absolute"
	}
	for segment := range strings.SplitSeq(name, "/") {
		if why == "" {
			why = badSegment(segment)
		}
	}
	if why == "" {
		return nil
	}
	return &troupe.UserError{Problem: fmt.Sprintf("a workspace cannot be named %q: the name %s", name, why),
		Hint: "letters, digits, “.”, “_” and “-” make a name, with “/” between parts of it, for example fix-login",
		Code: troupe.ExitUsage}
}

func badSegment(s string) string {
	switch {
	case s == "":
		return "has an empty part"
	case strings.Trim(s, ".") == "":
		return "has a part of dots alone"
	case s[0] == '-' || s[0] == '.':
		return "has a part that begins with “" + s[:1] + "”"
	case strings.HasSuffix(s, ".") || strings.HasSuffix(strings.ToLower(s), ".lock"):
		return "has a part that ends in “.” or “.lock”, which no branch can"
	case strings.Contains(s, ".."):
		return "has two dots in a row, which no branch can"
	}
	for i := range len(s) {
		if !nameByte(s[i]) {
			return "has other characters than letters, digits, “.”, “_” and “-”"
		}
	}
	return ""
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._-", c) >= 0
}

// slug makes a name of words: at most so many bytes of it.
func slug(title string, most int) string {
	var b strings.Builder
	for i := range len(title) {
		c := title[i]
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
		default:
			c = '-'
		}
		if c == '-' && (b.Len() == 0 || strings.HasSuffix(b.String(), "-")) {
			continue
		}
		if b.Len() == most {
			break
		}
		b.WriteByte(c)
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return "work"
}

// project is the name of the folder of all workspaces of one tree.
func (k *Keeper) project(of string) string {
	sum := sha256.Sum256([]byte(of))
	return slug(filepath.Base(of), 32) + "-" + hex.EncodeToString(sum[:4])
}

func taken(path string) error {
	return &troupe.UserError{Problem: path + " is there already, and is not this workspace's",
		Hint: "choose another name, or move it away"}
}

// free refuses a place where something is already, or to which a link leads.
func (p place) free() error {
	if err := p.k.straight(p.ws.Top); err != nil {
		return err
	}
	if _, err := os.Lstat(p.ws.Top); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = taken(p.ws.Top)
		}
		return err
	}
	return nil
}

// straight refuses links on the way from the folder of all workspaces to one of them.
func (k *Keeper) straight(path string) error {
	rel, err := filepath.Rel(k.folders, path)
	if err != nil {
		return err
	}
	at := k.folders
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if at != path && !info.IsDir() {
			return &troupe.UserError{Problem: at + " is in the way of a workspace: it is no folder of ours",
				Hint: "move it away; a link is not followed there"}
		}
	}
	return nil
}

// NameTaken is the error of a name that another workspace has.
type NameTaken struct{ By troupe.Workspace }

// Error implements error.
func (e *NameTaken) Error() string {
	return e.By.Name + " is the workspace of session " + string(e.By.Session())
}

// apart refuses a name that is in another's folder, or has another's in it.
func (k *Keeper) apart(ws troupe.Workspace) error {
	rows, err := k.records()
	if err != nil {
		return err
	}
	for _, rec := range rows {
		other := rec.Workspace
		if other.Owner == ws.Owner {
			continue
		}
		if troupe.Within(other.Top, ws.Top) || troupe.Within(ws.Top, other.Top) {
			return &troupe.UserError{
				Problem: fmt.Sprintf("a worktree cannot be named %q: session %s has the worktree %s", ws.Name,
					other.Session(), other.Name),
				Hint: fmt.Sprintf("go on there with `troupe --resume %s`, or choose another name; `troupe worktrees "+
					"prune %s` frees this one once you have its work", other.Session(), other.Name),
				Err: &NameTaken{By: other}}
		}
	}
	return nil
}

// belowTries is how often the folders above a workspace are made for one thing to do in them.
const belowTries = 100

// below does something in the folders above a workspace. While they are empty the end of another one removes them.
func below(p place, do func() error) error {
	for try := 1; ; try++ {
		err := p.parents()
		if err == nil {
			err = p.k.step("above")
		}
		if err == nil {
			err = do()
		}
		if try == belowTries || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// takePlace gives a folder the name of the workspace.
func takePlace(p place, from string) error {
	return below(p, func() error { return os.Rename(from, p.ws.Top) })
}

// parents makes the folders above a workspace.
func (p place) parents() error {
	if err := os.MkdirAll(p.k.folders, 0o700); err != nil {
		return err
	}
	if err := p.k.straight(p.ws.Top); err != nil {
		return err
	}
	rel, err := filepath.Rel(p.k.folders, filepath.Dir(p.ws.Top))
	if err != nil {
		return err
	}
	at := p.k.folders
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		at = filepath.Join(at, part)
		if err := os.Mkdir(at, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return p.k.straight(p.ws.Top)
}
