package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// What is larger than this is not looked at whole at the start of each run.
const (
	maxFiles = 20_000
	maxBytes = 512 << 20
)

// Hash names all that a plugin holds: each file with its name and whether it may be run, each link by where it leads,
// and what an index says. What git keeps at the top of the folder is not in it. A link that leads out of the folder, or
// to what git keeps, is an error: what it leads to could change unseen.
func (p *Plugin) Hash() (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", p.Index)
	err := p.walk(func(root *os.Root, name string, d fs.DirEntry) error {
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := root.Readlink(name)
			if err == nil {
				_, err = root.Stat(name)
			}
			if err == nil || missing(err) {
				err = p.intoGit(name, target)
			}
			if err != nil {
				return fmt.Errorf("the link %s: %w", name, err)
			}
			fmt.Fprintf(h, "link %q %q\n", name, target)
			return nil
		}
		return file(h, root, name)
	})
	if err != nil {
		return "", fmt.Errorf("look at all of the plugin in %s: %w", p.Root, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// intoGit refuses a link to what git keeps, or to a folder that has it: that is followed, and not in the hash. A link
// that leads nowhere yet counts by what it says.
func (p *Plugin) intoGit(name, target string) error {
	real, err := filepath.EvalSymlinks(filepath.Join(p.Root, name))
	if err != nil {
		real = filepath.Join(p.Root, filepath.Dir(name), target)
	}
	if git := filepath.Join(p.Root, ".git"); troupe.Within(real, git) || troupe.Within(git, real) {
		return errors.New("it leads to the .git folder of the plugin, which can change unseen")
	}
	return nil
}

func file(h hash.Hash, root *os.Root, name string) (err error) {
	f, err := root.OpenFile(name, disk.Flags, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: %w", name, disk.ErrNotRegular)
	}
	fmt.Fprintf(h, "file %q %t %d\n", name, info.Mode()&0o111 != 0, info.Size())
	_, err = io.Copy(h, io.LimitReader(f, maxBytes))
	return err
}

// Stamp is what a plugin's files look like from outside, without reading them: with the same stamp a process need not
// look again.
func (p *Plugin) Stamp() (string, error) {
	h := sha256.New()
	err := p.walk(func(root *os.Root, name string, _ fs.DirEntry) error {
		info, err := root.Lstat(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %v %d %d %s\n", name, info.Mode(), info.Size(), info.ModTime().UnixNano(), inode(info))
		return nil
	})
	return hex.EncodeToString(h.Sum(p.Index)), err
}

// inode tells files apart that were put in each other's place, and changes that were dated back.
func inode(info fs.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprint(s.Ino, changed(s))
	}
	return ""
}

// walk calls each with all that is no folder, in the order of the names.
func (p *Plugin) walk(each func(root *os.Root, name string, d fs.DirEntry) error) (err error) {
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	files, size := 0, int64(0)
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".git" && d.IsDir():
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		if info, err := d.Info(); err == nil {
			size += info.Size()
		}
		if files++; files > maxFiles || size > maxBytes {
			return fmt.Errorf("there are more than %d files or %d MB in it", maxFiles, maxBytes>>20)
		}
		return each(root, filepath.FromSlash(name), d)
	})
}
