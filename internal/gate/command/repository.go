package command

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// NewRepository is a repository that a command of git makes.
type NewRepository struct {
	// Folder is as it is written, or as git calls what it fetches; "" if that is not known.
	Folder string
	Bare   bool // the folder itself is git's
	Remote bool // it is fetched from another machine
	Clone  bool // it comes with files, into a folder that is not there or is empty
}

// Repository reads a command that makes a repository. ok is false for others.
func Repository(words []Word) (r NewRepository, ok bool) {
	if len(words) < 2 || path.Base(words[0].Text) != "git" {
		return r, false
	}
	args := words[1:]
	at := gitSubcommand(args)
	if at == len(args) || args[at].Text != "clone" && args[at].Text != "init" {
		return r, false
	}
	clone := args[at].Text == "clone"
	r.Clone = clone
	var names []Word
	for i := at + 1; i < len(args); i++ {
		switch text := args[i].Text; {
		case text == "--bare" || text == "--mirror":
			r.Bare = true
		case slices.Contains([]string{"-b", "--branch", "-o", "--origin", "-u", "--upload-pack", "--reference",
			"--reference-if-able", "--depth", "--shallow-since", "--shallow-exclude", "-j", "--jobs", "-c", "--config",
			"--template", "--initial-branch", "--object-format", "--server-option", "--filter", "--bundle-uri"}, text):
			i++
		case strings.HasPrefix(text, "-"):
		default:
			names = append(names, args[i])
		}
	}
	if clone {
		if len(names) == 0 {
			return r, false
		}
		r.Remote = isRemote(names[0].Text)
		if names[0].Known && len(names) == 1 {
			r.Folder = called(names[0].Text, r.Bare)
		}
		names = names[1:]
	}
	if len(names) > 0 && names[0].Known {
		r.Folder = names[0].Text
	}
	return r, true
}

// called is the name that git gives the folder of what it fetches.
func called(url string, bare bool) string {
	name := strings.TrimSuffix(strings.TrimRight(url, "/"), "/.git")
	name = strings.TrimSuffix(name[strings.LastIndexAny(name, "/:")+1:], ".git")
	if bare {
		name += ".git"
	}
	return name
}

// isRemote: git reads "host:path" as it does a URL, unless a slash comes before the colon.
func isRemote(url string) bool {
	if scheme, _, ok := strings.Cut(url, "://"); ok {
		return scheme != "file"
	}
	before, _, ok := strings.Cut(url, ":")
	return ok && !strings.Contains(before, "/")
}

// Under is the repository's folder, if a folder that had to be made is that folder or one on the way to it.
func (r NewRepository) Under(made string) (folder string, ok bool) {
	if path.IsAbs(r.Folder) {
		folder := path.Clean(r.Folder)
		return folder, troupe.Within(folder, made)
	}
	names := strings.Split(path.Clean(r.Folder), "/")
	for n := len(names); n > 0; n-- {
		if strings.HasSuffix(made, "/"+strings.Join(names[:n], "/")) {
			return path.Join(append([]string{made}, names[n:]...)...), true
		}
	}
	return made, false
}
