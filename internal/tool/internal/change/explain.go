package change

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/internal/safefile"
)

// moved says that a path leads elsewhere by now.
func moved(env tool.Env, path string) tool.Output {
	return tool.Errorf("%s leads to another place now than when the call was checked: something renamed or linked a "+
		"part of it meanwhile. Nothing was read or written. Try again.", env.Rel(path))
}

// Explain words an error of opening or reading a file for the model.
func Explain(env tool.Env, t Target, err error) tool.Output {
	name := env.Rel(t.Path)
	switch {
	case errors.Is(err, safefile.ErrMoved):
		return moved(env, t.Path)
	case errors.Is(err, safefile.ErrFolder):
		return tool.Errorf("%s is a folder. Use Glob to see what is in it.", name)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return tool.Errorf("%s is not a file on a disk, and nothing came from it.", name)
	case errors.Is(err, fs.ErrNotExist):
		return missing(env, t)
	case errors.Is(err, fs.ErrPermission):
		return tool.Errorf("%s: permission denied.", name)
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return tool.Errorf("%s: %v.", name, err)
}

// missing says that there is no such file, and names one that may have been meant.
func missing(env tool.Env, t Target) tool.Output {
	name := env.Rel(t.Path)
	if info, err := os.Lstat(t.Path); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return tool.Errorf("%s is a symbolic link to %s, which does not exist.", name, env.Rel(t.Real()))
	}
	dir := filepath.Dir(t.Path)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		for {
			up := filepath.Dir(dir)
			if _, err := os.Stat(up); err == nil || up == dir {
				break
			}
			dir = up
		}
		return tool.Errorf("%s does not exist: there is no folder %s. (The working folder is %s.)", name, env.Rel(dir),
			env.Cwd)
	}
	if near := nearName(filepath.Base(t.Path), names(env, dir, filepath.Dir(t.Real()))); near != "" {
		return tool.Errorf("%s does not exist. Did you mean %s?", name, env.Rel(filepath.Join(dir, near)))
	}
	return tool.Errorf("%s does not exist. (The working folder is %s.)", name, env.Cwd)
}

// nearName is the file that a mistyped name was most likely meant to be. Files of one kind have their
// extension in common, which says nothing about how near their names are.
func nearName(name string, all []string) string {
	const end = "." // so that names of one letter can be near each other
	ext := filepath.Ext(name)
	var stems, others []string
	for _, other := range all {
		if e := filepath.Ext(other); strings.EqualFold(e, ext) {
			stems = append(stems, strings.TrimSuffix(other, e)+end)
		} else {
			others = append(others, other)
		}
	}
	near := tool.Nearest(strings.TrimSuffix(name, ext)+end, stems)
	if near == "" {
		return tool.Nearest(name, others)
	}
	for _, other := range all {
		if e := filepath.Ext(other); strings.EqualFold(e, ext) && strings.TrimSuffix(other, e)+end == near {
			return other
		}
	}
	return ""
}

// names lists the first few hundred entries of dir, which is really at real, that may be read.
func names(env tool.Env, dir, real string) []string {
	d, err := safefile.OpenFolder(real)
	if err != nil {
		return nil
	}
	defer d.Close()        //nolint:errcheck // only a handle
	list, _ := d.List(500) // an error means a suggestion less
	var out []string
	for _, e := range list {
		if env.Hidden == nil || !env.Hidden(filepath.Join(dir, e.Name())) &&
			!env.Hidden(filepath.Join(real, e.Name())) {
			out = append(out, e.Name())
		}
	}
	return out
}
