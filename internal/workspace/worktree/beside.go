package worktree

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// beside is what a tree of git does not hold of a folder.
type beside struct {
	// Repos are the repositories in it, by their folders.
	Repos map[string]nestedRepo `json:",omitempty"`
	// Modes are those of a copy that are neither 0644 nor 0755, and Empty its folders with nothing in them.
	Modes map[string]fs.FileMode `json:",omitempty"`
	Empty []string               `json:",omitempty"`
}

// nestedRepo is the .git of a repository in the folder: a blob of the keeper, and what its files looked like then.
type nestedRepo struct {
	Blob, Looks string
	Left        []string `json:",omitempty"` // files of it that are too large to be kept
}

// takeNested adds the files of repositories that are not known yet. From then on they are files like others.
func (r repo) takeNested(ctx context.Context, folder string, s *scan) error {
	for left := s.nested; len(left) > 0; {
		name := left[0]
		left = left[1:]
		inner, err := r.with("GIT_INDEX_FILE="+filepath.Join(r.runner.Dir, "none")).scan(ctx,
			filepath.Join(folder, name))
		if err != nil {
			return err
		}
		for _, n := range inner.here {
			s.here = append(s.here, name+n)
		}
		for _, n := range inner.odd {
			s.odd = append(s.odd, name+n)
		}
		for _, n := range inner.nested {
			left = append(left, name+n)
		}
	}
	return nil
}

// saveBeside keeps what the tree does not hold, and names what is too large for that.
func (p place) saveBeside(ctx context.Context, r repo, folder string, next kept) (left []string, err error) {
	before, err := r.readBeside(ctx, next)
	if err != nil {
		return nil, err
	}
	now := beside{Repos: map[string]nestedRepo{}}
	list, err := r.out(ctx, "ls-files", "-z")
	if err != nil {
		return nil, err
	}
	for _, name := range foldersOf(fields(list)) {
		if _, err := lookAt(folder, name+"/.git"); err != nil {
			continue
		}
		repo, err := r.saveRepo(ctx, folder, name, before.Repos[name])
		if err != nil {
			return nil, fmt.Errorf("keep the repository %s: %w", name, err)
		}
		now.Repos[name] = repo
		for _, file := range repo.Left {
			left = append(left, name+"/"+file)
		}
	}
	if r.all {
		if err := now.look(folder); err != nil {
			return nil, err
		}
	}
	data, err := json.Marshal(now)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(next, func(name, _ string) bool { return strings.HasPrefix(name, keptBeside) })
	if len(now.Repos)+len(now.Modes)+len(now.Empty) == 0 {
		return nil, nil
	}
	for _, repo := range now.Repos {
		next[keptRepos+repo.Blob] = repo.Blob
	}
	next[keptBeside], err = r.feed(ctx, string(data), "hash-object", "-w", "--stdin")
	return left, err
}

// tooLarge says of files why they are not in what a workspace begins with.
func tooLarge(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = fmt.Sprintf("%s: it is larger than %d MB", name, nestedMost>>20)
	}
	return out
}

// foldersOf are the folders in which files of the index are, and those that hold them.
func foldersOf(names []string) []string {
	folders := map[string]bool{}
	for _, name := range names {
		for at := path.Dir(name); at != "." && !folders[at]; at = path.Dir(at) {
			folders[at] = true
		}
	}
	return slices.Sorted(maps.Keys(folders))
}

func (r repo) readBeside(ctx context.Context, kept kept) (beside, error) {
	var b beside
	if kept[keptBeside] == "" {
		return b, nil
	}
	data, err := r.out(ctx, "cat-file", "blob", kept[keptBeside])
	if err == nil {
		err = json.Unmarshal([]byte(data), &b)
	}
	return b, err
}

// look notes modes and empty folders.
func (b *beside) look(folder string) error {
	b.Modes = map[string]fs.FileMode{}
	return filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		name := strings.TrimPrefix(strings.TrimPrefix(path, folder), "/")
		switch {
		case err != nil:
			return nil // what cannot be looked at is not in the tree either
		case e.Name() == ".git":
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case name == "" || !e.IsDir() && !e.Type().IsRegular():
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		if mode := info.Mode().Perm(); mode != usual(info) {
			b.Modes[name] = mode
		}
		if e.IsDir() {
			if inside, err := os.ReadDir(path); err == nil && len(inside) == 0 {
				b.Empty = append(b.Empty, name)
			}
		}
		return nil
	})
}

// usual is the mode of a file of which a tree says all.
func usual(info fs.FileInfo) fs.FileMode {
	if info.IsDir() || info.Mode()&0o100 != 0 {
		return 0o755
	}
	return 0o644
}

