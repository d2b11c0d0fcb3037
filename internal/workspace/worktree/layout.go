package worktree

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/troupe-dev/troupe/internal/disk"
)

// carried are the settings that a workspace has from the caller. None of them runs anything, or loosens what git
// checks.
func carried() []string {
	return []string{
		"user.name", "user.email", "core.autocrlf", "core.eol", "core.filemode", "core.ignorecase", "core.symlinks",
		"core.precomposeunicode", "core.excludesfile", "core.sparsecheckout", "core.sparsecheckoutcone",
		"core.longpaths",
	}
}

// carry is what a workspace has from the caller: settings, and files below .git.
type carry struct {
	format   string
	settings map[string]string
	files    map[string][]byte // by their names there
	stores   []string
}

func carryOf(c *caller, folders string) (carry, error) {
	if c == nil {
		// The bytes of a copy are those of its files, whatever attributes they ask for.
		return carry{format: "sha1", files: map[string][]byte{
			"info/attributes": []byte("* -text -eol -ident -filter !working-tree-encoding\n")}}, nil
	}
	y := carry{format: c.format, settings: map[string]string{}, files: map[string][]byte{}}
	for _, name := range carried() {
		if value, ok := c.settings[name]; ok && (name != "core.excludesfile" || isFile(value)) {
			y.settings[name] = value
		}
	}
	if !folds(c.top) && !folds(folders) {
		// It is not so, and git would not see files of an agent's whose names differ from others in case alone.
		delete(y.settings, "core.ignorecase")
	}
	// Where git does not find these beside HEAD, they are those of the main worktree.
	for name, folder := range map[string]string{
		"shallow": c.common, "info/exclude": c.common, "info/attributes": c.common, "info/sparse-checkout": c.dir,
	} {
		data, err := plainFile(filepath.Join(folder, name), 64<<20)
		if err == nil {
			y.files[name] = data
		} else if !errors.Is(err, fs.ErrNotExist) {
			return carry{}, err
		}
	}
	var err error
	y.stores, err = c.stores()
	return y, err
}

// folds reports whether a folder, or the nearest one above it that is there, can be called by another case of its name.
func folds(folder string) bool {
	swap := func(r rune) rune {
		if low := unicode.ToLower(r); low != r {
			return low
		}
		return unicode.ToUpper(r)
	}
	for at := folder; at != filepath.Dir(at); at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		other := filepath.Join(filepath.Dir(at), strings.Map(swap, filepath.Base(at)))
		if err != nil || other == at {
			continue
		}
		same, err := os.Lstat(other)
		return err == nil && os.SameFile(info, same)
	}
	return false
}

// isFile reports whether a file can be read without waiting.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// writeKeeper makes the keeper, or makes it whole again: what is there of it stays.
func writeKeeper(p place, c *caller) error {
	y, err := carryOf(c, p.k.folders)
	if err != nil {
		return err
	}
	y.settings = maps.Clone(y.settings)
	if y.settings == nil {
		y.settings = map[string]string{}
	}
	y.settings["user.name"] = cmp.Or(y.settings["user.name"], "Troupe")
	y.settings["user.email"] = cmp.Or(y.settings["user.email"], "troupe@localhost")
	for name, value := range map[string]string{"core.bare": "true", "gc.auto": "0", "core.safecrlf": "false",
		"core.logallrefupdates": "false", "core.quotepath": "false", "commit.gpgsign": "false"} {
		y.settings[name] = value
	}
	if err := layOut(p.repo, "ref: refs/heads/none\n", y); err != nil {
		return err
	}
	return unlock(p)
}

// unlock frees what a killed git left locked: no other operation on this workspace goes on, nor any git of one.
func unlock(p place) error {
	locks, err := filepath.Glob(disk.Pattern(p.repo) + "/*.lock")
	packs, e2 := filepath.Glob(disk.Pattern(p.folder) + "/pack-*") // on their way
	err, locks = errors.Join(err, e2), append(locks, packs...)
	for _, lock := range locks {
		err = errors.Join(err, os.Remove(lock))
	}
	return err
}

// layOut writes the files that make a folder a repository.
func layOut(dir, head string, y carry) error {
	for _, sub := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags", "info"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	files := map[string][]byte{"HEAD": []byte(head), "config": settingsFile(y)}
	maps.Copy(files, y.files)
	if len(y.stores) > 0 {
		files["objects/info/alternates"] = []byte(strings.Join(y.stores, "\n") + "\n")
	}
	for name, data := range files {
		if err := disk.Cache(filepath.Join(dir, name), data); err != nil {
			return err
		}
	}
	return nil
}

// settingsFile is a configuration as git reads it.
func settingsFile(y carry) []byte {
	all := maps.Clone(y.settings)
	if all == nil {
		all = map[string]string{}
	}
	all["core.repositoryformatversion"] = "0"
	all["core.bigfilethreshold"] = strconv.Itoa(packedObject)
	if y.format != "sha1" {
		all["core.repositoryformatversion"], all["extensions.objectformat"] = "1", y.format
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		section, key, _ := strings.Cut(name, ".")
		b.WriteString("[" + section + "]\n\t" + key + ` = "` + quote.Replace(all[name]) + "\"\n")
	}
	return []byte(b.String())
}

// packed is a list of refs as a repository keeps it in one file.
func packed(refs []gitRef) []byte {
	refs = slices.SortedFunc(slices.Values(refs), func(a, b gitRef) int { return strings.Compare(a.name, b.name) })
	var b strings.Builder
	b.WriteString("# pack-refs with: sorted \n")
	for _, r := range refs {
		b.WriteString(r.id + " " + r.name + "\n")
		if r.peeled != "" {
			b.WriteString("^" + r.peeled + "\n")
		}
	}
	return []byte(b.String())
}
