package worktree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// progress reads how many files git has written.
type progress struct{ tell func(done, all int) }

func (p *progress) Write(b []byte) (int, error) {
	// Updating files:  50% (5/10)
	if from := bytes.LastIndexByte(b, '('); from >= 0 {
		text, _, _ := bytes.Cut(b[from+1:], []byte(")"))
		if done, all, ok := strings.Cut(string(text), "/"); ok {
			d, e1 := strconv.Atoi(done)
			a, e2 := strconv.Atoi(all)
			if e1 == nil && e2 == nil {
				p.tell(d, a)
			}
		}
	}
	return len(b), nil
}

// leftMost is how many ignored folders are named.
const leftMost = 20

// Why something is not in what a workspace begins with, behind its name.
const (
	leftHidden  = ": no agent may read it"
	leftIgnored = ": it is ignored"
)

// carry brings ignored things of the caller to a worktree: links to folders that are too large to be copied, and copies
// of what the file .worktreeinclude of the caller's names.
func (p place) carry(ctx context.Context, r repo, rec *record, m Making) error {
	list, err := r.on(p.ws.Of).out(ctx, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(p.making)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	rec.Base.Linked = nil
	rec.Base.Left = slices.DeleteFunc(rec.Base.Left, func(s string) bool {
		return strings.HasSuffix(s, leftIgnored)
	})
	if err := p.include(ctx, r, root, rec, m); err != nil {
		return err
	}
	var whole []string // folders of which all is said; git lists those below one as well
	named := 0
	for _, name := range fields(list) {
		name, folder := strings.CutSuffix(name, "/")
		if !folder || troupe.Within(filepath.Join(p.ws.Of, name), p.k.folders) {
			continue
		}
		if troupe.WithinAny("/"+name, whole) {
			continue
		}
		whole = append(whole, "/"+name)
		if slices.Contains(m.Link, path.Base(name)) && p.link(root, name, m) {
			rec.Base.Linked = append(rec.Base.Linked, name)
		} else if named < leftMost && !rec.carries(name) {
			named++
			rec.Base.Left = append(rec.Base.Left, name+leftIgnored)
		}
	}
	return nil
}

// carries reports whether a file of a folder was copied.
func (rec *record) carries(folder string) bool {
	for name := range rec.Carried {
		if strings.HasPrefix(name, folder+"/") {
			return true
		}
	}
	return false
}

// link makes a link to a folder of the caller's, if that is where it says it is.
func (p place) link(root *os.Root, name string, m Making) bool {
	to := filepath.Join(p.ws.Of, name)
	real, err := filepath.EvalSymlinks(to)
	if err != nil || real == p.ws.Of || !troupe.Within(real, p.ws.Of) || m.Hidden != nil && m.Hidden(to) {
		return false
	}
	return root.Symlink(real, name) == nil // where nothing of the tree is, there is no use of it
}

// excluding adds the links to what a repository does not look at. A pattern with a slash at its end does not match a
// link.
func excluding(exclude []byte, links []string) []byte {
	var b bytes.Buffer
	b.Write(exclude)
	if len(exclude) > 0 && exclude[len(exclude)-1] != '\n' {
		b.WriteByte('\n')
	}
	special := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)
	for _, name := range links {
		if !strings.Contains(name, "\n") {
			b.WriteString("/" + special.Replace(name) + "\n")
		}
	}
	return b.Bytes()
}

// includeFile names ignored files that each worktree gets a copy of, as .gitignore does.
const includeFile = ".worktreeinclude"

// included are the files that it names; nil without it.
func included(ctx context.Context, r repo, of string) ([]string, error) {
	if info, err := os.Lstat(filepath.Join(of, includeFile)); err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	list, err := r.on(of).out(ctx, "ls-files", "-z", "--others", "--ignored", "--exclude-from="+includeFile)
	return append([]string{}, fields(list)...), err
}

func (p place) include(ctx context.Context, r repo, root *os.Root, rec *record, m Making) error {
	rec.Carried = nil
	names, err := included(ctx, r, p.ws.Of)
	if err != nil || names == nil {
		return err
	}
	rec.Carried = map[string]string{}
	for _, name := range names {
		from := filepath.Join(p.ws.Of, name)
		info, err := lookAt(p.ws.Of, name)
		if err != nil || !info.Mode().IsRegular() || troupe.Within(from, p.k.folders) || troupe.Within(from, p.k.data) {
			continue
		}
		if m.Hidden != nil && m.Hidden(from) {
			if line := name + leftHidden; !slices.Contains(rec.Base.Left, line) {
				rec.Base.Left = append(rec.Base.Left, line)
			}
			continue
		}
		sum, err := copyFile(root, p.ws.Of, name, info.Mode().Perm())
		if errors.Is(err, fs.ErrExist) {
			continue // it is in the base
		}
		if err != nil {
			return err
		}
		rec.Carried[name] = sum
	}
	return nil
}

func copyFile(root *os.Root, of, name string, mode fs.FileMode) (sum string, err error) {
	in, err := openIn(of, name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", err
	}
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, h), in)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, out.Close())
}

// unchanged reports whether a file is the copy that it was made as.
func unchanged(folder, name, sum string) bool {
	f, err := os.OpenFile(filepath.Join(folder, name), readFlags, 0)
	if err != nil {
		return false
	}
	h := sha256.New()
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		_, err = io.Copy(h, f)
	}
	return errors.Join(err, f.Close()) == nil && hex.EncodeToString(h.Sum(nil)) == sum
}