// saveRepo keeps the .git of a repository in the folder, unless it looks as it did.
func (r repo) saveRepo(ctx context.Context, folder, name string, before nestedRepo) (nestedRepo, error) {
	root, err := rootIn(folder, name)
	if err != nil {
		return nestedRepo{}, err
	}
	defer func() { _ = root.Close() }()
	sum := sha256.New()
	err = fs.WalkDir(root.FS(), ".git", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil {
			fmt.Fprintf(sum, "%q %d %s %d\n", name, info.Size(), info.Mode(), info.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		return nestedRepo{}, err
	}
	looks := hex.EncodeToString(sum.Sum(nil))
	if looks == before.Looks {
		return before, nil
	}
	in, out := io.Pipe()
	done := make(chan struct{})
	var left []string
	go func() {
		defer close(done)
		var err error
		left, err = archive(root, out)
		out.CloseWithError(err)
	}()
	r.runner.In = in
	blob, err := r.out(ctx, "hash-object", "-w", "--stdin")
	err = errors.Join(err, in.Close()) // else a git that ended early would hold up the archive
	<-done
	return nestedRepo{Blob: blob, Looks: looks, Left: left}, err
}

// archive writes the .git of a folder. A link is noted and not followed; what is no file is left out, and what is too
// large is left out and named.
func archive(root *os.Root, out io.Writer) (left []string, err error) {
	w := tar.NewWriter(out)
	err = fs.WalkDir(root.FS(), ".git", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		head := &tar.Header{Name: name, Mode: int64(info.Mode().Perm())}
		switch {
		case e.IsDir():
			head.Typeflag = tar.TypeDir
			return w.WriteHeader(head)
		case e.Type()&fs.ModeSymlink != 0:
			head.Typeflag = tar.TypeSymlink
			if head.Linkname, err = root.Readlink(name); err != nil {
				return err
			}
			return w.WriteHeader(head)
		case !e.Type().IsRegular():
			return nil
		}
		if info.Size() > nestedMost {
			left = append(left, name)
			return nil
		}
		return archiveFile(w, root, head)
	})
	return left, errors.Join(err, w.Close())
}

// archiveFile writes a file as long as it is when it is opened: what is appended meanwhile waits for the next time.
func archiveFile(w *tar.Writer, root *os.Root, head *tar.Header) error {
	f, err := root.OpenFile(head.Name, readFlags, 0)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Size() > nestedMost:
		return fmt.Errorf("%s was replaced while it was kept", head.Name)
	}
	head.Typeflag, head.Size = tar.TypeReg, info.Size()
	if err := w.WriteHeader(head); err != nil {
		return err
	}
	if _, err = io.CopyN(w, f, head.Size); errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s became shorter while it was kept", head.Name)
	}
	return err
}

// nestedMost is how large a file of a repository in the folder may be.
const nestedMost = 1 << 30

// restoreBeside puts into the folder that is made what its tree does not hold.
func (p place) restoreBeside(ctx context.Context, r repo, kept kept) error {
	b, err := r.readBeside(ctx, kept)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(p.making)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, name := range slices.Sorted(maps.Keys(b.Repos)) {
		if err := r.restoreRepo(ctx, root, name, b.Repos[name].Blob); err != nil {
			return fmt.Errorf("restore the repository %s: %w", name, err)
		}
	}
	for _, name := range b.Empty {
		if err := root.MkdirAll(filepath.FromSlash(name), 0o755); err != nil {
			return err
		}
	}
	if p.ws.Kind != troupe.WorkspaceCopy {
		return nil
	}
	return b.restoreModes(root)
}

func (b *beside) restoreModes(root *os.Root) error {
	var later []string // a folder that cannot be written is filled first
	err := fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.Name() == ".git" && e.IsDir():
			return fs.SkipDir
		case name == "." || !e.IsDir() && !e.Type().IsRegular():
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		mode, ok := b.Modes[name]
		switch {
		case !ok:
			mode = usual(info)
		case e.IsDir():
			later = append(later, name)
			return nil
		}
		if info.Mode().Perm() == mode {
			return nil
		}
		return root.Chmod(name, mode)
	})
	for _, name := range slices.Backward(later) {
		err = errors.Join(err, root.Chmod(name, b.Modes[name]))
	}
	return err
}

func (r repo) restoreRepo(ctx context.Context, root *os.Root, name, blob string) error {
	in, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := r.runner.Stream(ctx, out, "cat-file", "blob", blob)
		out.CloseWithError(err)
		done <- err
	}()
	err := extract(tar.NewReader(in), root, filepath.FromSlash(name))
	return errors.Join(err, in.Close(), <-done)
}

// extract writes an archive of ours. None of its names leads out of the folder.
func extract(from *tar.Reader, root *os.Root, folder string) error {
	for {
		head, err := from.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name, mode := filepath.Join(folder, filepath.FromSlash(head.Name)), fs.FileMode(head.Mode).Perm()
		switch head.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(name, mode|0o700)
		case tar.TypeSymlink:
			err = root.Symlink(head.Linkname, name)
		default:
			err = extractFile(from, root, name, mode)
		}
		if err != nil {
			return err
		}
	}
}

func extractFile(from io.Reader, root *os.Root, name string, mode fs.FileMode) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
