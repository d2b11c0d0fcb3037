package app

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe/docs"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/profile"
)

// documents is the folder in which the documents of this version lie for agents that answer about Troupe. It is made
// when the first of them is born.
func documents(dirs config.Dirs) string { return filepath.Join(resolved(dirs.Data), "docs") }

// withDocuments tells an agent where the documents lie, and puts them there.
func withDocuments(dirs config.Dirs, d profile.Definition) (profile.Definition, error) {
	dir, err := writeDocuments(documents(dirs))
	if err != nil {
		return d, fmt.Errorf("write the documents that %s works from: %w", d.Name, err)
	}
	d.Prompt += "\n\nThe documents: " + dir
	return d, nil
}

func writeDocuments(base string) (dir string, err error) {
	sum, texts := sha256.New(), map[string][]byte{}
	names, err := fs.Glob(docs.Files, "*.md") // sorted
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if texts[name], err = docs.Files.ReadFile(name); err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n", name, len(texts[name]))
		sum.Write(texts[name])
	}
	dir = filepath.Join(base, hex.EncodeToString(sum.Sum(nil)[:6]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil // it came to be whole, by a rename
	}
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", err
	}
	draft, err := os.MkdirTemp(base, "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(draft) //nolint:errcheck // it is there only if something went wrong
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(draft, name), text, 0o600); err != nil {
			return "", err
		}
	}
	if err := os.Rename(draft, dir); err != nil {
		if _, there := os.Stat(dir); there == nil {
			return dir, nil // another process has been quicker
		}
		return "", err
	}
	return dir, nil
}
