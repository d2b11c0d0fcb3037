package worktree

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// unencodedMost is how many files are tried one after the other that are not in the encoding that attributes say they
// have; of more, no file with such an attribute is converted.
const unencodedMost = 16

// misencoded is how git says that a file is not in the encoding of its working-tree-encoding.
var misencoded = regexp.MustCompile(`^fatal: (?:BOM is (?:required|prohibited) in|failed to encode|encoding) '(.*)' ` +
	`(?:if|from) `)

// add puts files into the index. One that is not in the encoding that attributes say it has is kept as it is: git would
// keep none of them.
func add(ctx context.Context, r repo, folder string, names []string) error {
	for tried := 0; len(names) > 0; tried++ {
		_, err := r.feed(ctx, strings.Join(names, "\x00")+"\x00", "update-index", "--add", "--replace", "-z", "--stdin")
		e, ok := errors.AsType[*git.Error](err)
		if !ok {
			return err
		}
		said := misencoded.FindStringSubmatch(e.Text)
		if said == nil {
			return err
		}
		raw := []string{said[1]}
		if tried >= unencodedMost || !slices.Contains(names, said[1]) {
			if raw, err = encoded(ctx, r, names); err != nil {
				return err
			}
		}
		if len(raw) == 0 {
			return e
		}
		if err := addRaw(ctx, r, folder, raw); err != nil {
			return err
		}
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(raw, name) })
	}
	return nil
}

// encoded are the names of which attributes say an encoding.
func encoded(ctx context.Context, r repo, names []string) (out []string, err error) {
	list, err := r.feed(ctx, strings.Join(names, "\x00")+"\x00", "check-attr", "-z", "--stdin", "working-tree-encoding")
	entries := fields(list)
	for i := 0; i+2 < len(entries); i += 3 {
		if value := entries[i+2]; value != "unspecified" && value != "unset" {
			out = append(out, entries[i])
		}
	}
	return out, err
}

// addRaw puts files into the index as they are on the disk.
func addRaw(ctx context.Context, r repo, folder string, names []string) error {
	var list strings.Builder
	for _, name := range names {
		f, err := openIn(folder, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		info, err := f.Stat()
		var id string
		if err == nil && !info.Mode().IsRegular() {
			err = errors.New(name + " is no file any more")
		}
		if err == nil {
			raw := r
			raw.runner.Start, raw.runner.In = nil, f // it is open, and no other is read
			id, err = raw.out(ctx, "hash-object", "-w", "--stdin")
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		mode := "100644"
		if info.Mode()&0o111 != 0 {
			mode = "100755"
		}
		list.WriteString(mode + " " + id + "\t" + name + "\x00")
	}
	_, err := r.feed(ctx, list.String(), "update-index", "--add", "--replace", "-z", "--index-info")
	return err
}
